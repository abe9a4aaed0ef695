"""Training data: runs of the simulator whose RTT samples a predictor learns from.

The plan ``thesis`` is the thesis' data: the 20-sender incast under TIMELY and under a PID whose
gains are being trained. The plan ``precog`` adds runs that differ in everything a deployed NIC
will meet (senders, base RTT, gains, targets, start rates), and test runs of scenarios that no
training run resembles: 8 senders, 32 senders, a base RTT of 8 us, and other seeds of the incast.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from typing import Any

import numpy as np

from precog_models.data.trace import Role, RttTrace
from precog_models.rate.reference.pid import PRESETS as PID_PRESETS
from precog_sim.network import Record, Result, Scenario, Timely, incast, run
from precog_sim.network.congestion import CongestionControl, Pid

__all__ = ["PLANS", "Run", "collect", "plan", "rtt_trace", "trace_of"]

_PS_PER_TICK = 1000
_CORE_GROUP = "incast-20"

# Ranges of the varied runs. Values of the test scenarios are left out, with a margin.
_SENDERS = (2, 3, 4, 5, 6, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 36, 40, 48)
_BASE_RTT_US = (4.16, 4.16, 4.16, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 9.0, 10.0, 12.0)
_START_GBPS = (5.0, 10.0, 10.0, 20.0, 100.0)
_START_JITTER_NS = (100.0, 4000.0)
_VARIED_SCALE = 0.15


@dataclass(frozen=True)
class Run:
    """One simulation and what its samples are for.

    Parameters
    ----------
    group : str
        The scenario under which errors are reported.
    role : Role
        Training, testing, or both by time blocks.
    scenario : Scenario
    control : CongestionControl
    seed : int
    """

    group: str
    role: Role
    scenario: Scenario
    control: CongestionControl
    seed: int


def _core(scenario: Scenario, seeds: Sequence[int]) -> Iterator[Run]:
    for seed in seeds:
        for control in _laws():
            yield Run(_CORE_GROUP, Role.SPLIT, scenario, control, seed)


def _laws(target_us: float = 5.0, start_gbps: float = 10.0) -> tuple[CongestionControl, ...]:
    """The thesis' two sources of data: gains that are being trained, and TIMELY."""
    return (
        Pid(preset="thesis-untrained", train=True, target_us=target_us, start_gbps=start_gbps),
        Timely(preset="ns3", start_gbps=start_gbps),
    )


def _varied(count: int, scale: float, seed: int) -> Iterator[Run]:
    rng = np.random.default_rng(seed)
    for k in range(count):
        base = float(rng.choice(_BASE_RTT_US))
        start = float(rng.choice(_START_GBPS))
        scenario = incast(
            "thesis",
            senders=int(rng.choice(_SENDERS)),
            base_rtt_us=base,
            scale=scale,
            jitter_ns=float(rng.choice(_START_JITTER_NS)),
        )
        gains = (
            PID_PRESETS["thesis"]
            if k % 4 == 0
            else replace(
                PID_PRESETS["thesis"],
                kp=round(float(rng.uniform(-0.5, -0.1)), 3),
                ki=round(float(rng.uniform(-0.1, 0.0)), 3),
                kd=round(float(rng.uniform(-0.1, 0.1)), 3),
            )
        )
        target = round(base * float(rng.uniform(1.1, 1.7)), 3)
        control: CongestionControl = Timely(preset="ns3", start_gbps=start)
        if k % 2 == 0:
            control = Pid(preset=gains, target_us=target, start_gbps=start)
        yield Run("varied", Role.TRAIN, scenario, control, seed=1000 + k)


def _unseen(scale: float) -> Iterator[Run]:
    for group, preset, target_us in (
        ("8 senders", "senders8", 5.0),
        ("32 senders", "senders32", 5.0),
        ("base RTT 8 us", "base8us", 8.82),  # as far above the base as 5 us is above 4.18
        ("incast-20, other seeds", "thesis", 5.0),
    ):
        for control in _laws(target_us):
            yield Run(group, Role.TEST, incast(preset, scale=scale), control, seed=5000)


def _thesis() -> list[Run]:
    return list(_core(incast("thesis"), seeds=(0,)))


def _precog() -> list[Run]:
    return [
        *_core(incast("thesis"), seeds=(0, 1, 2, 3)),
        *_varied(96, _VARIED_SCALE, seed=7),
        *_unseen(1.0),
    ]


def _smoke() -> list[Run]:
    return [
        *_core(incast("hundredth"), seeds=(0,)),
        *_varied(4, 0.01, seed=7),
        *_unseen(0.02),
    ]


PLANS: dict[str, Callable[[], list[Run]]] = {
    "thesis": _thesis,
    "precog": _precog,
    "smoke": _smoke,
}


def plan(name: str) -> list[Run]:
    """The runs of a named plan.

    Raises
    ------
    ValueError
        There is none of that name.
    """
    if name not in PLANS:
        raise ValueError(f"data plan must be one of {', '.join(PLANS)}, not {name!r}")
    return PLANS[name]()


def trace_of(spec: Run) -> RttTrace:
    """Simulate one run and keep its samples."""
    result = run(
        spec.scenario, spec.control, seed=spec.seed, record=Record(packets=False, probe_us=0.0)
    )
    return rtt_trace(
        result,
        group=spec.group,
        law=spec.control.label,
        role=spec.role,
        card={
            "base_rtt_us": round(spec.scenario.base_rtt_us, 3),
            "control": asdict(spec.control),
            "jitter_ns": spec.scenario.jitter_ns,
            "scenario": spec.scenario.name,
            "seed": spec.seed,
            "senders": len(spec.scenario.flows),
        },
    )


def rtt_trace(
    result: Result, *, group: str, law: str, role: Role, card: dict[str, Any] | None = None
) -> RttTrace:
    """The RTT samples of a finished run, in ticks of 1 ns as the NIC measures them.

    Parameters
    ----------
    result : Result
    group, law, role, card
        As in `RttTrace`.
    """
    rtt = (result.sample_rtt_ps + _PS_PER_TICK // 2) // _PS_PER_TICK
    return RttTrace(
        flow=result.sample_flow.astype(np.int64),
        t=np.floor(result.sample_t_us * 1e3 + 0.5).astype(np.int64),
        rtt=rtt.astype(np.int64),
        group=group,
        law=law,
        role=role,
        card=card or {},
        tick_ps=_PS_PER_TICK,
    )


def collect(
    runs: Sequence[Run],
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[RttTrace]:
    """Simulate every run.

    Parameters
    ----------
    runs : sequence of Run
        What `plan` returned.
    workers : int
        Processes; 1: this one.
    progress : callable, optional
        Called with (runs done, runs).

    Returns
    -------
    list of RttTrace
        In the order of `runs`, whatever the number of workers.

    Raises
    ------
    ValueError
        `workers` is not positive.
    """
    if workers < 1:
        raise ValueError(f"workers must be positive, not {workers!r}")
    traces: list[RttTrace] = []

    def keep(results: Iterator[RttTrace]) -> None:
        for trace in results:
            traces.append(trace)
            if progress is not None:
                progress(len(traces), len(runs))

    if workers == 1:
        keep(map(trace_of, runs))
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            keep(pool.map(trace_of, runs))
    return traces
