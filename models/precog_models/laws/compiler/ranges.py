"""Ranges of results from ranges of operands, one operation at a time."""

import math
from collections.abc import Callable
from typing import NamedTuple

from precog_spec.engine.isa import (
    FACTOR_BITS,
    NORM_BITS,
    PART_BITS,
    SMALL_BITS,
    WHOLE_BITS,
    WORD,
    Op,
)

__all__ = ["WORD_RANGE", "Range", "fits_product", "result_range"]

_PRODUCT_MOST = (1 << 63) - 1
_SHIFT_MOST = WORD - 1
_MANTISSA = (1 << 16, (1 << 17) - 1)


class Range(NamedTuple):
    """All integers from `low` to `high`."""

    low: int
    high: int

    def within(self, other: "Range") -> bool:
        """Whether every number of this lies in `other`."""
        return other.low <= self.low and self.high <= other.high

    def join(self, other: "Range") -> "Range":
        """The least range that has both."""
        return Range(min(self.low, other.low), max(self.high, other.high))

    def meet(self, other: "Range") -> "Range | None":
        """What both have; None: nothing."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Range(low, high) if low <= high else None

    @property
    def bits(self) -> int:
        """Bits of a signed number that holds every one of them."""
        return max(self.high, -self.low - 1).bit_length() + 1

    def __str__(self) -> str:
        return f"{_power(self.low)}..{_power(self.high)}"


def _power(value: int) -> str:
    """A number, large ones by powers of 2."""
    size = abs(value)
    if size < 1 << 14:
        return str(value)
    sign = "-" if value < 0 else ""
    for near, tail in ((size, ""), (size + 1, " - 1")):
        if near & (near - 1) == 0:
            return f"{sign}2**{near.bit_length() - 1}{tail}" if not (sign and tail) else str(value)
    return f"about {sign}2**{round(math.log2(size))}"


WORD_RANGE = Range(-(1 << (WORD - 1)), (1 << (WORD - 1)) - 1)
_SMALL = Range(-(1 << (SMALL_BITS - 1)), (1 << (SMALL_BITS - 1)) - 1)
_PART = Range(0, (1 << PART_BITS) - 1)
_WHOLE = Range(0, (1 << WHOLE_BITS) - 1)
_NORM = Range(0, (1 << NORM_BITS) - 1)
_SHIFT = Range(0, _SHIFT_MOST)


def _corners(f: Callable[[int, int], int], a: Range, b: Range) -> Range:
    values = [f(x, y) for x in a for y in b]
    return Range(min(values), max(values))


def fits_product(b: Range) -> bool:
    """Whether a factor can be the multiplier's second operand."""
    return b.within(_SMALL)


def _require(given: Range, wanted: Range, what: str, remedy: str) -> None:
    if not given.within(wanted):
        raise ValueError(f"{what} may be {given}, beyond {wanted}; {remedy}")


def _product(op: Op, a: Range, b: Range, c: int) -> Range:
    half = 1 << (c - 1) if op is Op.MLR and c else 0
    full = _corners(lambda x, y: x * y + half, a, b)
    if max(full.high, -full.low - 1) > _PRODUCT_MOST:
        raise ValueError(f"product may be {full}, beyond 63 bits; shift a factor right first")
    return Range(full.low >> c, full.high >> c)


def _and(a: Range, b: Range) -> Range:
    if b.low < 0 and a.low < 0:
        raise ValueError("one side of & must not be negative; write wrap(x, n)")
    most = min(side.high for side in (a, b) if side.low >= 0)
    return Range(0, most)


def _fraction(a: Range, b: Range) -> Range:
    _require(a, _PART, "first argument", "clamp it, or shift both arguments right")
    _require(b, _WHOLE, "second argument", "clamp it, or shift both arguments right")
    one = 1 << FACTOR_BITS
    low = one if a.low >= b.high else (a.low << FACTOR_BITS) // b.high
    high = one if a.high >= b.low else (a.high << FACTOR_BITS) // b.low
    return Range(low, high)


def _shift(op: Op, a: Range, b: Range) -> Range:
    _require(b, _SHIFT, "shift", f"clamp it to 0..{_SHIFT_MOST}")
    if op is Op.SHR:
        return _corners(lambda x, y: x >> y, a, b)
    wide = _corners(lambda x, y: x << y, a, b)
    if op is Op.SLS:
        # Both ends are limited on both sides: perhaps every result saturates.
        least, most = WORD_RANGE.low, WORD_RANGE.high
        return Range(min(max(wide.low, least), most), min(max(wide.high, least), most))
    return wide


def _table(op: Op, a: Range) -> Range:
    _require(a, _NORM, "argument", "clamp it to 0..2**32 - 1, or shift it right")
    if op is Op.CLZ:
        return Range(*(NORM_BITS - max(end, 1).bit_length() for end in (a.high, a.low)))
    return Range(*_MANTISSA)


_PLAIN: dict[Op, Callable[[Range, Range], Range]] = {
    Op.ADD: lambda a, b: Range(a.low + b.low, a.high + b.high),
    Op.SUB: lambda a, b: Range(a.low - b.high, a.high - b.low),
    Op.RSB: lambda a, b: Range(b.low - a.high, b.high - a.low),
    Op.MIN: lambda a, b: Range(min(a.low, b.low), min(a.high, b.high)),
    Op.MAX: lambda a, b: Range(max(a.low, b.low), max(a.high, b.high)),
    Op.AND: _and,
    Op.FRC: _fraction,
    Op.MOV: lambda a, b: a,
    Op.ABS: lambda a, b: Range(max(a.low, -a.high, 0), max(abs(a.low), abs(a.high))),
}


def result_range(op: Op, a: Range, b: Range, c: int) -> Range:
    """Range of an operation's result; `b` is `a` where it has one operand.

    Raises
    ------
    ValueError
        An operand or the result may be none that the engine has; the message says what to do.
    """
    if op in (Op.MUL, Op.MLR):
        result = _product(op, a, b, c)
    elif op in (Op.SHL, Op.SHR, Op.SLS):
        result = _shift(op, a, b)
    elif op in (Op.RCP, Op.RSQ, Op.CLZ):
        result = _table(op, a)
    elif op in (Op.SEQ, Op.SNE, Op.SLT, Op.SGE):
        result = Range(0, 1)
    else:
        result = _PLAIN[op](a, b)
    if not result.within(WORD_RANGE):
        raise ValueError(
            f"result may be {result}, beyond the engine's {WORD}-bit word; "
            "shift or clamp an operand first"
        )
    return result
