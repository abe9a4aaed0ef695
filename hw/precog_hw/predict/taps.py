"""Reads of stored words in cycles in which the engine does not read.

The engine's own reads come first in every cycle, and nothing of them waits: a word is read in the
first cycle that finds its memory idle.

::

    request ─► near the block ─► stolen ─► address ─► memory ─► kept ─┐
                                   ▲ free                    others ─ or ┴─► answer
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring

from precog_spec.config import NicConfig
from precog_spec.secded import STORED_BITS

from .layouts import answer_layout
from .pipeline import Delays

__all__ = ["Taps", "Thief", "tap"]

_WIDE = 8  # kept words that are put together in a cycle


class Thief:
    """Takes one idle cycle of a block for each request.

    Parameters
    ----------
    m : Module
    request : scrub_layout
        `valid` must be 0 for 3 cycles between two of them, and the place held until it is answered.
    free : Value
        The block's first cycle does not read.
    ahead : bool
        `free` is said of the next cycle, and `stolen` is a register: nothing that comes late stands
        on the way to the addresses.

    Attributes
    ----------
    place : place_layout
    stolen : Signal
        This first cycle reads `place`.
    wants : Signal
        It waits for one that is free.
    """

    def __init__(self, m: Module, request: data.View, free: Value, *, ahead: bool = False) -> None:
        self.place = Signal(request.place.shape(), name="scrub_place", reset_less=True)
        self.stolen, self.wants = Signal(name="scrub_stolen"), Signal(name="scrub_wants")
        asked, taken = Signal(name="scrub_asked"), Signal(name="scrub_taken")
        m.d.sync += [asked.eq(request.valid), self.place.eq(request.place)]
        takes = Signal(name="scrub_takes")
        m.d.comb += [self.wants.eq(asked & ~taken), takes.eq(self.wants & free)]
        if ahead:
            m.d.sync += self.stolen.eq(takes)
        else:
            m.d.comb += self.stolen.eq(takes)
        with m.If(~asked):
            m.d.sync += taken.eq(0)
        with m.Elif(takes):
            m.d.sync += taken.eq(1)


class Taps:
    """Where a block's memories are read for the scrubber.

    Parameters
    ----------
    m : Module
        Gets the registers.
    place : place_layout
        What is to be read.
    stolen : Value
        The block's first cycle is for that.
    copy : int
        The block holds the first copies (0), the second ones (1), or the trees' (2).
    """

    def __init__(self, m: Module, place: data.View, stolen: Value, *, copy: int = 0) -> None:
        self._m, self._delay = m, Delays(m)
        self.place, self.copy = place, copy
        self._stolen = stolen
        self._terms: list[Value] = []

    def stolen(self, cycles: int) -> Value:
        """The block's cycle of that number, from 0, is stolen."""
        stolen: Value = self._delay(self._stolen, cycles, reset=True)
        return stolen

    def add(self, name: str, word: Value, hit: Value, cycles: int) -> None:
        """A memory's output: `word` of 36 bits, of the block's cycle of that number.

        Parameters
        ----------
        name : str
        word : Value
        hit : Value
            The memory holds `place`.
        cycles : int
            The first of them is 0.
        """
        kept = Signal(STORED_BITS, name=f"{name}_kept", reset_less=True)
        chosen = Signal(name=f"{name}_chosen")
        hit = hit & (self.place.second == (self.copy == 1))
        self._m.d.sync += [kept.eq(word), chosen.eq(self.stolen(cycles) & hit)]
        self._terms.append(Mux(chosen, Cat(kept, 1), 0))

    def answer(self) -> data.View:
        """`answer_layout`: what was read."""
        parts: list[data.View | Value] = self._terms
        layers = 0
        while layers == 0 or len(parts) > 1:
            groups = [parts[n : n + _WIDE] for n in range(0, len(parts), _WIDE)]
            parts = []
            for n, group in enumerate(groups):
                part = Signal(answer_layout(), name=f"answer_{layers}_{n}")
                self._m.d.sync += part.as_value().eq(reduce(or_, map(Value.cast, group)))
                parts.append(part)
            layers += 1
        return parts[0]


def tap(
    m: Module,
    config: NicConfig,
    block: wiring.Component,
    free: Value,
    *,
    copy: int = 0,
    ahead: bool = False,
) -> Taps | None:
    """Taps of a block with a member `scrub`; None without `config.ecc`."""
    if not config.ecc:
        return None
    thief = Thief(m, block.scrub, free, ahead=ahead)
    return Taps(m, thief.place, thief.stolen, copy=copy)
