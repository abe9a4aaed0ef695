"""Where tables lie: a row of a line's words in one cache line, or in small pages."""

import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LINE", "at_lines", "lined", "sparse"]

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


def sparse(shape: tuple[int, ...], dtype: Any = np.int64) -> NDArray[Any]:
    """A table of zeros of which little is written, here and there.

    The system gives memory to large tables in huge pages of 2 MB and clears each of them as a whole
    at the first write. Here it gives pages of 4 KB.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        room.madvise(mmap.MADV_NOHUGEPAGE)
    made: NDArray[Any] = np.frombuffer(room, dtype=dtype, count=math.prod(shape)).reshape(shape)
    return made
