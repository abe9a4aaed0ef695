"""Packet-level network simulator: hosts, switches, links, queues, ECN, INT, PFC, ACKs, CNPs.

    from precog_sim.network import Pid, PredPid, Timely, incast, measure, run

    result = run(incast("thesis"), Timely(start_gbps=10), timing="exact", seed=0)
    measure(result).sample_p99_us            # every figure of merit: `metrics.Metrics`
    result.sequences()                       # RTT samples per flow, in order: training data
    run(incast("tenth", senders=8), Pid())   # presets: `INCASTS`; senders, sizes, scale,
    run(incast(base_rtt_us=8), Pid())        #   base RTT, start jitter and rate are arguments
    run(incast(jitter_ns=0), Pid.thesis(), timing="ns3")     # the thesis' own run, to every digit
    run(incast(), PredPid(weights=w))        # LSTM + PID; w = predictor.pack_weights(...)
    run(incast(), Loop(function=address, handle=pointer), record=Record(log=True))
    run(incast(), Pid("thesis-untrained", train=True)).gains  # on-line training (21)-(26)

Congestion controls (`congestion`): `Pid`, `PredPid`, `Timely` (presets ``ns3``, ``paper``,
``scaled``), `Dctcp`, `Dcqcn` (``ns3``, ``ns3-paper-timers``, ``paper``, ``vendor``), `Hpcc`,
`Fixed` and `Loop`, where C functions decide (RTL or golden NIC). `Programmed` is any law that is
written as a program (`program`), `Mixed` gives each flow its own. All take ``start_gbps`` (None:
line rate; PID laws start at 10), ``window`` (``none``, ``bdp``, ``rate``) and ``retime`` (a change
of rate moves the departure of the packet that waits for its pace). With a `Loop`'s `Scores` every
sender makes congestion scores (`score_source`, `scores`), which its device is told.

A `Scenario` is a `Topology` (`topology.star`, `topology.fat_tree`), flows, `Buffers`, `Ecn`,
`Recovery`, `Answers`, `Hearing`, `Priorities`, `Failure`; a flow's bytes are there from its start,
or come as messages (`Poisson`, `Bursts`, `Trace`), and ``Record(queues=True)`` logs every send
queue. Its buffers are held against the rules of source 004 (`buffer_rules`) before it runs.

Two timings. ``exact``: integer picoseconds. ``ns3``: as the HPCC authors' ns-3 code, which cuts
transmission times to whole nanoseconds (1048 B at 100 Gb/s take 83 ns, not 83.84: the link carries
101 Gb/s); the incast under HPCC, TIMELY, DCTCP and DCQCN equals ns-3's packet for packet. With
``ecmp="ns3"`` flows take ns-3's paths, too: `precog_sim.fabric` compares a fat tree with ns-3's.

Inside: `topology`, `scenario` (data) -> `tables` (int64 tables laid out by `layout`) -> `kernel`
(the loop; `wheel` = event queue, `port` = switch, `ecmp` = its paths, `host` = NIC, `laws` =
calls of the laws' code, `outside` = decisions of `Loop`) -> `result`, `metrics`. One compiled
function serves all laws and scenarios; the first call compiles it (about 25 s), later processes
load it from the cache.
"""

from precog_sim.network.buffer_rules import BufferRule, check_buffer_rules
from precog_sim.network.buffers import Buffers
from precog_sim.network.checks import MOST_THREADS, check_threads, check_timing
from precog_sim.network.congestion import (
    CongestionControl,
    Dcqcn,
    Dctcp,
    Fixed,
    Hpcc,
    Pid,
    PredPid,
    Timely,
)
from precog_sim.network.ecn import Ecn
from precog_sim.network.failures import Failure
from precog_sim.network.flow import Flow
from precog_sim.network.hearing import Hearing
from precog_sim.network.hints import LIES, Hints
from precog_sim.network.incast import INCASTS, incast
from precog_sim.network.messages import Bursts, Messages, Poisson, Trace
from precog_sim.network.metrics import (
    Estimate,
    Metrics,
    estimate,
    jain,
    measure,
    summarise,
)
from precog_sim.network.outside_law import Loop
from precog_sim.network.priorities import Priorities
from precog_sim.network.program import Program, program
from precog_sim.network.program_law import Mixed, Programmed
from precog_sim.network.recovery import Answers, Recovery
from precog_sim.network.result import Record, Result, SimulationError
from precog_sim.network.run import run
from precog_sim.network.scenario import Scenario
from precog_sim.network.score_source import QUEUE_SOURCES, SOURCES, QueueCalls, Scores, ramp
from precog_sim.network.topology import Link, Topology, fat_tree, star

__all__ = [
    "INCASTS",
    "LIES",
    "MOST_THREADS",
    "QUEUE_SOURCES",
    "SOURCES",
    "Answers",
    "BufferRule",
    "Buffers",
    "Bursts",
    "CongestionControl",
    "Dcqcn",
    "Dctcp",
    "Ecn",
    "Estimate",
    "Failure",
    "Fixed",
    "Flow",
    "Hearing",
    "Hints",
    "Hpcc",
    "Link",
    "Loop",
    "Messages",
    "Metrics",
    "Mixed",
    "Pid",
    "Poisson",
    "PredPid",
    "Priorities",
    "Program",
    "Programmed",
    "QueueCalls",
    "Record",
    "Recovery",
    "Result",
    "Scenario",
    "Scores",
    "SimulationError",
    "Timely",
    "Topology",
    "Trace",
    "check_buffer_rules",
    "check_threads",
    "check_timing",
    "estimate",
    "fat_tree",
    "incast",
    "jain",
    "measure",
    "program",
    "ramp",
    "run",
    "star",
    "summarise",
]
