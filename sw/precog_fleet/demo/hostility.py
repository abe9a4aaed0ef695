"""Records that no member may believe, sent over the real mesh by one of its members.

The link's certificate is a member's own, so that the mesh carries all of it; signatures and bounds
are what is left to refuse it.
"""

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..agent import Agent
from ..bodies import Report, Statistics
from ..clock import now_ms
from ..outcome import Outcome
from ..records import MAX_FRAME_BYTES, Record, seal
from ..signing import SigningKey
from .lab import Lab

__all__ = ["Hostility"]

_LIFE_MS = 30_000
_HOUR_MS = 3_600_000
_NEWEST = 1 << 52
_LIE = Statistics(n=1, rate=1, mean=900_000_000, var=0, p99=900_000_000, queue=0)


class Hostility:
    """One member that sends what is not to be believed, and what became of it.

    Parameters
    ----------
    lab : Lab
    seed : int
        Of noise.

    Attributes
    ----------
    frames : dict of str to bytes
        By kind.
    """

    def __init__(self, lab: Lab, seed: int) -> None:
        self._lab = lab
        self._names = list(lab.agents)
        self._rng = random.Random(seed)
        self._bad, self._victim = self._names[0], self._names[1]
        followed = sorted(lab.agents[self._bad].uplink.gossip.interest)
        self._key = next(key for key in followed if key.startswith("dst/"))
        self._authority = self._agent(self._bad).identity.authority
        self.frames = dict(self._made(now_ms()))
        self._before: list[Counter[Outcome]] = []

    def _agent(self, name: str) -> Agent:
        return self._lab.agents[name].agent

    def _record(self, origin: str, now: int, **changes: Any) -> Record:
        plain: dict[str, Any] = {"version": _NEWEST, "t0": now, "t1": now + _LIFE_MS}
        return Record(origin, self._key, **(plain | {"body": Report(_LIE)} | changes))

    def _made(self, now: int) -> Iterator[tuple[str, bytes]]:
        own, stranger = self._agent(self._bad).identity.key, SigningKey.generate()

        def sealed(record: Record, key: SigningKey = own) -> bytes:
            return seal(record, key, self._authority)

        genuine = self._agent(self._victim).store.entry(self._victim, self._key)
        assert genuine is not None
        yield "signed by a stranger's key", sealed(self._record(self._victim, now), stranger)
        yield "in the name of another", sealed(self._record(self._victim, now))
        yield "changed on its way", genuine.frame[:-1] + bytes([genuine.frame[-1] ^ 1])
        yield "of a stranger", sealed(self._record("mallory", now), stranger)
        yield "replayed", sealed(self._record(self._bad, now, version=1))
        yield "expired", sealed(self._record(self._bad, now - 2 * _HOUR_MS))
        yield "of the future", sealed(self._record(self._bad, now + _HOUR_MS))
        wrong = Report(_LIE, contract=1)
        # True, but of no use: stores remember its version, and its origin goes on from there.
        record = self._record(self._bad, now, body=wrong, version=self._mark() + 1)
        yield "for another contract", sealed(record)
        yield "too large", genuine.frame + self._rng.randbytes(MAX_FRAME_BYTES)
        yield "noise", self._rng.randbytes(300)

    def _mark(self) -> int:
        return self._agent(self._bad).store.mark(self._bad, self._key)

    def send(self) -> None:
        """Send one frame of each kind to all who follow the destination."""
        self._before = [Counter(store.outcomes) for store in self._stores()]
        link = self._agent(self._bad).link
        for frame in self.frames.values():
            link.publish(self._key, frame)

    def _stores(self) -> list[Any]:
        return [process.agent.store for process in self._lab.agents.values()]

    def arrived(self) -> bool:
        """Whether every agent has had to decide on all of it."""
        return self.refused() >= len(self.frames) * len(self._names)

    def refused(self) -> int:
        """Decisions against a frame, of all agents together."""
        usual = {Outcome.ACCEPTED, Outcome.KNOWN, Outcome.WRONG_BASE}
        now = [Counter(store.outcomes) for store in self._stores()]
        return sum(
            max(0, after[outcome] - before[outcome])
            for after, before in zip(now, self._before, strict=True)
            for outcome in Outcome
            if outcome not in usual
        )

    def accepted(self) -> int:
        """Frames of those that an agent or the router holds, each counted at every holder."""
        hostile = set(self.frames.values())
        stores = [*self._stores(), self._lab.router.store]
        return sum(entry.frame in hostile for store in stores for entry in store.entries())

    def told(self) -> dict[str, Any]:
        """JSON data."""
        return {
            "sent": len(self.frames) * len(self._names),
            "refused": self.refused(),
            "accepted": self.accepted(),
            "kinds": sorted(self.frames),
        }
