"""What an agent tells its fleet: destinations, skill, drift, and how it is."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from .assignments import Drift, skill_key
from .bodies import Body, Report, Statistics
from .borrowing import own_head
from .errors import FleetError
from .health import TWIN, Health
from .observing import merged
from .outcome import Outcome
from .records import Record, seal
from .seating import Seating
from .shelf import Shelf
from .showing import as_skill
from .signing import SigningKey
from .store import Store

__all__ = ["Identity", "Link", "Speaker", "drift_of", "refusals", "reports", "skills", "twin_of"]

#: What is usual between peers.
_USUAL = (Outcome.ACCEPTED, Outcome.KNOWN)
#: An own record's that is just signed, where another process has signed as this member.
_OVERTAKEN = (Outcome.STALE, Outcome.CONFLICT, Outcome.KNOWN)
_TWIN_MS = 60_000  # a twin is told of for so long after its last record
_SKIP_MS = 1000  # versions are skipped no more often: each time is a write to disk


class Link(Protocol):
    """The way to the other members: `mesh.Mesh`, or one within a process."""

    def publish(self, key: str, frame: bytes) -> None:
        """Send a record to those who follow its key."""

    def pump(self, now: int, wait_s: float = 0.0) -> int:
        """Handle what has come."""

    def ask(self, now: int) -> bool:
        """Begin an exchange with a peer."""

    def follow(self, interest: Iterable[str]) -> None:
        """Change which keys are of interest."""


@dataclass(frozen=True)
class Identity:
    """An agent's identity.

    Parameters
    ----------
    name : str
    key : SigningKey
    authority : bytes
        The fleet's public key.
    """

    name: str
    key: SigningKey
    authority: bytes


class Speaker:
    """A member's signature on records.

    Parameters
    ----------
    identity : Identity
    store : Store
    link : Link
    shelf : Shelf
        Gives versions.

    Attributes
    ----------
    counts : Counter of str
        ``published``; ``unsent`` (no router could take it), ``unsaid`` (the own store refused it),
        ``twin`` (another process had signed a later version).
    error : str
        The last one.
    """

    def __init__(self, identity: Identity, store: Store, link: Link, shelf: Shelf) -> None:
        self.counts: Counter[str] = Counter()
        self.error = ""
        self._identity = identity
        self._store = store
        self._link = link
        self._shelf = shelf
        self._twin_at: int | None = None
        self._now = self._skipped_at = 0

    def say(self, key: str, body: Body, now: int, life: int) -> bool:
        """Sign a record and give it to the fleet; False, and counted, if no router takes it."""
        self._now = now
        try:
            frame, outcome = self._signed(key, body, now, life)
            if outcome in _OVERTAKEN:
                self.counts["twin"] += 1
                self._twin_at = now
                if not 0 <= now - self._skipped_at < _SKIP_MS:
                    self._skipped_at = now
                    self._shelf.skip()
                    frame, outcome = self._signed(key, body, now, life)
            if outcome is not Outcome.ACCEPTED:
                self.error = f"own record of {key} was {outcome}"
                self.counts["unsaid"] += 1
                return False
            self._link.publish(key, frame)
        except (ValueError, OSError, sqlite3.Error, FleetError) as error:
            self.error = str(error)
            self.counts["unsent"] += 1
            return False
        self.counts["published"] += 1
        return True

    def _signed(self, key: str, body: Body, now: int, life: int) -> tuple[bytes, Outcome]:
        """A record's frame, and what the own store makes of it."""
        who = self._identity
        version = self._shelf.next_version(now)
        record = Record(who.name, key, version, now, now + life, body)
        frame = seal(record, who.key, who.authority)
        return frame, self._store.receive(frame, now)

    @property
    def twin(self) -> str:
        """What to do about another process that signs as this member; empty if none does now."""
        if self._twin_at is None or not 0 <= self._now - self._twin_at < _TWIN_MS:
            return ""
        return twin_of(self._identity.name)

    @property
    def refused(self) -> dict[str, int]:
        """`refusals` as others see them: ``twin`` is one while another process signs."""
        found = refusals(self._store)
        return found | {TWIN: self.counts["twin"]} if self.twin else found

    def health(self) -> Health:
        """The state of a member without cards."""
        return Health(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, self.refused)


def twin_of(name: str) -> str:
    """What to do about two processes with one identity."""
    return (
        f"{name} must be one process, but another one signs as {name}, too: end one of them, and "
        f"enroll its host under a name of its own (precog fleet enroll)"
    )


def refusals(store: Store) -> dict[str, int]:
    """Records that were not taken, by reason; what is usual between peers is left out."""
    return {
        str(outcome): count
        for outcome, count in sorted(store.outcomes.items())
        if outcome not in _USUAL and count
    }


def reports(seatings: Sequence[Seating], due: Callable[[str], bool]) -> dict[str, Report]:
    """What all cards of a host saw of destinations since each was last reported.

    Parameters
    ----------
    seatings : sequence of Seating
    due : callable
        Whether a key is to be reported now; the others wait.
    """
    observers = [one.card.observer for one in seatings if one.card.observer is not None]
    names = {name for observer in observers for name in observer.seen() if due(f"dst/{name}")}
    seen: dict[str, list[Statistics]] = {}
    for observer in observers:
        for name, statistics in observer.statistics(names).items():
            seen.setdefault(name, []).append(statistics)
    made = {}
    for name, parts in seen.items():
        crc, delta = own_head(seatings, name) or (0, b"")
        made[f"dst/{name}"] = Report(merged(parts), base_crc=crc, delta=delta)
    return made


def skills(seatings: Sequence[Seating]) -> dict[str, Body]:
    """How releases do, present and refused ones, each on the first card that has it."""
    found: dict[str, Body] = {}
    for seating in seatings:
        for plan in seating.lineup.plans():
            tally = seating.lineup.tally(plan)
            if tally is not None:
                found.setdefault(skill_key(plan.release), as_skill(tally))
        for release, tally in seating.lineup.worse.items():
            found.setdefault(skill_key(release), as_skill(tally))
    return found


def drift_of(seatings: Sequence[Seating]) -> Drift | None:
    """The wish for new models, of the first card whose live ones have lost their skill."""
    for seating in seatings:
        tally, live = seating.lineup.drifted(), seating.lineup.live
        if tally is not None and live is not None:
            skill = as_skill(tally)
            return Drift(live.release, skill.n, skill.score, skill.reference)
    return None
