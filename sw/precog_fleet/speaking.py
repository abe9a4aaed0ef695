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
from .health import Health
from .observing import merged
from .outcome import Outcome
from .records import Record, seal
from .seating import Seating
from .shelf import Shelf
from .showing import as_skill
from .signing import SigningKey
from .store import Store

__all__ = ["Identity", "Link", "Speaker", "drift_of", "health_of", "refusals", "reports", "skills"]

#: What is usual between peers.
_USUAL = (Outcome.ACCEPTED, Outcome.KNOWN)


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
        ``published``; ``unsent`` (no router could take it), ``unsaid`` (the own store refused it).
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

    def say(self, key: str, body: Body, now: int, life: int) -> bool:
        """Sign a record and give it to the fleet; False, and counted, if no router takes it."""
        who = self._identity
        try:
            version = self._shelf.next_version(now)
            record = Record(who.name, key, version, now, now + life, body)
            frame = seal(record, who.key, who.authority)
            outcome = self._store.receive(frame, now)
            if outcome is not Outcome.ACCEPTED:
                self.error = f"own record of {key} was {outcome}"
                self.counts["unsaid"] += 1
                return False
            self._link.publish(key, frame)
        except (ValueError, sqlite3.Error, FleetError) as error:
            self.error = str(error)
            self.counts["unsent"] += 1
            return False
        self.counts["published"] += 1
        return True


def refusals(store: Store) -> dict[str, int]:
    """Records that were not taken, by reason; what is usual between peers is left out."""
    return {
        str(outcome): count
        for outcome, count in sorted(store.outcomes.items())
        if outcome not in _USUAL and count
    }


def health_of(store: Store) -> Health:
    """The state of a member without cards."""
    return Health(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, refusals(store))


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
