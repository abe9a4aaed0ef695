"""The LSTM in exact rational numbers, from the equations alone, with each rounding by its name.

It shares only the table of tanh with the model under test: no shift, no integer scale, no helper.
Values are real; a format is its number of fraction bits.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import floor

from precog_models.predict.lstm import LstmWeights
from precog_spec.contract import TANH_SEGMENTS, tanh_table

__all__ = ["forward", "step"]

_PRE, _X, _H, _C, _OUT, _TANH_ARGUMENT, _SIGMOID_ARGUMENT = 11, 12, 15, 12, 12, 16, 12
_UNITS = 16


def _down(value: Fraction, bits: int) -> Fraction:
    """The largest multiple of 2**-bits that is not above `value`."""
    return Fraction(floor(value * 2**bits), 2**bits)


def _nearest(value: Fraction, bits: int) -> Fraction:
    """The nearest multiple of 2**-bits; of two the upper one."""
    return _down(value + Fraction(1, 2 ** (bits + 1)), bits)


def _limited(value: Fraction, bits: int) -> Fraction:
    """A 16-bit number with `bits` fraction bits."""
    return min(max(value, Fraction(-(2**15), 2**bits)), Fraction(2**15 - 1, 2**bits))


def _tanh(value: Fraction, bits: int) -> Fraction:
    """Linear between 64 knots in 0..4; the centre of symmetry is half an LSB below zero."""
    if value < 0:
        return -_tanh(-value - Fraction(1, 2**bits), bits) - Fraction(1, 2**_H)
    width = Fraction(4, TANH_SEGMENTS)
    segment = floor(value / width)
    if segment >= TANH_SEGMENTS:
        return 1 - Fraction(1, 2**_H)
    base, slope = (Fraction(n, 2**_H) for n in tanh_table()[segment])
    return base + _nearest(slope * (value / width - segment), _H)


def _sigmoid(value: Fraction) -> Fraction:
    return (1 + _tanh(value / 2, _SIGMOID_ARGUMENT)) / 2


def _dot(weights: Sequence[int], values: Sequence[Fraction], shift: int, bits: int) -> Fraction:
    total = sum((int(w) * v for w, v in zip(weights, values, strict=True)), Fraction())
    return _nearest(total / 2 ** int(shift), bits)


def step(pre: Sequence[Fraction], c: Sequence[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """The new c and h of 16 units from the gates' arguments, in the order i, f, g, o."""
    new_c, new_h = [], []
    for unit, old in enumerate(c):
        i, f, g, o = (pre[gate * _UNITS + unit] for gate in range(4))
        exact = _sigmoid(f) * old + _sigmoid(i) * _tanh(g, _PRE)
        new_c.append(_nearest(exact, _C))
        squashed = _tanh(_down(exact, _TANH_ARGUMENT), _TANH_ARGUMENT)
        new_h.append(_down(_sigmoid(o) * squashed, _H))
    return new_c, new_h


def forward(w: LstmWeights, window: Sequence[Sequence[int]]) -> list[int]:
    """The model's outputs as integers of OUT; `window` has the inputs as integers of X."""
    c = h = [Fraction()] * _UNITS
    for n, inputs in enumerate(window):
        x = [Fraction(int(value), 2**_X) for value in inputs]
        pre = []
        for row in range(4 * _UNITS):
            part = Fraction(int(w.b[row]), 2**_PRE)
            if n:
                part = _limited(_dot(w.wh[row], h, w.sh_h[row], _PRE) + part, _PRE)
            pre.append(part + _dot(w.wx[row], x, w.sh_x[row], _PRE))
        c, h = step(pre, c)
    outputs = [0] * _UNITS
    for row in range(w.outputs):
        bias = Fraction(int(w.bl[row]), 2**_OUT)
        real = _limited(_dot(w.wl[row], h, w.sh_l[row], _OUT) + bias, _OUT)
        outputs[row] = int(real * 2**_OUT)
    return outputs
