"""A destination, those who report it, and the newcomers.

Host 0 is the destination, hosts 1 to 8 report it, the others are newcomers, all round one switch:
100 Gb/s, 1 µs a link. Reports are what the simulator shows of a first run that ends when the
newcomers come. In ``vanished`` the reporters' flows end then, too, and the reports stay.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from precog_fleet.bodies import Statistics
from precog_fleet.robust import Voice, shared, start_rate
from precog_sim.network import Flow, Record, Result, Scenario, run, star
from precog_sim.network.congestion import CongestionControl, Dcqcn, Pid, Timely

__all__ = ["CASES", "LAWS", "LINE_GBPS", "STARTS", "Case", "Newcomers", "measure"]

LINE_GBPS = 100.0
_REPORTERS = 8
_NEWCOMERS = 4
_COME_PS = 4_000_000_000  # 4 ms: the laws have settled
_SPACING_PS = 100_000_000  # mean time between newcomers
_SIZE = 1_000_000
_PRECEDING = 2_000_000  # bytes of each reporter's flow where none sends any more
_LONG = 60_000_000  # ... and where all send on
_CLAMP = 16  # as the agent's: a start is no slower than this part of the line
_LIARS = 3
_KBPS = 1_000_000
_MOST_KBPS = Statistics.BOUNDS["rate"][1]


@dataclass(frozen=True)
class Case:
    """What goes on at the destination.

    Parameters
    ----------
    name, title : str
    hot : bool
        The reporters send when they report.
    stays : bool
        ... and go on.
    lie : Statistics or None
        What three of them say instead of the truth.
    """

    name: str
    title: str
    hot: bool = True
    stays: bool = True
    lie: Statistics | None = None


_SLOW = Statistics(n=65_535, rate=0, mean=10**9, var=0, p99=10**9, queue=0)
_FAST = Statistics(n=65_535, rate=_MOST_KBPS, mean=0, var=0, p99=0, queue=0)
CASES = (
    Case("idle", "idle destination, used one by one before", hot=False, stays=False),
    Case("hot", "hot destination: 8 flows go on"),
    Case("vanished", "the 8 flows have ended, their reports have not", stays=False),
    Case("slow_liars", "hot, and 3 of 8 say that nothing moves", lie=_SLOW),
    Case("fast_liars", "hot, and 3 of 8 say that all is free", lie=_FAST),
)

#: Rate without the fleet's word, Gb/s.
STARTS = {"10G": 10.0, "line": LINE_GBPS}
#: Laws by name, from a flow's start rate.
LAWS: dict[str, Callable[[], CongestionControl]] = {
    "pid": lambda: Pid(preset="precog"),
    "timely": Timely,
    "dcqcn": Dcqcn,
}


@dataclass(frozen=True)
class Newcomers:
    """What became of one run.

    Parameters
    ----------
    slowdown : float
        Mean of the newcomers'.
    peak_us : float
        Longest RTT from the newcomers' arrival on.
    others_ms : float
        Mean completion time of the flows that were there; NaN where none is.
    start_gbps : float
        At which the newcomers started.
    """

    slowdown: float
    peak_us: float
    others_ms: float
    start_gbps: float


def _scenario(case: Case, seed: int, *, newcomers: bool) -> Scenario:
    """The reporters' flows, those of one seed, and the newcomers', if they are to come."""
    rng = np.random.default_rng(seed)
    flows = []
    for k in range(_REPORTERS):
        if not case.hot:
            flows.append(Flow(k + 1, 0, _PRECEDING, k * _COME_PS // _REPORTERS))
        elif case.stays or not newcomers:
            flows.append(Flow(k + 1, 0, _LONG, int(rng.integers(0, 1_000_000))))
    if newcomers:
        gaps = rng.exponential(_SPACING_PS, _NEWCOMERS)
        for k, start in enumerate(np.cumsum(gaps).astype(np.int64).tolist()):
            flows.append(Flow(_REPORTERS + 1 + k, 0, _SIZE, _COME_PS + start))
    topology = star(1 + _REPORTERS + _NEWCOMERS, gbps=LINE_GBPS)
    return Scenario(case.name, topology, tuple(flows), jitter_ns=0.0, horizon_us=200_000.0)


def _started(law: CongestionControl, gbps: NDArray[np.float64]) -> CongestionControl:
    """`law` with each flow's start rate, Gb/s."""

    class Started(type(law)):  # type: ignore[misc]
        """The law with these rates."""

        def start_rates(self, top: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.minimum(top, gbps * 1e9)

    made: CongestionControl = Started(**{f.name: getattr(law, f.name) for f in fields(law)})
    return made


def reports(case: Case, law: CongestionControl, own_gbps: float, seed: int) -> list[Voice]:
    """What the eight say when the newcomers come: the truth of a run without them, or a lie."""
    made = replace(_scenario(case, seed, newcomers=False), horizon_us=_COME_PS * 1e-6)
    started = _started(law, np.full(len(made.flows), own_gbps))
    result = run(made, started, seed=seed, record=Record(probe_us=0.0))
    voices = []
    for k in range(_REPORTERS):
        mine = result.sample_flow == k
        rtt_ns = (result.sample_rtt_ps[mine] // 1000)[-256:]
        truth = Statistics(
            n=1,
            rate=int(result.sample_rate_gbps[mine][-1] * _KBPS),
            mean=int(rtt_ns.mean()),
            var=int(rtt_ns.var()),
            p99=int(np.percentile(rtt_ns, 99)),
            queue=0,
        )
        lies = case.lie is not None and k < _LIARS
        voices.append(Voice(f"host{k + 1}", 0, case.lie if lies and case.lie else truth))
    return voices


def measure(case: Case, law_name: str, own_gbps: float, seed: int, *, told: bool) -> Newcomers:
    """One run; `told`: newcomers start as the fleet's word says."""
    law = LAWS[law_name]()
    made = _scenario(case, seed, newcomers=True)
    gbps = np.full(len(made.flows), own_gbps)
    start = own_gbps
    if told:
        known = shared(reports(case, law, own_gbps, seed), 0, age_ms=5000)
        line = int(LINE_GBPS * _KBPS)
        own = int(own_gbps * _KBPS)
        start = start_rate(known, own=own, least=line // _CLAMP, most=line) / _KBPS
        gbps[-_NEWCOMERS:] = start
    result = run(made, _started(law, gbps), seed=seed, record=Record(probe_us=0.0))
    return _judged(result, start)


def _judged(result: Result, start_gbps: float) -> Newcomers:
    new = slice(-_NEWCOMERS, None)
    slowdown = (result.fct_us / result.standalone_us)[new]
    late = result.sample_t_us >= _COME_PS * 1e-6
    there = result.fct_us[:-_NEWCOMERS]
    return Newcomers(
        slowdown=float(slowdown.mean()),
        peak_us=float(result.sample_rtt_us[late].max()),
        others_ms=float(there.mean()) * 1e-3 if len(there) else float("nan"),
        start_gbps=start_gbps,
    )
