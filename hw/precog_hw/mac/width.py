"""Between a byte a cycle and beats of a packet stream's width."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.stream.packet import WIDTHS

from .layouts import OCTET, word_layout

__all__ = ["Narrower", "Widener"]


def _check(width: int) -> None:
    if width not in WIDTHS or width == 8:
        raise ValueError(f"width must be one of {WIDTHS[1:]}, not {width!r}")


class Widener(wiring.Component):
    """Bytes that cannot be held to words; bytes after a frame's last one are 0.

    Latency: 1 cycle from a word's last byte. Throughput: a byte per cycle. Cost: a word's
    flip-flops and as many LUTs.

    Parameters
    ----------
    width : int
        Bits in a word.

    Members
    -------
    stb : In(1)
    octet : In(OCTET)
    o_stb : Out(1)
    o : Out(word_layout(width))

    Raises
    ------
    ValueError
        `width` is not one of `WIDTHS`, or 8.
    """

    def __init__(self, width: int) -> None:
        _check(width)
        self._width = width
        super().__init__(
            {"stb": In(1), "octet": In(OCTET), "o_stb": Out(1), "o": Out(word_layout(width))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self._width // 8
        at = Signal(range(size))
        word = Signal(word_layout(self._width), reset_less=True)  # read with a strobe alone
        # The word lies where the core is, the byte where the pins are. So the word waits for no
        # strobe: a byte follows until the position moves on, and position 0 clears the ones above.
        here = Signal(size, init=1)  # `at`, one-hot
        ends = self.octet.last | here[-1]
        first = Signal(init=1)
        m.d.comb += self.o.eq(word)
        m.d.sync += [
            word.end.eq(at),
            word.first.eq(first),
            word.last.eq(self.octet.last),
            word.error.eq(self.octet.error),
            self.o_stb.eq(self.stb & ends),
        ]
        with m.If(self.stb):
            m.d.sync += [
                at.eq(Mux(ends, 0, at + 1)),
                here.eq(Mux(ends, 1, here << 1)),
            ]
        with m.If(self.stb & ends):
            m.d.sync += first.eq(self.octet.last)
        for n in range(size):
            with m.If(here[n]):
                m.d.sync += word.data.word_select(n, 8).eq(self.octet.data)
        with m.If(here[0]):
            m.d.sync += word.data[8:].eq(0)
        return m


class Narrower(wiring.Component):
    """Words to bytes.

    Latency: 1 cycle. Throughput: a byte per cycle. Cost: some 15 flip-flops and a multiplexer of a
    word's bytes.

    Parameters
    ----------
    width : int
        Bits in a word.

    Members
    -------
    i : In(stream.Signature(word_layout(width)))
    o : Out(stream.Signature(OCTET))

    Raises
    ------
    ValueError
        As `Widener`.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, width: int) -> None:
        _check(width)
        self._width = width
        super().__init__(
            {"i": In(stream.Signature(word_layout(width))), "o": Out(stream.Signature(OCTET))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = self.i.payload
        octet = Signal(OCTET, reset_less=True)  # read while it is valid
        size = self._width // 8
        at = Signal(range(size))
        left = Signal(range(size), init=size - 1)  # ~at, a copy for those that choose no byte
        free, ends = Signal(), Signal()
        m.d.comb += [
            self.o.payload.eq(octet),
            free.eq(self.o.ready | ~self.o.valid),
            ends.eq((left ^ word.end).all()),
            self.i.ready.eq(free & ends),
        ]
        with m.If(free):
            m.d.sync += [
                self.o.valid.eq(self.i.valid),
                octet.data.eq(word.data.word_select(at, 8)),
                octet.last.eq(word.last & ends),
                octet.error.eq(word.error),
            ]
            with m.If(self.i.valid):
                m.d.sync += [
                    at.eq(Mux(ends, 0, at + 1)),
                    left.eq(Mux(ends, size - 1, left - 1)),
                ]
        return m
