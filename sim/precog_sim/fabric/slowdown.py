"""Slowdowns, as the figures of ns-3 were made; percentiles and sizes are those of `precog_net`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_net.summary import BINS, bins
from precog_sim.network import Result

__all__ = ["by_size", "slowdowns"]

_HEADER = 48  # bytes per packet, of every law: HPCC's telemetry counts as a cost of HPCC

_Reals = NDArray[np.float64]


def slowdowns(result: Result) -> _Reals:
    """Completion time over the time at line rate, at least 1; infinite: a flow is not complete.

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
    return np.maximum(np.nan_to_num(result.fct_us, nan=np.inf) / alone, 1.0)


def by_size(values: _Reals, size: NDArray[np.int64]) -> dict[str, dict[str, Any]]:
    """The figures of each bin of sizes that has flows, by its name as in ``ns3.json``."""
    low = dict(zip((*BINS, None), (0, *BINS), strict=True))
    return {
        f"({_short(low[one['max_bytes']])},{_short(one['max_bytes'])}]": one
        for one in bins(size, values)
    }


def _short(size: int | None) -> str:
    if size is None:
        return "inf"
    return f"{size // 10**6}M" if size >= 10**6 else f"{size // 10**3}K"
