"""Logits to probabilities that sum to exactly 1, in integers.

    d = max(logits) - logit ─► w = e**-d = 2**-(d log2 e) ─► p = w / sum(w)

2**-x is a shift and a chord of `contract.exp_table`, the division `measure.reciprocal`'s. The most
likely bin, the first of equals, gets what the others leave: the sum is exact for any logits.

Errors against softmax of the same logits in float, over every number of bins and logits from flat
to saturated: a bin that is not the most likely is within 2 LSB of 2**-15, the most likely within 16
(both asserted; 1.2 and 8.5 are the largest in 3,200,000 distributions).
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import (
    CHORD_GUARD_BITS,
    EXP_CHORDS,
    EXP_FRAC_BITS,
    LOG2E,
    LOG2E_FRAC_BITS,
    MAX_OUTPUTS,
    PROBABILITY,
    Fmt,
    exp_table,
)

from ..fixed import shift_half_up
from ..jit import njit
from ..measure.reciprocal import reciprocal

__all__ = ["distributions", "exp_minus", "softmax"]

_ONE = PROBABILITY.one
_DROP = Fmt.OUT.frac_bits + LOG2E_FRAC_BITS - EXP_FRAC_BITS
_X_BITS = EXP_FRAC_BITS - (EXP_CHORDS - 1).bit_length()  # position inside a chord
_X_MASK = (1 << _X_BITS) - 1
_FRAC_MASK = (1 << EXP_FRAC_BITS) - 1
_QUOTIENT_BITS = 48 - PROBABILITY.frac_bits  # `reciprocal`'s y is 2**48 over the shifted sum
_BASE = np.array([base for base, _ in exp_table()], dtype=np.int64)
_FALL = np.array([fall for _, fall in exp_table()], dtype=np.int64)

Ints = NDArray[np.int64]


@njit
def exp_minus(d: int) -> int:
    """e**-d with 16 fraction bits, 0..65536; `d` >= 0 in OUT's format, 16 bits."""
    x = (d * LOG2E) >> _DROP
    chord = (x & _FRAC_MASK) >> _X_BITS
    value = _BASE[chord] - ((_FALL[chord] * (x & _X_MASK)) >> _X_BITS)
    return int(shift_half_up(value, CHORD_GUARD_BITS + (x >> EXP_FRAC_BITS)))


@njit
def softmax(logits: Ints, outputs: int, p: Ints) -> None:
    """Probabilities of the first `outputs` logits.

    Parameters
    ----------
    logits : ndarray of int64, shape (16,)
        In OUT's format; those from `outputs` on are ignored.
    outputs : int
        1..16.
    p : ndarray of int64, shape (16,)
        Receives PROBABILITY's integers, 32768 in all; zero from `outputs` on.
    """
    top = 0
    for n in range(1, outputs):
        if logits[n] > logits[top]:
            top = n
    total = 0
    for n in range(outputs):
        p[n] = exp_minus(logits[top] - logits[n])
        total += p[n]
    shift, y = reciprocal(total)
    shift = _QUOTIENT_BITS - shift
    rest = _ONE
    for n in range(outputs):
        p[n] = shift_half_up(p[n] * y, shift)
        if n != top:
            rest -= p[n]
    p[top] = rest
    p[outputs:] = 0


@njit
def _fill(logits: Ints, outputs: int, p: Ints) -> None:
    for n in range(len(logits)):
        softmax(logits[n], outputs, p[n])


def distributions(logits: Ints, outputs: int) -> Ints:
    """Vector form of `softmax`: logits [n, 16] to probabilities [n, 16].

    Raises
    ------
    ValueError
        The shape, a logit or `outputs` is outside its range.
    """
    if logits.ndim != 2 or logits.shape[1] != MAX_OUTPUTS:
        raise ValueError(f"logits must have shape (n, {MAX_OUTPUTS}), not {logits.shape}")
    if not 1 <= outputs <= MAX_OUTPUTS:
        raise ValueError(f"outputs must be in 1..{MAX_OUTPUTS}, not {outputs!r}")
    z = np.ascontiguousarray(logits, dtype=np.int64)
    if len(z) and (z.min() < Fmt.OUT.min or z.max() > Fmt.OUT.max):
        raise ValueError(
            f"logits must lie in {Fmt.OUT.min}..{Fmt.OUT.max}, not {z.min()}..{z.max()}"
        )
    p = np.zeros_like(z)
    _fill(z, outputs, p)
    return p
