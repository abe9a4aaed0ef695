"""Which words of arriving frames find room: whole frames, as long as frames are ordinary."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .layouts import word_layout

__all__ = ["Admission"]

_MARGIN = 4  # words that may have been written since `level` was looked at, and the last one


class Admission(wiring.Component):
    """Words that cannot be held, in front of a FIFO.

    A frame that begins while less than `room` words are free is left out as a whole. One that is
    longer than what is free ends, marked as damaged, where the room does. After a
    reset the rest of a frame is left out.

    Latency: 1 cycle. Throughput: a word per cycle, two in a row at most (a whole one and a frame's
    last). Cost: a word's flip-flops.

    Parameters
    ----------
    width : int
        Bits in a word.
    depth : int
        Words that the FIFO holds.
    room : int
        In words, above 4 and up to `depth`.

    Members
    -------
    stb, i : In(1), In(word_layout(width))
    level : In(range(depth + 1))
        Words in the FIFO.
    o_stb, o : Out(1), Out(word_layout(width))
    dropped : Out(1)
        Strobe: a frame, or its rest, found no room.

    Raises
    ------
    ValueError
        `room` is not in 5..depth.
    """

    def __init__(self, width: int, depth: int, room: int) -> None:
        if not _MARGIN < room <= depth:
            raise ValueError(f"room must be in {_MARGIN + 1}..{depth}, not {room!r}")
        self._depth, self._room = depth, room
        word = word_layout(width)
        super().__init__(
            {
                "stb": In(1),
                "i": In(word),
                "level": In(range(depth + 1)),
                "o_stb": Out(1),
                "o": Out(word),
                "dropped": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        roomy, tight = Signal(), Signal()
        inside, leaving = Signal(), Signal()  # of a frame that was let in; that is left out
        m.d.sync += [
            roomy.eq(self.level <= self._depth - self._room),
            tight.eq(self.level > self._depth - _MARGIN),
            self.o_stb.eq(0),
            self.o.eq(self.i),
        ]
        with m.If(self.stb):
            with m.If(leaving):
                m.d.sync += leaving.eq(~self.i.last)
            with m.Elif(~inside & ~self.i.first):
                m.d.sync += leaving.eq(~self.i.last)
            with m.Elif(~inside & ~roomy):
                m.d.comb += self.dropped.eq(1)
                m.d.sync += leaving.eq(~self.i.last)
            with m.Elif(tight & ~self.i.last):
                m.d.comb += self.dropped.eq(1)
                m.d.sync += [
                    self.o_stb.eq(1),
                    self.o.last.eq(1),
                    self.o.error.eq(1),
                    inside.eq(0),
                    leaving.eq(1),
                ]
            with m.Else():
                m.d.sync += [self.o_stb.eq(1), inside.eq(~self.i.last)]
        return m
