"""The runs behind the thesis' tables 4, 5, 6 and figure 19 and behind the comparison with ns-3.

A case is one law in one setting; it is run over many seeds of the start jitter, in as many
processes as asked for. PID and LSTM + PID are decided by the golden NIC (``emu:``), set up through
the driver like the hardware; the other laws are the float references.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np

from precog_host.device import Device
from precog_models.image import Image
from precog_models.quantize import dequantize
from precog_models.rate.reference.predictor import pack_weights
from precog_sim.loop import LoopSetup, run_in_loop
from precog_sim.network import (
    Dcqcn,
    Dctcp,
    Hpcc,
    Pid,
    PredPid,
    Record,
    Result,
    Timely,
    incast,
    run,
)
from precog_sim.network.congestion import CongestionControl
from precog_sim.network.metrics import Metrics, measure, summarise
from precog_sim.report import ns3, thesis
from precog_sim.report.data import Epoch, Row, Tables
from precog_sim.report.series import Floats, quantiles

__all__ = [
    "NS3_JITTER_NS",
    "THESIS_JITTER_NS",
    "Case",
    "Outcome",
    "cases",
    "pooled_quantiles",
    "run_cases",
    "tables",
    "thesis_program",
]

THESIS_JITTER_NS = 100.0
NS3_JITTER_NS = 4000.0
_TARGETS_US = (5.0, 6.0, 7.0)
_STARTS_GBPS = (10.0, 100.0)
_REFERENCES: dict[str, Callable[[float], CongestionControl]] = {
    "hpcc": lambda start: Hpcc(start_gbps=start),
    "timely": lambda start: Timely(start_gbps=start),
    "dctcp": lambda start: Dctcp(start_gbps=start),
    "dcqcn": lambda start: Dcqcn(start_gbps=start),
}
# What is compared with ns-3: the laws, and the other set of timers that ns-3 was run with.
_NS3: dict[str, Callable[[float], CongestionControl]] = _REFERENCES | {
    "dcqcn-paper-timers": lambda start: Dcqcn(start_gbps=start, preset="ns3-paper-timers"),
}

# Names of `Metrics` -> names of `thesis.METRICS`, and the factor between their units.
_COLUMNS: dict[str, tuple[str, float]] = {
    "sample_mean_us": ("mean_rtt_us", 1.0),
    "sample_p99_us": ("p99_us", 1.0),
    "sample_max_us": ("max_us", 1.0),
    "packet_mean_us": ("all_mean_rtt_us", 1.0),
    "packet_p99_us": ("all_p99_us", 1.0),
    "packet_max_us": ("all_max_us", 1.0),
    "mean_rate_gbps": ("mean_rate_gbps", 1.0),
    "mean_fct_ms": ("mean_fct_ms", 1.0),
    "last_fct_ms": ("last_fct_ms", 1.0),
    "jain": ("jain", 1.0),
    "utilisation": ("utilisation", 100.0),
    "slowdown_mean": ("slowdown", 1.0),
    "max_queue_kb": ("max_queue_kb", 1.0),
}
_RTT_COLUMNS = ("sample_mean_us", "mean_rate_gbps", "sample_p99_us", "sample_max_us")
_FCT_COLUMNS = ("mean_fct_ms", "last_fct_ms")


@dataclass(frozen=True)
class Case:
    """One law in one setting.

    Parameters
    ----------
    algorithm : str
        A key of `thesis.ALGORITHMS`, or of `ns3.VARIANTS`.
    start_gbps : float
        Rate at which every flow starts.
    target_us : float or None
        RTT target of ``pid`` and ``predpid``.
    timing : str
        ``"exact"`` or ``"ns3"``.
    jitter_ns : float
        Every flow starts up to this much later; 0: all at once.
    preset : str
        The incast (`network.INCASTS`).
    as_thesis : bool
        PID and LSTM + PID as the thesis' program ran them (`Pid.thesis`): float laws whose rates
        take effect with the next packet and that only store a flow's first sample.
    """

    algorithm: str
    start_gbps: float
    target_us: float | None = None
    timing: str = "exact"
    jitter_ns: float = THESIS_JITTER_NS
    preset: str = "thesis"
    as_thesis: bool = False

    def run(self, seed: int, image: Image | None) -> Result:
        """One run; `image` is the model of ``predpid``.

        Raises
        ------
        ValueError
            ``predpid`` without a model, or an unknown algorithm.
        """
        scenario = incast(self.preset, jitter_ns=self.jitter_ns)
        in_loop = self.algorithm in ("pid", "predpid") and not self.as_thesis
        record = Record(log=in_loop, probe_us=0.0)
        if self.algorithm in _NS3:
            control = _NS3[self.algorithm](self.start_gbps)
            return run(scenario, control, timing=self.timing, seed=seed, record=record)
        if self.algorithm not in ("pid", "predpid"):
            raise ValueError(
                f"algorithm must be in {list(thesis.ALGORITHMS)}, not {self.algorithm!r}"
            )
        if self.algorithm == "predpid" and image is None:
            raise ValueError("predpid must have a model image, not none")
        if self.as_thesis:
            model = image if self.algorithm == "predpid" else None
            control = thesis_program(model, self.target_us or 5.0, start_gbps=self.start_gbps)
            return run(scenario, control, timing=self.timing, seed=seed, record=record)
        setup = LoopSetup(
            algorithm=self.algorithm,
            target_us=self.target_us,
            image=image if self.algorithm == "predpid" else None,
            init_gbps=self.start_gbps,
        )
        with Device.open("emu:") as device:
            return run_in_loop(
                device, setup, scenario, timing=self.timing, seed=seed, record=record
            )


def thesis_program(image: Image | None, target_us: float = 5.0, **changes: Any) -> Pid:
    """PID as the thesis' program ran it, or with a model LSTM + PID; `changes` are fields of it."""
    if image is None:
        return Pid.thesis(target_us, **changes)
    model = dequantize(image.weights)
    weights = pack_weights(model.w_ih, model.w_hh, model.bias, model.head_w, model.head_b)
    return PredPid.thesis(target_us, weights=weights, steps=model.steps, **changes)


@dataclass(frozen=True, eq=False)
class Outcome:
    """One run of a case: its figures, and its RTT quantiles (at `series.CDF_P`, us)."""

    case: Case
    seed: int
    metrics: Metrics
    rtt_quantiles: Floats


def cases(preset: str = "thesis") -> tuple[list[Case], list[Case]]:
    """The cases over many seeds, and those of a single synchronous run."""
    many = [Case("predpid", 10.0, target, preset=preset) for target in _TARGETS_US]
    many += [Case("predpid", 100.0, _TARGETS_US[0], preset=preset)]
    many += [Case("pid", start, _TARGETS_US[0], preset=preset) for start in _STARTS_GBPS]
    many += [Case(law, start, preset=preset) for law in _REFERENCES for start in _STARTS_GBPS]
    many += [Case(law, 100.0, None, "ns3", NS3_JITTER_NS, preset) for law in _NS3]
    once = [Case(law, 100.0, None, "ns3", 0.0, preset) for law in _NS3]
    once += [
        Case(law, 10.0, _TARGETS_US[0], "ns3", 0.0, preset, as_thesis=True)
        for law in ("pid", "predpid")
    ]
    return many, once


_model: Image | None = None


def _start_worker(image: bytes | None) -> None:
    global _model
    _model = None if image is None else Image.from_bytes(image)


def _one(task: tuple[Case, int]) -> Outcome:
    case, seed = task
    result = case.run(seed, _model)
    return Outcome(case, seed, measure(result), quantiles(result.sample_rtt_us))


def run_cases(
    tasks: Sequence[tuple[Case, int]], image: Image | None, *, workers: int = 2
) -> Iterator[Outcome]:
    """Run (case, seed) pairs; outcomes come in the order of `tasks`.

    Raises
    ------
    ValueError
        `workers` is not positive, or a case is not possible.
    """
    if workers < 1:
        raise ValueError(f"workers must be positive, not {workers!r}")
    data = None if image is None else image.to_bytes()
    if workers == 1:
        _start_worker(data)
        yield from map(_one, tasks)
        return
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_start_worker, initargs=(data,)
    ) as pool:
        yield from pool.map(_one, tasks, chunksize=4)


def _values(
    outcomes: Sequence[Outcome], columns: Sequence[str]
) -> dict[str, tuple[float, float | None, int]]:
    summary = summarise([outcome.metrics for outcome in outcomes])
    values: dict[str, tuple[float, float | None, int]] = {}
    for name in columns:
        column, factor = _COLUMNS[name]
        e = summary[name]
        half = None if e.seeds == 1 else e.half_width * factor
        values[column] = (e.mean * factor, half, e.seeds)
    return values


def tables(outcomes: Sequence[Outcome], epochs: tuple[Epoch, ...]) -> Tables:
    """The report's tables from the outcomes of all `cases`; `epochs` is table 1."""
    by_case: dict[Case, list[Outcome]] = {}
    for outcome in outcomes:
        by_case.setdefault(outcome.case, []).append(outcome)
    rows: dict[str, list[Row]] = {
        name: [] for name in ("table4", "table5", "table6", "figure19", "ns3")
    }

    def add(table: str, case: Case, columns: Sequence[str]) -> None:
        rows[table].append(
            thesis.row(
                table,
                case.algorithm,
                _values(by_case[case], columns),
                target_us=case.target_us,
                start_gbps=case.start_gbps,
                timing=case.timing,
                start="jitter" if case.jitter_ns else "sync",
            )
        )

    for case in by_case:
        if case.as_thesis:
            add("figure19", case, _RTT_COLUMNS)
            continue
        if case.timing == "ns3":
            start = "jitter" if case.jitter_ns else "sync"
            values = _values(by_case[case], tuple(_COLUMNS))
            rows["ns3"].append(ns3.row(case.algorithm, values, start=start))
            continue
        if case.algorithm == "predpid" and case.start_gbps == _STARTS_GBPS[0]:
            add("table4", case, _RTT_COLUMNS)
            add("table5", case, _FCT_COLUMNS)
        if case.target_us in (None, _TARGETS_US[0]):
            add("table6", case, tuple(_COLUMNS))
        if case.target_us == _TARGETS_US[0] and case.start_gbps == _STARTS_GBPS[0]:
            add("figure19", case, _RTT_COLUMNS)
    return Tables(epochs, *(tuple(rows[name]) for name in rows))


def pooled_quantiles(outcomes: Sequence[Outcome], algorithm: str) -> Floats:
    """RTT quantiles of `algorithm` at its 10 Gb/s start, mean over seeds."""
    chosen = [
        outcome.rtt_quantiles
        for outcome in outcomes
        if outcome.case.algorithm == algorithm
        and outcome.case.timing == "exact"
        and outcome.case.start_gbps == _STARTS_GBPS[0]
        and outcome.case.target_us in (None, _TARGETS_US[0])
    ]
    return np.asarray(np.mean(chosen, axis=0, dtype=np.float64), dtype=np.float32)
