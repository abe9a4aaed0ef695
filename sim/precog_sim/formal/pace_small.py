"""The pacer with short fields: what is proved of it does not look at their lengths.

The gateware's text is as it is; the constants of the contract that its layouts are made of are
small while it is executed and elaborated.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

from amaranth.hdl import Array, Elaboratable, Module, Mux, ShapeLike, Signal
from amaranth.lib import data

from precog_spec.contract import Fmt, Q

from .mutate import reimported

__all__ = ["LISTS", "MTUS", "AnyRows", "short_fields"]

MTUS = (2, 4, 8, 16, 32)
LISTS = 2
_CONTRACT, _HEADERS = "precog_spec.contract", "precog_spec.frames.headers"
#: Five MTUs from 2 bytes on, 16 PSNs, a clock of 64 ticks.
_CONSTANTS = {
    f"{_CONTRACT}.TICK_FRAC_BITS": 1,
    f"{_CONTRACT}.GAP_TICK_BITS": 4,
    f"{_CONTRACT}.PACE_MANTISSA_BITS": 2,
    f"{_CONTRACT}.PACE_EXPONENT_BITS": 2,
    f"{_CONTRACT}.PRIORITIES": LISTS,
    f"{_CONTRACT}.MTU_LOG2_MIN": 1,
    f"{_HEADERS}.PATH_MTUS": MTUS,
    f"{_HEADERS}.PSN_BITS": 4,
}
_FORMATS = {"TIME": Q(6, 0, signed=False), "WINDOW": Q(7, 0, signed=False)}


@contextmanager
def short_fields(*names: str) -> Iterator[list[ModuleType]]:
    """Within the context, layouts and the modules `names` of the pacer have short fields."""
    with ExitStack() as stack:
        for name, value in _CONSTANTS.items():
            stack.enter_context(patch(name, value))
        for name, format_ in _FORMATS.items():
            stack.enter_context(patch.object(Fmt, name, format_))
        package = "precog_hw.pace"
        stack.enter_context(reimported(f"{package}.layouts"))
        layouts: Any = sys.modules[f"{package}.layouts"]
        stack.enter_context(reimported(*(f"{package}.{name}" for name in names)))
        yield [layouts, *(sys.modules[f"{package}.{name}"] for name in names)]


class AnyRows(Elaboratable):
    """In a memory's place: one whose rows can be seen, and that gives anything on a collision.

    Parameters
    ----------
    shape : ShapeLike
    depth : int
    free : bool
        It holds anything at first, not zeros.

    Attributes
    ----------
    first : Array of Signal
        If `free`, what the rows hold until they are written; to be driven with what does not
        change.
    garbage : Signal
        What is read where it is written in the same cycle; to be driven.
    """

    def __init__(self, shape: ShapeLike, depth: int, *, free: bool) -> None:
        self._free = free
        self.first = Array(Signal(shape, name=f"first{n}") for n in range(depth))
        self.garbage = Signal(shape)
        self._rows = Array(Signal(shape, name=f"row{n}") for n in range(depth))
        self._written = Signal(depth)
        port = data.StructLayout({"addr": range(depth), "data": shape, "en": 1})
        self._write, self._read = Signal(port), Signal(port)

    def write_port(self) -> Any:
        return self._write

    def read_port(self) -> Any:
        return self._read

    def __getitem__(self, number: int) -> Any:
        """What a row holds now."""
        if not self._free:
            return self._rows[number]
        written = self._written.bit_select(number, 1)
        return Mux(written, self._rows[number], self.first[number])

    def elaborate(self, platform: object) -> Module:
        m = Module()
        write, read = self._write, self._read
        with m.If(write.en):
            m.d.sync += self._rows[write.addr].eq(write.data)
            m.d.sync += self._written.bit_select(write.addr, 1).eq(1)
        meets = write.en & (write.addr == read.addr)
        m.d.sync += read.data.eq(Mux(meets, self.garbage, self[read.addr]))
        return m
