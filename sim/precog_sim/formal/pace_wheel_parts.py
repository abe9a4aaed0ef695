"""What the proof of the timing wheel puts in the place of queues and rows; how it looks inside."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .pace_small import AnyRows
from .peek import Opened

__all__ = ["BUCKET_LOG2", "QPS", "SLOTS", "Fifo", "Inside", "Rows", "bucket_of"]

QPS, SLOTS = 2, 4
BUCKET_LOG2 = 1
_TICK_BITS = 6  # of a time, with short fields
_FLAGS = dict.fromkeys(("files", "detaches", "far", "cuts", "wipes"), 1)
_ABOUT = data.StructLayout({**_FLAGS, "qp": 1})
_FOUND = data.StructLayout(
    {**dict.fromkeys(("valid", "past", "near", "far"), 1), "bucket": 2, "unit": 2, "qp": 1}
)


class Fifo(wiring.Component):
    """What a `Queue` or a `SkidBuffer` does, its content to be seen."""

    def __init__(self, shape: Any, depth: int) -> None:
        self.places = [Signal(shape, name=f"place{n}") for n in range(depth + 1)]
        self.count = Signal(range(depth + 2))
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(depth + 2)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        places, count = self.places, self.count
        i: Any = self.i
        o: Any = self.o
        comes, goes = i.valid & i.ready, o.valid & o.ready
        m.d.comb += [
            i.ready.eq(count != len(places)),
            o.valid.eq(count != 0),
            o.payload.eq(places[0]),
            self.level.eq(count),
        ]
        end = count - goes
        m.d.sync += count.eq(end + comes)
        for n, place in enumerate(places):
            with m.If(comes & (end == n)):
                m.d.sync += place.eq(i.payload)
            with m.Elif(goes & (n + 1 < len(places))):
                m.d.sync += place.eq(places[min(n + 1, len(places) - 1)])
        return m


class Rows(wiring.Component):
    """What `RowUpdate` does, its rows to be seen."""

    CYCLES = 3

    def __init__(self, shape: Any, depth: int) -> None:
        self.rows = Array(Signal(shape, name=f"row{n}") for n in range(depth))
        self.stage = [Signal(1 + len(Signal(range(depth))), name=f"stage{n}") for n in range(3)]
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
        first, second, third = self.stage
        m.d.sync += [
            first.eq(Cat(self.i_stb, self.i_row)),
            second.eq(first),
            third.eq(second),
        ]
        m.d.comb += [
            self.stb.eq(third[0]),
            self.row.eq(third[1:]),
            self.old.eq(self.rows[self.row]),
        ]
        with m.If(self.stb):
            m.d.sync += self.rows[self.row].eq(self.new)
        return m


@dataclass
class Inside:
    """The registers of a wheel.

    Attributes
    ----------
    inner : Opened
    chain : StructLayout
        Of a list.
    links : list of AnyRows
        Next, previous, slot of every queue pair.
    commands, waiting, coming : Fifo
        Queue pairs to be filed; lists of level 0 that have been taken off, and the first of them.
    slots : Rows
    """

    inner: Opened
    chain: Any
    links: list[AnyRows]
    commands: Fifo
    waiting: Fifo
    coming: Fifo
    slots: Rows

    def __getitem__(self, path: str) -> Signal:
        return self.inner[path]

    @property
    def choice(self) -> Any:
        """The operation on slots that is chosen."""
        return data.View(_ABOUT, self.inner["choice"])

    @property
    def op(self) -> list[Any]:
        """What the operations on slots are about, cycle by cycle."""
        return [data.View(_ABOUT, self.inner[f"op{n}"]) for n in range(4)]

    @property
    def rows(self) -> list[Value]:
        """Of which slot each of them is."""
        return [self.inner["row"], *(stage[1:] for stage in self.slots.stage)]

    @property
    def found(self) -> Any:
        """How far away the command's bucket is."""
        return data.View(_FOUND, self.inner["found"])

    @property
    def queued(self) -> list[tuple[Value, Any]]:
        """Lists of level 0 that have been taken off and wait, each with whether it is there."""
        return [
            (fifo.count > n, place)
            for fifo in (self.coming, self.waiting)
            for n, place in enumerate(fifo.places)
        ]

    def given(self, name: str) -> Any:
        """The list of level 0 (`near`) or 1 (`far`) that is being given back."""
        return data.View(self.chain, self.inner[f"chains.{name}"])

    @staticmethod
    def stands(q: int, chain: Any) -> Value:
        """Whether a queue pair stands in a list: of two, it is the first or the last."""
        return chain.valid & ((chain.first == q) | (chain.last == q))


def bucket_of(due: Value) -> Value:
    """Of a due time, rounded up."""
    low = len(due) - _TICK_BITS + BUCKET_LOG2
    return (due[low:] + due[:low].any())[: len(due) - low]
