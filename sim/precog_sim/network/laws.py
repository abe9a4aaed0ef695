"""Decisions: the flow's law hears of an event, and what it decides is put into force.

A law is native code at an address (`program`); which law a flow has is in its row, so that one
compiled kernel serves every law and every mixture of laws.
"""

from precog_sim.network.control import Cfg, Ctl, Err
from precog_sim.network.jit import inlined, outlined
from precog_sim.network.layout import TIMERS, FlowCol, Kind, LawCol, Rec, Window
from precog_sim.network.native import call_law, call_law_telemetry
from precog_sim.network.net import Net
from precog_sim.network.outside import decide_outside, notify_outside, retime
from precog_sim.network.program import EVENT_WORDS, word
from precog_sim.network.topology import MOST_GBPS
from precog_sim.network.wheel import cancel, schedule

__all__ = ["decide", "lose", "notify", "score", "sent", "start_law", "time_out"]

_NOW, _NOW_PS, _RTT, _RTT_PS = word("now"), word("now_ps"), word("rtt"), word("rtt_ps")
_BYTES, _MARKED, _SAMPLE = word("bytes"), word("marked"), word("sample")
_SEQ, _NEXT, _PREDICTION = word("seq"), word("next"), word("prediction")
_RATE, _WINDOW, _DUE = word("rate"), word("window"), word("due")
_TIMER, _TIMEOUT, _SENDERS = word("timer"), word("timeout"), word("senders")
_MOST_BPS = MOST_GBPS * 1e9
_NEVER_NS = 1e15  # of a timer
_WORD_BYTES = 8
_EVENT_BYTES = EVENT_WORDS * _WORD_BYTES


@outlined
def _set_timers(net: Net, f: int, now: int) -> None:
    """Schedule what `e.due` asks for. One that is put off is not moved: it looks when it fires."""
    first = net.cfg[Cfg.FIRST_FLOW_TIMER] + (TIMERS + 1) * f
    for k in range(TIMERS):
        due_ns = net.state[f, _DUE + k]
        if 0 < due_ns < _NEVER_NS:
            due = max(int(due_ns * 1000 + 0.5), now)
            armed = net.flow[f, FlowCol.TIMER_AT + k]
            if armed > due:
                cancel(net, first + k)
            if armed == 0 or armed > due:
                net.flow[f, FlowCol.TIMER_AT + k] = due
                schedule(net, first + k, due)


@inlined
def _asks(net: Net, f: int, now: int) -> bool:
    """Whether `e.due` has a time before that at which its timer fires."""
    for k in range(TIMERS):
        due_ns = net.state[f, _DUE + k]
        if 0 < due_ns < _NEVER_NS:
            armed = net.flow[f, FlowCol.TIMER_AT + k]
            if armed == 0 or armed > max(int(due_ns * 1000 + 0.5), now):
                return True
    return False


@inlined
def _obey(net: Net, f: int, law: int, now: int) -> None:
    """Put the rate, the window and the timers in the flow's row into force."""
    old = net.real[f, FlowCol.RATE]
    rate = net.state[f, _RATE] * net.law_f[law, 0]
    if not 0 < rate < _MOST_BPS:
        net.ctl[Ctl.ERROR] = Err.LAW_RATE
        net.ctl[Ctl.ERROR_VALUE] = f
        return
    if rate != old:
        net.real[f, FlowCol.RATE] = rate
        retime(net, f, rate, old)
    if net.law[law, LawCol.WINDOW] == Window.OWN:
        window = net.state[f, _WINDOW]
        if not 0 <= window < _MOST_BPS:
            net.ctl[Ctl.ERROR] = Err.LAW_WINDOW
            net.ctl[Ctl.ERROR_VALUE] = f
            return
        net.flow[f, FlowCol.WINDOW] = max(int(window), 1)
    if net.law[law, LawCol.TIMER] != 0 and _asks(net, f, now):
        _set_timers(net, f, now)


@inlined
def _call(net: Net, f: int, event: int, now: int) -> None:
    """Let the law hear of an event whose own words are in the flow's row."""
    law = net.flow[f, FlowCol.LAW]
    address = net.law[law, event]
    if address == 0:
        return
    net.state[f, _NOW] = now * 1e-3
    net.words[f, _NOW_PS] = now
    event = net.state.ctypes.data + f * net.state.shape[1] * _WORD_BYTES
    call_law(address, net.law[law, LawCol.PARAMETERS], event + _EVENT_BYTES, event)
    _obey(net, f, law, now)


@inlined
def decide(net: Net, row: int, acked: int, full: bool, rtt: int, now: int) -> float:
    """Let the flow's law act on one acknowledgement.

    Of `acked` bytes that were not acknowledged before; `full`: it completes a sample. The new rate
    is in `rate`; returned is the predicted RTT in us, 0 where there is none.
    """
    f = net.rec[row, Rec.OWNER]
    marked = net.rec[row, Rec.KIND] & Kind.MARK != 0
    law = net.flow[f, FlowCol.LAW]
    if net.cfg[Cfg.FUNCTION] != 0:
        if marked and net.cfg[Cfg.TELL_MARKS] != 0 and net.law[law, LawCol.CNP_PS] == 0:
            notify_outside(net, f, now)
        if not full:
            return 0.0
        old = net.real[f, FlowCol.RATE]
        net.real[f, FlowCol.RATE], predicted = decide_outside(net, f, rtt, now, old)
        retime(net, f, net.real[f, FlowCol.RATE], old)
        return predicted
    ack, sample = net.law[law, LawCol.ACK], net.law[law, LawCol.SAMPLE]
    if not full:
        sample = 0
    if ack == 0 and sample == 0:
        return 0.0
    net.state[f, _NOW] = now * 1e-3
    net.words[f, _NOW_PS] = now
    net.state[f, _RTT] = rtt * 1e-3
    net.words[f, _RTT_PS] = rtt
    net.words[f, _BYTES] = acked
    net.words[f, _MARKED] = marked
    net.words[f, _SAMPLE] = full
    net.words[f, _SEQ] = net.rec[row, Rec.SEQ]
    net.words[f, _NEXT] = net.flow[f, FlowCol.NEXT]
    event = net.state.ctypes.data + f * net.state.shape[1] * _WORD_BYTES
    state = event + _EVENT_BYTES
    parameters = net.law[law, LawCol.PARAMETERS]
    if net.law[law, LawCol.TELLS] != 0:
        told = net.telemetry.ctypes.data + row * net.telemetry.shape[1] * _WORD_BYTES
        if ack != 0:
            call_law_telemetry(ack, parameters, state, event, told)
        if sample != 0:
            call_law_telemetry(sample, parameters, state, event, told)
    else:
        if ack != 0:
            call_law(ack, parameters, state, event)
        if sample != 0:
            call_law(sample, parameters, state, event)
    _obey(net, f, law, now)
    return float(net.state[f, _PREDICTION]) if full else 0.0


@inlined
def notify(net: Net, f: int, now: int) -> None:
    """A congestion notification has come."""
    if net.cfg[Cfg.FUNCTION] == 0:
        _call(net, f, LawCol.CNP, now)
    elif net.cfg[Cfg.TELL_MARKS] != 0:
        notify_outside(net, f, now)


@outlined
def score(net: Net, f: int, level: int, now: int) -> None:
    """The level that the receiver says has risen."""
    net.words[f, _SENDERS] = level
    _call(net, f, LawCol.SCORE, now)


@outlined
def start_law(net: Net, f: int, now: int) -> None:
    """The flow begins."""
    _call(net, f, LawCol.START, now)


@outlined
def lose(net: Net, f: int, timeout: bool, now: int) -> None:
    """A NAK or a gap has shown a loss, or a time-out."""
    net.words[f, _TIMEOUT] = timeout
    net.words[f, _SEQ] = net.flow[f, FlowCol.ACKED]
    net.words[f, _NEXT] = net.flow[f, FlowCol.NEXT]
    _call(net, f, LawCol.LOSS, now)


@outlined
def sent(net: Net, f: int, wire: int, now: int) -> None:
    """A packet of `wire` bytes begins to leave; only for a law that hears of it."""
    net.words[f, _BYTES] = wire
    _call(net, f, LawCol.SEND, now)


@outlined
def time_out(net: Net, f: int, k: int, now: int) -> None:
    """Timer `k` of the flow has run out, or was put off since it was set."""
    net.flow[f, FlowCol.TIMER_AT + k] = 0
    if net.flow[f, FlowCol.END] >= 0:
        return
    due_ns = net.state[f, _DUE + k]
    if 0 < due_ns < _NEVER_NS and int(due_ns * 1000 + 0.5) <= now:
        net.state[f, _DUE + k] = 0.0
        net.words[f, _TIMER] = k
        _call(net, f, LawCol.TIMER, now)
        again_ns = net.state[f, _DUE + k]
        if 0 < again_ns < _NEVER_NS and int(again_ns * 1000 + 0.5) <= now:  # for ever
            net.ctl[Ctl.ERROR] = Err.LAW_TIMER
            net.ctl[Ctl.ERROR_VALUE] = f
    else:
        _set_timers(net, f, now)
