"""What was decided of a packet, and what was read in it, meet the end of its frame."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.stream.queue import Queue

from .layouts import PARSED, TAIL

__all__ = ["Finish", "finished_layout"]


def finished_layout(
    decided: data.StructLayout, parsed: data.StructLayout | None = None
) -> data.StructLayout:
    """A decision, whether the frame was right to its end, and what the parser said."""
    more = {"parsed": parsed} if parsed else {}
    return data.StructLayout({"decided": decided, "error": 1, **more})


class Finish(wiring.Component):
    """Joins decisions, what was parsed, and ends of frames, all in the packets' order.

    Latency: 1 cycle after the latest of them. Throughput: one packet per cycle. Cost: queues of
    2 `packets` rows in LUT RAM: those that had begun before `hold`, and as many before them.

    Parameters
    ----------
    decided : StructLayout
    packets : int
        `Stage.packets` of the stage before it, a power of two.
    parses : bool
        Whether `o` has what was parsed.
    relaxed : bool
        One packet at a time: `decided` and `parsed` stay where they are until it is taken. No
        queues; latency 1 cycle after the strobe that comes last.

    Members
    -------
    decided, decided_stb : In
    parsed, parsed_stb : In
        With `parses`; of a packet not after its decision.
    tail, tail_stb : In
    hold : Out(1)
        Without `relaxed`. For `Stage`: what has finished is not taken, and no more should begin.
    finished : Out(1)
        With `relaxed`. For `Stage`: it is taken.
    o : Out(stream.Signature(finished_layout(decided, PARSED)))
        Without `parses` ``finished_layout(decided)``.
    """

    o: stream.Interface

    def __init__(
        self,
        decided: data.StructLayout,
        packets: int,
        *,
        parses: bool = False,
        relaxed: bool = False,
    ) -> None:
        self._decided, self._packets, self._parses = decided, packets, parses
        self._relaxed = relaxed
        finished = finished_layout(decided, PARSED if parses else None)
        super().__init__(
            {
                "decided": In(decided),
                "decided_stb": In(1),
                "tail": In(TAIL),
                "tail_stb": In(1),
                **({"finished": Out(1)} if relaxed else {"hold": Out(1)}),
                **({"parsed": In(PARSED), "parsed_stb": In(1)} if parses else {}),
                "o": Out(stream.Signature(finished)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._relaxed:
            self._one(m)
            return m
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
        if self._parses:
            # As full as there are packets that have been parsed and not taken: no more than have
            # begun, for which `hold` sees to it that there is room.
            m.submodules.seen = seen = Queue(PARSED, 2 * self._packets)
            m.d.comb += [
                seen.i.payload.eq(self.parsed),
                seen.i.valid.eq(self.parsed_stb),
                self.o.payload.parsed.eq(seen.o.payload),
                seen.o.ready.eq(taken),
            ]
        m.d.sync += self.hold.eq(
            (decisions.level >= self._packets) | (tails.level >= self._packets)
        )
        return m

    def _one(self, m: Module) -> None:
        """One packet at a time: what it lacks is two strobes."""
        decided, ended, error = Signal(), Signal(), Signal()
        m.d.comb += [
            self.o.valid.eq(decided & ended),
            self.o.payload.decided.eq(self.decided),
            self.o.payload.error.eq(error),
            self.finished.eq(self.o.valid & self.o.ready),
        ]
        if self._parses:
            m.d.comb += self.o.payload.parsed.eq(self.parsed)
        m.d.sync += [
            decided.eq(self.decided_stb | (decided & ~self.finished)),
            ended.eq(self.tail_stb | (ended & ~self.finished)),
        ]
        with m.If(self.tail_stb):
            m.d.sync += error.eq(self.tail.error)
