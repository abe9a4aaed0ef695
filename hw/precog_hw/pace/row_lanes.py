"""A queue pair's new row: in a register, or on its way to the lanes of block RAM."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value, unsigned
from amaranth.lib import data
from amaranth.lib.memory import Memory

from .layouts import DUE_BITS, RECIPROCAL, ROW

__all__ = ["NewRow", "RowLanes"]

_LANE_BITS = 9  # that block RAM writes together
#: Fields that few events change; the others are written by each event.
_OWN = ("reciprocal", "next", "una", "window", "due")
_SHARED = tuple(name for name, _ in ROW if name not in _OWN)


class NewRow:
    """A row that becomes new in a register.

    Attributes
    ----------
    row : data.View
        The new row; of `ROW`.
    """

    def __init__(self, row: data.View) -> None:
        self.row = row

    def begin(self, m: Module, old: data.View, e: data.View, c: data.View) -> None:
        """It stays as it is, but for what `put` says."""
        m.d.sync += self.row.eq(old)

    def put(self, m: Module, **fields: Any) -> None:
        """New values of some fields, where the module is now."""
        m.d.sync += [self.row[name].eq(value) for name, value in fields.items()]


class RowLanes(NewRow):
    """Rows in block RAM, in which fields are written alone, and the new one.

    A field that an event does not change is not written: no choice between old and new stands ahead
    of the memory. Cost: 6 DP16KD up to 512 rows.

    Parameters
    ----------
    m : Module
        In which the memory, `rows`, is.
    qps : int

    Attributes
    ----------
    old : data.View
        The row that was read last.
    """

    def __init__(self, m: Module, qps: int) -> None:
        super().__init__(Signal(ROW, name="new"))
        self.old = Signal(ROW, name="row")
        self._new = {name: Signal(ROW[name].shape, name=f"new_{name}") for name in _OWN}
        self._puts = {name: Signal(name=f"puts_{name}") for name in _OWN}
        groups = [_SHARED, *((name,) for name in _OWN)]
        counts = [-(-sum(ROW[name].width for name in group) // _LANE_BITS) for group in groups]
        m.submodules.rows = rows = Memory(
            shape=data.ArrayLayout(unsigned(_LANE_BITS), sum(counts)),
            depth=qps,
            init=[],
            attrs={"ram_style": "block", "no_rw_check": 1},
        )
        self._write, self._read = rows.write_port(granularity=1), rows.read_port()
        low = 0
        for group, count in zip(groups, counts, strict=True):
            bits = slice(low * _LANE_BITS, (low + count) * _LANE_BITS)
            source = self._new if group[0] in _OWN else self.row
            m.d.comb += [
                Value.cast(self._write.data)[bits].eq(Cat(source[name] for name in group)),
                Cat(self.old[name] for name in group).eq(Value.cast(self._read.data)[bits]),
            ]
            low += count
        self._counts = counts

    def access(self, m: Module, qp: Value, *, reads: Value, writes: Value, wipes: Value) -> None:
        """Read a row, write it or, with `wipes`, all of its lanes."""
        puts = [writes, *(writes & self._puts[name] for name in _OWN)]
        m.d.comb += [
            self._read.addr.eq(qp),
            self._read.en.eq(reads),
            self._write.addr.eq(qp),
            self._write.en.eq(
                Cat((put | wipes).replicate(n) for put, n in zip(puts, self._counts, strict=True))
            ),
        ]
        with m.If(wipes):
            m.d.comb += [self.row[name].eq(0) for name in _SHARED]

    def begin(self, m: Module, old: data.View, e: data.View, c: data.View) -> None:
        m.d.comb += self.row.eq(old)
        usual = {
            "reciprocal": data.View(RECIPROCAL, e.argument[: RECIPROCAL.size]),
            "next": e.argument,
            "una": e.argument,
            "window": c.window,
            "due": e.argument[:DUE_BITS],
        }
        for name, value in usual.items():
            m.d.comb += self._new[name].eq(value)
            with m.If(self._puts[name]):
                m.d.comb += self.row[name].eq(self._new[name])

    def put(self, m: Module, **fields: Any) -> None:
        for name, value in fields.items():
            if name in _OWN:
                m.d.comb += [self._new[name].eq(value), self._puts[name].eq(1)]
            else:
                m.d.comb += self.row[name].eq(value)
