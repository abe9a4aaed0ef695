"""What is forecast: send queues of senders that share a bottleneck, at many loads, under two laws.

In an *incast* all senders have one receiver; in a *shared link* each has its own, behind one link.
Every sender has traffic of its own, drawn once: a share of the load, and either messages at random
(three sizes, mostly small) or bursts. Training, validation and test have their own seeds, loads and
numbers of senders.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from precog_models.data.queue_trace import QueueTrace
from precog_sim.network import (
    Bursts,
    CongestionControl,
    Dcqcn,
    Flow,
    Link,
    Messages,
    Poisson,
    Record,
    Result,
    Scenario,
    Timely,
    Topology,
    run,
    star,
)

__all__ = ["GROUPS", "LAWS", "PLANS", "QueueRun", "plan", "queue_trace"]

GROUPS = ("incast", "shared link")
LAWS = ("dcqcn", "timely")

_LINE_GBPS = 100.0
_PS_A_US = 1_000_000
_MIN_GBPS = 0.1
_ENDLESS = 1 << 36  # bytes of a flow: more than any run sends
_PS_PER_TICK = 1000
_SIZES = ((2_048, 16_384, 131_072), (4_096, 65_536, 524_288), (8_192, 32_768, 262_144))
_WEIGHTS = ((0.6, 0.3, 0.1), (0.8, 0.15, 0.05), (0.4, 0.4, 0.2))
_BURST_SIZES = (16_384, 65_536, 131_072)


@dataclass(frozen=True)
class QueueRun:
    """One simulation.

    Parameters
    ----------
    group : str
        ``"incast"`` or ``"shared link"``.
    law : str
        ``"dcqcn"`` or ``"timely"``.
    senders : int
    load : float
        Bytes that come, as a share of the bottleneck.
    seed : int
        Of the traffic's constants and of the run.
    horizon_us : float
        Length.
    delay_us : float
        Of each link.

    Raises
    ------
    ValueError
        There is no such group or law, fewer than two senders, or no delay.
    """

    group: str
    law: str
    senders: int
    load: float
    seed: int
    horizon_us: float
    delay_us: float = 1.0

    def __post_init__(self) -> None:
        for name, known in (("group", GROUPS), ("law", LAWS)):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name} must be one of {', '.join(known)}, not {getattr(self, name)!r}"
                )
        if self.senders < 2:
            raise ValueError(f"senders must be at least 2, not {self.senders!r}")
        if not 0 < self.delay_us <= 1000:
            raise ValueError(f"delay must be in 0..1000 us, not {self.delay_us!r}")

    def control(self) -> CongestionControl:
        """The rate law; constants that act at a base RTT of some microseconds."""
        return Dcqcn(preset="ns3") if self.law == "dcqcn" else Timely(preset="scaled")

    def scenario(self) -> Scenario:
        """The network and its traffic."""
        rng = np.random.default_rng(self.seed)
        share = rng.dirichlet(np.full(self.senders, 3.0)) * self.load * _LINE_GBPS
        incast = self.group == "incast"
        delay_ps = round(self.delay_us * _PS_A_US)
        flows = tuple(
            Flow(
                k if not incast else k + 1,
                0 if incast else self.senders + k,
                _ENDLESS,
                messages=_traffic(rng, float(share[k])),
            )
            for k in range(self.senders)
        )
        return Scenario(
            f"{self.group}, {self.senders} senders, load {self.load:g}",
            _star(self.senders, delay_ps) if incast else _two_switches(self.senders, delay_ps),
            flows,
            min_gbps=_MIN_GBPS,
            jitter_ns=5_000.0,
            horizon_us=self.horizon_us,
        )


def _traffic(rng: np.random.Generator, gbps: float) -> Messages:
    kind = int(rng.integers(len(_SIZES)))
    if rng.random() < 0.5:
        return Poisson(gbps, sizes=_SIZES[kind], weights=_WEIGHTS[kind])
    on_us = float(rng.uniform(20.0, 100.0))
    peak = float(rng.uniform(3.0, 8.0))  # times the mean rate
    return Bursts(gbps * peak, on_us, on_us * (peak - 1.0), size=_BURST_SIZES[kind])


def _star(senders: int, delay_ps: int) -> Topology:
    return star(senders + 1, gbps=_LINE_GBPS, delay_ps=delay_ps)


def _two_switches(pairs: int, delay_ps: int) -> Topology:
    left, right = 2 * pairs, 2 * pairs + 1
    links = [Link(k, left if k < pairs else right, _LINE_GBPS, delay_ps) for k in range(2 * pairs)]
    return Topology(2 * pairs, 2, (*links, Link(left, right, _LINE_GBPS, delay_ps)))


def _runs(
    senders: tuple[int, ...], loads: tuple[float, ...], repeats: int, seed: int, horizon_us: float
) -> Iterator[QueueRun]:
    for group in GROUPS:
        for law in LAWS:
            for load in loads:
                for k in range(repeats):
                    count = senders[k % len(senders)]
                    yield QueueRun(group, law, count, load, seed, horizon_us)
                    seed += 1


# Loads and numbers of senders of the test lie between those of training, but are none of them.
PLANS: dict[str, dict[str, tuple[QueueRun, ...]]] = {
    "full": {
        "train": tuple(_runs((4, 8, 16), (0.3, 0.5, 0.7, 0.85), 3, 1_000, 10_000.0)),
        "validation": tuple(_runs((6, 12), (0.35, 0.55, 0.75), 4, 2_000, 10_000.0)),
        "test": tuple(_runs((5, 10), (0.4, 0.6, 0.8), 4, 3_000, 20_000.0)),
    },
    # A thousand queues, each with a history of its own.
    "queues": {"own": tuple(_runs((12, 13), (0.4, 0.6, 0.8), 7, 5_000, 20_000.0))},
    "smoke": {
        "train": tuple(_runs((4,), (0.6,), 1, 1_000, 1_000.0)),
        "validation": tuple(_runs((4,), (0.6,), 1, 2_000, 1_000.0)),
        "test": tuple(_runs((4,), (0.6,), 1, 3_000, 1_000.0)),
    },
    "smoke queues": {"own": tuple(_runs((3,), (0.6,), 1, 5_000, 4_000.0))},
}


def plan(name: str) -> dict[str, tuple[QueueRun, ...]]:
    """The runs of a named plan, by use: ``train``, ``validation``, ``test``; ``own``.

    Raises
    ------
    ValueError
        There is none of that name.
    """
    if name not in PLANS:
        raise ValueError(f"queue plan must be one of {', '.join(PLANS)}, not {name!r}")
    return PLANS[name]


def queue_trace(spec: QueueRun) -> tuple[QueueTrace, Result]:
    """Simulate one run; its send queues in ticks of 1 ns, and everything else it left."""
    scenario = spec.scenario()
    record = Record(packets=False, queues=True, probe_us=0.0)
    result = run(scenario, spec.control(), seed=spec.seed, record=record)
    log = result.queue_log
    trace = QueueTrace(
        queue=log[:, 1].copy(),
        t=log[:, 0] // _PS_PER_TICK,
        size=log[:, 2].copy(),
        queues=len(scenario.flows),
        base_rtt=round(scenario.base_rtt_us * 1e6 / _PS_PER_TICK),
        end=round(spec.horizon_us * 1e6 / _PS_PER_TICK),
        group=spec.group,
        law=spec.law,
        card={"scenario": scenario.name, "seed": spec.seed, "load": spec.load},
    )
    return trace, result
