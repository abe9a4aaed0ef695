"""Register integers and real quantities: µs for ticks, Gb/s for bytes per tick, else the number."""

import math
from fractions import Fraction

from precog_spec.registers.model import Field

__all__ = ["from_real", "real_name", "to_real"]

_PS_PER_US = 1_000_000
_GBPS_TICK_PS = 8000  # 1 byte per tick of 8000 ps is 1 Gb/s
_SUFFIXES = {"ticks": "_us", "bytes/tick": "_gbps"}


def _lsb(field: Field, tick_ps: int) -> Fraction:
    """Size of the integer 1 in the presented unit."""
    if field.unit == "ticks":
        scale = Fraction(tick_ps, _PS_PER_US)
    elif field.unit == "bytes/tick":
        scale = Fraction(_GBPS_TICK_PS, tick_ps)
    else:
        scale = Fraction(1)
    return scale / (1 << field.frac_bits)


def real_name(field: Field) -> str:
    """The field's name with its presented unit."""
    suffix = _SUFFIXES.get(field.unit, "")
    return (field.name.removesuffix("_ticks") if suffix else field.name) + suffix


def to_real(field: Field, value: int, tick_ps: int) -> float | int:
    """What the integer stands for, rounded once; an int when the field counts something."""
    if field.frac_bits or field.unit in _SUFFIXES:
        return float(value * _lsb(field, tick_ps))
    return value


def from_real(field: Field, value: float, tick_ps: int) -> int:
    """Nearest integer of the field's format, ties up.

    Raises
    ------
    ValueError
        `value` is not a number or does not fit the field, or it is a time or a rate that is not 0
        but would become 0, which says "never" or "off" in many a register. A count that is no
        whole number is refused, too: what is rounded is not what was asked for.
    """
    lsb = _lsb(field, tick_ps)
    if math.isfinite(value):
        integer = math.floor(Fraction(value) / lsb + Fraction(1, 2))
        if value > 0 and integer == 0 and field.unit in _SUFFIXES:
            least = f"{float(lsb):g}"
            raise ValueError(f"{real_name(field)} must be 0 or at least {least}, not {value!r}")
        if lsb == 1 and field.unit not in _SUFFIXES and integer != value:
            raise ValueError(f"{real_name(field)} must be a whole number, not {value!r}")
        if field.min <= integer <= field.max:
            return integer
    low, high = (f"{float(bound * lsb):g}" for bound in (field.min, field.max))
    raise ValueError(f"{real_name(field)} must be in {low}..{high}, not {value!r}")
