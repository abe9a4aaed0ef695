"""Queue models and receivers in the network: forecasts of send queues, scores that arrive.

Every period the device looks at each send queue, as its profiler does, and forecasts it; the score
acts at home at once, or rides on the data packets like any other (`scores`). Where there are
receivers, a score that arrives acts by its band on the queue pair that sends the other way: its law
is told the score with a command, and its priority among the host's flows is raised.
"""

from precog_sim.network.control import Cfg, Ctl, Err
from precog_sim.network.host import wake
from precog_sim.network.jit import inlined, outlined
from precog_sim.network.layout import FlowCol, ScoreSource
from precog_sim.network.native import call_decide
from precog_sim.network.net import Net
from precog_sim.network.outside import tell, ticks
from precog_spec.contract import FORECAST_FIELDS
from precog_spec.law_fields import NO_SCORE, SCORE_BITS, SCORE_MAX, EventKind
from precog_spec.receiver_fields import (
    RECEIVER_EVENT,
    RECEIVER_RESULT,
    Act,
    Band,
    ReceiverKind,
)

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


@inlined
def _happens(net: Net, kind: int, g: int, score: int, now: int) -> bool:
    """An event of the receiver of queue pair `g`; whether its law is to be told."""
    net.received[0] = kind
    net.received[1] = g
    net.received[2] = ticks(now)
    net.received[3] = score
    net.received[4] = 1  # no budget of bytes is set, so bandwidth is always available
    event = net.received.ctypes.data
    status = call_decide(
        net.cfg[Cfg.RECEIVER_FUNCTION],
        net.cfg[Cfg.RECEIVER_HANDLE],
        event,
        event + _EVENT * _WORD_BYTES,
    )
    if status < 0:
        net.ctl[Ctl.ERROR] = Err.RECEIVER
        net.ctl[Ctl.ERROR_VALUE] = status
        return False
    if net.cfg[Cfg.KEEP_SCORES] != 0:
        n = net.ctl[Ctl.RECEIVED]
        if n >= net.receiver_log.shape[0]:
            net.ctl[Ctl.ERROR] = Err.SCORES
            net.ctl[Ctl.ERROR_VALUE] = n
            return False
        for k in range(net.received.size):
            net.receiver_log[n, k] = net.received[k]
        net.ctl[Ctl.RECEIVED] = n + 1
    net.flow[g, FlowCol.BAND] = net.received[_BAND]
    if net.received[_ACTS] & _RAISES != 0:
        net.flow[g, FlowCol.BOOST] = net.received[_BOOST]
    return bool(net.received[_ACTS] & _TELLS != 0 and net.flow[g, FlowCol.END] < 0)


@outlined
def hear_peer(net: Net, f: int, score: int, now: int) -> None:
    """A data packet of `f` has brought a score to its host."""
    g = net.flow[f, FlowCol.REVERSE]
    if g < 0 or score == NO_SCORE:
        return
    if _happens(net, _ARRIVED, g, score, now):
        value = net.received[_SCORE] | net.received[_COMMAND] << SCORE_BITS
        tell(net, _SCORE_EVENT, g, value, now)


@outlined
def visit_queues(net: Net, now: int) -> None:
    """The device looks at every send queue, and its receiver at every score, for its age."""
    t = ticks(now)
    net.asked[0] = t
    status = call_decide(
        net.cfg[Cfg.VISIT_FUNCTION],
        net.cfg[Cfg.HANDLE],
        net.asked.ctypes.data,
        net.forecasts.ctypes.data,
    )
    if status < 0:
        net.ctl[Ctl.ERROR] = Err.VISIT
        net.ctl[Ctl.ERROR_VALUE] = status
        return
    for f in range(net.cfg[Cfg.FLOWS]):
        if net.forecasts[f, _T] == t and net.flow[f, FlowCol.END] < 0:
            if net.cfg[Cfg.KEEP_SCORES] != 0:
                n = net.ctl[Ctl.FORECAST]
                if n >= net.forecast_log.shape[0]:
                    net.ctl[Ctl.ERROR] = Err.SCORES
                    net.ctl[Ctl.ERROR_VALUE] = n
                    return
                for k in range(net.forecasts.shape[1]):
                    net.forecast_log[n, k] = net.forecasts[f, k]
                net.ctl[Ctl.FORECAST] = n + 1
            made = net.forecasts[f, _CPS]
            if net.cfg[Cfg.SCORE_SOURCE] == ScoreSource.QUEUE_INVERTED and made <= SCORE_MAX:
                made = SCORE_MAX - made
            net.flow[f, FlowCol.SCORE] = made
            if net.cfg[Cfg.SCORE_ECHO] == 0:
                tell(net, _SCORE_EVENT, f, made, now)
                wake(net, net.flow[f, FlowCol.PORT], now)
        if net.flow[f, FlowCol.BAND] == _NONE:  # as without receivers
            continue
        if _happens(net, _VISITED, f, NO_SCORE, now):
            value = net.received[_SCORE] | net.received[_COMMAND] << SCORE_BITS
            tell(net, _SCORE_EVENT, f, value, now)
            wake(net, net.flow[f, FlowCol.PORT], now)
