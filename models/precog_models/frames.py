"""Calls whose callees' frames lie in one piece of memory.

CPython keeps the frames of a thread in chunks of 16 KiB and gives a chunk back when its last frame
ends. A loop that calls functions across the end of a chunk maps and unmaps memory each time: the
compilation of the network simulator did it a million times, a seventh of its time. numba and
Amaranth recurse deeply, so some loop always stands at an end.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["in_one_piece"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

#: Words of the frame below. Its chunk is the next power of two, so that as many words are free.
_WORDS = 1 << 19


def in_one_piece(function: Callable[_P, _R], *arguments: _P.args, **named: _P.kwargs) -> _R:
    """What `function` returns; 4 MiB of address space, of which only what is used takes memory."""
    return function(*arguments, **named)


in_one_piece.__code__ = in_one_piece.__code__.replace(co_stacksize=_WORDS)
