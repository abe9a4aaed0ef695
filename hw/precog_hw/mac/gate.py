"""A packet leaves when enough of it is there that a transmitter does not run dry."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.stream.queue import Queue

from .layouts import word_layout

__all__ = ["Gate"]

_ROWS = 32


class Gate(wiring.Component):
    """Words of a packet wait for each other.

    Latency: 1 cycle, and until `least` words or the packet's last one have come. Throughput: a word
    per cycle once it has begun. Cost: 32 rows of LUT RAM.

    Parameters
    ----------
    width : int
        Bits in a word.
    least : int
        Words with which a packet begins, 1..32.
    relaxed : bool
        The rows in block RAM, a cycle longer.

    Members
    -------
    i : In(stream.Signature(word_layout(width)))
    o : Out(stream.Signature(word_layout(width)))

    Raises
    ------
    ValueError
        `least` is not in 1..32.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, width: int, least: int, *, relaxed: bool = False) -> None:
        if not 1 <= least <= _ROWS:
            raise ValueError(f"least must be in 1..{_ROWS}, not {least!r}")
        self._least, self._relaxed = least, relaxed
        self._word = word_layout(width)
        words = stream.Signature(self._word)
        super().__init__({"i": In(words), "o": Out(words)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = Queue(self._word, _ROWS, block=self._relaxed)
        whole = Signal(range(_ROWS + 2))  # packets of which the last word is in the queue
        begun = Signal()
        enough, opened = Signal(), Signal()
        came, left = Signal(), Signal()
        wiring.connect(m, wiring.flipped(self.i), queue.i)
        m.d.comb += [
            opened.eq(begun | enough),
            self.o.payload.eq(queue.o.payload),
            self.o.valid.eq(queue.o.valid & opened),
            queue.o.ready.eq(self.o.ready & opened),
            came.eq(self.i.valid & self.i.ready & self.i.payload.last),
            left.eq(self.o.valid & self.o.ready & self.o.payload.last),
        ]
        # What is enough only becomes less with words that leave, and those are of a begun packet:
        # after its last one the level is looked at anew.
        m.d.sync += [
            whole.eq(whole + came - left),
            enough.eq(((whole != 0) | (queue.level >= self._least)) & ~left),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += begun.eq(~self.o.payload.last)
        return m
