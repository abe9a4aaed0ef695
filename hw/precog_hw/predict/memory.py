"""Block memories whose ports never meet at an address."""

from amaranth.hdl import ShapeLike
from amaranth.lib.memory import Memory

__all__ = ["block_memory"]


def block_memory(shape: ShapeLike, depth: int) -> Memory:
    """A memory of zeros that is never read at the address being written.

    Reading such a word would be undefined in the device; saying that it does not happen saves
    synthesis a comparator and a bypass around every block. The sequencer sees to it: a model's
    words are written while no inference may use the set, a context's while its QP waits.
    """
    return Memory(shape=shape, depth=depth, init=[], attrs={"no_rw_check": 1})
