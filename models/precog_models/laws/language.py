"""What a law's file imports: declarations, formats, kinds of events, primitives."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

from precog_spec.contract import Fmt, Q
from precog_spec.engine.events import FACTOR, Kind

from ..rate.engine.arithmetic import (
    align,
    clamp,
    fraction,
    reciprocal,
    rounded,
    rsqrt,
    scale,
    wrap,
    zeros,
)

__all__ = [
    "ACK",
    "CNP",
    "FACTOR",
    "LOSS",
    "SAMPLE",
    "SCORE",
    "TIMER",
    "Field",
    "Fmt",
    "Parameter",
    "Preset",
    "Q",
    "Record",
    "align",
    "clamp",
    "fraction",
    "integers",
    "reciprocal",
    "rounded",
    "rsqrt",
    "scale",
    "wrap",
    "zeros",
]

ACK, SAMPLE, CNP, LOSS, TIMER, SCORE = (int(kind) for kind in Kind)

#: Type of `p`, `s` and `e` in a law: attributes are integers.
Record: TypeAlias = Any

#: Units of parameters, and what one of them is in the format's units; ticks of `tick_ps`.
_UNITS: dict[str, Callable[[float], float]] = {
    "": lambda tick_ps: 1.0,
    "us": lambda tick_ps: 1e6 / tick_ps,
    "Mb/s": lambda tick_ps: tick_ps / 8e6,
    "bytes": lambda tick_ps: 1.0,
}

#: Facts of the network that a parameter may be, and their units.
_FACTS = {"": "", "network_base": "us", "mark_delay": "us"}


@dataclass(frozen=True)
class Parameter:
    """A number, or a table, that the host may change.

    Parameters
    ----------
    name : str
        As in ``p.name``.
    format : Q
        Of its integers.
    unit : str
        "" (a plain number), "us" (becomes ticks), "Mb/s" (becomes bytes per tick) or "bytes".
    default : float
        In `unit`.
    meaning : str
        For the documentation.
    length : int
        Of a table; 0: a number.
    made : callable, optional
        A table's integers from the other parameters' integers; tables only.
    fact : str, optional
        What of the network it is: "network_base", the largest base RTT of a path, or "mark_delay",
        the queueing delay from which switches mark all packets, 0 if they do not. Simulations tell
        it, an operator may; the default stands where neither does.
    """

    name: str
    format: Q
    unit: str
    default: float
    meaning: str
    length: int = 0
    made: Callable[[Mapping[str, int]], Sequence[int]] | None = None
    fact: str = ""

    def __post_init__(self) -> None:
        if self.unit not in _UNITS:
            units = ", ".join(repr(unit) for unit in _UNITS)
            raise ValueError(f"unit of parameter {self.name} must be {units}, not {self.unit!r}")
        if (self.length > 0) != (self.made is not None):
            raise ValueError(f"parameter {self.name} must have both length and made, or neither")
        if self.fact not in _FACTS:
            facts = ", ".join(repr(fact) for fact in _FACTS)
            raise ValueError(f"fact of parameter {self.name} must be {facts}, not {self.fact!r}")
        wanted = _FACTS[self.fact]
        if self.fact and self.unit != wanted:
            raise ValueError(f"unit of parameter {self.name} must be {wanted!r}, not {self.unit!r}")

    def integer(self, value: object, tick_ps: int) -> int:
        """The format's integer.

        Raises
        ------
        ValueError
            The value is no number, or none of the format.
        """
        if not isinstance(value, Real):
            raise ValueError(f"{self.name} must be a number, not {value!r}")
        real = float(value) * _UNITS[self.unit](tick_ps) * self.format.one
        if not (math.isfinite(real) and self.format.min <= round(real) <= self.format.max):
            scale = _UNITS[self.unit](tick_ps) * self.format.one
            low, high = self.format.min / scale, self.format.max / scale
            unit = f" {self.unit}" if self.unit else ""
            raise ValueError(f"{self.name} must be in {low:g}..{high:g}{unit}, not {value!r}")
        return round(real)


@dataclass(frozen=True)
class Field:
    """A number that is kept per queue pair: its name, as in ``s.name``, format and meaning."""

    name: str
    format: Q
    meaning: str = ""


@dataclass(frozen=True)
class Preset:
    """Named values of parameters: where they come from, and those that are not the default."""

    citation: str
    values: Mapping[str, float]

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping):
            raise ValueError(f"values of a preset must be a mapping, not {self.values!r}")


def integers(
    parameters: Sequence[Parameter], values: Mapping[str, float], tick_ps: int
) -> dict[str, int | list[int]]:
    """All parameters as integers; those that `values` does not have are defaults.

    Raises
    ------
    ValueError
        A name is unknown, or a value is none of its format.
    """
    known = {one.name for one in parameters if not one.length}
    for name in values:
        if name not in known:
            raise ValueError(f"parameter must be one of {', '.join(sorted(known))}, not {name!r}")
    numbers = {
        one.name: one.integer(values.get(one.name, one.default), tick_ps)
        for one in parameters
        if not one.length
    }
    result: dict[str, int | list[int]] = dict(numbers)
    for one in parameters:
        if one.made is not None:
            table = [int(value) for value in one.made(numbers)]
            if len(table) != one.length or not all(
                one.format.min <= value <= one.format.max for value in table
            ):
                raise ValueError(f"table {one.name} must have {one.length} values of its format")
            result[one.name] = table
    return {one.name: result[one.name] for one in parameters}
