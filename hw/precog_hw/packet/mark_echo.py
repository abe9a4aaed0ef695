"""Which queue pairs owe their peer the echo of a mark.

Gateware of `CpsSlot.marked` in `precog_models.packet.cps_state`.
"""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import BitMemory

__all__ = ["MarkEcho"]


class MarkEcho(wiring.Component):
    """A bit for each slot: a mark sets it, the one that takes it clears it.

    ::

        mark ──► told ─► seen := ~told
        take ──► told, seen ─► told := seen, taken: they differed
         0          1

    Each direction writes a memory of its own, by what the other's held in the cycle of the mark or
    of the taking. So a mark in the cycle of a taking goes with the mark that is taken, and waits
    for the next taking if there was none.

    Latency: 1 cycle from `take_stb` to `taken`; it sees all marks and takings before its cycle.
    Throughput: a mark and a taking in every cycle. Cost (ECP5): 3 DP16KD, 52 LUT4 and 27 flip-flops
    at 1024 slots; 68 LUT4, 34 flip-flops and no block RAM at 16.

    Parameters
    ----------
    slots : int
        Queue pairs.

    Members
    -------
    mark_stb, mark_slot : In
        Marked data came for the slot.
    take_stb, take_slot : In
        An acknowledgement of the slot leaves, or the slot is reset.
    taken : Out(1)
        It has the mark.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        super().__init__(
            {
                "mark_stb": In(1),
                "mark_slot": In(range(slots)),
                "take_stb": In(1),
                "take_slot": In(range(slots)),
                "taken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        seen, told = (BitMemory(m, n, unsigned(1), self._slots) for n in ("seen", "told"))
        marks, takes = Signal(), Signal()
        marked, taking = Signal.like(self.mark_slot), Signal.like(self.take_slot)
        told_then = told.read(m, self.mark_slot)
        seen_now, told_now = seen.read(m, self.take_slot), told.read(m, self.take_slot)
        m.d.sync += [
            marks.eq(self.mark_stb),
            marked.eq(self.mark_slot),
            takes.eq(self.take_stb),
            taking.eq(self.take_slot),
        ]
        m.d.comb += [
            seen.write.en.eq(marks),
            seen.write.addr.eq(marked),
            seen.write.data.eq(~told_then),
            told.write.en.eq(takes),
            told.write.addr.eq(taking),
            told.write.data.eq(seen_now),
            self.taken.eq(takes & (seen_now != told_now)),
        ]
        return m
