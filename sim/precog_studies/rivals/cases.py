"""What is compared on one switch of 100 Gb/s, and what is measured.

The base RTT is 4.16 us, the slowest rate 0.1 Gb/s. `thesis`, `n20`, `n60`: incasts that start at
10 Gb/s, as `research/law.md` has them: three elephants, and equal flows for the rest. `two`: long
flows that start at 70 and 30 Gb/s. `long32`, `long256`: long flows that start at their fair share.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from precog_net.laws import law
from precog_sim.network import (
    INCASTS,
    CongestionControl,
    Flow,
    Hints,
    Mixed,
    Record,
    Result,
    Scenario,
    incast,
    jain,
    run,
)
from precog_sim.network.topology import star

__all__ = ["CASES", "LAWS", "Figures", "incast_sizes", "measure"]

#: As `--law` has them; those of cards are integer laws, as the RTL computes them.
LAWS = (
    "hpcc",
    "powertcp",
    "hpcc-pint",
    "hpcc-pint:share=0.0625",
    "theta-powertcp",
    "theta-powertcp:stretch=1.02,beta_mbps=96",
    "swift",
    "swift:preset=scaled",
    "nscc",
    "dctcp",
    "timely",
    "dcqcn",
    "dcqcn-barre",
    "card:lockstep",
    "card:pid",
    "card:swift",
    "card:theta_powertcp",
    "card:timely",
    "card:dcqcn",
)
LINE_GBPS = 100.0
_MIN_GBPS = 0.1
_ELEPHANTS = (20_000_000, 20_000_000, 15_000_000)
_MOUSE = 2_000_000
_LONG_US = 5000.0


@dataclass(frozen=True)
class Figures:
    """Of one run.

    Parameters
    ----------
    rtt_mean_us, rtt_p99_us, rtt_max_us : float
        RTTs of packets; of long flows those of the second half.
    finish_ms : float or None
        Of the last flow of an incast.
    jain : float
        Of the equal flows' mean rates; of long flows in the second half (two: last millisecond).
    utilisation : float
        Of the receiver's link by that time, headers included.
    """

    rtt_mean_us: float
    rtt_p99_us: float
    rtt_max_us: float
    finish_ms: float | None
    jain: float
    utilisation: float


#: A run of a law with a seed, and what its receivers say.
_Measure = Callable[[CongestionControl, int, Hints], Figures]


def incast_sizes(senders: int) -> tuple[int, ...]:
    """Bytes of three long flows and of short ones from all other senders."""
    return _ELEPHANTS + (_MOUSE,) * (senders - len(_ELEPHANTS))


def _rtts(result: Result, first: float) -> tuple[float, float, float]:
    told = result.packet_rtt_us[int(first * result.packet_rtt_us.size) :]
    return float(told.mean()), float(np.percentile(told, 99)), float(told.max())


def _incast(sizes: tuple[int, ...]) -> _Measure:
    def one(cc: CongestionControl, seed: int, hints: Hints) -> Figures:
        scenario = replace(incast(sizes=sizes), min_gbps=_MIN_GBPS, hints=hints)
        result = run(scenario, replace(cc, start_gbps=10.0), seed=seed, record=Record(probe_us=0))
        end_us = float(np.max(result.start_us + result.fct_us))
        packets = -(-result.size // scenario.payload)
        wire = float((result.size + packets * result.header).sum())
        equal = result.size == sizes[-1]
        return Figures(
            *_rtts(result, 0.0),
            finish_ms=end_us * 1e-3,
            jain=jain(result.size[equal] / result.fct_us[equal]),
            utilisation=wire * 8e-3 / LINE_GBPS / end_us,
        )

    return one


def _long(starts: tuple[float, ...], from_us: float) -> _Measure:
    def one(cc: CongestionControl, seed: int, hints: Hints) -> Figures:
        n = len(starts)
        share = LINE_GBPS / min(n, 2) * _LONG_US / 8e-3  # none ends
        flows = tuple(Flow(k + 1, 0, int(share)) for k in range(n))
        network = star(n + 1)
        scenario = Scenario(
            "long", network, flows, horizon_us=_LONG_US, min_gbps=_MIN_GBPS, hints=hints
        )
        different = sorted(set(starts))
        laws = [replace(cc, start_gbps=gbps) for gbps in different]
        of = [different.index(gbps) for gbps in starts]
        result = run(scenario, Mixed(laws=laws, of=of), seed=seed, record=Record(probe_us=20.0))
        rows = np.flatnonzero(result.probe_t_us >= from_us)
        got = (result.probe_got[rows[-1]] - result.probe_got[rows[0]]).astype(np.float64)
        span_us = float(result.probe_t_us[rows[-1]] - result.probe_t_us[rows[0]])
        wire = float((got * (1 + result.header / scenario.payload)).sum())
        return Figures(
            *_rtts(result, 0.5),
            finish_ms=None,
            jain=jain(got),
            utilisation=wire * 8e-3 / LINE_GBPS / span_us,
        )

    return one


#: Cases by name.
CASES: dict[str, _Measure] = {
    "thesis": _incast(INCASTS["thesis"][0]),
    "n20": _incast(incast_sizes(20)),
    "n60": _incast(incast_sizes(60)),
    "two": _long((70.0, 30.0), 4000.0),
    "long32": _long((LINE_GBPS / 32,) * 32, _LONG_US / 2),
    "long256": _long((LINE_GBPS / 256,) * 256, _LONG_US / 2),
}


def measure(name: str, case: str, seed: int) -> Figures:
    """Run the law `name` in a case."""
    return CASES[case](law(name), seed, Hints())
