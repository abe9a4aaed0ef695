"""Fewer acknowledgements than packets: an answer that waits for more data, or for its time.

The record of the newest packet without an answer is kept, made into its acknowledgement already:
what it carries, telemetry and marks, is of that packet.
"""

from precog_sim.network.control import Cfg
from precog_sim.network.jit import inlined, outlined
from precog_sim.network.layout import AnswerCol, Kind, Rec
from precog_sim.network.net import Net
from precog_sim.network.pool import allocate, free
from precog_sim.network.queues import push_answer
from precog_sim.network.wheel import schedule

__all__ = ["answer_timer", "waits"]


@inlined
def _release(net: Net, f: int, row: int, now: int) -> None:
    """Let the answer that waits go; its RTT leaves out how long it waited."""
    net.rec[row, Rec.SENT] += now - net.rec[row, Rec.TIME]
    net.answer[f, AnswerCol.WAITING] = 0
    net.answer[f, AnswerCol.COUNT] = 0
    push_answer(net, row)


@outlined
def waits(net: Net, f: int, row: int, prompt: bool, now: int) -> bool:
    """Whether the acknowledgement in `row` waits; the one that waited before it is gone then.

    `prompt`: it must not wait.
    """
    before = net.answer[f, AnswerCol.WAITING]
    if before != 0:
        if (net.rec[before, Rec.KIND] ^ net.rec[row, Rec.KIND]) & Kind.MARK != 0:
            _release(net, f, before, now)
        else:
            net.answer[f, AnswerCol.WAITING] = 0
            free(net, before)
    count = net.answer[f, AnswerCol.COUNT] + 1
    if prompt or count >= net.cfg[Cfg.ACK_EVERY]:
        net.answer[f, AnswerCol.COUNT] = 0
        return False
    if count == 1:
        net.answer[f, AnswerCol.DUE] = now + net.cfg[Cfg.ACK_DELAY_PS]
        if net.answer[f, AnswerCol.ARMED] == 0:
            timer = allocate(net)
            if timer < 0:
                return False
            net.answer[f, AnswerCol.ARMED] = 1
            net.rec[timer, Rec.KIND] = Kind.ANSWER
            net.rec[timer, Rec.OWNER] = f
            schedule(net, timer, net.answer[f, AnswerCol.DUE])
    net.answer[f, AnswerCol.COUNT] = count
    net.answer[f, AnswerCol.WAITING] = row
    return True


@outlined
def answer_timer(net: Net, timer: int, now: int) -> int:
    """An answer may have waited long enough. Returns the port to serve, -1: none.

    A timer is not moved: it finds the time that holds now when it fires.
    """
    f = net.rec[timer, Rec.OWNER]
    row = net.answer[f, AnswerCol.WAITING]
    if row != 0 and now < net.answer[f, AnswerCol.DUE]:
        schedule(net, timer, net.answer[f, AnswerCol.DUE])
        return -1
    net.answer[f, AnswerCol.ARMED] = 0
    free(net, timer)
    if row == 0:
        return -1
    p = net.rec[row, Rec.PORT]
    _release(net, f, row, now)
    return int(p)
