"""The kernel's record: every table of a partition, in one argument.

In the record of the whole run some tables have a dimension more, partitions, or hold all of theirs
one after another (`crew`).

A NamedTuple of arrays costs nothing under numba: in an `inlined` function it is the arrays
themselves. A `compiled` function is handed the descriptors of all of them, so one that is called
often takes just the tables it needs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Net", "Table"]

Table = NDArray[np.int64]
_Reals = NDArray[np.float64]


class Net(NamedTuple):
    """Tables of a run; `layout` names their columns, `tables` and `run` make them."""

    # what happens next
    rec: Table  # [row, Rec]: packets and timers
    wheel: NDArray[np.int32]  # [bucket]: a record that is due in it, the first of a list; -1: none
    bits: Table  # a bit for each bucket: it is not empty
    heap: Table  # [n, 3]: time, sequence, record of events beyond the wheel
    stock: Table  # [Stock]: records that no partition has
    arrivals: Table  # [place, 2]: time, port and record of packets, by time; then the end of time
    unsorted: Table  # the same as they come
    tally: NDArray[np.int32]  # [bucket]: how many of them
    # packets that arrive after this window
    outbox: Table  # [place, 2]: time, port and record
    posted: NDArray[np.int32]  # [partition]: how many in this one's places for it
    places: NDArray[np.int32]  # [partition]: first of them
    # the network
    bounds: Table  # [partition, Bound]: where its parts of tables begin, and one row more
    port: Table  # [port, PortCol]
    parts: Table  # [port]: its partition
    mine: Table  # ports of the partition's switches
    port_f: _Reals  # [port]: ps per byte
    dice: Table  # [port]: its random numbers' state
    load: _Reals  # [port, 3]: for PINT: utilisation, time of the last packet in ns, its bytes
    prio: Table  # [port x priorities + priority, PrioCol]
    quanta: Table  # [priority]: bytes of a turn
    ready: Table  # [priority]: bytes of the packet that it would send next, of the port at work
    switch: Table  # [switch, SwitchCol]
    routes: NDArray[np.int32]
    # [switch, switch with hosts, 2]: first of the next hops in `route_ports`, their number; -1: it
    # is that switch
    last: Table  # [host]: the port of its switch to it; -1: there is none
    route_ports: Table
    ways: NDArray[np.int32]
    # [flow and direction, switch]: output port, plus 1, of the packets that passed; 0: none did
    turns: Table  # [switch, host]: next hops that packets were sprayed to, counted
    fault: Table  # [port, FaultCol]
    wire_loss: _Reals  # [port]: share of the packets to it that its link loses
    outages: Table  # [event, OutageCol], by time
    telemetry: Table  # [row, ...]: what a packet's record carries: INT, or a score
    # flows and their laws
    flow: Table  # [flow, FlowCol]
    real: _Reals  # the same memory, for real numbers
    law: Table  # [law, LawCol]
    law_f: _Reals  # [law, 1]: bit/s of a rate of 1
    marking: Table  # [law, row of `prio`, 2]: queue from which packets are marked, above which all
    mark_most: _Reals  # [law, priority]: share of marks just below the latter
    state: _Reals  # [flow, ...]: words of its events, and its law's state
    words: Table  # the same memory, for whole numbers
    learnt: Table  # [flow, BASE_STATE]: base RTTs, where laws learn them
    order: Table  # flows that wait for no other, by start
    followers: Table  # flows that wait for others, by whom they wait for
    messages: Table  # [message, MessageCol], by time
    # recovery and acknowledgements, where they are not the plain ones
    repeat: Table  # [flow, RepeatCol]
    arrived: Table  # [flow, word]: the receiver's bitmap
    selected: Table  # [flow, word]: what the sender knows of it
    sack: Table  # [row, 2]: packet that an acknowledgement answers, bitmap round it
    answer: Table  # [flow, AnswerCol]
    # levels
    told: Table  # [flow, HintCol]
    inbound: Table  # [host, InboundCol]
    known: Table  # [source, destination, KnownCol]
    # constants, counters, cursors
    ctl: Table  # [Ctl]
    cfg: Table  # [Cfg]
    fcfg: _Reals  # [FCfg]
    # what is kept
    packet_rtt: Table  # ps
    samples: Table  # [sample, 3]: flow, time, RTT
    sample_f: _Reals  # [sample, 2]: rate, predicted RTT
    watched: Table  # ports whose queues the probe notes
    probe_time: Table
    probe_rate: NDArray[np.float32]  # [probe, flow]: Gb/s
    probe_got: Table  # [probe, flow]
    probe_queue: Table  # [probe, watched]
    log: Table  # [decision, asked and answered]
    changes: Table  # [change, QueueCol]
    forecast_log: Table
    receiver_log: Table
    depths: Table  # samples of queues by their KiB
    # the outside's arguments and answers
    asked: Table
    decision: Table
    knots: Table  # the table through which scores are made
    forecasts: Table  # [flow, FORECAST_FIELDS]
    received: Table  # a receiver's event and its result
