"""`RowUpdate`: whatever is asked, `old` has every change before.

As it is, with four rows of two bits and any changes, compared with rows without a pipeline's
hazards (`pace_wheel_parts.Rows`); its memory gives anything where a row is read and written in one
cycle. For ever, by induction: the registers of its pipeline are what the last cycles made them. The
relaxed form in LUT RAM has no hazards.
"""

from functools import partial
from typing import Any
from unittest.mock import patch

from amaranth.hdl import Assert, Cover, Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .pace_small import AnyRows
from .pace_wheel_parts import Rows
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

_ROWS = 4
_DEPTH, _COVERED = 8, 8
_SHAPE = data.StructLayout({"value": 2})


class UpdateHarness(wiring.Component):
    """The pipeline, and what it should be; `relaxed`: that of more rows than LUT RAM has."""

    def __init__(self, *, relaxed: bool = False) -> None:
        made: list[AnyRows] = []

        def seen(shape: Any, depth: int) -> AnyRows:
            made.append(AnyRows(shape, depth, free=False))
            return made[-1]

        with (
            reimported("precog_hw.rows") as rows,
            patch.multiple(rows, plain_memory=seen, FEW=_ROWS - 1),
        ):
            self._dut: Any = rows.RowUpdate(_SHAPE, _ROWS, relaxed=relaxed)
            self._inner = Opened(self._dut)
        (self._memory,) = made
        super().__init__({"stb": In(1), "row": In(range(_ROWS)), "new": In(2), "garbage": In(2)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dut, right = self._dut, Rows(_SHAPE, _ROWS)
        m.submodules.dut, m.submodules.right = self._inner.fragment, right
        either: tuple[Any, ...] = (dut, right)
        m.d.comb += [
            *(one.i_stb.eq(self.stb) for one in either),
            *(one.i_row.eq(self.row) for one in either),
            *(one.new.value.eq(self.new) for one in either),
            self._memory.garbage.eq(self.garbage),
            Assert(dut.stb == right.stb),
            Assert(~right.stb | (dut.row == right.row)),
            Assert(~right.stb | (dut.old == right.old), "every change before"),
            *(Assert(self._memory[n] == right.rows[n]) for n in range(_ROWS)),
            Cover(right.stb & (right.old.value == 3)),
        ]
        return m


PROOFS = (
    Proof(
        "rows.update",
        UpdateHarness,
        Mode.INDUCTION,
        _DEPTH,
        "4 rows, for ever: a change gets what all changes before made of its row",
    ),
    Proof(
        "rows.update-relaxed",
        partial(UpdateHarness, relaxed=True),
        Mode.INDUCTION,
        _DEPTH,
        "4 rows, for ever: as above, of the relaxed form",
    ),
    Proof("rows.update-cover", UpdateHarness, Mode.COVER, _COVERED, "a row that was changed"),
)

_SOURCE = "precog_hw.rows"
MUTANTS = (
    Mutant(
        "rows.update",
        _SOURCE,
        "ahead = ((stb2, row2), (self.stb, self.row), (stb4, row4))",
        "ahead = ((stb2, row2), (self.stb, self.row), (self.stb, self.row))",
        "the change three cycles before is not seen",
        quick=True,
    ),
    Mutant(
        "rows.update",
        _SOURCE,
        "m.d.sync += self.old.eq(self.new)",
        "m.d.sync += self.old.eq(word)",
        "the change one cycle before is not seen",
    ),
    Mutant(
        "rows.update-relaxed",
        _SOURCE,
        "ahead.eq(self.stb & (self.row == row2))",
        "ahead.eq(self.stb)",
        "a change of another row is taken for one of this row",
    ),
)
