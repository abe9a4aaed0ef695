"""What is measured while the fleet runs: convergence of records, bytes on links, lost records."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..bodies import Report
from ..clock import now_ms
from ..gossip import Gossip
from ..health import Health
from ..mesh import Mesh
from ..store import Store

__all__ = ["Watch"]


class _Agent(Protocol):
    store: Store

    def health(self) -> Health:
        """Its state."""


class _Link(Protocol):
    @property
    def gossip(self) -> Gossip:
        """What the agent follows."""

    @property
    def mesh(self) -> Mesh | None:
        """Its session."""


class _Process(Protocol):
    @property
    def agent(self) -> _Agent:
        """The agent."""

    @property
    def uplink(self) -> _Link:
        """The agent's link to the mesh."""


class _Holder(Protocol):
    @property
    def store(self) -> Store:
        """Records that a router holds."""


class Fleet(Protocol):
    """What is watched: agents by name, and a router that holds all of their reports."""

    @property
    def agents(self) -> Mapping[str, _Process]:
        """Agents' processes by name."""

    @property
    def router(self) -> _Holder:
        """A router, whose store has the reports of all agents."""


@dataclass(frozen=True)
class _Said:
    """A report that is on its way to all agents that follow its destination."""

    origin: str
    key: str
    version: int
    at: int


class Watch:
    """Looks at a fleet after each of its turns.

    Parameters
    ----------
    lab : Fleet
    """

    def __init__(self, lab: Fleet) -> None:
        self._lab = lab
        self._way: list[_Said] = []
        self._seen: Counter[tuple[str, str]] = Counter()
        self._took: list[float] = []
        self._began = time.monotonic()
        self._bytes = self._all_bytes()
        self._new()  # what was said before has no time that could be measured

    def look(self) -> None:
        """Note what has been said, and what all members have heard."""
        now = now_ms()
        stores = self._followers()
        self._way += self._new()
        left = []
        for said in self._way:
            if all(one.seen(said.origin, said.key) >= said.version for one in stores[said.key]):
                self._took.append((now - said.at) / 1000)
            else:
                left.append(said)
        self._way = left

    def _new(self) -> list[_Said]:
        """Reports that have been said since the last look."""
        found = []
        for name, process in self._lab.agents.items():
            for key in process.uplink.gossip.interest:
                entry = process.agent.store.entry(name, key)
                if entry is None or not isinstance(entry.record.body, Report):
                    continue
                record = entry.record
                if record.version > self._seen[name, key]:
                    self._seen[name, key] = record.version
                    found.append(_Said(name, key, record.version, record.t0))
        return found

    def _followers(self) -> dict[str, list[Store]]:
        """Agents' stores by the keys that they follow."""
        found: dict[str, list[Store]] = {}
        for process in self._lab.agents.values():
            for key in process.uplink.gossip.interest:
                found.setdefault(key, []).append(process.agent.store)
        return found

    @property
    def waiting(self) -> int:
        """Reports that somebody has not heard yet."""
        return len(self._way)

    def converge_s(self) -> dict[str, Any]:
        """Seconds from a report's signature until every agent held it."""
        took = self._took
        return {
            "p50": float(np.median(took)) if took else None,
            "max": max(took) if took else None,
            "reports": len(took),
        }

    def _all_bytes(self) -> int:
        meshes = [process.uplink.mesh for process in self._lab.agents.values()]
        return sum(m.counts["bytes_in"] + m.counts["bytes_out"] for m in meshes if m is not None)

    def bytes_per_agent_s(self) -> float:
        """Records and questions, both ways, without TLS and Zenoh's own headers."""
        seconds = time.monotonic() - self._began
        return (self._all_bytes() - self._bytes) / len(self._lab.agents) / seconds

    def lost_records(self) -> int:
        """Agents' newest records that the router does not hold, or an agent that follows them."""
        lost = 0
        followers = self._followers()
        for (name, key), version in self._seen.items():
            holders = [self._lab.router.store, *followers.get(key, ())]
            lost += any(store.seen(name, key) < version for store in holders)
        return lost

    def lost_of_cards(self) -> dict[str, int]:
        """What found no room: records of traces, rows of telemetry."""
        told = [process.agent.health() for process in self._lab.agents.values()]
        return {
            "trace": sum(one.lost for one in told),
            "rows": sum(one.rows_lost for one in told),
        }
