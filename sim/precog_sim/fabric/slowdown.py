"""Slowdowns, as the figures of ns-3 were made."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_sim.network import Result

__all__ = ["Spread", "by_size", "quantile", "slowdowns", "spread"]

_HEADER = 48  # bytes per packet, of every law: HPCC's telemetry counts as a cost of HPCC
#: Upper ends of the classes of sizes, in bytes.
_EDGES = (1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, math.inf)

_Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """How the slowdowns of some flows are spread."""

    flows: int
    mean: float
    p50: float
    p95: float
    p99: float


def slowdowns(result: Result) -> _Reals:
    """Completion time over the time at line rate, at least 1; NaN where a flow is not complete.

    The divisor is the base RTT (`Topology.base_rtt_ps`) and the transmission of all bytes with 48
    bytes of header per packet at the sender's rate.
    """
    scenario = result.scenario
    topology = scenario.topology
    base_us: dict[tuple[int, int], float] = {}
    alone = np.empty(len(scenario.flows))
    gbps = [topology.host_link(host).gbps for host in range(topology.hosts)]
    for f, flow in enumerate(scenario.flows):
        way = flow.src, flow.dst
        if way not in base_us:
            base_us[way] = topology.base_rtt_ps(*way, scenario.payload) * 1e-6
        wire = flow.size + _HEADER * -(-flow.size // scenario.payload)
        alone[f] = base_us[way] + wire * 8e-3 / gbps[flow.src]
    return np.asarray(np.maximum(result.fct_us / alone, 1.0), dtype=np.float64)


def quantile(values: _Reals, share: float) -> float:
    """The value at place floor(n x `share`) of all in order, without interpolation."""
    return float(np.sort(values)[int(values.size * share)])


def spread(values: _Reals) -> Spread:
    """Figures of the slowdowns of at least one flow; of incomplete ones (NaN) all are NaN."""
    if np.isnan(values).any():
        return Spread(int(values.size), *(math.nan,) * 4)
    places = (quantile(values, share) for share in (0.50, 0.95, 0.99))
    return Spread(int(values.size), float(values.mean()), *places)


def by_size(values: _Reals, size: NDArray[np.int64]) -> dict[str, Spread]:
    """The figures of each class of sizes that has flows, by its name, smallest first."""
    found: dict[str, Spread] = {}
    low = 0.0
    for high in _EDGES:
        inside = (low < size) & (size <= high)
        if inside.any():
            found[f"({_short(low)},{_short(high)}]"] = spread(values[inside])
        low = high
    return found


def _short(size: float) -> str:
    if math.isinf(size):
        return "inf"
    return f"{size / 1e6:.0f}M" if size >= 1e6 else f"{size / 1e3:.0f}K"
