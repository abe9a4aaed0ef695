"""Tables of functions: tanh, the reciprocal, powers of two, 1/n."""

import math

from .formats import Fmt

__all__ = [
    "CHORDS",
    "CHORD_GUARD_BITS",
    "EXP_CHORDS",
    "EXP_FRAC_BITS",
    "INVERSE_FRAC_BITS",
    "LOG2E",
    "LOG2E_FRAC_BITS",
    "MEAN_GUARD_BITS",
    "MEAN_SAMPLES",
    "RECIPROCAL_BITS",
    "TANH_SEGMENTS",
    "chord_table",
    "exp_table",
    "inverse_table",
    "tanh_table",
]


# --- activations: one table of tanh on [0, 4), shared by sigmoid(x) = (1 + tanh(x / 2)) / 2 -------
TANH_SEGMENTS = 64


def tanh_table() -> tuple[tuple[int, int], ...]:
    """Base and slope of each segment.

    Returns
    -------
    tuple of (base, slope)
        tanh(x) = base + slope * frac / 2**8 for x in segment s, in H's LSB; `frac` is 8 bits, the
        position of |x| in Q(3, 12) inside of the segment.
        The chord through the segment's ends, raised by half of its largest sag, so that the error
        is balanced; the result stays in [0, 32767]. An argument >= 4 gives 32767.
    """
    one = 1 << Fmt.H.frac_bits
    step = 4.0 / TANH_SEGMENTS
    rows = []
    for s in range(TANH_SEGMENTS):
        a, b = s * step, (s + 1) * step
        ya, yb = math.tanh(a), math.tanh(b)
        # tanh is concave for x >= 0: its largest distance above the chord is where slopes agree.
        chord = (yb - ya) / step
        at = math.atanh(math.sqrt(1.0 - chord)) if chord < 1.0 else a
        sag = math.tanh(at) - (ya + chord * (at - a))
        lift = 0.0 if s == 0 else sag / 2  # tanh(0) stays exactly 0
        base = round((ya + lift) * one)
        slope = round((yb - ya) * one)
        rows.append((min(base, one - 1 - slope), slope))
    return tuple(rows)


# --- division: a tabled reciprocal of a mantissa in [1, 2), for K_t of (3) and e(t) of (14) ------
CHORDS = 128
CHORD_GUARD_BITS = 4  # fraction bits of the table below the reciprocal's LSB
RECIPROCAL_BITS = (
    17  # 1/x in (1/2, 1] has 17 fraction bits: an operand of a signed 18-bit multiplier
)


def chord_table() -> tuple[tuple[int, int], ...]:
    """Base (21 bit) and fall (14 bit) of 1/x on each of 128 chords over [1, 2).

    In sixteenths of the reciprocal's LSB. 1/x is convex, so a chord lies above it; each is lowered
    by half of its largest distance. The base has half an LSB in it, so that dropping the fraction
    rounds; the result stays below 2**17.
    """
    one = 1 << (RECIPROCAL_BITS + CHORD_GUARD_BITS)
    half = 1 << (CHORD_GUARD_BITS - 1)
    rows = []
    for s in range(CHORDS):
        a, b = 1 + s / CHORDS, 1 + (s + 1) / CHORDS
        # The distance is largest where 1/x has the chord's slope -1/(a b), at x = sqrt(a b).
        sag = 1 / a + 1 / b - 2 / math.sqrt(a * b)
        rows.append((round(one * (1 / a - sag / 2)) + half, round(one * (1 / a - 1 / b))))
    return tuple(rows)


LOG2E_FRAC_BITS = 16
LOG2E = round(math.log2(math.e) * (1 << LOG2E_FRAC_BITS))
EXP_CHORDS = 64
EXP_FRAC_BITS = 16  # of 2**-x, and of x


def exp_table() -> tuple[tuple[int, int], ...]:
    """Base (21 bit) and fall (14 bit) of 2**-x on each of 64 chords over [0, 1).

    In sixteenths of an LSB of 16 fraction bits, each chord lowered as those of `chord_table`.
    """
    one = 1 << (EXP_FRAC_BITS + CHORD_GUARD_BITS)
    rows = []
    for s in range(EXP_CHORDS):
        a, b = s / EXP_CHORDS, (s + 1) / EXP_CHORDS
        ya, yb = 2.0**-a, 2.0**-b
        # The distance is largest where 2**-x has the chord's slope -(ya - yb) / (b - a).
        slope = (ya - yb) / (b - a)
        at = -math.log2(slope / math.log(2))
        sag = ya - slope * (at - a) - 2.0**-at
        rows.append((round(one * (ya - sag / 2)), round(one * (ya - yb))))
    return tuple(rows)


# --- the running mean of e(t): n grows to 256 and stays there ------------------------------------
MEAN_SAMPLES = 256
MEAN_GUARD_BITS = 8  # fraction bits of the mean below ERR's
INVERSE_FRAC_BITS = 16


def inverse_table() -> tuple[int, ...]:
    """1/n for n = 1..256 with 16 fraction bits (17 bits wide), rounded to nearest."""
    return tuple(round((1 << INVERSE_FRAC_BITS) / n) for n in range(1, MEAN_SAMPLES + 1))
