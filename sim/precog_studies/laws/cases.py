"""What is compared: stars, a parking lot and fat trees, and the figures of one run of each.

Links have 100 Gb/s; the base RTT of a star is 4.16 us, the slowest rate 0.1 Gb/s.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from precog_net.features import Features
from precog_net.job import Job, execute
from precog_net.laws import law
from precog_net.topologies import parking_lot
from precog_sim.network import (
    INCASTS,
    Answers,
    CongestionControl,
    Flow,
    Hearing,
    Hints,
    Mixed,
    Record,
    Result,
    Scenario,
    Topology,
    incast,
    jain,
    measure,
    run,
    star,
)
from precog_studies.rivals.cases import CASES as RIVAL_CASES
from precog_studies.rivals.cases import incast_sizes

__all__ = ["CASES", "HOPS", "LINE_GBPS", "Case"]

LINE_GBPS = 100.0
HOPS = 3  #: bottlenecks of the parking lot
_MIN_GBPS = 0.1
_START_GBPS = 10.0
_SPREAD_NS = 5000.0
_LONG_US = 5000.0
_JITTER_PS = 20_000_000
_FABRIC_MS = 3.0
_STOP_MS = 50.0
_INCAST = "incast:60x500000:0.02"
_MARKS = "20000"  # bytes of a host's port: a fifth of a BDP
_KEPT = ("bytes", "class", "slowdown")

#: One law's run of a seed, and what receivers say in it: figures, or, of a fat tree, columns of its
#: flows.
Measure = Callable[[str, int, Hints], Mapping[str, Any]]


@dataclass(frozen=True)
class Case:
    """A line of the study.

    Parameters
    ----------
    title : str
    measure : callable
        Of a law as ``--law`` has it, a seed, and hints.
    tuned : bool
        The law's constants were chosen on it; others are only reported.
    fabric : str
        Workload of a fat tree, whose run returns flows; empty: it returns figures.
    """

    title: str
    measure: Measure
    tuned: bool = False
    fabric: str = ""


def _figures(result: Result) -> dict[str, float]:
    """RTTs are one a round trip, as the thesis takes them."""
    found = measure(result)
    return {
        "rtt_mean_us": found.sample_mean_us,
        "rtt_p99_us": found.sample_p99_us,
        "rtt_max_us": found.sample_max_us,
        "rate_gbps": found.mean_rate_gbps,
        "finish_ms": found.last_fct_ms,
        "jain": found.jain,
        "utilisation": found.utilisation,
    }


def _incast(sizes: tuple[int, ...], start_gbps: float = _START_GBPS, **options: Any) -> Measure:
    def one(name: str, seed: int, hints: Hints) -> dict[str, float]:
        scenario = replace(incast(sizes=sizes), min_gbps=_MIN_GBPS, hints=hints, **options)
        started = replace(law(name), start_gbps=start_gbps)
        return _figures(run(scenario, started, seed=seed, record=Record(probe_us=0)))

    return one


def _rival(case: str) -> Measure:
    def one(name: str, seed: int, hints: Hints) -> dict[str, float]:
        return {
            key: value
            for key, value in asdict(RIVAL_CASES[case](law(name), seed, hints)).items()
            if value is not None
        }

    return one


def _long(
    scenario: Scenario, cc: CongestionControl, seed: int, from_us: float = _LONG_US / 2
) -> dict[str, Any]:
    """Flows that do not end: each one's rate on the wire over the line's, late."""
    result = run(scenario, cc, seed=seed, record=Record(probe_us=20.0))
    rows = np.flatnonzero(result.probe_t_us >= from_us)
    got = (result.probe_got[rows[-1]] - result.probe_got[rows[0]]).astype(np.float64)
    span_us = float(result.probe_t_us[rows[-1]] - result.probe_t_us[rows[0]])
    wire = got * (1 + result.header / scenario.payload) * 8e-3 / span_us / LINE_GBPS
    told = result.sample_rtt_us[result.sample_t_us >= from_us]
    return {"part": wire, "rtt_p99_us": float(np.percentile(told, 99)), "jain": jain(got)}


def _long_scenario(name: str, network: Topology, flows: tuple[Flow, ...], hints: Hints) -> Scenario:
    """Starts are spread over 5 us, for a lock depends on them."""
    return Scenario(
        name,
        network,
        flows,
        horizon_us=_LONG_US,
        min_gbps=_MIN_GBPS,
        jitter_ns=_SPREAD_NS,
        hints=hints,
    )


def _two(name: str, seed: int, hints: Hints) -> dict[str, float]:
    """Two flows that start at 7:3, in the fifth millisecond."""
    size = int(LINE_GBPS * _LONG_US / 8e-3)
    scenario = _long_scenario("two", star(3), (Flow(1, 0, size), Flow(2, 0, size)), hints)
    laws = [replace(law(name), start_gbps=part * LINE_GBPS) for part in (0.7, 0.3)]
    found = _long(scenario, Mixed(laws=laws, of=[0, 1]), seed, _LONG_US * 0.8)
    return {"jain": found["jain"], "utilisation": float(found["part"].sum())}


def _jitter(name: str, seed: int, hints: Hints) -> dict[str, float]:
    """One of two flows hears each acknowledgement up to 20 us late."""
    size = int(LINE_GBPS * _LONG_US / 8e-3)
    late = Flow(1, 0, size, rtt_jitter_ps=_JITTER_PS, rtt_jitter_of="all")
    scenario = _long_scenario("jitter", star(3), (late, Flow(2, 0, size)), hints)
    found = _long(scenario, replace(law(name), start_gbps=_START_GBPS), seed)
    part = found["part"]
    return {"share": float(part[0]) * 2, "utilisation": float(part.sum())}


def _parking_lot(name: str, seed: int, hints: Hints) -> dict[str, float]:
    """One flow over all bottlenecks, and one flow of its own over each."""
    size = int(LINE_GBPS * _LONG_US / 8e-3)
    flows = (Flow(HOPS + 1, HOPS + 2, size), *(Flow(k, k + 1, size) for k in range(HOPS)))
    scenario = _long_scenario("parking lot", parking_lot(HOPS), flows, hints)
    found = _long(scenario, replace(law(name), start_gbps=_START_GBPS), seed)
    part = found["part"]
    return {
        "rtt_p99_us": found["rtt_p99_us"],
        "through": float(part[0]) * 2,
        "utilisation": float(part[0] + part[1:].min()),
    }


def _fabric(workload: str, **features: Any) -> Measure:
    def one(name: str, seed: int, hints: Hints) -> dict[str, Any]:
        job = Job("fat320", f"{workload}:0.3+{_INCAST}", "", name, seed, _FABRIC_MS, _STOP_MS)
        flows = execute(replace(job, features=Features(**features)), hints=hints).flows
        return {key: np.asarray(flows[key]).tolist() for key in _KEPT}

    return one


_THESIS = INCASTS["thesis"][0]

#: Lines by name.
CASES: dict[str, Case] = {
    "thesis10": Case("Thesis' incast, start at 10 Gb/s", _incast(_THESIS), tuned=True),
    "thesis100": Case("Thesis' incast, start at 100 Gb/s", _incast(_THESIS, LINE_GBPS), tuned=True),
    "n5": Case("Incast, 5 senders", _incast(incast_sizes(5)), tuned=True),
    "n20": Case("Incast, 20 senders", _incast(incast_sizes(20))),
    "n60": Case("Incast, 60 senders", _incast(incast_sizes(60)), tuned=True),
    "n200": Case("Incast, 200 senders", _incast(incast_sizes(200)), tuned=True),
    "long32": Case("32 long flows", _rival("long32"), tuned=True),
    "long256": Case("256 long flows", _rival("long256"), tuned=True),
    "two": Case("Two long flows, from 7:3", _two, tuned=True),
    "noise": Case(
        "Time stamps wrong by up to 200 ns, base learnt",
        _incast(_THESIS, hearing=Hearing(noise_ns=200.0, base="learnt")),
        tuned=True,
    ),
    "base_low": Case(
        "Base RTT believed 50 ns too low",
        _incast(_THESIS, hearing=Hearing(base_error_ns=-50.0)),
        tuned=True,
    ),
    "jitter": Case("One of two flows with 20 µs of jitter on each ACK", _jitter, tuned=True),
    "acks4": Case(
        "Thesis' incast, one ACK for 4 packets", _incast(_THESIS, answers=Answers(4)), tuned=True
    ),
    "acks16": Case(
        "Thesis' incast, one ACK for 16", _incast(_THESIS, answers=Answers(16)), tuned=True
    ),
    "parking_lot": Case("Parking lot of three bottlenecks", _parking_lot),
    "websearch": Case("Fat tree, 320 hosts, WebSearch", _fabric("websearch"), fabric="websearch"),
    "hadoop": Case(
        "Fat tree, 320 hosts, FB Hadoop", _fabric("hadoop"), tuned=True, fabric="hadoop"
    ),
    "websearch_first": Case(
        "Fat tree, 320 hosts, WebSearch, ACKs first",
        _fabric("websearch", acks_first=True),
        fabric="websearch",
    ),
    "websearch_marks": Case(
        "Fat tree, 320 hosts, WebSearch, marks",
        _fabric("websearch", ecn=_MARKS),
        fabric="websearch",
    ),
    "hadoop_marks": Case(
        "Fat tree, 320 hosts, FB Hadoop, marks",
        _fabric("hadoop", ecn=_MARKS),
        tuned=True,
        fabric="hadoop",
    ),
    "hadoop_first": Case(
        "Fat tree, 320 hosts, FB Hadoop, ACKs first",
        _fabric("hadoop", acks_first=True),
        tuned=True,
        fabric="hadoop",
    ),
}
