"""Marking of packets by switches."""

from dataclasses import dataclass

__all__ = ["Ecn"]


@dataclass(frozen=True)
class Ecn:
    """RED-like marking at dequeue: never below `min_bytes`, always above `max_bytes`.

    The thresholds are those of a switch port as fast as the slowest host's link; another port's are
    in proportion to its rate, as in ns-3's configurations.

    Raises
    ------
    ValueError
        The thresholds are out of order or the probability is not in [0, 1].
    """

    min_bytes: int
    max_bytes: int
    probability: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.min_bytes <= self.max_bytes:
            raise ValueError(
                f"ECN thresholds must satisfy 0 <= min <= max, not {self.min_bytes}, "
                f"{self.max_bytes}"
            )
        if not 0 <= self.probability <= 1:
            raise ValueError(f"ECN probability must be in [0, 1], not {self.probability!r}")

    def at(self, ratio: float) -> "Ecn":
        """The marking of a port that is `ratio` times as fast."""
        return Ecn(round(self.min_bytes * ratio), round(self.max_bytes * ratio), self.probability)
