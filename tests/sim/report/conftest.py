"""A made-up demo result: random figures of plausible size, never measured by anything."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import draw

from precog_sim.report import ns3, thesis
from precog_sim.report.data import (
    AtWork,
    Cell,
    DemoResult,
    Errors,
    Hardware,
    Loop,
    Mape,
    Pair,
    Paired,
    Row,
    RtlVsGolden,
    Scenario,
    Simulator,
    Stage,
    Tables,
)
from precog_sim.report.figures import Picture, draw_all
from precog_sim.report.series import CDF_P, Prediction, Run, Series, Side, Training

SIZES_MB = (200.0, 200.0, 150.0) + (5.0,) * 17


def _stat(rng: np.random.Generator, value: float, spread: float = 0.04) -> tuple[float, float, int]:
    return float(value * rng.normal(1, spread)), float(abs(value * rng.normal(0, 0.01))), 20


def _thesis_row(
    rng: np.random.Generator, table: str, algorithm: str, target: float | None, start: float
) -> Row:
    published = thesis.TABLE6.get(algorithm, thesis.FIGURE19.get(algorithm, thesis.TABLE4[6.0]))
    if target is not None and algorithm == "predpid":
        published = thesis.TABLE4[target]
    names = ["mean_rtt_us", "p99_us", "max_us", "mean_rate_gbps"]
    values = {name: _stat(rng, published[name]) for name in names}
    if table == "table5":
        values = {n: _stat(rng, v) for n, v in thesis.TABLE5[target or 5.0].items()}
    if table == "table6":
        for name in ("all_mean_rtt_us", "all_p99_us", "all_max_us"):
            values[name] = _stat(rng, published[thesis.METRICS[name].thesis], 0.1)
        values["max_us"] = _stat(rng, published["max_us"] * start / 30)
        values |= {
            "jain": (float(rng.uniform(0.6, 1)), 0.01, 20),
            "utilisation": (float(rng.uniform(90, 100)), 0.2, 20),
            "slowdown": (float(rng.uniform(5, 20)), 0.3, 20),
        }
    return thesis.row(table, algorithm, values, target_us=target, start_gbps=start)


def _tables(rng: np.random.Generator) -> Tables:
    train = tuple(float(v) for v in 12 * np.exp(-np.arange(19) / 5) + rng.uniform(3.2, 4.5, 19))
    test = tuple(float(v) for v in 12 * np.exp(-np.arange(19) / 5) + rng.uniform(3.2, 4.5, 19))
    sweep = {
        table: tuple(_thesis_row(rng, table, "predpid", target, 10.0) for target in (5.0, 6.0, 7.0))
        for table in ("table4", "table5")
    }
    table6 = tuple(
        _thesis_row(rng, "table6", name, 5.0 if name in ("predpid", "pid") else None, start)
        for name in thesis.ALGORITHMS
        for start in (10.0, 100.0)
    )
    simulated = []
    for name in ns3.SYNC:
        for start in ("jitter", "sync"):
            ranges = ns3.JITTER[name]
            middle = {metric: sum(ranges[metric]) / 2 for metric in ranges}
            middle = middle if start == "jitter" else ns3.SYNC[name]
            spread = 0.02 if start == "jitter" else 0.004
            values = {metric: _stat(rng, value, spread) for metric, value in middle.items()}
            if start == "sync":
                values = {metric: (mean, None, 1) for metric, (mean, _, _) in values.items()}
            simulated.append(ns3.row(name, values, start=start))
    exact = tuple(_thesis_row(rng, "figure19", n, 5.0, 10.0) for n in ("pid", "predpid"))
    figure19 = exact + tuple(replace(row, timing="ns3", start="sync") for row in exact[::-1])
    return Tables(
        table1=thesis.epochs(train, test),
        table4=sweep["table4"],
        table5=sweep["table5"],
        table6=table6,
        figure19=figure19,
        ns3=tuple(simulated),
    )


def _hardware(rng: np.random.Generator, commit: str) -> tuple[Hardware, ...]:
    out = []
    for lanes, block in ((16, "core"), (64, "core"), (128, "core"), (64, "nic")):
        seeds: dict[str, float | None] = {"4": None}  # its routing had no end
        seeds |= {str(n): float(v) for n, v in zip("1235", rng.uniform(150, 215, 4), strict=True)}
        cycles = {16: 71, 64: 33, 128: 28}[lanes]
        fmax = max(mhz or 0.0 for mhz in seeds.values())
        out.append(
            Hardware(
                block=block,
                target="LFE5UM5G-85F-8",
                lanes=lanes,
                fmax_mhz=fmax,
                fmax_seeds=seeds,
                latency_cycles=cycles,
                interval_cycles=cycles + 11,
                latency_ns=1e3 * cycles / fmax,
                lut4=int(rng.integers(5000, 20000)),
                ff=int(rng.integers(4000, 12000)),
                dsp=lanes + 13,
                bram=int(rng.integers(10, 80)),
                commit=commit,
            )
        )
    return tuple(out)


def synthetic_card(rng: np.random.Generator) -> dict[str, Any]:
    """Metadata of an image, as `Image.metadata` gives it."""

    def error() -> dict[str, Any]:
        low, middle, high = sorted(float(v) for v in rng.uniform(2, 9, 3))
        return {"balanced": middle, "interval": [low, high], "unbalanced": middle}

    groups = {"incast-20": "split", "varied": "train", "8 senders": "test"}
    return {
        "architecture": {"inputs": 1, "steps": 3, "hidden": 16, "outputs": 1},
        "payload_bytes": 2048,
        "payload_crc32": f"0x{rng.integers(2**32):08x}",
        "card": {
            "source": "made up",
            "scenarios": {
                name: {
                    "laws": ["pid", "timely"],
                    "runs": int(rng.integers(1, 90)),
                    "samples": int(rng.integers(15_000, 30_000)),
                    "seeds": list(range(40)),
                    "senders": [2, 20],
                    "use": use,
                }
                for name, use in groups.items()
            },
            "errors": {
                name: {method: error() for method in ("integer", "ar3", "persistence")}
                for name in ("incast-20", "8 senders")
            },
            "training": {"recipe": {"name": "precog", "rate": 0.02}, "seed": 1},
        },
    }


def synthetic_result(seed: int) -> DemoResult:
    """A whole result of random figures."""
    rng = np.random.default_rng(seed)

    def errors(scale: float) -> Errors:
        lstm, ar3, persistence, linear = scale * rng.uniform([2.6, 6, 7, 7], [3.2, 7, 8, 8])
        return Errors(
            float(lstm),
            float(lstm) + 0.004,
            float(ar3),
            float(persistence),
            float(linear),
            int(rng.integers(2000, 9000)),
        )

    balanced = errors(1.0)
    assert balanced.float_ is not None
    assert balanced.integer is not None
    assert balanced.ar3 is not None
    assert balanced.persistence is not None
    assert balanced.linear is not None
    commit = f"{rng.integers(2**40):010x}"
    stages = (
        ("Simulate the incast and collect RTTs", 21.0),
        ("Train the LSTM", 68.0),
        ("Quantize", 2.0),
        ("Generate Verilog from Amaranth", 14.0),
        ("Verilate", 41.0),
        ("RTL against golden", 25.0),
        ("Load the model over AXI4-Lite", 0.4),
        ("RTL in the loop", 19.0),
        ("All laws, all seeds", 88.0),
        ("Report", 6.0),
    )
    timed = tuple(Stage(name, float(s * rng.uniform(0.8, 1.2))) for name, s in stages)
    return DemoResult(
        commit=commit,
        date="2026-11-21T12:00:00Z",
        command="make demo",
        machine="a made-up processor, 2 cores",
        versions={"python": "3.11.7", "amaranth": "0.5.10", "verilator": "5.048", "numpy": "2.4"},
        seeds={"incast": tuple(range(1, 21)), "training": (int(rng.integers(1000)),), "rtl": (1,)},
        paired=_paired(rng),
        scenario=Scenario(20, 100.0, 4.17, 5.0, 0.1, SIZES_MB),
        wall_s=sum(stage.seconds for stage in timed),
        stages=timed,
        rtl_vs_golden=RtlVsGolden(int(rng.integers(1e6, 2e6)), 0, (16, 64, 128)),
        loop=Loop(
            decisions=int(rng.integers(60_000, 99_000)),
            mismatches=0,
            predictions_per_cpu_s=float(rng.uniform(4e4, 9e4)),
            cycles_per_decision=float(rng.uniform(35, 60)),
            lanes=64,
            flows=20,
            seed=1,
            transport="AXI4-Lite",
        ),
        mape=Mape(
            float_=balanced.float_,
            integer=balanced.integer,
            ar3=balanced.ar3,
            persistence=balanced.persistence,
            linear=balanced.linear,
            pairs=balanced.pairs,
            unbalanced=errors(0.8),
            unseen={
                "8 senders": errors(0.9),
                "32 senders": errors(1.2),
                "base RTT 8 µs": errors(0.7),
            },
            thesis_preset=errors(1.3),
        ),
        at_work=AtWork(as_they_come=errors(1.5), balanced=errors(1.6)),
        simulator=Simulator(
            float(rng.uniform(1.8e6, 3e6)),
            {name: float(rng.uniform(0.9e6, 3e6)) for name in thesis.ALGORITHMS},
        ),
        tables=_tables(rng),
        hardware=_hardware(rng, commit),
        model_card=synthetic_card(rng),
        tuned_gains=tuple(float(v) for v in rng.normal([-0.33, -0.067, 0.057], 0.01)),
    )


def _paired(rng: np.random.Generator) -> Paired:
    def pair(off: float, on: float, unit: str) -> Pair:
        low, high = rng.uniform(0.9, 1.1, 2)
        return Pair(
            Cell(off * low, 0.02 * off, 10, unit),
            Cell(on * high, 0.02 * on, 10, unit),
            Cell(on * high - off * low, 0.02 * off, 10, unit),
        )

    return Paired(
        60, 500, 30, 6, 10, pair(5.2, 1.5, "MB"), pair(265, 19, "µs"), pair(2.7, 2.7, "ms"),
        100, pair(0.56, 0.61, "ms"),
    )  # fmt: skip


def _side(rng: np.random.Generator, most: float) -> Side:
    """A queue that comes at once and drains."""
    time = np.arange(-100, 900, 2, dtype=np.float32)
    queue = np.where(time < 0, 0.01, np.clip(most - time / 80, 0.01, None)).astype(np.float32)
    rtt = (7 + 80 * queue * rng.uniform(0.8, 1, time.size)).astype(np.float32)
    return Side(time, rtt, time, queue)


def _run(rng: np.random.Generator, gain: float) -> Run:
    """A fluid sketch of twenty multiplicative laws on one link."""
    left = np.array(SIZES_MB) * 8e3  # Mb -> bits/1000: Gb/s times us
    rate = np.full(20, 10.0)
    queue, now, kept, queues, last, fct = 0.0, 0.0, [], [], np.zeros(20), np.zeros(20)
    while (left > 0).any() and now < 70_000:
        step = float(rng.uniform(9, 13))
        live = left > 0
        delay = 4.17 + queue / 100 + rng.uniform(0, 0.3, 20)
        error = (delay - 5) / 5
        rate = np.clip(rate * (1 + np.clip(-gain * error + 0.1 * (error - last), -0.6, 0.5)), 1, 99)
        last = error
        queue = max(0.0, queue + 4.4 * (float(rate[live].sum()) - 100))
        queue = min(queue, 2200.0) * 0.93
        for flow in np.flatnonzero(live):
            kept.append((flow, now + rng.uniform(0, 4), delay[flow], rate[flow]))
        queues.append((now, queue / 8))
        left = left - np.where(live, rate * step, 0)
        fct[live & (left <= 0)] = now / 1e3
        now += step
    samples = np.array(sorted(kept, key=lambda item: item[1]), np.float32)
    trace = np.array(queues, np.float32)
    return Run(
        flow=samples[:, 0].astype(np.int16),
        t_us=samples[:, 1],
        rtt_us=samples[:, 2],
        rate_gbps=samples[:, 3],
        fct_ms=fct.astype(np.float32),
        queue_t_us=trace[:, 0],
        queue_kb=trace[:, 1],
    )


def synthetic_series(seed: int) -> Series:
    """Curves of roughly the right look."""
    rng = np.random.default_rng(seed)
    time = np.arange(160) * 5.2
    truth = 5 + np.sin(time / 31) + 0.3 * rng.normal(size=160)
    scatter = 4.2 + rng.gamma(1.5, 1.2, 4000)

    def curve(tail: float) -> np.ndarray:
        values = 4.2 + 0.3 * (-np.log(1 - CDF_P * (1 - 1e-6))) ** tail
        return np.sort(values).astype(np.float32)

    return Series(
        predpid=_run(rng, 0.4),
        pid=_run(rng, 0.3),
        off=_side(rng, 5.2),
        on=_side(rng, 1.5),
        prediction=Prediction(
            t_us=time.astype(np.float32),
            truth_us=truth.astype(np.float32),
            predicted_us=(truth * rng.normal(1, 0.03, 160)).astype(np.float32),
            scatter_truth_us=scatter.astype(np.float32),
            scatter_predicted_us=(scatter * rng.normal(1, 0.04, 4000)).astype(np.float32),
            error_lstm=rng.laplace(0, 2.9, 4000).astype(np.float32),
            error_ar3=rng.laplace(0, 6.6, 4000).astype(np.float32),
            error_persistence=rng.laplace(0, 7.4, 4000).astype(np.float32),
        ),
        training=Training(
            epoch=np.arange(1, 31, dtype=np.float32),
            train=(12 * np.exp(-np.arange(30) / 4) + rng.uniform(2.7, 3, 30)).astype(np.float32),
            test=(12 * np.exp(-np.arange(30) / 4) + rng.uniform(2.8, 3.4, 30)).astype(np.float32),
        ),
        cdf={
            name: curve(tail)
            for name, tail in zip(thesis.ALGORITHMS, (0.9, 1.1, 0.3, 2.2, 1.9, 2.6), strict=True)
        },
    )


@pytest.fixture(scope="session")
def report_seed(request: pytest.FixtureRequest) -> int:
    """One seed for the module's made-up result, so that its figures are drawn once."""
    return draw(request, "report")


@pytest.fixture(scope="session")
def result(report_seed: int) -> DemoResult:
    return synthetic_result(report_seed)


@pytest.fixture(scope="session")
def series(report_seed: int) -> Series:
    return synthetic_series(report_seed)


@pytest.fixture(scope="session")
def pictures(result: DemoResult, series: Series) -> dict[str, Picture]:
    """Every picture, drawn once."""
    return draw_all(result, series)


@pytest.fixture
def result_dir(tmp_path: Path, result: DemoResult, series: Series) -> Path:
    """A directory as ``make demo`` leaves it."""
    result.save(tmp_path)
    series.save(tmp_path)
    return tmp_path
