"""A delay of a constant number of cycles for values without flow control."""

from amaranth.hdl import Module, Shape, ShapeLike, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from .columns import columns

__all__ = ["DelayLine"]

_RING = 3  # cycles from which a memory is smaller than registers


class DelayLine(wiring.Component):
    """Delays a value by `cycles` cycles.

    A reset leaves what is in LUT RAM: a strobe of before it would come once more. Strobes take
    `registers`, or go with one that does.

    Latency: `cycles`. Throughput: one value per cycle. Cost: from three cycles on a row of LUT RAM
    each (one TRELLIS_DPR16X4 for 4 bits and 16 cycles), a register, and an address for each of the
    `columns`; below that, or with `registers`, registers.

    Parameters
    ----------
    shape : ShapeLike
    cycles : int
        1 or more.
    registers : bool
        Registers for any number of cycles, which a reset clears: for strobes, and where flip-flops
        are left and LUTs are not.
    stays : bool
        The input stays until each reader has read `o`: nothing is delayed.

    Members
    -------
    i : In(shape)
    o : Out(shape)

    Raises
    ------
    ValueError
        `cycles` is not positive.

    Usage
    -----
    ::

        m.submodules.late = late = DelayLine(unsigned(32), multiplier.latency)
        m.d.comb += late.i.eq(word)  # late.o is the word that belongs to multiplier.p
    """

    def __init__(
        self, shape: ShapeLike, cycles: int, *, registers: bool = False, stays: bool = False
    ) -> None:
        if cycles < 1:
            raise ValueError(f"cycles must be 1 or more, not {cycles!r}")
        self._shape = shape
        self._cycles = cycles
        self._registers = registers or cycles < _RING
        self._stays = stays
        super().__init__({"i": In(shape), "o": Out(shape)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._stays:
            m.d.comb += self.o.eq(self.i)
            return m
        if self._registers:
            last = self.i
            for n in range(self._cycles - 1):
                stage = Signal(self._shape, name=f"stage{n}")
                m.d.sync += stage.eq(last)
                last = stage
            m.d.sync += self.o.eq(last)
            return m
        # Written now, read `cycles` - 1 later into the output register. A counter that never stops
        # is faster than one that begins anew there.
        rows = self._cycles - 1
        payload = Signal(self._shape, reset_less=True)  # as are the rows that it follows
        m.d.comb += self.o.eq(payload)
        address = ceil_log2(rows)
        for n, bits in enumerate(columns(Shape.cast(self._shape).width)):
            suffix = f"_{n}" if n else ""
            new, out = Value.cast(self.i)[bits], Value.cast(payload)[bits]
            m.submodules[f"ring{suffix}"] = ring = Memory(
                shape=len(new), depth=1 << address, init=[], attrs={"ram_style": "distributed"}
            )
            write = ring.write_port()
            read = ring.read_port(domain="comb")
            take = Signal(address, name=f"take{suffix}")
            m.d.comb += [
                write.addr.eq(take + rows),
                read.addr.eq(take),
                write.data.eq(new),
                write.en.eq(1),
            ]
            m.d.sync += [take.eq(take + 1), out.eq(read.data)]
        return m
