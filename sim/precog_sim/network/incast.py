"""Incast scenarios: many senders towards one receiver, by preset."""

import math
from collections.abc import Sequence
from dataclasses import replace

from precog_sim.network.flow import Flow
from precog_sim.network.scenario import Scenario
from precog_sim.network.topology import star

__all__ = ["INCASTS", "incast"]

_MB = 1_000_000

# name -> (sizes of the flows in bytes, link delay in ps)
INCASTS: dict[str, tuple[tuple[int, ...], int]] = {
    "thesis": ((200 * _MB, 200 * _MB, 150 * _MB) + (5 * _MB,) * 17, 1_000_000),
    "tenth": ((20 * _MB, 20 * _MB, 15 * _MB) + (_MB // 2,) * 17, 1_000_000),
    "hundredth": ((2 * _MB, 2 * _MB, 3 * _MB // 2) + (_MB // 20,) * 17, 1_000_000),
    "senders8": ((40 * _MB, 40 * _MB, 30 * _MB) + (2 * _MB,) * 5, 1_000_000),
    "senders32": ((40 * _MB, 40 * _MB, 30 * _MB) + (2 * _MB,) * 29, 1_000_000),
    "base8us": ((40 * _MB, 40 * _MB, 30 * _MB) + (2 * _MB,) * 17, 1_960_000),
}


def incast(
    preset: str = "thesis",
    *,
    senders: int | None = None,
    sizes: Sequence[int] | None = None,
    base_rtt_us: float | None = None,
    scale: float = 1.0,
    jitter_ns: float = 100.0,
    gbps: float = 100.0,
) -> Scenario:
    """All senders towards one receiver through one switch; host 0 receives, sender k is host k + 1.

    Parameters
    ----------
    preset : str
        A name in `INCASTS`. ``thesis`` = 20 senders, 100 Gb/s, 1 us links, flows of 200, 200,
        150 MB and 17 x 5 MB.
    senders : int, optional
        Another number of senders: the preset's first flows, or its last one repeated.
    sizes : sequence of int, optional
        Flow sizes in bytes instead of the preset's.
    base_rtt_us : float, optional
        Base RTT (delays both ways plus the payload's transmission one way) to be reached by the
        links' delay.
    scale : float
        All sizes times this.
    jitter_ns : float
        Every flow starts up to this much later, by the run's seed.
    gbps : float
        Rate of every link.

    Raises
    ------
    ValueError
        Unknown preset, no sender, a flow of no bytes, a scale that is not positive, a base RTT that
        no delay can reach, or jitter beyond the run's end.
    """
    if preset not in INCASTS:
        raise ValueError(
            f"incast preset must be one of {', '.join(sorted(INCASTS))}, not {preset!r}"
        )
    chosen, delay_ps = INCASTS[preset]
    name = preset
    if sizes is not None:
        chosen = tuple(sizes)
    if senders is not None:
        if senders < 1:
            raise ValueError(f"senders must be at least 1, not {senders!r}")
        chosen = (chosen + (chosen[-1],) * senders)[:senders]
        name += f" senders={senders}"
    if not 0 < scale < math.inf:
        raise ValueError(f"scale must be positive and finite, not {scale!r}")
    if scale != 1.0:
        chosen = tuple(math.floor(size * scale) for size in chosen)
        name += f" scale={scale:g}"
    payload = 1000
    if base_rtt_us is not None:
        if not math.isfinite(base_rtt_us):
            raise ValueError(f"base_rtt_us must be finite, not {base_rtt_us!r}")
        # four link delays and two transmissions of the payload
        delay_ps = round((base_rtt_us * 1e6 - 2 * payload * 8000 / gbps) / 4)
        if delay_ps < 0:
            raise ValueError(
                f"base_rtt_us must be at least {2 * payload * 8e-3 / gbps:g}, not {base_rtt_us!r}"
            )
        name += f" base={base_rtt_us:g}us"
    flows = tuple(Flow(k + 1, 0, size) for k, size in enumerate(chosen))
    topology = star(len(flows) + 1, gbps=gbps, delay_ps=delay_ps)
    scenario = Scenario(name, topology, flows, payload=payload)
    # A slow tail must not cut the run short: one floor-rate flow needs size / min rate.
    longest = max(flow.size for flow in flows) * 8e-3 / scenario.min_gbps
    horizon_us = max(scenario.horizon_us, 2 * longest)
    return replace(scenario, jitter_ns=jitter_ns, horizon_us=horizon_us)
