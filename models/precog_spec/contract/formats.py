"""Number formats: their types, their rounding, and those that more than one block shares.

A format is written ``Q(int_bits, frac_bits, signed)``; the sign bit is not counted in `int_bits`.
"""

import math
from dataclasses import dataclass
from enum import Enum

__all__ = ["BASE_EARLY_BITS", "BASE_NONE", "PROBABILITY", "Fmt", "Overflow", "Q", "Rounding"]


@dataclass(frozen=True)
class Q:
    """A fixed-point format: value = integer * 2**-frac_bits."""

    int_bits: int
    frac_bits: int
    signed: bool = True

    def __post_init__(self) -> None:
        if self.int_bits < 0 or self.frac_bits < 0 or self.width < 1:
            raise ValueError(
                f"format bits must be non-negative, not Q({self.int_bits}, {self.frac_bits})"
            )

    @property
    def width(self) -> int:
        """Width in bits, the sign included."""
        return self.int_bits + self.frac_bits + int(self.signed)

    @property
    def min(self) -> int:
        """Smallest integer of the format."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def max(self) -> int:
        """Largest integer of the format."""
        return (1 << (self.width - int(self.signed))) - 1

    @property
    def one(self) -> int:
        """The integer that stands for 1.0 (it may lie outside the format)."""
        return 1 << self.frac_bits

    def from_float(self, value: float) -> int:
        """Nearest integer, ties up, saturated.

        Raises
        ------
        ValueError
            `value` is NaN.
        """
        if math.isnan(value):
            raise ValueError(f"value must be a number, not {value!r}")
        if math.isinf(value):
            return self.max if value > 0 else self.min
        return max(self.min, min(self.max, math.floor(value * self.one + 0.5)))


class Rounding(Enum):
    """What happens to fraction bits that the target format does not have."""

    FLOOR = "floor"  # towards minus infinity: drop the bits
    HALF_UP = "half_up"  # nearest, ties towards plus infinity
    HALF_EVEN = "half_even"  # nearest, ties to the even integer


class Overflow(Enum):
    """What happens to a value outside the target format."""

    WRAP = "wrap"  # drop the upper bits
    SATURATE = "saturate"  # the nearest end of the format


class Fmt:
    """Every number format that crosses a room's wall. Units are in the comments."""

    RTT = Q(24, 0, signed=False)  # ticks; saturates at 16.7 ms for a 1-ns tick
    TIME = Q(40, 0, signed=False)  # ticks, wraps
    SRTT = Q(24, 8, signed=False)  # ticks; S_t, the prediction and the target share it
    SIGMA = Q(0, 16, signed=False)  # EWMA weight of the new sample, (2)
    X = Q(3, 12)  # engine inputs: K_t of (3) lies in [-1, 1/sigma - 1]
    H = Q(0, 15)  # hidden state
    C = Q(3, 12)  # cell state: |c_t| <= |c_{t-1}| + 1, so 8 steps need 3 integer bits
    PRE = Q(4, 11)  # gate pre-activations and stored partial sums
    OUT = Q(3, 12)  # head outputs: out_t of (12)
    GAIN = Q(2, 13)  # Kp, Ki, Kd of (15)
    ERR = Q(5, 12)  # e(t) of (14): 18 bits, one multiplier wide
    DELTA = Q(0, 16)  # the rate step of (15) after the clamp (20)
    RATE = Q(8, 24, signed=False)  # bytes per tick; 1 Mb/s at 1 ns is 2097 LSB
    WINDOW = Q(32, 0, signed=False)  # bytes


BASE_EARLY_BITS = 32  # of ticks by which samples may be out of order; farther apart is a pause
BASE_NONE = Fmt.RTT.max  # the base-RTT tracker's value before the first sample

# --- softmax and score ---------------------------------------------------------------------------
PROBABILITY = Q(1, 15, signed=False)  # those of a distribution sum to exactly 1
