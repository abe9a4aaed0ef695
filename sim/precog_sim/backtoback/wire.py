"""One direction of a wire: a queue at a link's rate; loss, jitter, overtaking, marks by chance."""

import random
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from .frames import markable, with_ce

__all__ = ["Flight", "Wire", "WireSettings"]

T = TypeVar("T")


@dataclass(frozen=True)
class WireSettings:
    """What a wire does; times in ticks.

    Raises
    ------
    ValueError
        A probability is not one, or a time or a rate is negative.
    """

    rate: float = 1.25  # bytes per tick: 10 Gb/s at 1 ns
    delay: int = 5000
    jitter: int = 600  # at most, uniform; packets stay in order
    loss: float = 0.002
    reorder: float = 0.001  # a packet takes `late` longer, others overtake it
    late: int = 4000
    mark_bytes: int = 30_000  # CE from this many bytes in the queue on
    mark: float = 0.002  # CE by chance besides

    def __post_init__(self) -> None:
        for name in ("loss", "reorder", "mark"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be in 0..1, not {getattr(self, name)!r}")
        for name in ("delay", "jitter", "late", "mark_bytes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)!r}")
        if self.rate <= 0:
            raise ValueError(f"rate must be positive, not {self.rate!r}")


@dataclass(frozen=True)
class Flight(Generic[T]):
    """A frame that will arrive."""

    t: int
    frame: bytes
    marked: bool
    about: T  # what the sender said of it


@dataclass
class Wire(Generic[T]):
    """One direction.

    Attributes
    ----------
    sent, lost, marked, overtaken : int
        Frames.
    queue_max : int
        Bytes.
    """

    settings: WireSettings
    rng: random.Random
    sent: int = 0
    lost: int = 0
    marked: int = 0
    overtaken: int = 0
    queue_max: int = 0
    _free: float = field(default=0.0, repr=False)
    _last: int = field(default=0, repr=False)

    def queued(self, t: int) -> int:
        """Bytes in the queue at `t`."""
        return int(max(0.0, self._free - t) * self.settings.rate)

    def carry(self, frame: bytes, t: int, about: T) -> Flight[T] | None:
        """A frame leaves at `t`; None: it is lost."""
        now = self.settings
        self.sent += 1
        queued = max(0.0, self._free - t) * now.rate
        self.queue_max = max(self.queue_max, int(queued))
        self._free = max(self._free, t) + len(frame) / now.rate
        marks = markable(frame) and (queued >= now.mark_bytes or self.rng.random() < now.mark)
        if self.rng.random() < now.loss:
            self.lost += 1
            return None
        arrival = int(self._free) + now.delay + self.rng.randint(0, now.jitter)
        if self.rng.random() < now.reorder:
            self.overtaken += 1
            arrival += now.late
        else:
            arrival = self._last = max(arrival, self._last + 1)
        self.marked += marks
        return Flight(arrival, with_ce(frame) if marks else frame, marks, about)
