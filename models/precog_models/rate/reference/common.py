"""What the float laws share: table widths, preset lookup, whole-bit/s rounding."""

import math
from collections.abc import Mapping
from enum import IntEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...jit import njit

__all__ = ["PARAMS", "STATES", "clamp", "pack", "preset_of"]

STATES = 40  # columns of a state table: the widest law plus room for none
PARAMS = 32  # length of a parameter vector

_P = TypeVar("_P")


def preset_of(noun: str, presets: Mapping[str, _P], name: str) -> _P:
    """The preset called `name`.

    Raises
    ------
    ValueError
        No such preset; the message lists those there are.
    """
    try:
        return presets[name]
    except KeyError:
        known = ", ".join(sorted(presets))
        raise ValueError(f"{noun} preset must be one of {known}, not {name!r}") from None


def pack(values: Mapping[IntEnum, float]) -> NDArray[np.float64]:
    """A parameter vector with `values` at their enumerated places.

    Raises
    ------
    ValueError
        A value is NaN or infinite.
    """
    vector = np.zeros(PARAMS)
    for place, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"{place.name.lower()} must be a finite number, not {value!r}")
        vector[place] = value
    return vector


@njit
def clamp(value: float, low: float, high: float) -> float:
    """`value` limited to [low, high]."""
    return min(max(value, low), high)
