"""A delay of a constant number of cycles for what has no flow control."""

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["DelayLine"]

_RING = 3  # cycles from which a memory is smaller than registers


class DelayLine(wiring.Component):
    """What went in `cycles` cycles ago, whatever it was.

    Latency: `cycles`. Throughput: one value per cycle. Cost: from three cycles on a row of LUT RAM
    each (one TRELLIS_DPR16X4 for 4 bits and 16 cycles) and a register; below that, registers.

    Parameters
    ----------
    shape : ShapeLike
    cycles : int
        1 or more.

    Members
    -------
    i : In(shape)
    o : Out(shape)

    Raises
    ------
    ValueError
        `cycles` is not positive.
    """

    def __init__(self, shape: ShapeLike, cycles: int) -> None:
        if cycles < 1:
            raise ValueError(f"cycles must be 1 or more, not {cycles!r}")
        self._shape = shape
        self._cycles = cycles
        super().__init__({"i": In(shape), "o": Out(shape)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._cycles < _RING:
            last = self.i
            for n in range(self._cycles - 1):
                stage = Signal(self._shape, name=f"stage{n}")
                m.d.sync += stage.eq(last)
                last = stage
            m.d.sync += self.o.eq(last)
            return m
        # Written now, read `cycles` - 1 later into the output register: a ring of as many rows.
        rows = self._cycles - 1
        m.submodules.ring = ring = Memory(
            shape=self._shape, depth=rows, init=[], attrs={"ram_style": "distributed"}
        )
        write = ring.write_port()
        read = ring.read_port(domain="comb")
        at = Signal(range(rows))
        m.d.comb += [write.addr.eq(at), read.addr.eq(at), write.data.eq(self.i), write.en.eq(1)]
        m.d.sync += [at.eq(at + 1), self.o.eq(read.data)]
        with m.If(at == rows - 1):
            m.d.sync += at.eq(0)
        return m
