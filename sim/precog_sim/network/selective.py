"""Selective repeat: bitmaps of what has come, at receivers and, as far as they know, at senders.

An acknowledgement carries the next byte expected, the packet that it answers, and the 64 bits of
the receiver's bitmap round that packet. A packet is lost when a packet `Cfg.REORDER` places behind
it has come, or when the time-out says so. A cursor sweeps the lost ones upwards, so that each is
repeated once; a time-out takes it back.

A bitmap is a ring of words. It is a word longer than the window, so that no word ever has packets
of two rounds in it.
"""

from precog_sim.network.control import Cfg, Ctl
from precog_sim.network.jit import inlined, outlined
from precog_sim.network.layout import FlowCol, RepeatCol
from precog_sim.network.net import Net, Table

__all__ = ["accept", "all_lost", "any_lost", "learn", "map_words", "says"]


def map_words(window: int) -> int:
    """Words of a bitmap for `window` packets."""
    return (window + 126) // 64


@inlined
def _is_set(bitmap: Table, f: int, psn: int) -> bool:
    return bool(bitmap[f, (psn >> 6) % bitmap.shape[1]] >> (psn & 63) & 1 != 0)


@inlined
def _set(bitmap: Table, f: int, psn: int) -> None:
    bitmap[f, (psn >> 6) % bitmap.shape[1]] |= 1 << (psn & 63)


@inlined
def _clear(bitmap: Table, f: int, psn: int) -> None:
    bitmap[f, (psn >> 6) % bitmap.shape[1]] &= ~(1 << (psn & 63))


@outlined
def accept(net: Net, f: int, seq: int, size: int) -> None:
    """`size` bytes from `seq` on have come: keep them, in order or not.

    The sender keeps to the window, so that no packet is beyond the bitmap.
    """
    expected = net.flow[f, FlowCol.EXPECTED]
    psn = seq // net.cfg[Cfg.PAYLOAD]
    if seq < expected or (seq > expected and _is_set(net.arrived, f, psn)):
        net.ctl[Ctl.DUPLICATES] += 1
        return
    if seq > expected:
        _set(net.arrived, f, psn)
        return
    expected += size
    psn += 1
    while _is_set(net.arrived, f, psn):
        _clear(net.arrived, f, psn)
        expected = min(expected + net.cfg[Cfg.PAYLOAD], net.flow[f, FlowCol.SIZE])
        psn += 1
    net.flow[f, FlowCol.EXPECTED] = expected


@outlined
def says(net: Net, f: int, seq: int, row: int) -> None:
    """Put into the acknowledgement in `row` which packet it answers, and the bitmap round it."""
    psn = seq // net.cfg[Cfg.PAYLOAD]
    net.sack[row, 0] = psn
    net.sack[row, 1] = net.arrived[f, (psn >> 6) % net.arrived.shape[1]]


@outlined
def learn(net: Net, f: int, acked: int, row: int) -> bool:
    """The acknowledgement in `row` has come to the sender, whose `FlowCol.ACKED` was `acked`.

    Whether it shows a gap that none before has shown.
    """
    payload = net.cfg[Cfg.PAYLOAD]
    now_acked = net.flow[f, FlowCol.ACKED]
    for psn in range(acked // payload, -(-now_acked // payload)):
        _clear(net.selected, f, psn)
    psn = net.sack[row, 0]
    below = now_acked // payload - (psn & ~63)  # bits of packets that are through
    if below < 64:
        word = net.sack[row, 1] & (-1 << max(below, 0))
        net.selected[f, (psn >> 6) % net.selected.shape[1]] |= word
    lost = (psn + 1 - net.cfg[Cfg.REORDER]) * payload
    before = max(net.repeat[f, RepeatCol.LOST], now_acked)
    net.repeat[f, RepeatCol.LOST] = max(net.repeat[f, RepeatCol.LOST], lost)
    net.repeat[f, RepeatCol.AGAIN] = max(net.repeat[f, RepeatCol.AGAIN], now_acked)
    for psn in range(before // payload, lost // payload):
        if not _is_set(net.selected, f, psn):
            return True
    return False


@outlined
def any_lost(net: Net, f: int) -> bool:
    """Whether a packet is to be repeated: `RepeatCol.AGAIN` is its first byte then."""
    payload = net.cfg[Cfg.PAYLOAD]
    again = net.repeat[f, RepeatCol.AGAIN]
    lost = min(net.repeat[f, RepeatCol.LOST], net.flow[f, FlowCol.NEXT])
    while again < lost and _is_set(net.selected, f, again // payload):
        again += payload
    net.repeat[f, RepeatCol.AGAIN] = again
    return bool(again < lost)


@outlined
def all_lost(net: Net, f: int) -> None:
    """The time-out has passed: whatever is outstanding and was not selected is lost."""
    net.repeat[f, RepeatCol.LOST] = net.flow[f, FlowCol.NEXT]
    net.repeat[f, RepeatCol.AGAIN] = net.flow[f, FlowCol.ACKED]
