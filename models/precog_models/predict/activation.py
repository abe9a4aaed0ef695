"""Activations of the LSTM in integers: one table of tanh, shared by the sigmoid.

Negation is the one's complement, so tanh(~a) = ~tanh(a) exactly; its centre of symmetry lies half
an LSB below zero, which costs less than the rounding does. An exclusive-or is free in a LUT.
"""

import numpy as np

from precog_spec.contract import TANH_SEGMENTS, Fmt, tanh_table

from ..jit import njit

__all__ = ["sigmoid_q", "tanh_q"]

_BASE = np.array([base for base, _ in tanh_table()], dtype=np.int64)
_SLOPE = np.array([slope for _, slope in tanh_table()], dtype=np.int64)
_SEGMENT_FRAC = 4  # segments are 2**-4 wide
_ONE = Fmt.H.one


@njit
def tanh_q(arg: int, frac_bits: int) -> int:
    """Hyperbolic tangent of `arg` (any size, `frac_bits` > 4 fraction bits), in H's format."""
    a = ~arg if arg < 0 else arg
    position_bits = frac_bits - _SEGMENT_FRAC
    s = a >> position_bits
    if s >= TANH_SEGMENTS:
        t = _ONE - 1
    else:
        position = a & ((1 << position_bits) - 1)
        half = 1 << (position_bits - 1)
        t = _BASE[s] + ((_SLOPE[s] * position + half) >> position_bits)
    return ~t if arg < 0 else t


@njit
def sigmoid_q(pre: int) -> int:
    """Logistic function of a PRE value (11 fraction bits, any size): unsigned, 16 fraction bits.

    sigmoid(v) = (1 + tanh(v / 2)) / 2: halving the argument re-reads 11 fraction bits as 12,
    halving the result re-reads 15 as 16.
    """
    return _ONE + int(tanh_q(pre, 12))
