"""Lengths of epochs in real units: powers of two of ticks."""

from precog_spec.frames.cps import EPOCH_LEAST

__all__ = ["epoch_number", "epoch_us"]

_NUMBERS = 16


def epoch_us(number: int, tick_ps: int) -> float:
    """Microseconds of an epoch; `number` is the register's, `tick_ps` a tick's picoseconds."""
    return (1 << EPOCH_LEAST + number) * tick_ps / 1e6


def epoch_number(us: float, tick_ps: int) -> int:
    """The register's number for an epoch of at least `us` microseconds.

    Raises
    ------
    ValueError
        No epoch is so long, or it is not above 0.
    """
    lengths = [epoch_us(n, tick_ps) for n in range(_NUMBERS)]
    if not 0 < us <= lengths[-1]:
        raise ValueError(f"epoch_us must be above 0, and {lengths[-1]:g} at most, not {us!r}")
    return next(n for n, length in enumerate(lengths) if length >= us)
