"""The packet store's free cells: none is lost, none is in two hands.

`FreeList` as it is, with four cells, and a user that takes cells whenever one is offered, or not,
and gives back any that were taken, in any order. A model keeps which ones are out.
"""

from importlib import import_module
from unittest.mock import patch

from amaranth.hdl import Assert, Assume, Cover, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.utils import exact_log2

from .engine import Mode, Proof
from .mutate import Mutant
from .pace_wheel_parts import Fifo
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

CELLS = 4
_AHEAD = 2  # cells that are read ahead: there are more
LATEST = 5  # cycles from a cell's return until one is offered


class FreeListHarness(wiring.Component):
    """The free list and an arbitrary user of its cells."""

    put_stb: In(1)
    put: In(exact_log2(CELLS))
    takes: In(1)

    def elaborate(self, platform: object) -> Module:
        # By name: a mutant stands in its module's place there, and not in the package's.
        free_list = import_module("precog_hw.store.free_list")
        m = Module()
        dut = free_list.FreeList(CELLS)
        with patch.multiple(
            free_list,
            _AHEAD=_AHEAD,
            # Room for three cells, fewer than there are.
            Queue=lambda shape, depth: Fifo(shape, 1),
            SkidBuffer=lambda shape: Fifo(shape, 0),
        ):
            m.submodules.dut = Opened(dut).fragment
        past = Past(m)
        out = Signal(CELLS)  # cells that somebody has
        take, given = dut.o.valid & dut.o.ready, dut.o.payload
        m.d.comb += [
            dut.put_stb.eq(self.put_stb),
            dut.put.eq(self.put),
            dut.o.ready.eq(self.takes),
            Assume(~self.put_stb | (dut.ready & out.bit_select(self.put, 1))),
        ]
        m.d.sync += out.eq((out & ~(self.put_stb << self.put)) | (take << given))

        held = past.known & past(dut.o.valid & ~dut.o.ready, "held")
        idle = Signal(range(LATEST + 2))
        with m.If(dut.ready & (dut.count != 0) & ~dut.o.valid):
            m.d.sync += idle.eq(idle + 1)
        with m.Else():
            m.d.sync += idle.eq(0)
        m.d.comb += [
            Assert(~dut.o.valid | ~out.bit_select(given, 1), "the cell that is offered is free"),
            Assert(
                ~dut.ready | (dut.count + sum(out) == CELLS), "free cells and others are all cells"
            ),
            Assert(~held | (dut.o.valid & (given == past(given, "given"))), "an offer holds"),
            Assert(idle <= LATEST, "what is free is offered"),
            Cover(dut.ready & past.known & past(out.all(), "all") & self.put_stb),
        ]
        return m


PROOFS = (
    Proof(
        "store.cells",
        FreeListHarness,
        Mode.BOUNDED,
        20,
        "4 cells from reset, any order: none is lost, none given twice, what is free is offered",
        quick=False,
    ),
    Proof("store.cover", FreeListHarness, Mode.COVER, 16, "all cells out and one comes back"),
)

_FREE_LIST = "precog_hw.store.free_list"
MUTANTS = (
    Mutant(
        "store.cells",
        _FREE_LIST,
        "with m.If(filled == self._cells - 1):",
        "with m.If(filled == self._cells - 2):",
        "the list is ready before its last cell is in it",
        quick=True,
    ),
    Mutant(
        "store.cells",
        _FREE_LIST,
        "take.eq(some & (read_ahead != _AHEAD))",
        "take.eq(some)",
        "a cell that is read while as many wait as there is room for is lost",
    ),
    Mutant(
        "store.cells",
        _FREE_LIST,
        "m.d.sync += [waiting.eq(waiting - 1), some.eq(waiting != 1)]",
        "m.d.sync += [waiting.eq(waiting - 1), some.eq(1)]",
        "an empty list gives cells that are taken",
    ),
    Mutant(
        "store.cells",
        _FREE_LIST,
        "with m.If(write.en & ~take):",
        "with m.If(write.en):",
        "a cell that comes while one goes is counted twice",
    ),
)
