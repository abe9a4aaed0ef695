"""How often a member does what, and how often it speaks in a fleet of any size.

What all members say to all listeners must not grow with the fleet: the more speak of the same, the
less often each does. All reporters of a destination together say at most 16 records a second, all
members together 200 of each other kind. Members that speak seldom do so at moments that wander, so
that members which start together do not speak together for ever.
"""

import zlib
from dataclasses import dataclass, field

from .store import Store

__all__ = ["Cadence", "Due", "Timing"]

_REPORTERS_PER_S = 16  # of one destination
_MEMBERS_PER_S = 200  # of the fleet, for each kind


@dataclass(frozen=True)
class Timing:
    """How often an agent does what, ms, and how much at once."""

    batch: int = 512  #: records of a card in a turn
    ask: int = 500
    report: int = 1000  #: and health
    skill: int = 2000
    drift: int = 10_000
    models: int = 1000
    ahead: int = 500
    borrow: int = 30_000
    bindings: int = 10_000
    save: int = 1000
    life: int = 30_000  #: of reports and health
    skill_life: int = 600_000


@dataclass
class Due:
    """When something was done last."""

    at: dict[str, int] = field(default_factory=dict)

    def __call__(self, what: str, now: int, every: int) -> bool:
        last = self.at.get(what)
        if last is not None and 0 <= now - last < every:  # a clock set back is no reason to wait
            return False
        self.at[what] = now
        return True


class Cadence:
    """When a member renews its records, and how long they last.

    Parameters
    ----------
    timing : Timing
        Nothing is said more often.
    store : Store
        Shows how many others speak.
    name : str
        The member's.
    """

    def __init__(self, timing: Timing, store: Store, name: str) -> None:
        self._timing = timing
        self._store = store
        self._name = name
        self._said: dict[str, int] = {}

    def every(self, key: str) -> int:
        """Time from a record of a key to its next one, ms; a kind such as ``skill/`` will do."""
        speakers, per_s = len(self._store.members), _MEMBERS_PER_S
        if key.startswith("dst/"):
            speakers, per_s = self._store.voices(key), _REPORTERS_PER_S
        return max(self._least(key), -(-1000 * speakers // per_s))

    def _least(self, key: str) -> int:
        timing, kind = self._timing, key.partition("/")[0]
        return {"skill": timing.skill, "drift": timing.drift}.get(kind, timing.report)

    def due_at(self, key: str) -> int:
        """When it is to be said next, ms; 0: it never was."""
        last = self._said.get(key)
        if last is None:
            return 0
        every, least = self.every(key), self._least(key)
        if every > least:
            wander = zlib.crc32(f"{self._name} {key} {last}".encode()) % 512 - 256
            every = max(least, every + every * wander // 1024)  # a quarter sooner or later
        return last + every

    def said(self, key: str, at: int) -> None:
        """Count it as said at some time."""
        self._said[key] = at

    def due(self, key: str, now: int) -> bool:
        """Whether it is to be said now; if so, it counts as said."""
        last = self._said.get(key, 0)
        if last <= now < self.due_at(key):  # a clock set back is no reason to wait
            return False
        self._said[key] = now
        return True

    def life(self, key: str) -> int:
        """How long a record counts, ms; two in a row may be lost."""
        timing = self._timing
        least = timing.skill_life if key.startswith(("skill/", "drift/")) else timing.life
        return max(least, 3 * self.every(key))
