"""What happens to one fleet, and what is measured: steady state, a newcomer, a cut, a dead host."""

import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from precog_fleet.ahead import AGE_MS, Ahead
from precog_fleet.gossip import EVERYTHING
from precog_fleet.outcome import Outcome
from precog_fleet.robust import QUORUM

from .fabric import Port
from .simulation import Simulation

__all__ = ["Course", "course", "memory", "steady"]

_STEP_S = 0.1
_AT = (0.5, 0.99, 1.0)
_PARTS = 10  # one rack in ten is cut off


@dataclass(frozen=True)
class Course:
    """How long the steps take, seconds.

    Parameters
    ----------
    warm_up, steady : float
    cut : float
        Length of the cut.
    revoked : float
        From the cut to a revocation on the larger side.
    patience : float
        Longest time to wait for anything.
    """

    warm_up: float = 4.0
    steady: float = 8.0
    cut: float = 60.0
    revoked: float = 10.0
    patience: float = 30.0


def percentiles(values: Sequence[int]) -> dict[str, float | None]:
    """Seconds, from ms."""
    if not values:
        return {"p50": None, "p99": None, "max": None, "count": 0}
    p50, p99, most = (float(one) / 1000 for one in np.quantile(values, _AT, method="higher"))
    return {"p50": p50, "p99": p99, "max": most, "count": len(values)}


def _tally(ports: Iterable[Port]) -> Counter[str]:
    total: Counter[str] = Counter()
    for port in ports:
        total.update(port.counts)
        total["busy_us"] += round(port.server.busy_us)
    return total


def steady(
    simulation: Simulation, seconds: float, racks: Iterable[int] | None = None
) -> dict[str, Any]:
    """Figures of some time, for each agent and router of the sample, or of some of its racks.

    Returns
    -------
    dict
        ``agent`` and ``router``: bytes and records a second; ``each`` and ``all``: seconds from a
        signature until a follower, or all of them, held the record.
    """
    wanted = simulation.sample if racks is None else frozenset(racks)
    groups = {
        "agent": [port for port in simulation.ports.values() if port.rack in wanted],
        "router": [port for port in simulation.routers if port.rack in wanted],
    }
    before = {name: _tally(ports) for name, ports in groups.items()}
    simulation.arrivals.each.clear()
    simulation.arrivals.all.clear()
    simulation.run(seconds)
    found: dict[str, Any] = {}
    for name, ports in groups.items():
        change = _tally(ports)
        change.subtract(before[name])
        each = {what: count / seconds / len(ports) for what, count in change.items()}
        found[name] = {
            "bytes_in_s": each.get("bytes_in", 0.0),
            "bytes_out_s": each.get("bytes_out", 0.0),
            "records_s": each.get("records", 0.0),
            "said_s": each.get("sealed", 0.0),
            "exchanges_s": each.get("rounds", 0.0),
            "cpu_percent": each.get("busy_us", 0.0) / 1e4,
        }
    arrivals = simulation.arrivals
    return found | {"each": percentiles(arrivals.each), "all": percentiles(arrivals.all)}


def _until(simulation: Simulation, done: Callable[[], bool], limit_s: float) -> float | None:
    """Seconds until something holds; None: not in that time."""
    began = simulation.engine.us
    while not done():
        if simulation.engine.us - began > limit_s * 1e6:
            return None
        simulation.run(_STEP_S)
    return (simulation.engine.us - began) / 1e6


def course(simulation: Simulation, times: Course) -> dict[str, Any]:
    """All steps in turn."""
    simulation.run(times.warm_up)
    found: dict[str, Any] = {"steady": steady(simulation, times.steady)}
    found["newcomer"] = _newcomer(simulation, times)
    found["dead"] = {"silent_s": _killed(simulation, times)}
    found["cut"] = _cut(simulation, times)
    return found


def _newcomer(simulation: Simulation, times: Course) -> dict[str, Any]:
    """An agent that the authority has just approved joins a rack."""
    number = simulation.fleet.agents
    host = simulation.add(number, new=True)
    port, name = simulation.ports[number], host.identity.name
    began = simulation.engine.us
    members = simulation.fleet.agents + simulation.fleet.racks + 1
    other = next(one for n, one in simulation.hosts.items() if n != number)
    stores = [one.gossip.store for one in (*simulation.routers, *simulation.ports.values())]
    waits: dict[str, Callable[[], bool]] = {
        "destinations_s": lambda: all(
            host.store.voices(key) >= other.store.voices(key) for key in host.keys
        ),
        "members_s": lambda: len(host.store.members) == members,
        "known_to_all_s": lambda: all(name in store.members for store in stores),
    }
    found: dict[str, Any] = {}
    end = began + times.patience * 1e6
    while waits and simulation.engine.us < end:
        simulation.run(_STEP_S)
        for what in [what for what, holds in waits.items() if holds()]:
            del waits[what]
            found[what] = (simulation.engine.us - began) / 1e6
            found[what.replace("_s", "_bytes")] = port.counts["bytes_in"]
    return {what: found.get(what) for what in ("destinations_s", "members_s", "known_to_all_s")} | {
        "members_bytes": found.get("members_bytes")
    }


def _killed(simulation: Simulation, times: Course) -> float | None:
    """A host of the first rack dies; seconds until its reports count nowhere."""
    number = min(simulation.hosts)
    simulation.ports[number].dead = True
    name = simulation.hosts[number].identity.name
    hosts = [host for n, host in simulation.hosts.items() if n != number]

    def silent() -> bool:
        now = simulation.engine.ms
        entries = (host.store.entry(name, key) for host in hosts for key in host.keys)
        return all(one is None or now - one.record.t0 > AGE_MS for one in entries)

    return _until(simulation, silent, times.patience)


def _cut(simulation: Simulation, times: Course) -> dict[str, Any]:
    """A tenth of all racks is cut off, one of the sample among them, and joined again."""
    racks = range(simulation.fleet.racks)
    last = max(simulation.sample)
    away = {last, *(rack for rack in racks if rack % _PARTS == last % _PARTS)} - {
        min(simulation.sample)
    }
    there = [n for n, port in simulation.ports.items() if port.rack in away and not port.dead]
    before = _answered(simulation, there)
    simulation.fabric.cut(away)
    simulation.run(times.revoked)
    revoked = simulation.fleet.agents - 1
    frame = simulation.membership(f"a{revoked}", "agent", version=2, revoked=True)
    first = next(port for port in simulation.routers if port.rack not in away)
    assert first.gossip.store.receive(frame, simulation.engine.ms) is Outcome.ACCEPTED
    larger = [
        port
        for port in (*simulation.routers, *simulation.ports.values())
        if port.rack not in away and not port.dead
    ]
    here = _until(simulation, lambda: _revoked(larger, f"a{revoked}"), times.patience)
    passed = times.revoked + (here or times.patience)
    simulation.run(max(0.0, times.cut - passed))
    during = _answered(simulation, there)
    simulation.fabric.heal()
    began = simulation.engine.us
    possible = _possible(simulation, there, revoked)
    members = [*simulation.routers, *simulation.ports.values()]
    alive = [port for port in members if not port.dead]
    waits: dict[str, Callable[[], bool]] = {
        "answers_s": lambda: _answered(simulation, there) >= possible,
        "revoked_s": lambda: _revoked(alive, f"a{revoked}"),
        "complete_s": lambda: not _lacking(simulation),
    }
    found: dict[str, Any] = {what: None for what in waits}
    while waits and simulation.engine.us < began + times.patience * 1e6:
        simulation.run(_STEP_S)
        for what in [what for what, holds in waits.items() if holds()]:
            del waits[what]
            found[what] = (simulation.engine.us - began) / 1e6
    return found | {
        "racks": len(away),
        "length_s": times.cut,
        "agents_seen": len(there),
        "revoked_on_larger_side_s": here,
        "answered_before": before,
        "answered_during": during,
        "answered_possible": possible,
    }


def _possible(simulation: Simulation, numbers: Iterable[int], revoked: int) -> float:
    """Share of destinations of some agents that enough agents report who live and count."""
    reporters = Counter(simulation.fleet.reporters)
    for number, port in simulation.ports.items():
        if number >= simulation.fleet.agents:
            reporters.update(simulation.hosts[number].keys)
        if port.dead:
            reporters.subtract(simulation.hosts[number].keys)
    reporters.subtract(simulation.fleet.destinations[revoked])
    found = [reporters[key] >= QUORUM for n in numbers for key in simulation.hosts[n].keys]
    return sum(found) / len(found) if found else 0.0


def _revoked(ports: Iterable[Port], name: str) -> bool:
    return all(port.gossip.store.members[name].revoked for port in ports)


def _answered(simulation: Simulation, numbers: Iterable[int]) -> float:
    """Share of destinations of some agents that enough young reports tell of."""
    answers = []
    for number in numbers:
        host = simulation.hosts[number]
        ahead = Ahead()
        names = [key.partition("/")[2] for key in host.keys]
        ahead.look(host.store, names, simulation.engine.ms)
        answers += [ahead.map[name].known is not None for name in names]
    return sum(answers) / len(answers) if answers else 0.0


def _lacking(simulation: Simulation) -> int:
    """How often a follower in the sample lacks an agent's newest report, said over a turn ago."""
    hosts = [h for n, h in simulation.hosts.items() if not simulation.ports[n].dead]
    newest = {
        (host.identity.name, key): host.store.mark(host.identity.name, key)
        for host in hosts
        for key in host.keys
        if not host.store.members[host.identity.name].revoked
    }
    late = simulation.engine.ms - 1000
    return sum(
        other.store.seen(origin, key) < version
        for other in hosts
        for (origin, key), version in newest.items()
        if key in other.keys and version < late
    )


def memory(simulation: Simulation) -> dict[str, float]:
    """MB that records take in a store of their own: one agent's, and one router's."""
    found = {}
    agent = next(iter(simulation.ports.values()))
    router = next(port for port in simulation.routers if port.rack in simulation.sample)
    for name, port in (("agent", agent), ("router", router)):
        frames = [entry.frame for entry in port.gossip.store.entries()]
        frames.sort(key=lambda frame: not frame[5:].startswith(b"authority"))
        store = simulation.store()
        tracemalloc.start()
        for frame in frames:
            store.receive(bytes(bytearray(frame)), simulation.engine.ms)
        found[f"{name}_mb"] = tracemalloc.get_traced_memory()[0] / 1e6
        tracemalloc.stop()
        found[f"{name}_records"] = float(len(store.pairs(EVERYTHING)))
    return found
