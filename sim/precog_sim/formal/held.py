"""What delay lines and slices of the gateware hold, counted for inductions."""

from itertools import count
from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data

from .packets import Claim, well_formed
from .peek import Opened

__all__ = ["Pipe", "Slice"]


class Pipe:
    """A delay line of strobes: how many are under way, and when they come out.

    Attributes
    ----------
    count : Signal
    first, last : Value
        Cycles until the oldest and the youngest have left; 0: there is none.
    """

    def __init__(self, m: Module, known: Claim, line: list[Signal], name: str) -> None:
        # Ones in the first n registers, for each n: what moves on is known without a sum.
        sums = [Signal(range(n + 2), name=f"{name}_up_to_{n}") for n in range(len(line))]
        self._sums = sums
        self.count = sums[-1]
        self.first: Value = Const(0, 8)
        self.last: Value = Const(0, 8)
        for n, bit in enumerate(line):
            self.first = Mux(bit, len(line) - n, self.first)
        for n, bit in reversed(list(enumerate(line))):
            self.last = Mux(bit, len(line) - n, self.last)
        m.d.comb += [
            known(one == before + bit)
            for one, before, bit in zip(sums, [Const(0), *sums], line, strict=False)
        ]
        self._m = m

    def fed(self, stb: Value) -> None:
        """The strobe that comes in."""
        for one, before in zip(self._sums, [Const(0), *self._sums], strict=False):
            self._m.d.sync += one.eq(before + stb)


class Slice:
    """A skid buffer's content.

    Attributes
    ----------
    valid : Signal
    count : Value
    ends : Value
        Last beats in it.
    end : Value
        Position of the first, from 1; 0: none.
    behind : Value
        Beats behind the last of them; all, if there is none.
    """

    def __init__(
        self, m: Module, known: Claim, inner: Opened, path: str, layout: Any = None
    ) -> None:
        self.valid, spare = inner[f"{path}.o__valid"], ~inner[f"{path}.ready"]
        self.count = self.valid + spare
        m.d.comb += known(~spare | self.valid)
        for n in count(1):  # all columns do the same
            if not inner.every(f"{path}.ready_{n}"):
                break
            m.d.comb += [
                known(inner[f"{path}.ready_{n}"] == ~spare),
                known(inner[f"{path}.valid_{n}"] == self.valid),
            ]
        if layout is None:
            return
        front = data.View(layout, inner[f"{path}.o__payload"])
        back = data.View(layout, inner[f"{path}.spare"])
        if "beat" in layout.members:
            front, back = front.beat, back.beat
        m.d.comb += [
            known(~self.valid | well_formed(front)),
            known(~spare | well_formed(back)),
        ]
        one, two = self.valid & front.last, spare & back.last
        self.ends = one + two
        self.end = Mux(one, 1, Mux(two, 2, 0))
        self.behind = Mux(two, 0, Mux(one, spare, self.count))
