"""Tables of the engine's units for reciprocals and their square roots. Standard library only."""

import math

from precog_spec.contract import CHORD_GUARD_BITS, CHORDS, RECIPROCAL_BITS

__all__ = ["RSQRT_CHORDS", "rsqrt_table"]

#: Of each of the two octaves that a normalised operand may lie in.
RSQRT_CHORDS = CHORDS


def rsqrt_table() -> tuple[tuple[int, int], ...]:
    """Base and fall of 1/sqrt(x) on 128 chords over [1/4, 1/2), then on 128 over [1/2, 1).

    Half of it, in sixteenths of 2**-17, as `contract.chord_table`: chords of a convex function,
    each lowered by half of its largest distance; the base has half an LSB in it.
    """
    one = 1 << (RECIPROCAL_BITS + CHORD_GUARD_BITS)
    half = 1 << (CHORD_GUARD_BITS - 1)
    rows = []
    for octave in (0.25, 0.5):
        for s in range(RSQRT_CHORDS):
            a = octave * (1 + s / RSQRT_CHORDS)
            b = octave * (1 + (s + 1) / RSQRT_CHORDS)
            ya, yb = 0.5 / math.sqrt(a), 0.5 / math.sqrt(b)
            slope = (ya - yb) / (b - a)
            at = (0.25 / slope) ** (2 / 3)  # where the function has the chord's slope
            sag = ya - slope * (at - a) - 0.5 / math.sqrt(at)
            base = min(round(one * (ya - sag / 2)), one - 2 * half)
            rows.append((base + half, round(one * (ya - yb))))
    return tuple(rows)
