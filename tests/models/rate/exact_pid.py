"""The running mean and the law's sum in exact rational numbers, from the equations alone.

It shares nothing with the model under test: no table, no shift, no integer scale. Values are real;
a format is its number of fraction bits.
"""

from fractions import Fraction
from math import floor

__all__ = ["Law", "inverse"]

_ERR, _DELTA, _MEAN, _INVERSE = 12, 16, 20, 16
_MOST = 256  # samples of the mean


def _nearest(value: Fraction, bits: int) -> Fraction:
    """The nearest multiple of 2**-bits; of two the upper one."""
    return Fraction(floor(value * 2**bits + Fraction(1, 2)), 2**bits)


def inverse(n: int) -> Fraction:
    """1/n as the table has it."""
    return _nearest(Fraction(1, n), _INVERSE)


class Law:
    """A queue pair's law: e(t) in, delta out."""

    def __init__(self, kp: Fraction, ki: Fraction, kd: Fraction) -> None:
        self._gains = kp, ki, kd
        self._samples = 0
        self._before: Fraction | None = None
        self.mean = Fraction()

    def delta(self, e: Fraction) -> Fraction:
        """The step that the law makes of the next e(t)."""
        kp, ki, kd = self._gains
        self._samples = min(self._samples + 1, _MOST)
        self.mean += _nearest((e - self.mean) * inverse(self._samples), _MEAN)
        step = Fraction() if self._before is None else e - self._before
        self._before = e
        kept = Fraction(floor(self.mean * 2**_ERR), 2**_ERR)
        return _nearest(kp * e + ki * kept + kd * step, _DELTA)
