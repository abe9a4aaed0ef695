"""Decisions by a C function outside: on samples, and on events that are no samples.

What a law like DCQCN must be told besides samples: that a notification has come, that bytes have
left, and that time has passed, for outside its clocks run only with events.
"""

from precog_sim.network.control import Cfg, Ctl, Err
from precog_sim.network.jit import inlined, outlined
from precog_sim.network.layout import TIMERS, FlowCol, Kind, LawCol, Rec
from precog_sim.network.native import call_decide
from precog_sim.network.net import Net
from precog_sim.network.port import gap_ps
from precog_sim.network.wheel import schedule
from precog_spec.law_fields import EventKind

__all__ = [
    "decide_outside",
    "notify_outside",
    "observe",
    "retime",
    "sweep",
    "tell",
    "tell_bytes",
    "ticks",
]

_RATE_ONE = float(1 << 24)  # Q8.24 bytes per tick
_SRTT_ONE = 256.0
_TIME_MASK = (1 << 40) - 1
_PS_PER_TICK = 1000
_BPS = 8e9  # bit/s of one byte per 1-ns tick
_CNP, _SWEEP = int(EventKind.CNP), int(EventKind.SWEEP)


@inlined
def retime(net: Net, f: int, rate: float, old: float) -> None:
    """Move the departure that waits for its pace from the `old` rate to the new one."""
    if rate != old and net.law[net.flow[f, FlowCol.LAW], LawCol.RETIME] != 0:
        wire = net.flow[f, FlowCol.LAST_WIRE]
        net.flow[f, FlowCol.AVAILABLE] += gap_ps(net, wire, rate) - gap_ps(net, wire, old)


@inlined
def ticks(ps: int) -> int:
    """The tick of a time, 40 bits."""
    return (ps + _PS_PER_TICK // 2) // _PS_PER_TICK & _TIME_MASK


@inlined
def _accept(net: Net, f: int, status: int, code: int) -> bool:
    """Whether the answer is one; if not, the error is noted. `code` is the call's own."""
    if status < 0:
        net.ctl[Ctl.ERROR] = code
        net.ctl[Ctl.ERROR_VALUE] = status
    elif net.decision[0] != f:
        net.ctl[Ctl.ERROR] = Err.LOOP_QP
        net.ctl[Ctl.ERROR_VALUE] = net.decision[0]
    elif net.decision[1] <= 0:
        net.ctl[Ctl.ERROR] = Err.LOOP_RATE
        net.ctl[Ctl.ERROR_VALUE] = net.decision[1]
    else:
        return True
    return False


@inlined
def _note(net: Net, f: int, value: int, t: int) -> None:
    """Add a row to the log, if one is kept: what was asked, then the decision."""
    if net.cfg[Cfg.KEEP_LOG] == 0:
        return
    n = net.ctl[Ctl.LOGGED]
    if n >= net.log.shape[0]:
        net.ctl[Ctl.ERROR] = Err.LOG
        net.ctl[Ctl.ERROR_VALUE] = n
        return
    net.log[n, 0] = f
    net.log[n, 1] = value
    net.log[n, 2] = t
    for k in range(net.decision.size):
        net.log[n, 3 + k] = net.decision[k]
    net.ctl[Ctl.LOGGED] = n + 1


@inlined
def decide_outside(net: Net, f: int, rtt: int, now: int, rate_bps: float) -> tuple[float, float]:
    """Ask about a sample; returns rate in bit/s and predicted RTT in us (0: none)."""
    net.asked[0] = f
    net.asked[1] = ticks(rtt)
    net.asked[2] = ticks(now)
    status = call_decide(
        net.cfg[Cfg.FUNCTION], net.cfg[Cfg.HANDLE], net.asked.ctypes.data, net.decision.ctypes.data
    )
    if not _accept(net, f, status, Err.LOOP):
        return rate_bps, 0.0
    _note(net, f, net.asked[1], net.asked[2])
    net.flow[f, FlowCol.WINDOW] = net.decision[2]
    return net.decision[1] / _RATE_ONE * _BPS, net.decision[3] / _SRTT_ONE * 1e-3


@inlined
def _told(net: Net, f: int, function: int, value: int, t: int) -> None:
    status = call_decide(
        function, net.cfg[Cfg.HANDLE], net.asked.ctypes.data, net.decision.ctypes.data
    )
    if not _accept(net, f, status, Err.LOOP_EVENT):
        return
    _note(net, f, value, t)
    old = net.real[f, FlowCol.RATE]
    net.real[f, FlowCol.RATE] = net.decision[1] / _RATE_ONE * _BPS
    retime(net, f, net.real[f, FlowCol.RATE], old)


@outlined
def tell(net: Net, kind: int, f: int, value: int, now: int) -> None:
    """Decide on an event of flow `f`; the new rate is in `rate`.

    The rate holds for queued packets, too. The caller must schedule the flow's port again, because
    the next departure may be earlier.
    """
    net.asked[0] = kind
    net.asked[1] = f
    net.asked[2] = ticks(now)
    net.asked[3] = value
    _told(net, f, net.cfg[Cfg.EVENT_FUNCTION], value, net.asked[2])


@outlined
def tell_bytes(net: Net, f: int, size: int, now: int) -> None:
    """Tell a program of bytes, as of an acknowledgement whose round trip says nothing."""
    net.asked[0] = f
    net.asked[1] = ticks(now)
    net.asked[2] = 1
    net.asked[3] = size
    net.asked[4] = 0
    net.asked[5] = 0
    net.asked[6] = 0
    _told(net, f, net.cfg[Cfg.ACK_FUNCTION], size, net.asked[1])


@inlined
def observe(net: Net, f: int, kind: int, size: int, now: int) -> None:
    """Tell the device what happened to the send queue of `f`, if it wants to know."""
    if net.cfg[Cfg.QUEUE_FUNCTION] == 0:
        return
    net.asked[0] = f
    net.asked[1] = kind
    net.asked[2] = size
    net.asked[3] = ticks(now)
    status = call_decide(
        net.cfg[Cfg.QUEUE_FUNCTION],
        net.cfg[Cfg.HANDLE],
        net.asked.ctypes.data,
        net.decision.ctypes.data,
    )
    if status < 0:
        net.ctl[Ctl.ERROR] = Err.QUEUE_EVENT
        net.ctl[Ctl.ERROR_VALUE] = status


@outlined
def notify_outside(net: Net, f: int, now: int) -> None:
    """A congestion notification has come; the flow's first one starts its sweeps."""
    tell(net, _CNP, f, 0, now)
    if net.cfg[Cfg.SWEEP_PS] > 0 and net.flow[f, FlowCol.SWEEPING] == 0:
        net.flow[f, FlowCol.SWEEPING] = 1
        row = net.cfg[Cfg.FIRST_FLOW_TIMER] + (TIMERS + 1) * f
        net.rec[row, Rec.KIND] = Kind.SWEEP
        schedule(net, row, now + net.cfg[Cfg.SWEEP_PS])


@outlined
def sweep(net: Net, row: int, now: int) -> None:
    """Time has passed for the flow of timer `row`."""
    f = net.rec[row, Rec.OWNER]
    if net.flow[f, FlowCol.END] >= 0:
        return
    tell(net, _SWEEP, f, 0, now)
    schedule(net, row, now + net.cfg[Cfg.SWEEP_PS])
