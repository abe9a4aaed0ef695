"""What is measured while the fleet runs: convergence of records, bytes on links, lost records."""

import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..bodies import Report
from ..clock import now_ms
from .lab import Lab

__all__ = ["Watch"]


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
    lab : Lab
        All of whose agents follow the same destinations.
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._way: list[_Said] = []
        self._seen: Counter[tuple[str, str]] = Counter()
        self._took: list[float] = []
        self._began = time.monotonic()
        self._bytes = self._all_bytes()

    def look(self) -> None:
        """Note what has been said, and what everybody has heard."""
        now = now_ms()
        stores = [process.agent.store for process in self._lab.agents.values()]
        for name, process in self._lab.agents.items():
            for key in process.uplink.gossip.interest:
                entry = process.agent.store.entry(name, key)
                if entry is None or not isinstance(entry.record.body, Report):
                    continue
                record = entry.record
                if record.version > self._seen[name, key]:
                    self._seen[name, key] = record.version
                    self._way.append(_Said(name, key, record.version, record.t0))
        left = []
        for said in self._way:
            if all(store.seen(said.origin, said.key) >= said.version for store in stores):
                self._took.append((now - said.at) / 1000)
            else:
                left.append(said)
        self._way = left

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
        agents = [process.agent for process in self._lab.agents.values()]
        stores = [agent.store for agent in agents]
        for (name, key), version in self._seen.items():
            holders = [self._lab.router.store, *stores]
            lost += any(store.seen(name, key) < version for store in holders)
        return lost

    def lost_of_cards(self) -> dict[str, int]:
        """What found no room: records of traces, rows of telemetry."""
        told = [process.agent.health() for process in self._lab.agents.values()]
        return {
            "trace": sum(one.lost for one in told),
            "rows": sum(one.rows_lost for one in told),
        }
