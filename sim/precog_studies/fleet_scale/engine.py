"""Events in order of time, and servers that work on one thing at a time."""

import heapq
from collections.abc import Callable

__all__ = ["EPOCH_MS", "Engine", "Server"]

#: Unix time at which simulations begin, ms.
EPOCH_MS = 1_790_000_000_000
Work = Callable[[], None]


class Engine:
    """A clock that goes from event to event.

    Attributes
    ----------
    us : int
        Time since the beginning, µs.
    """

    def __init__(self) -> None:
        self.us = 0
        self._order = 0
        self._events: list[tuple[int, int, Work]] = []

    @property
    def ms(self) -> int:
        """Milliseconds of Unix time."""
        return EPOCH_MS + self.us // 1000

    def at(self, us: int, work: Work) -> None:
        """Do some work then, or now if that has passed."""
        self._order += 1
        heapq.heappush(self._events, (max(us, self.us), self._order, work))

    def run(self, until_us: int) -> None:
        """Do all work up to a time."""
        while self._events and self._events[0][0] <= until_us:
            self.us, _, work = heapq.heappop(self._events)
            work()
        self.us = until_us


class Server:
    """What one thread does: work waits until the work before it is done.

    Parameters
    ----------
    engine : Engine

    Attributes
    ----------
    busy_us : float
        Time that work has taken so far.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._free = 0.0
        self.busy_us = 0.0

    def spend(self, cost_us: float) -> int:
        """Add work; when it is done, µs."""
        self._free = max(self._free, float(self._engine.us)) + cost_us
        self.busy_us += cost_us
        return round(self._free)

    def queue(self, cost_us: float, work: Work) -> None:
        """Work to be done after `cost_us` of this server's time."""
        self._engine.at(self.spend(cost_us), work)
