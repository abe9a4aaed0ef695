"""Rows of state in block RAM: read while they are written, and changed back to back."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .sliced import SlicedMemory, slice_width

__all__ = [
    "FEW",
    "BitMemory",
    "RowMemory",
    "RowUpdate",
    "few_rows",
    "plain_memory",
    "sliced_memory",
]

FEW = 16  #: rows that LUT RAM holds without a choice behind it


def plain_memory(
    shape: ShapeLike, depth: int, init: Sequence[Any] = (), *, block: bool = False
) -> Memory:
    """A memory whose word is not used where it is read and written in one cycle.

    Block RAM gives garbage then; the user keeps the written word in a register, which costs less
    than the logic that synthesis would build around the memory. With `block` it is block RAM from
    17 rows on, however narrow: fewer are a TRELLIS_DPR16X4 for 4 bits, near what they serve.
    """
    style = {"ram_style": "block"} if block and depth > FEW else {}
    return Memory(shape=shape, depth=depth, init=list(init), attrs={"no_rw_check": 1} | style)


def sliced_memory(shape: ShapeLike, depth: int) -> Memory | SlicedMemory:
    """`plain_memory`, in slices if rows are wide and many, with zeros at power-up.

    Where it is measured that the choice of a word takes more logic than the block itself.
    """
    width = slice_width(depth)
    if width is None or Shape.cast(shape).width <= width:
        return plain_memory(shape, depth)
    return SlicedMemory(shape, depth, {"no_rw_check": 1})


def few_rows(shape: ShapeLike, depth: int) -> Memory:
    """LUT RAM, read in the cycle itself."""
    return Memory(shape=shape, depth=depth, init=[], attrs={"ram_style": "distributed"})


class BitMemory:
    """Few bits of each row, one writer, several readers: block RAM where there are many rows.

    Latency: 1 cycle from a row to what it holds, all writes before that cycle included. Cost: a
    memory for each reader.

    Parameters
    ----------
    m : Module
        In which the memory is.
    name : str
        Of the submodule, without ``_bits``.
    shape : ShapeLike
        Of a row.
    depth : int
        Rows.

    Attributes
    ----------
    write : interface
        Port with `en`, `addr` and `data`, to be driven.

    Usage
    -----
    ::

        enabled = BitMemory(m, "enabled", unsigned(1), depth=64)
        m.d.comb += [
            enabled.write.en.eq(word_stb),
            enabled.write.addr.eq(row),
            enabled.write.data.eq(1),
        ]
        known = enabled.read(m, row)  # a cycle after row
    """

    def __init__(self, m: Module, name: str, shape: ShapeLike, depth: int) -> None:
        self._memory = Memory(shape=shape, depth=depth, init=[])
        m.submodules[f"{name}_bits"] = self._memory
        self.write = self._memory.write_port()

    def read(self, m: Module, row: Value) -> Value:
        """One more reader: what `row`, a value of `m`, held in the next cycle."""
        port = self._memory.read_port(transparent_for=(self.write,))
        m.d.comb += port.addr.eq(row)
        return port.data


class RowMemory(wiring.Component):
    """One write and one read in every cycle; a read sees the writes of its own cycle, too.

    Latency: 2 cycles from `read_row` to `read_data`. Throughput: one read and one write per cycle.
    Cost: three words of flip-flops in addition to the RAM.

    Parameters
    ----------
    shape : ShapeLike
        Of a row.
    depth : int
        Rows.
    init : sequence
        Contents at power-up; zeros without it.
    sliced : bool
        As `sliced_memory` has it, without `init`.
    relaxed : bool
        For clocks up to some 70 MHz on ECP5: up to 16 rows without `init` are in LUT RAM, with one
        word of flip-flops.

    Members
    -------
    write_stb : In(1)
    write_row : In(range(depth))
    write_data : In(shape)
    read_row : In(range(depth))
    read_data : Out(shape)
        Of the row that `read_row` named 2 cycles ago.

    Usage
    -----
    ::

        m.submodules.rates = rates = RowMemory(unsigned(32), depth=64)
        m.d.comb += [
            rates.write_stb.eq(word_stb),
            rates.write_row.eq(row),
            rates.write_data.eq(word),
            rates.read_row.eq(row),  # rates.read_data, two cycles later, has that word
        ]
    """

    CYCLES = 2

    def __init__(
        self,
        shape: ShapeLike,
        depth: int,
        init: Sequence[Any] = (),
        *,
        sliced: bool = False,
        relaxed: bool = False,
    ) -> None:
        self._shape, self._depth, self._init, self._sliced = shape, depth, init, sliced
        self._few = relaxed and depth <= FEW and not init
        super().__init__(
            {
                "write_stb": In(1),
                "write_row": In(range(depth)),
                "write_data": In(shape),
                "read_row": In(range(depth)),
                "read_data": Out(shape),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._few:
            m.submodules.rows = few = few_rows(self._shape, self._depth)
            write, read = few.write_port(), few.read_port(domain="comb")
            m.d.comb += [
                write.en.eq(self.write_stb),
                write.addr.eq(self.write_row),
                write.data.eq(self.write_data),
            ]
            m.d.sync += [read.addr.eq(self.read_row), self.read_data.eq(read.data)]
            return m
        if self._sliced:
            rows = sliced_memory(self._shape, self._depth)
        else:
            rows = plain_memory(self._shape, self._depth, self._init)
        m.submodules.rows = rows
        write, read = rows.write_port(), rows.read_port()
        word, written1, written2 = (Signal(self._shape) for _ in range(3))
        met1, met2 = Signal(), Signal()
        m.d.comb += [
            write.en.eq(self.write_stb),
            write.addr.eq(self.write_row),
            write.data.eq(self.write_data),
            read.addr.eq(self.read_row),
            self.read_data.eq(Mux(met2, written2, word)),
        ]
        m.d.sync += [
            met1.eq(self.write_stb & (self.write_row == self.read_row)),
            met2.eq(met1),
            written1.eq(self.write_data),
            written2.eq(written1),
            word.eq(read.data),  # a block RAM's output is late; it gets a register of its own
        ]
        return m


class RowUpdate(wiring.Component):
    """Read, modify, write in every cycle, also of one row: `old` has every change before.

    ::

        i_row ─► RAM ─► register ─► old ─► (the user) ─► new ─► RAM
          0       1        2         3                    3
                                    ▲ new of the last three cycles, if it is of the same row

    Latency: 3 cycles from `i_stb` to `stb`; the row is written in that cycle. Throughput: one
    change per cycle. Cost: four words of flip-flops in addition to the RAM.

    With `relaxed` the RAM is read as late as it can be: up to 16 rows are in LUT RAM and nothing
    else, more need one word of flip-flops::

        i_row ─► register ─► register ─► RAM ─► old ─► (the user) ─► new ─► RAM
          0         1           2         2      3                    3

    Parameters
    ----------
    shape : data.Layout
        Of a row; zeros at power-up.
    depth : int
        Rows.
    sliced : bool
        As `sliced_memory` has it.
    relaxed : bool
        The form for clocks up to some 70 MHz on ECP5.

    Members
    -------
    i_stb : In(1)
        Change row `i_row`.
    i_row : In(range(depth))
    stb : Out(1)
        `i_stb`, 3 cycles later.
    row : Out(range(depth))
        With `stb`: which row.
    old : Out(shape)
        With `stb`: what it holds.
    new : In(shape)
        With `stb`: what it shall hold.

    Usage
    -----
    ::

        layout = data.StructLayout({"bytes": 32})
        m.submodules.totals = totals = RowUpdate(layout, depth=64)
        m.d.comb += [
            totals.i_stb.eq(word_stb),
            totals.i_row.eq(row),
            totals.new.bytes.eq(totals.old.bytes + late.o),  # late: a DelayLine of RowUpdate.CYCLES
        ]
    """

    CYCLES = 3

    def __init__(
        self, shape: data.Layout, depth: int, *, sliced: bool = False, relaxed: bool = False
    ) -> None:
        self._shape, self._depth, self._sliced, self._relaxed = shape, depth, sliced, relaxed
        super().__init__(
            {
                "i_stb": In(1),
                "i_row": In(range(depth)),
                "stb": Out(1),
                "row": Out(range(depth)),
                "old": Out(shape),
                "new": In(shape),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._relaxed:
            self._late(m)
            return m
        memory = sliced_memory if self._sliced else plain_memory
        m.submodules.rows = rows = memory(self._shape, self._depth)
        write, read = rows.write_port(), rows.read_port()
        m.d.comb += [
            read.addr.eq(self.i_row),
            write.en.eq(self.stb),
            write.addr.eq(self.row),
            write.data.eq(self.new),
        ]

        # Changes in cycles 1 to 4; that of cycle 3 is the one at the ports.
        stb1, stb2, stb4 = (Signal(name=f"stb{n}") for n in (1, 2, 4))
        row1, row2, row4 = (Signal.like(self.row, name=f"row{n}") for n in (1, 2, 4))
        m.d.sync += [
            stb1.eq(self.i_stb),
            stb2.eq(stb1),
            self.stb.eq(stb2),
            stb4.eq(self.stb),
            row1.eq(self.i_row),
            row2.eq(row1),
            self.row.eq(row2),
            row4.eq(self.row),
        ]

        # A word that the RAM gave in cycle 1 lacks what was written from cycle 0 to cycle 2.
        same = Signal(3)  # bit n: the change n + 1 cycles ahead is of the same row
        word, done1, done2 = (Signal(self._shape, name=n) for n in ("word", "done1", "done2"))
        ahead = ((stb2, row2), (self.stb, self.row), (stb4, row4))
        m.d.sync += [
            *(same[n].eq(stb & (row == row1)) for n, (stb, row) in enumerate(ahead)),
            word.eq(read.data),  # a block RAM's output is late; it gets a register of its own
            done1.eq(self.new),
            done2.eq(done1),
        ]
        with m.If(same[0]):
            m.d.sync += self.old.eq(self.new)
        with m.Elif(same[1]):
            m.d.sync += self.old.eq(done1)
        with m.Elif(same[2]):
            m.d.sync += self.old.eq(done2)
        with m.Else():
            m.d.sync += self.old.eq(word)
        return m

    def _late(self, m: Module) -> None:
        """The relaxed form."""
        stb1, stb2 = Signal(name="stb1"), Signal(name="stb2")
        row1, row2 = (Signal.like(self.row, name=f"row{n}") for n in (1, 2))
        m.d.sync += [
            stb1.eq(self.i_stb),
            stb2.eq(stb1),
            self.stb.eq(stb2),
            row1.eq(self.i_row),
            row2.eq(row1),
            self.row.eq(row2),
        ]
        rows: Memory | SlicedMemory
        if self._depth <= FEW:
            rows = few_rows(self._shape, self._depth)
            read = rows.read_port(domain="comb")
            m.d.comb += [read.addr.eq(self.row), self.old.eq(read.data)]
        else:
            rows = (sliced_memory if self._sliced else plain_memory)(self._shape, self._depth)
            read = rows.read_port()
            # The word that comes in cycle 3 lacks what was written in cycle 2.
            ahead, done = Signal(), Signal(self._shape)
            m.d.comb += [read.addr.eq(row2), self.old.eq(Mux(ahead, done, read.data))]
            m.d.sync += [ahead.eq(self.stb & (self.row == row2)), done.eq(self.new)]
        m.submodules.rows = rows
        write = rows.write_port()
        m.d.comb += [
            write.en.eq(self.stb),
            write.addr.eq(self.row),
            write.data.eq(self.new),
        ]
