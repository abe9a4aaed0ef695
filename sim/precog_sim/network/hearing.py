"""How well hosts hear round-trip times, as data."""

from dataclasses import dataclass

__all__ = ["Hearing"]

_BASES = ("told", "learnt")
_MOST_NS = 1e6


@dataclass(frozen=True)
class Hearing:
    """What laws are told of RTTs; what a run records stays true.

    Parameters
    ----------
    noise_ns : float
        Of the time stamps: every RTT that a law hears is wrong by up to this, either way, drawn
        uniformly with the run's seed.
    base : str
        ``"told"``: laws know the base RTT of their flow's path. ``"learnt"``: theirs is the least
        RTT that the flow has heard, as a card finds it (`precog_models.measure.base_rtt`); until
        the first one it is the path's.
    base_error_ns : float
        What laws are told of base RTTs is so far above the truth.

    Raises
    ------
    ValueError
        `base` is unknown, or a number is out of range.
    """

    noise_ns: float = 0.0
    base: str = "told"
    base_error_ns: float = 0.0

    def __post_init__(self) -> None:
        if self.base not in _BASES:
            raise ValueError(f"hearing base must be one of {', '.join(_BASES)}, not {self.base!r}")
        if not 0 <= self.noise_ns <= _MOST_NS:
            raise ValueError(
                f"hearing noise_ns must be in 0..{_MOST_NS:g} (1 ms), not {self.noise_ns!r}"
            )
        if not -_MOST_NS <= self.base_error_ns <= _MOST_NS:
            raise ValueError(
                f"hearing base_error_ns must be in -{_MOST_NS:g}..{_MOST_NS:g} (1 ms), "
                f"not {self.base_error_ns!r}"
            )
        if self.base == "learnt" and self.base_error_ns != 0:
            raise ValueError(
                "hearing base_error_ns must be 0 where the base is learnt, not "
                f"{self.base_error_ns!r}"
            )
