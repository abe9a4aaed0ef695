"""Queue models and receivers in the network: forecasts of send queues, scores that arrive.

Every period the device looks at each send queue, as its profiler does, and forecasts it; the score
acts at home at once, or rides on the data packets like any other (`scores`). Where there are
receivers, a score that arrives acts by its band on the queue pair that sends the other way: its law
is told the score with a command, and its priority among the host's flows is raised.
"""

import numpy as np
from numpy.typing import NDArray

from precog_models.contract import FORECAST_FIELDS
from precog_models.rate.law_fields import NO_SCORE, SCORE_BITS, SCORE_MAX, EventKind
from precog_models.rate.receiver_fields import (
    RECEIVER_EVENT,
    RECEIVER_RESULT,
    Act,
    Band,
    ReceiverKind,
)
from precog_sim.network.host import wake
from precog_sim.network.jit import compiled, inlined
from precog_sim.network.layout import Cfg, Ctl, Err, FlowCol, ScoreSource
from precog_sim.network.native import call_decide
from precog_sim.network.outside import tell, ticks

__all__ = ["hear_peer", "visit_queues"]

_FORECAST = [name for name, _ in FORECAST_FIELDS]
_T, _CPS = _FORECAST.index("t"), _FORECAST.index("cps")
_EVENT = len(RECEIVER_EVENT)
_RESULTS = [name for name, _ in RECEIVER_RESULT]
_BAND, _COMMAND, _SCORE, _BOOST, _ACTS = (
    _EVENT + _RESULTS.index(name) for name in ("band", "command", "score", "boost", "acts")
)
_WORD_BYTES = 8
_ARRIVED, _VISITED = int(ReceiverKind.SCORE), int(ReceiverKind.VISIT)
_TELLS, _RAISES, _NONE = int(Act.COMMAND), int(Act.BOOST), int(Band.NONE)
_SCORE_EVENT = int(EventKind.SCORE)

_Table = NDArray[np.int64]
_Reals = NDArray[np.float64]
_Wheel = NDArray[np.int32]


@inlined
def _happens(
    flow: _Table,
    ctl: _Table,
    cfg: _Table,
    received: _Table,
    receiver_log: _Table,
    kind: int,
    g: int,
    score: int,
    now: int,
) -> bool:
    """An event of the receiver of queue pair `g`; whether its law is to be told."""
    received[0] = kind
    received[1] = g
    received[2] = ticks(now)
    received[3] = score
    received[4] = 1  # no budget of bytes is set, so bandwidth is always available
    event = received.ctypes.data
    status = call_decide(
        cfg[Cfg.RECEIVER_FUNCTION], cfg[Cfg.RECEIVER_HANDLE], event, event + _EVENT * _WORD_BYTES
    )
    if status < 0:
        ctl[Ctl.ERROR] = Err.RECEIVER
        ctl[Ctl.ERROR_VALUE] = status
        return False
    if cfg[Cfg.KEEP_SCORES] != 0:
        n = ctl[Ctl.RECEIVED]
        if n >= receiver_log.shape[0]:
            ctl[Ctl.ERROR] = Err.SCORES
            ctl[Ctl.ERROR_VALUE] = n
            return False
        for k in range(received.size):
            receiver_log[n, k] = received[k]
        ctl[Ctl.RECEIVED] = n + 1
    flow[g, FlowCol.BAND] = received[_BAND]
    if received[_ACTS] & _RAISES != 0:
        flow[g, FlowCol.BOOST] = received[_BOOST]
    return bool(received[_ACTS] & _TELLS != 0 and flow[g, FlowCol.END] < 0)


@compiled
def hear_peer(
    flow: _Table,
    rate: _Reals,
    ctl: _Table,
    cfg: _Table,
    asked: _Table,
    decision: _Table,
    log: _Table,
    received: _Table,
    receiver_log: _Table,
    f: int,
    score: int,
    now: int,
) -> None:
    """A data packet of `f` has brought a score to its host."""
    g = flow[f, FlowCol.REVERSE]
    if g < 0 or score == NO_SCORE:
        return
    if _happens(flow, ctl, cfg, received, receiver_log, _ARRIVED, g, score, now):
        value = received[_SCORE] | received[_COMMAND] << SCORE_BITS
        tell(flow, rate, ctl, cfg, asked, decision, log, _SCORE_EVENT, g, value, now)


@compiled
def visit_queues(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    port: _Table,
    flow: _Table,
    rate: _Reals,
    ctl: _Table,
    cfg: _Table,
    asked: _Table,
    decision: _Table,
    log: _Table,
    forecasts: _Table,
    forecast_log: _Table,
    received: _Table,
    receiver_log: _Table,
    now: int,
) -> None:
    """The device looks at every send queue, and its receiver at every score, for its age."""
    t = ticks(now)
    asked[0] = t
    status = call_decide(
        cfg[Cfg.VISIT_FUNCTION], cfg[Cfg.HANDLE], asked.ctypes.data, forecasts.ctypes.data
    )
    if status < 0:
        ctl[Ctl.ERROR] = Err.VISIT
        ctl[Ctl.ERROR_VALUE] = status
        return
    for f in range(cfg[Cfg.FLOWS]):
        if forecasts[f, _T] == t and flow[f, FlowCol.END] < 0:
            if cfg[Cfg.KEEP_SCORES] != 0:
                n = ctl[Ctl.FORECAST]
                if n >= forecast_log.shape[0]:
                    ctl[Ctl.ERROR] = Err.SCORES
                    ctl[Ctl.ERROR_VALUE] = n
                    return
                for k in range(forecasts.shape[1]):
                    forecast_log[n, k] = forecasts[f, k]
                ctl[Ctl.FORECAST] = n + 1
            made = forecasts[f, _CPS]
            if cfg[Cfg.SCORE_SOURCE] == ScoreSource.QUEUE_INVERTED and made <= SCORE_MAX:
                made = SCORE_MAX - made
            flow[f, FlowCol.SCORE] = made
            if cfg[Cfg.SCORE_ECHO] == 0:
                tell(flow, rate, ctl, cfg, asked, decision, log, _SCORE_EVENT, f, made, now)
                wake(rec, wheel, bits, heap, port, ctl, cfg, flow[f, FlowCol.PORT], now)
        if flow[f, FlowCol.BAND] == _NONE:  # as without receivers
            continue
        if _happens(flow, ctl, cfg, received, receiver_log, _VISITED, f, NO_SCORE, now):
            value = received[_SCORE] | received[_COMMAND] << SCORE_BITS
            tell(flow, rate, ctl, cfg, asked, decision, log, _SCORE_EVENT, f, value, now)
            wake(rec, wheel, bits, heap, port, ctl, cfg, flow[f, FlowCol.PORT], now)
