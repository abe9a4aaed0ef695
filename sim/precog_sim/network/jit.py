"""How the simulator's functions are compiled.

They get tables and allocate nothing, so reference counting is left out: with it, every call would
touch the counts of all its tables, several times the cost of the work itself. What they call is
compiled the same way, so the rate laws must not allocate either.

Numba's cache looks only at the file in which a function stands. A change of a rate law would leave
the kernel that has it inlined as it was, so the cache is tied to all files that take part.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

from precog_models.predict import cps
from precog_models.rate import law_fields, receiver_fields, reference

__all__ = ["compiled", "inlined"]

_F = TypeVar("_F", bound=Callable[..., Any])


_PARTS = (
    "forecasts",
    "host",
    "jit",
    "jitter",
    "kernel",
    "laws",
    "layout",
    "native",
    "ns3_random",
    "outside",
    "port",
    "scores",
    "wheel",
)


def _source_stamp() -> tuple[tuple[str, int, int], ...]:
    """Name, time and size of every file whose code ends up in the kernel."""
    here = Path(__file__).parent
    stamps = []
    for path in (
        *(here / f"{part}.py" for part in _PARTS),
        *sorted(Path(reference.__file__).parent.glob("*.py")),
        Path(law_fields.__file__),
        Path(receiver_fields.__file__),
        Path(cps.__file__),
    ):
        status = path.stat()
        stamps.append((path.name, status.st_mtime_ns, status.st_size))
    return tuple(stamps)


_STAMP = _source_stamp()


def _jit(function: _F, **options: bool) -> _F:
    dispatcher = njit(cache=True, _nrt=False, **options)(function)
    # Absent when the cache has nowhere to go (a read-only installation).
    cache_file = getattr(dispatcher._cache, "_cache_file", None)
    if cache_file is not None:
        cache_file._source_stamp = _STAMP
    result: _F = dispatcher
    return result


def compiled(function: _F) -> _F:
    """Compile `function` by itself: for what is big or rare."""
    return _jit(function)


def inlined(function: _F) -> _F:
    """Compile `function` into its caller: for what every event passes through."""
    return _jit(function, forceinline=True)
