"""What was decided of a packet meets the end of its frame."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.stream.queue import Queue

from .layouts import TAIL

__all__ = ["Finish", "finished_layout"]


def finished_layout(decided: data.StructLayout) -> data.StructLayout:
    """A decision and whether the frame was right to its end."""
    return data.StructLayout({"decided": decided, "error": 1})


class Finish(wiring.Component):
    """Joins decisions and ends of frames, both in the packets' order.

    Latency: 1 cycle after the later of both. Throughput: one packet per cycle. Cost: two queues of
    2 `packets` rows in LUT RAM: those that had begun before `hold`, and as many before them.

    Parameters
    ----------
    decided : StructLayout
    packets : int
        `Stage.packets` of the stage before it, a power of two.

    Members
    -------
    decided, decided_stb : In
    tail, tail_stb : In
    hold : Out(1)
        For `Stage`: what has finished is not taken, and no more should begin.
    o : Out(stream.Signature(finished_layout(decided)))
    """

    o: stream.Interface

    def __init__(self, decided: data.StructLayout, packets: int) -> None:
        self._decided, self._packets = decided, packets
        super().__init__(
            {
                "decided": In(decided),
                "decided_stb": In(1),
                "tail": In(TAIL),
                "tail_stb": In(1),
                "hold": Out(1),
                "o": Out(stream.Signature(finished_layout(decided))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.decisions = decisions = Queue(self._decided, 2 * self._packets)
        m.submodules.tails = tails = Queue(TAIL, 2 * self._packets)
        both = decisions.o.valid & tails.o.valid
        taken = both & self.o.ready
        m.d.comb += [
            decisions.i.payload.eq(self.decided),
            decisions.i.valid.eq(self.decided_stb),
            tails.i.payload.eq(self.tail),
            tails.i.valid.eq(self.tail_stb),
            self.o.valid.eq(both),
            self.o.payload.decided.eq(decisions.o.payload),
            self.o.payload.error.eq(tails.o.payload.error),
            decisions.o.ready.eq(taken),
            tails.o.ready.eq(taken),
        ]
        m.d.sync += self.hold.eq(
            (decisions.level >= self._packets) | (tails.level >= self._packets)
        )
        return m
