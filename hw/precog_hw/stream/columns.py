"""Wide payloads in columns, each with control registers of its own.

One enable for hundreds of flip-flops is a long wire, and wires, not tables, limit the clock. The
columns of a stage do the same in the same cycle. Each one's registers follow from themselves, so
that synthesis cannot see that they are equal, and keeps them all.
"""

from itertools import pairwise

__all__ = ["COLUMN_BITS", "columns"]

COLUMN_BITS = 72  # two block RAMs of an ECP5, or 18 cells of LUT RAM


def columns(width: int) -> list[slice]:
    """Bits 0 to `width` - 1 in the fewest columns of at most `COLUMN_BITS`, all about as wide."""
    count = max(1, -(-width // COLUMN_BITS))
    edges = [n * width // count for n in range(count + 1)]
    return [slice(first, end) for first, end in pairwise(edges)]
