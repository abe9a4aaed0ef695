"""The kernel's record: every table of a run, in one argument.

A NamedTuple of arrays costs nothing under numba: in an `inlined` function it is the arrays
themselves. A `compiled` function is handed the descriptors of all of them, so one that is called
often takes just the tables it needs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Net"]

_Table = NDArray[np.int64]
_Reals = NDArray[np.float64]


class Net(NamedTuple):
    """Tables of a run; `layout` names their columns, `tables` and `run` make them."""

    # what happens next
    rec: _Table  # [row, Rec]: packets and timers
    wheel: NDArray[np.int32]  # [bucket, 2]: first and last record that is due in it; -1: none
    bits: _Table  # a bit for each bucket: it is not empty
    heap: _Table  # [n, 3]: time, sequence, record of events beyond the wheel
    # the network
    port: _Table  # [port, PortCol]
    port_f: _Reals  # [port]: ps per byte
    switch: _Table  # [switch, SwitchCol]
    route_start: _Table  # [node, host]: where in `route_ports` the next hops begin
    route_count: _Table  # [node, host]: how many there are
    route_ports: _Table
    telemetry: _Table  # [row, ...]: what a packet's record carries: INT, or a score
    # flows and their laws
    flow: _Table  # [flow, FlowCol]
    rate: _Reals  # [flow]: bit/s
    top: _Reals  # [flow]: bit/s of its host's link
    state: _Reals  # [flow, law's columns]
    par: _Reals  # the law's parameters
    weights: _Reals  # of the law's predictor
    work: _Reals  # the predictor's scratch
    order: _Table  # flows that wait for no other, by start
    followers: _Table  # flows that wait for others, by whom they wait for
    messages: _Table  # [message, MessageCol], by time
    # constants, counters, cursors
    ctl: _Table  # [Ctl]
    cfg: _Table  # [Cfg]
    fcfg: _Reals  # [FCfg]
    # what is kept
    packet_rtt: _Table  # ps
    samples: _Table  # [sample, 3]: flow, time, RTT
    sample_f: _Reals  # [sample, 2]: rate, predicted RTT
    watched: _Table  # ports whose queues the probe notes
    probe_time: _Table
    probe_rate: NDArray[np.float32]  # [probe, flow]: Gb/s
    probe_got: _Table  # [probe, flow]
    probe_queue: _Table  # [probe, watched]
    log: _Table  # [decision, asked and answered]
    changes: _Table  # [change, QueueCol]
    forecast_log: _Table
    receiver_log: _Table
    depths: _Table  # samples of queues by their KiB
    # the outside's arguments and answers
    asked: _Table
    decision: _Table
    knots: _Table  # the table through which scores are made
    forecasts: _Table  # [flow, FORECAST_FIELDS]
    received: _Table  # a receiver's event and its result
