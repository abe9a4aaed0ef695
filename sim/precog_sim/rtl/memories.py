"""The memories of a Verilated NIC, to be read and to have bits flipped between two clock edges."""

import ctypes
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .library import NicLibrary

__all__ = ["RtlMemory", "rtl_memories", "schedule_faults"]


@dataclass(frozen=True)
class RtlMemory:
    """One memory.

    Attributes
    ----------
    number : int
        In the model's list.
    name : str
        Path in the design, with dots.
    bits : int
        In a word.
    words : ndarray of uint8, shape (depth, bytes)
        The content itself, the low byte first: what is written here the RTL reads.
    """

    number: int
    name: str
    bits: int
    words: NDArray[np.uint8]

    @property
    def depth(self) -> int:
        """Number of words."""
        return len(self.words)

    def values(self) -> NDArray[np.int64]:
        """All words of up to 63 bits.

        Raises
        ------
        ValueError
            Words are wider.
        """
        if self.bits > 63:
            raise ValueError(f"{self.name} must have words of up to 63 bits, not {self.bits}")
        weights = 1 << 8 * np.arange(self.words.shape[1], dtype=np.int64)
        total: NDArray[np.int64] = (self.words.astype(np.int64) * weights).sum(axis=1)
        return total


def rtl_memories(nic: NicLibrary) -> dict[str, RtlMemory]:
    """All memories by name; they are valid as long as `nic` is neither reset nor closed."""
    library = nic.functions
    found = {}
    for n in range(library.precog_memories(nic.handle)):
        sizes = (ctypes.c_int64 * 3)()
        name = library.precog_memory(nic.handle, n, sizes).decode()
        bits, size, depth = sizes
        words = library.precog_memory_words(nic.handle, n)
        found[name] = RtlMemory(n, name, bits, np.ctypeslib.as_array(words, shape=(depth, size)))
    return found


def schedule_faults(nic: NicLibrary, faults: NDArray[np.int64]) -> None:
    """Have bits inverted while the NIC runs; what was still to come is forgotten.

    Parameters
    ----------
    nic : NicLibrary
    faults : ndarray of int64, shape (n, 4)
        Memory's number, word, bit, cycles from now.
    """
    order = np.argsort(faults[:, 3], kind="stable")
    rows = np.ascontiguousarray(faults[order], dtype=np.int64)
    nic.functions.precog_faults(
        nic.handle, len(rows), rows.ctypes.data_as(ctypes.POINTER(ctypes.c_int64))
    )
