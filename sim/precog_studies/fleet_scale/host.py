"""A member as a plain object on any link, the mesh or a simulated one: it speaks, asks, expires.

Cards are not what is studied, so a host makes its statistics up; store, gossip, speaker, cadence
and encoding are those of `precog_fleet`.
"""

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any, Protocol

from precog_fleet.bodies import Report, Skill, Statistics
from precog_fleet.gossip import Gossip
from precog_fleet.health import Health
from precog_fleet.outcome import Outcome
from precog_fleet.records import Record
from precog_fleet.speaking import Identity, Link, Speaker, refusals
from precog_fleet.store import Store
from precog_fleet.timing import Cadence, Due, Timing

from .world import Fleet

__all__ = ["Host", "Outside", "Rack", "Versions", "made_up"]

_RELEASE = 3
_ROWS = 10_443  # of telemetry
_SAVE_MS = 1000


class Versions:
    """Versions of one member, as a shelf gives them, without a disk."""

    def __init__(self) -> None:
        self._last = 0

    def next_version(self, now: int) -> int:
        """A version above all before."""
        self._last = max(now, self._last + 1)
        return self._last


class Outside:
    """What is true of a fleet that has settled: as many voices as there are reporters.

    Parameters
    ----------
    fleet : Fleet
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.members = range(fleet.agents + fleet.racks)
        self.outcomes: Counter[Outcome] = Counter()

    def voices(self, key: str) -> int:
        """Reporters of a key."""
        return self._fleet.reporters.get(key, 1)

    def receive(self, frame: bytes, now: int) -> Outcome:
        """Accept every record; none is kept."""
        return Outcome.ACCEPTED

    def expire(self, now: int) -> int:
        """Expire no record, since none is kept."""
        return 0


class RouterLink(Link, Protocol):
    """A router's link."""

    def lend(self, now: int) -> None:
        """Subscribe to keys that others ask for, too."""


def made_up(seed: int, name: str, key: str, now: int) -> Statistics:
    """Statistics with as many digits as those of cards; the same on every machine."""
    rng = random.Random(f"{seed} {name} {key} {now}")
    mean = rng.randrange(6_000, 40_000)
    return Statistics(
        n=rng.randrange(1, 9),
        rate=rng.randrange(1_000_000, 100_000_000),
        mean=mean,
        var=rng.randrange(10_000, 40_000_000),
        p99=mean + rng.randrange(1_000, 60_000),
        queue=rng.randrange(0, 4_000_000),
    )


class Host:
    """An agent without cards.

    Parameters
    ----------
    identity : Identity
    store : Store
    link : Link
    speaker : Speaker
    keys : iterable of str
        Destinations.
    seed : int
    timing : Timing
    """

    def __init__(
        self,
        identity: Identity,
        store: Store,
        link: Link,
        speaker: Speaker,
        keys: Iterable[str],
        seed: int,
        timing: Timing,
    ) -> None:
        self.identity = identity
        self.store = store
        self.link = link
        self.keys = tuple(keys)
        self.cadence = Cadence(timing, store, identity.name)
        self._speaker = speaker
        self._seed = seed
        self._timing = timing
        self._due = Due()

    def interest(self) -> list[str]:
        """As an agent's."""
        own = [f"{kind}/{self.identity.name}" for kind in ("health", "drift")]
        return [*self.keys, "rollout/live", *own]

    def spread(self, outside: "Outside", now: int) -> dict[str, Record]:
        """Count everything as said some time ago, so that hosts do not speak together.

        Returns
        -------
        dict of str to Record
            The reports that it would have made then.
        """
        store: Any = outside
        usual = Cadence(self._timing, store, self.identity.name)
        rng = random.Random(f"spoken {self._seed} {self.identity.name}")
        for key in (*self.keys, *self.others()):
            self.cadence.said(key, now - rng.randrange(usual.every(key)))
        name, found = self.identity.name, {}
        for key in self.keys:
            at = self.cadence.due_at(key) - self.cadence.every(key)
            body = Report(made_up(self._seed, name, key, at))
            found[key] = Record(name, key, at, at, at + usual.life(key), body)
        return found

    def others(self) -> tuple[str, str]:
        """Keys of the records that an agent sends apart from reports."""
        return f"health/{self.identity.name}", f"skill/r{_RELEASE}"

    def step(self, now: int, wait_s: float = 0.0) -> None:
        """A turn, in an agent's order."""
        self.link.pump(now, wait_s)
        if self._due("ask", now, self._timing.ask):
            self.link.ask(now)
        self.speak(now)
        if self._due("save", now, _SAVE_MS):
            self.store.expire(now)
            self.store.changed()  # what a disk would take

    def speak(self, now: int) -> None:
        """Say what is due."""
        for key in (*self.keys, *self.others()):
            if self.cadence.due(key, now):
                self.say(key, now)

    def say(self, key: str, now: int) -> bool:
        """Say something of one key."""
        body: Report | Health | Skill
        if key.startswith("dst/"):
            body = Report(made_up(self._seed, self.identity.name, key, now))
        elif key.startswith("health/"):
            body = self.health()
        else:
            rng = random.Random(f"{self._seed} {self.identity.name} {now}")
            body = Skill(rng.randrange(1000, 100_000), rng.randrange(10**5), rng.randrange(10**5))
        return self._speaker.say(key, body, now, self.cadence.life(key))

    def said(self) -> int:
        """Records so far."""
        return self._speaker.counts["published"]

    def health(self) -> Health:
        """One card that does well."""
        return Health(1, 1, _RELEASE, 0, 7 * _ROWS, 0, _ROWS, _ROWS, 0, 0, 0, refusals(self.store))


class Rack:
    """A router, as `precog_fleet.router_process` without a disk.

    Parameters
    ----------
    gossip : Gossip
    link : RouterLink
    speaker : Speaker
    name : str
    ask_ms : int
    """

    def __init__(
        self, gossip: Gossip, link: RouterLink, speaker: Speaker, name: str, ask_ms: int = 500
    ) -> None:
        self.gossip = gossip
        self.link = link
        self._speaker = speaker
        self._key = f"health/{name}"
        self._cadence = Cadence(Timing(), gossip.store, name)
        self._due = Due()
        self._ask_ms = ask_ms

    def step(self, now: int) -> None:
        """A turn."""
        self.link.pump(now)
        if self._due("ask", now, self._ask_ms):
            self.link.ask(now)
        if self._due("save", now, _SAVE_MS):
            self.gossip.store.expire(now)
            self.gossip.store.changed()
            self.link.lend(now)
            if self._cadence.due(self._key, now):
                store = self.gossip.store
                body = Health(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, refusals(store))
                self._speaker.say(self._key, body, now, self._cadence.life(self._key))
