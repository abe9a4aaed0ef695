"""Scenarios, and one run of each; links have 100 Gb/s."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_net import workloads
from precog_net.laws import law
from precog_net.topologies import topology
from precog_net.workloads import Traffic
from precog_sim.network import CongestionControl, Hints, Mixed, Record, Result, Scenario, run
from precog_studies.prediction.arms import BULK, BULK_LEVEL, GBPS, LIARS, Arm
from precog_studies.prediction.guesses import LEAST, prior
from precog_studies.prediction.services import ANSWER, MESSAGE, services
from precog_studies.prediction.starts.heeding import Hosts
from precog_studies.prediction.starts.predictors import Predictor
from precog_studies.prediction.starts.windows import known, windows
from precog_studies.rivals.cases import incast_sizes

__all__ = [
    "BACKGROUND",
    "CASES",
    "FABRIC",
    "INCAST",
    "TAUGHT",
    "Case",
    "closed_loop",
    "incasts",
    "known_levels",
    "loop_of",
    "taught",
]

_MIN_GBPS = 0.1
_REPEATS = 8
_SAMPLE_US = 5.0  # from one sample of queues to the next
TAUGHT = (1001, 1002, 1003)  #: seeds of what is learnt beforehand: the prior, whom to trust
INCAST = ANSWER  #: class of flows that come at once
BACKGROUND = ("websearch", MESSAGE)

Draw = Callable[[int, int], Traffic]  #: flows of a seed on a number of hosts


@dataclass(frozen=True)
class Case:
    """A scenario.

    Parameters
    ----------
    title, network : str
    draw : callable
    stop_ms : float
        The run ends then at the latest.
    start_gbps : float, optional
        Rate of a new flow in the arms that do not choose another; None: the line's.
    job : str
        Class of the flows whose last end is the job's completion; empty: there is none.
    apart : tuple of int
        Receivers whose flows are counted apart: in one arm they lie.
    """

    title: str
    network: str
    draw: Draw
    stop_ms: float = 20.0
    start_gbps: float | None = None
    job: str = ""
    apart: tuple[int, ...] = ()


def _background(seed: int, hosts: int, ms: float, load: float = 0.3) -> Traffic:
    """Web search between all hosts, starts within `ms`."""
    place = workloads.Place(hosts, GBPS, round(ms * 1e9))
    return workloads.draw(workloads.workload(f"websearch:{load}"), place, seed)


def _flows(rows: Sequence[tuple[int, int, int, int]], kind: str) -> Traffic:
    start, src, dst, size = np.array(rows, dtype=np.int64).T
    return Traffic(start, src, dst, size, (kind,) * len(rows))


def incasts(ms: float, count: int, within_us: float, size: int, rounds: Sequence[float]) -> Draw:
    """`count` receivers; at each of `rounds` us, 60 hosts send `size` bytes to each of them, moved
    by up to `within_us`."""

    def made(seed: int, hosts: int) -> Traffic:
        rng = np.random.default_rng((seed, 9))
        rows = []
        for _ in range(count):
            chosen = rng.permutation(hosts)[:61].tolist()
            begin = rng.uniform(0, within_us)
            for at in rounds:
                start = int((at + begin) * 1e6)
                rows += [(start, src, chosen[0], size) for src in chosen[1:]]
        return workloads.merged([_background(seed, hosts, ms), _flows(rows, INCAST)])

    return made


def _job(shape: str, ms: float) -> Draw:
    """A collective, over `ms` of background."""

    def made(seed: int, hosts: int) -> Traffic:
        place = workloads.Place(hosts, GBPS, round(ms * 1e9))
        job = workloads.draw(workloads.workload(shape), place, seed)
        return workloads.merged([_background(seed, hosts, ms), job])

    return made


def _served(ms: float) -> Draw:
    """Services (`services`), over half the background."""

    def made(seed: int, hosts: int) -> Traffic:
        return workloads.merged([_background(seed, hosts, ms, 0.15), *services(seed, hosts, ms)])

    return made


def _star(sizes: Sequence[int]) -> Draw:
    """Senders to one receiver, starts spread over 5 us."""

    def made(seed: int, hosts: int) -> Traffic:
        starts = np.random.default_rng((seed, 5)).integers(0, 5_000_000, len(sizes)).tolist()
        rows = [
            (start, k + 1, 0, size)
            for k, (start, size) in enumerate(zip(starts, sizes, strict=True))
        ]
        return _flows(rows, INCAST)

    return made


FABRIC = "leafspine:leaves=4,spines=4,hosts=16"

#: Scenarios by name.
CASES: dict[str, Case] = {
    "incast": Case(
        "Eight 60:1 incasts of 500 KB over 30 % WebSearch, 320 hosts, 1 ms of arrivals",
        "fat320",
        incasts(1.0, 8, 1000.0, 500_000, (0.0,)),
    ),
    "rounds": Case(
        "The same 60 hosts send 100 KB to one, three times, over 30 % WebSearch, 64 hosts",
        FABRIC,
        incasts(1.5, 1, 50.0, 100_000, (0.0, 600.0, 1200.0)),
    ),
    "services": Case(
        "Four services whose 8 to 60 workers answer at once, over 15 % WebSearch, 64 hosts, 4 ms",
        FABRIC,
        _served(4.0),
    ),
    "alltoall": Case(
        "All-to-all of 64 hosts, 4 MB each, over 30 % WebSearch",
        FABRIC,
        _job("alltoall:64x4M", 0.6),
        job="alltoall",
    ),
    "ring": Case(
        "Ring all-reduce of 64 hosts, 4 MB, over 30 % WebSearch",
        FABRIC,
        _job("ring:64x4M", 2.0),
        job="ring",
    ),
    "n5": Case(
        "Incast of 5 senders, start at 10 Gb/s", "star:hosts=6", _star(incast_sizes(5)), 100.0, 10.0
    ),
    "n20": Case(
        "Incast of 20 senders, start at 10 Gb/s",
        "star:hosts=21",
        _star(incast_sizes(20)),
        100.0,
        10.0,
    ),
    "background": Case(
        "WebSearch alone, 30 %, 64 hosts",
        FABRIC,
        lambda seed, hosts: _background(seed, hosts, 1.0),
        apart=LIARS,
    ),
}


@cache
def _network(name: str) -> Any:
    return topology(name)


def taught(case: Case) -> dict[str, int]:
    """The prior of a case: levels by class of flows, from other seeds."""
    hosts = _network(case.network).hosts
    return prior([case.draw(seed, hosts) for seed in TAUGHT])


@cache
def known_levels(name: str) -> dict[str, int]:
    """The prior of one of `CASES`."""
    return taught(CASES[name])


def _guesses(hints: Hints, traffic: Traffic) -> NDArray[np.int64]:
    """The level that each flow believes at its start; 0: none."""
    return np.array(hints.guesses or (0,) * len(traffic))


def _hints(arm: Arm, traffic: Traffic, levels: dict[str, int], seed: int) -> Hints:
    """The arm's hints, and what its long flows believe."""
    hints = arm.hints(traffic, levels, seed)
    if not arm.bulk or not hints.echo:
        return hints
    bulk = np.where(traffic.size > BULK, BULK_LEVEL, 0)
    return replace(hints, guesses=tuple(np.maximum(_guesses(hints, traffic), bulk).tolist()))


def _congestion(arm: Arm, traffic: Traffic, start_gbps: float | None) -> CongestionControl:
    """The arm's law; that of its long flows starts no faster than the others."""
    one = replace(law(arm.law), start_gbps=start_gbps)
    if not arm.bulk:
        return one
    bulk = law(arm.bulk)
    starts = [gbps for gbps in (start_gbps, bulk.start_gbps) if gbps is not None]
    bulk = replace(bulk, start_gbps=min(starts, default=None))
    return Mixed(laws=(one, bulk), of=(traffic.size > BULK).astype(int).tolist())


def closed_loop(
    name: str,
    arm: Arm,
    seed: int,
    predictor: Predictor | None = None,
    hosts: Hosts | None = None,
) -> tuple[Result, Traffic, int]:
    """One run of one of `CASES`, as `loop_of`."""
    return loop_of(CASES[name], known_levels(name), arm, seed, predictor, hosts=hosts)


def _kept(case: Case) -> Record:
    """Samples of queues and arrivals, all through the longest run."""
    rows = round(case.stop_ms * 1e3 / _SAMPLE_US) + 1
    return Record(packets=False, depth_us=_SAMPLE_US, probe_us=_SAMPLE_US, probes=rows)


def loop_of(
    case: Case,
    levels: dict[str, int],
    arm: Arm,
    seed: int,
    predictor: Predictor | None = None,
    record: Record | None = None,
    *,
    hosts: Hosts | None = None,
) -> tuple[Result, Traffic, int]:
    """One run; and how many guesses were still moving in its last repetition.

    A predictor hears what the run's receivers said before each start, and hosts that try a source
    what became of its guesses. Guesses that are heeded change the run, so it is repeated with them
    until they no longer change: then it is the run in which each NIC predicts.

    Parameters
    ----------
    case : Case
    levels : dict of str to int
        Prior by class of flows, as `taught` finds it.
    arm : Arm
    seed : int
    predictor : callable, optional
    record : Record, optional
        What is kept; by default samples of all switch ports' queues, and traces of the receivers'.
    hosts : Hosts, optional
        They heed the predictor, or without one the arm's guesses, where these have shown skill,
        before the run and in it, and elsewhere what the receiver told last. By default all flows
        heed the guesses. The hosts stay as they are.
    """
    network = _network(case.network)
    traffic = case.draw(seed, network.hosts)
    hints = _hints(arm, traffic, levels, seed)
    scenario = Scenario(
        case.title,
        network,
        traffic.flows(),
        min_gbps=_MIN_GBPS,
        hints=hints,
        horizon_us=case.stop_ms * 1e3,
    )
    congestion = _congestion(arm, traffic, arm.start_gbps or case.start_gbps)

    def once(heeded: Hints) -> Result:
        return run(
            replace(scenario, hints=heeded),
            congestion,
            seed=seed,
            record=record or _kept(case),
        )

    def heeded(seen: Result) -> NDArray[np.int64]:
        told = known(traffic, seen.heard, seen.heard_us)
        guesses = _guesses(hints, traffic)
        if predictor is not None:
            guesses = predictor(windows(traffic, told))
        if hosts is not None:
            guesses = deepcopy(hosts).beliefs(seen, traffic, guesses, told)
        return np.where(traffic.size > LEAST, guesses, 0)

    if predictor is None and hosts is None:
        return once(hints), traffic, 0
    result = once(replace(hints, guesses=()))
    guesses = np.zeros(len(traffic), dtype=np.int64)
    moving = 0
    for _ in range(_REPEATS):
        found = heeded(result)
        moving = int((found != guesses).sum())
        if not moving:
            break
        guesses = found
        result = once(replace(hints, guesses=tuple(guesses.tolist())))
    return result, traffic, moving
