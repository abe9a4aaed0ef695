"""A ring all-reduce: alone against its closed form, and with web search for all its life."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from precog_fleet.runner import Task
from precog_net.laws import law
from precog_net.topologies import topology
from precog_net.workloads import Place, Traffic, draw, workload
from precog_sim.network import Fixed, Record, Result, Scenario, estimate, run, star
from precog_studies.kept import run_key

__all__ = ["Completion", "Ring", "alone", "closed_form_us", "judged", "on_leaves", "tasks"]

_CODE = (
    ("precog_models", ""),
    ("precog_sim", "network"),
    ("precog_net", ""),
    ("precog_studies", "fabric_speed/rings.py"),
)

_PAYLOAD = 1000
_QUIET = Record(packets=False, probe_us=0.0)
_NS_PER_BYTE = 0.08  # at 100 Gb/s
_LINK_NS = 1000.0
_HEADER, _ACK = 48, 60
_STEP_MS = 0.02
_LONGEST = 4  # flows of web search start for up to this many times `Ring.search_ms`


@dataclass(frozen=True)
class Ring:
    """A job: `hosts` that reduce `size` bytes each."""

    hosts: int = 64
    size: int = 100_000_000

    @property
    def search_ms(self) -> float:
        """How long flows of web search start in the first run; most laws need less for the job.

        100 ms for 100 MB; small jobs take a round trip for each of their steps.
        """
        return max(100.0 * self.size / 100_000_000, _STEP_MS * 2 * (self.hosts - 1))


@dataclass(frozen=True)
class Completion:
    """A job on leaves and spines.

    Parameters
    ----------
    took_us : float or None
        Completion time; None: it did not end within `watched_ms`.
    others_p95 : float or None
        Slowdown of the others' flows that ended; None: there are none.
    watched_ms : float
        Flows of web search start, and the run lasts, so long.
    """

    took_us: float | None
    others_p95: float | None
    watched_ms: float


def closed_form_us(ring: Ring) -> float:
    """Completion time on one switch at 100 Gb/s when nothing else runs.

    2 (n - 1) steps of one chunk each. A host's link carries the chunk's data and, the same way, the
    acknowledgements of the chunk that it gets meanwhile; a step is over when its last packet has
    been stored and forwarded once and has crossed two links. The job is over when the last
    acknowledgement is back.
    """
    chunk = ring.size / ring.hosts
    packets = -(-chunk // _PAYLOAD)
    last = chunk - (packets - 1) * _PAYLOAD + _HEADER
    on_link = (chunk + packets * (_HEADER + _ACK)) * _NS_PER_BYTE
    step = on_link + last * _NS_PER_BYTE + 2 * _LINK_NS
    back = 2 * (_ACK * _NS_PER_BYTE + _LINK_NS)
    return float(2 * (ring.hosts - 1) * step + back) * 1e-3


def _took_us(result: Result, kind: np.ndarray) -> float | None:
    """From the job's first start to its last end; None: it did not end before the horizon."""
    mine = kind == "ring"
    end = result.start_us[mine] + result.fct_us[mine]
    if np.isnan(end).any():
        return None
    return float(end.max() - result.start_us[mine].min())


def _drawn(text: str, hosts: int, duration_ms: float, seed: int) -> Traffic:
    return draw(workload(text), Place(hosts, 100.0, round(duration_ms * 1e9)), seed)


def alone(ring: Ring) -> float | None:
    """Completion time in us at line rate on one switch."""
    traffic = _drawn(f"ring:{ring.hosts}x{ring.size}", ring.hosts, 1.0, 1)
    made = Scenario("ring", star(ring.hosts), traffic.flows(), payload=_PAYLOAD)
    return _took_us(run(made, Fixed(), record=_QUIET), np.array(traffic.kind))


def on_leaves(ring: Ring, name: str, load: float, seed: int) -> Completion:
    """The job on leaves and spines, with web search at `load` from its first to its last byte.

    Of the four racks' hosts the job's are drawn at random. If the job outlasts the search, both
    are run again with a search twice as long, up to four times `Ring.search_ms`. Without others the
    job has a second.
    """
    if load == 0:
        return _on_leaves(ring, name, load, seed, 1000.0)
    length = 1
    while True:
        found = _on_leaves(ring, name, load, seed, length * ring.search_ms)
        if found.took_us is not None or length >= _LONGEST:
            return found
        length *= 2


def _on_leaves(ring: Ring, name: str, load: float, seed: int, duration_ms: float) -> Completion:
    leaves = max(-(-ring.hosts // 16), 2)
    network = topology(f"leafspine:leaves={leaves},spines=4,hosts=16,oversubscription=1")
    text = f"ring:{ring.hosts}x{ring.size}:spread"
    if load > 0:
        text += f"+websearch:{load}"
    traffic = _drawn(text, network.hosts, duration_ms, seed)
    made = Scenario(
        "ring", network, traffic.flows(), payload=_PAYLOAD, horizon_us=duration_ms * 1e3
    )
    result = run(made, law(name), seed=seed, record=_QUIET)
    kind = np.array(traffic.kind)
    slowdown = np.maximum(result.fct_us / result.standalone_us, 1.0)
    others = slowdown[(kind != "ring") & np.isfinite(slowdown)]
    p95 = float(np.percentile(others, 95)) if others.size else None
    return Completion(_took_us(result, kind), p95, duration_ms)


def tasks(
    ring: Ring, laws: Sequence[str], load: float, seeds: int
) -> dict[tuple[str, float, int], Task]:
    """The runs by law, others' load and seed: alone, and with the others."""
    found = {}
    for place in [
        (name, share, seed) for seed in range(seeds) for name in laws for share in (0, load)
    ]:
        what = (ring, *place)
        found[place] = Task(run_key(_CODE, repr(what).encode()), _told, what)
    return found


def _told(ring: Ring, name: str, load: float, seed: int) -> dict[str, float | None]:
    return asdict(on_leaves(ring, name, load, seed))


def judged(
    alone: Sequence[Mapping[str, Any]], loaded: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """A law's completion times and their ratio by paired seeds, with 95 % intervals.

    Parameters
    ----------
    alone, loaded : sequence of mapping
        A `Completion` each seed.

    Returns
    -------
    dict
        ``alone_us``, ``loaded_us``, ``ratio`` and ``others_p95``: an `Estimate` each, None where a
        seed's job did not end; ``watched_ms``, the longest search of the others.
    """
    first, second = ([run["took_us"] for run in runs] for runs in (alone, loaded))
    figures = {"alone_us": first, "loaded_us": second, "ratio": [None]}
    if None not in (*first, *second):
        figures["ratio"] = [b / a for a, b in zip(first, second, strict=True)]
    figures["others_p95"] = [run["others_p95"] for run in loaded]
    told: dict[str, Any] = {
        name: None if None in values else asdict(estimate(values))
        for name, values in figures.items()
    }
    return told | {"watched_ms": max(run["watched_ms"] for run in loaded)}
