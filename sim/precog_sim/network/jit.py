"""How the simulator's functions are compiled.

They get tables and allocate nothing, so reference counting is left out: with it, every call would
touch the counts of all its tables, three times the cost of the work itself.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

__all__ = ["compiled", "inlined"]

_F = TypeVar("_F", bound=Callable[..., Any])


def compiled(function: _F) -> _F:
    """Compile `function` by itself: for what is big or rare."""
    result: _F = njit(cache=True, _nrt=False)(function)
    return result


def inlined(function: _F) -> _F:
    """Compile `function` into its caller: for what every event passes through."""
    result: _F = njit(cache=True, forceinline=True, _nrt=False)(function)
    return result
