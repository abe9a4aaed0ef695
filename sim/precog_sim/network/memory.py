"""Tables that begin at a cache line, so that a row of a line's words is in one."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LINE", "at_lines", "lined"]

LINE = 8  #: words of a cache line
_LINE_BYTES = 64


def lined(shape: tuple[int, ...], dtype: Any = np.int64) -> NDArray[Any]:
    """A table of zeros at a cache line; what is never written costs no memory."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.zeros(size + _LINE_BYTES, dtype=np.uint8)
    first = -room.ctypes.data % _LINE_BYTES
    made: NDArray[Any] = room[first : first + size].view(dtype).reshape(shape)
    return made


def at_lines(table: NDArray[Any]) -> NDArray[Any]:
    """A copy of `table` at a cache line."""
    made = lined(table.shape, table.dtype)
    made[...] = table
    return made
