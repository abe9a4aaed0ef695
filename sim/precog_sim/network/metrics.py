"""The figures of merit of a run, and their means over seeds.

Definitions
-----------
mean rate
    Sum of flow sizes / sum of flow completion times, the thesis' (30), in Gb/s of payload.
sample RTT
    One non-overlapping sample per round trip and flow; all flows pooled (the thesis' TIMELY, PID).
packet RTT
    Every acknowledged packet (the thesis' HPCC and DCTCP).
percentile
    Linear interpolation between order statistics at rank (n - 1) q / 100 (numpy's default).
Jain
    (sum x)^2 / (n sum x^2) with x = size / completion time, over the flows of the commonest size,
    which ought to be treated alike; 1 when there is only one such flow.
utilisation
    Bytes on the wire of the first transmissions / (link rate x time from the first start to the
    last completion) at the receivers' links.
slowdown
    Completion time / completion time alone in the network.
confidence
    Half width of the two-sided 95 % interval of a mean over seeds, Student's t.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from precog_sim.network.result import Result

__all__ = ["Estimate", "Metrics", "estimate", "jain", "measure", "summarise"]


@dataclass(frozen=True)
class Metrics:
    """One run's figures; NaN where flows did not finish or nothing was recorded."""

    mean_rate_gbps: float
    mean_fct_ms: float
    last_fct_ms: float
    sample_mean_us: float
    sample_p50_us: float
    sample_p99_us: float
    sample_max_us: float
    packet_mean_us: float
    packet_p99_us: float
    packet_max_us: float
    samples: float
    jain: float
    utilisation: float
    slowdown_mean: float
    slowdown_p95: float
    max_queue_kb: float
    pauses: float
    marks: float
    drops: float
    short_fct_ms: float
    packets_per_cpu_s: float


def _quantiles(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, ...]:
    """Mean, median, 99th percentile and maximum."""
    if values.size == 0:
        return (math.nan,) * 4
    p50, p99 = np.percentile(values, [50, 99])
    return float(values.mean()), float(p50), float(p99), float(values.max())


def jain(rates: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Jain's index of `rates`: 1 if all are equal, 1 / n if one has everything.

    It is 1 where all rates are 0, too: they are equal.
    """
    squares = float((rates**2).sum())
    return 1.0 if squares == 0 else float(rates.sum()) ** 2 / (rates.size * squares)


def measure(result: Result) -> Metrics:
    """The figures of one run."""
    fct = result.fct_us
    sample_mean, sample_p50, sample_p99, sample_max = _quantiles(result.sample_rtt_us)
    packet_mean, _, packet_p99, packet_max = _quantiles(result.packet_rtt_us)
    commonest = Counter(result.size.tolist()).most_common(1)[0][0]
    alike = result.size == commonest
    goodput = result.size[alike] / fct[alike]
    slowdown = fct / result.standalone_us
    scenario = result.scenario
    packets = -(-result.size // scenario.payload)
    wire = float((result.size + packets * result.header).sum())
    receivers = {flow.dst for flow in scenario.flows}
    capacity = sum(scenario.topology.host_link(host).gbps for host in receivers)
    busy_us = float((result.start_us + fct).max() - result.start_us.min())
    return Metrics(
        mean_rate_gbps=float(result.size.sum() * 8e-3 / fct.sum()),
        mean_fct_ms=float(fct.mean() * 1e-3),
        last_fct_ms=float(fct.max() * 1e-3),
        sample_mean_us=sample_mean,
        sample_p50_us=sample_p50,
        sample_p99_us=sample_p99,
        sample_max_us=sample_max,
        packet_mean_us=packet_mean,
        packet_p99_us=packet_p99,
        packet_max_us=packet_max,
        samples=float(result.sample_rtt_us.size),
        jain=jain(goodput),
        utilisation=wire * 8e-3 / (capacity * busy_us),
        slowdown_mean=float(slowdown.mean()),
        slowdown_p95=float(np.percentile(slowdown, 95)),
        max_queue_kb=result.max_queue * 1e-3,
        pauses=float(result.pauses),
        marks=float(result.marks),
        drops=float(result.drops),
        short_fct_ms=float(fct[alike].mean() * 1e-3),
        packets_per_cpu_s=result.data_sent / result.cpu_s if result.cpu_s > 0 else math.nan,
    )


@dataclass(frozen=True)
class Estimate:
    """A figure over seeds: mean, half width of the 95 % interval, range, number of seeds."""

    mean: float
    half_width: float
    low: float
    high: float
    seeds: int


# Two-sided 95 % points of Student's t for 1..30 degrees of freedom.
_T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_T95_MANY = 1.96


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and confidence of independent values; the half width of a single one is NaN.

    Raises
    ------
    ValueError
        There is no value.
    """
    if not values:
        raise ValueError("values must hold at least one seed's figure, not none")
    x = np.asarray(values, dtype=np.float64)
    n = x.size
    if n == 1:
        half = math.nan
    else:
        t = _T95[n - 2] if n - 2 < len(_T95) else _T95_MANY + 2.4 / (n - 1)
        half = t * float(x.std(ddof=1)) / math.sqrt(n)
    return Estimate(float(x.mean()), half, float(x.min()), float(x.max()), n)


def summarise(runs: Sequence[Metrics]) -> dict[str, Estimate]:
    """Every figure over the runs of several seeds, by the names of `Metrics`."""
    return {
        field.name: estimate([getattr(run, field.name) for run in runs])
        for field in fields(Metrics)
    }
