"""ns-3's figures for the incast: the HPCC authors' simulator, commit 9f4be2a, built and run.

20 senders at 100 Gb/s on one switch, every flow starting at line rate; RTT is one sample per round
trip unless the metric says "all". `JITTER` is the least and greatest of five runs whose flows
start within 0-4 µs, printed to four significant digits; `SYNC` is the run in which all start at
the same instant.
"""

import math
from collections.abc import Mapping

from precog_sim.report.data import Cell, Row
from precog_sim.report.thesis import METRICS

__all__ = ["JITTER", "SYNC", "SYNC_PERCENT", "VARIANTS", "row"]

#: What ns-3 was run with besides the thesis' algorithms, and how the report calls it.
VARIANTS = {"dcqcn-paper-timers": "DCQCN, paper timers"}

JITTER: dict[str, dict[str, tuple[float, float]]] = {
    "hpcc": {
        "mean_fct_ms": (14.94, 16.12), "last_fct_ms": (58.3, 58.33),
        "mean_rate_gbps": (15.76, 17.0), "mean_rtt_us": (4.319, 4.324), "p99_us": (4.631, 4.639),
        "max_us": (86.13, 87.17), "max_queue_kb": (1038, 1043),
    },
    "timely": {
        "mean_fct_ms": (14.86, 15.77), "last_fct_ms": (59.48, 59.79),
        "mean_rate_gbps": (16.1, 17.09), "mean_rtt_us": (13.8, 15.78), "p99_us": (88.53, 93.61),
        "max_us": (1811, 1871), "max_queue_kb": (23050, 23710),
    },
    "dctcp": {
        "mean_fct_ms": (13.98, 14.28), "last_fct_ms": (52.71, 52.71),
        "mean_rate_gbps": (17.79, 18.16), "mean_rtt_us": (17.44, 17.6), "p99_us": (28.05, 28.05),
        "max_us": (70.8, 83.0), "max_queue_kb": (1024, 1035),
    },
    "dcqcn": {
        "mean_fct_ms": (17.94, 18.18), "last_fct_ms": (72.19, 73.97),
        "mean_rate_gbps": (13.97, 14.16), "mean_rtt_us": (6.877, 7.38), "p99_us": (66.63, 70.18),
        "max_us": (786.5, 824.6), "max_queue_kb": (10070, 10610),
    },
    "dcqcn-paper-timers": {
        "mean_fct_ms": (13.9, 14.91), "last_fct_ms": (55.09, 56.91),
        "mean_rate_gbps": (17.04, 18.28), "mean_rtt_us": (18.42, 21.5), "p99_us": (144.6, 211.0),
        "max_us": (1865, 1871), "max_queue_kb": (23530, 23610),
    },
}  # fmt: skip

SYNC: dict[str, dict[str, float]] = {
    "hpcc": {
        "mean_fct_ms": 15.325, "last_fct_ms": 58.321, "mean_rate_gbps": 16.574, "mean_rtt_us": 4.32,
        "p99_us": 4.65, "max_us": 90.48, "max_queue_kb": 1081, "all_mean_rtt_us": 4.32,
        "all_p99_us": 4.57,
    },
    "timely": {
        "mean_fct_ms": 16.072, "last_fct_ms": 59.825, "mean_rate_gbps": 15.804,
        "mean_rtt_us": 13.24, "p99_us": 102.97, "max_us": 1866.04, "max_queue_kb": 23571,
        "all_mean_rtt_us": 72.68, "all_p99_us": 1467.12,
    },
    "dctcp": {
        "mean_fct_ms": 14.539, "last_fct_ms": 52.709, "mean_rate_gbps": 17.470,
        "mean_rtt_us": 17.81, "p99_us": 28.05, "max_us": 86.32, "max_queue_kb": 1038,
        "all_mean_rtt_us": 14.66, "all_p99_us": 28.05,
    },
    "dcqcn": {
        "mean_fct_ms": 18.300, "last_fct_ms": 73.475, "mean_rate_gbps": 13.880,
        "mean_rtt_us": 7.01, "p99_us": 69.72, "max_us": 694.99, "max_queue_kb": 8726,
        "all_mean_rtt_us": 23.78, "all_p99_us": 420.48,
    },
    "dcqcn-paper-timers": {
        "mean_fct_ms": 14.329, "last_fct_ms": 55.280, "mean_rate_gbps": 17.727,
        "mean_rtt_us": 21.56, "p99_us": 181.54, "max_us": 1659.12, "max_queue_kb": 23454,
        "all_mean_rtt_us": 91.67, "all_p99_us": 1585.98,
    },
}  # fmt: skip

# The synchronous run is deterministic: ours must lie this close to it.
SYNC_PERCENT = 1.0


def row(
    algorithm: str, values: Mapping[str, tuple[float, float | None, int]], *, start: str
) -> Row:
    """Our figures in the ``ns3`` timing mode, flows starting at 100 Gb/s, with ns-3's range.

    Parameters
    ----------
    algorithm : str
        A key of `JITTER`.
    values : mapping of str to (mean, ci95, n)
        By metric, a key of `thesis.METRICS`.
    start : str
        ``"jitter"`` or ``"sync"``.

    Raises
    ------
    ValueError
        ns-3 was not run with that algorithm or start; a metric is unknown.
    """
    if start not in ("jitter", "sync"):
        raise ValueError(f"start must be 'jitter' or 'sync', not {start!r}")
    if algorithm not in JITTER:
        raise ValueError(f"algorithm must be one of {', '.join(JITTER)}, not {algorithm!r}")
    cells = {}
    for name, (mean, ci95, n) in values.items():
        if name not in METRICS:
            raise ValueError(f"metric must be one of {', '.join(METRICS)}, not {name!r}")
        low, high = _range(algorithm, name, start)
        cells[name] = Cell(mean, ci95, n, METRICS[name].unit, low=low, high=high)
    return Row(algorithm, None, 100.0, "ns3", start, cells)


def _range(algorithm: str, metric: str, start: str) -> tuple[float | None, float | None]:
    if start == "jitter":
        if metric not in JITTER[algorithm]:
            return None, None
        low, high = JITTER[algorithm][metric]
        return low - _half_digit(low), high + _half_digit(high)
    value = SYNC[algorithm].get(metric)
    if value is None:
        return None, None
    return value * (1 - SYNC_PERCENT / 100), value * (1 + SYNC_PERCENT / 100)


def _half_digit(value: float) -> float:
    """Half of the fourth significant digit: what rounding may have taken from a printed figure."""
    return float(0.5 * 10.0 ** (math.floor(math.log10(value)) - 3))
