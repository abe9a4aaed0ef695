"""How the simulator's functions are compiled.

They get tables and allocate nothing, so reference counting is left out: with it, every call would
touch the counts of all its tables, several times the cost of the work itself. What they call is
compiled the same way, so the rate laws must not allocate either.

What only compiled functions call has no entry for Python: those entries, which unpack every table
of the record, would take a third of the compiler's time.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from precog_models.jit import njit

__all__ = ["compiled", "inlined", "merged", "outlined"]

_F = TypeVar("_F", bound=Callable[..., Any])


def compiled(function: _F) -> _F:
    """Compile `function` by itself, for Python to call; other threads of Python go on meanwhile."""
    return njit(function, _nrt=False, nogil=True)


def outlined(function: _F) -> _F:
    """Compile `function` by itself, for compiled functions to call: for what is big or rare."""
    return njit(function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def merged(function: _F) -> _F:
    """Copy `function` into its caller before that is compiled: for what has one caller.

    An `inlined` function is compiled by itself, too. A large one takes as long as its caller then.
    """
    return njit(function, _nrt=False, inline="always")


def inlined(function: _F) -> _F:
    """Compile `function` into its caller: for what every event passes through."""
    return njit(
        function, _nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
    )
