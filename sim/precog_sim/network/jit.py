"""How the simulator's functions are compiled.

They get tables and allocate nothing, so reference counting is left out: with it, every call would
touch the counts of all its tables, several times the cost of the work itself. What they call is
compiled the same way, so the rate laws must not allocate either.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from precog_models.jit import njit

__all__ = ["compiled", "inlined"]

_F = TypeVar("_F", bound=Callable[..., Any])


def compiled(function: _F) -> _F:
    """Compile `function` by itself: for what is big or rare."""
    return njit(function, _nrt=False)


def inlined(function: _F) -> _F:
    """Compile `function` into its caller: for what every event passes through."""
    return njit(function, _nrt=False, forceinline=True)
