"""How long reports take from their signature to those who follow them."""

from .engine import Engine

__all__ = ["Arrivals"]

_Way = tuple[int, int]  # since, ms; followers that are left


class Arrivals:
    """Reports on their way.

    Parameters
    ----------
    engine : Engine

    Attributes
    ----------
    each : list of int
        Ms until one follower held a report.
    all : list of int
        Ms until all of its followers did.
    """

    def __init__(self, engine: Engine) -> None:
        self.each: list[int] = []
        self.all: list[int] = []
        self._engine = engine
        self._way: dict[bytes, _Way] = {}

    def said(self, key: str, frame: bytes, followers: int) -> None:
        """A report has been signed now."""
        if followers and key.startswith("dst/"):
            self._way[frame] = (self._engine.ms, followers)

    def heard(self, key: str, frame: bytes) -> None:
        """A follower has accepted a report."""
        if frame not in self._way:
            return
        since, left = self._way.pop(frame)
        took = self._engine.ms - since
        self.each.append(took)
        if left > 1:
            self._way[frame] = (since, left - 1)
        else:
            self.all.append(took)

    @property
    def waiting(self) -> int:
        """Reports that somebody has not heard yet."""
        return len(self._way)
