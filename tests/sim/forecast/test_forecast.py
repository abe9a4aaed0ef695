"""The study of forecasts: its scenarios, its verdicts, and the whole of it in small."""

import json
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from precog_models.data.queue_trace import load_queue_traces
from precog_models.image import load, pretrained
from precog_sim.commands.queues import queues
from precog_sim.forecast.judge import judge_event
from precog_sim.forecast.scenarios import PLANS, QueueRun, plan, queue_trace
from precog_sim.forecast.study import METHODS
from precog_spec.contract import PROBABILITY
from precog_studies.forecasts.__main__ import TARGETS, main, missed


def test_no_run_is_used_twice() -> None:
    for name, uses in PLANS.items():
        runs = [run for some in uses.values() for run in some]
        assert len({run.seed for run in runs}) == len(runs), name
    full = plan("full")
    for what in ("load", "senders"):
        seen = {getattr(run, what) for use in ("train", "validation") for run in full[use]}
        assert not seen & {getattr(run, what) for run in full["test"]}
    assert sum(run.senders for run in plan("queues")["own"]) >= 1000


def test_traffic_for_cards(seed: int) -> None:
    """Through its entry point: queues, and RTTs of a network of longer links."""
    (point,) = entry_points(group="precog.traffic")
    options = {"group": "incast", "law": "timely", "senders": 3, "load": 0.5, "seed": seed}
    trace, rtts = point.load()(**options, horizon_us=1000.0, delay_us=3.0)
    assert trace.base_rtt > 12_000  # four links of 3 us
    assert (np.diff(rtts[:, 2]) >= 0).all()
    assert set(rtts[:, 0]) <= {0, 1, 2}
    assert rtts[:, 1].min() > 12_000
    assert rtts[:, 2].max() <= trace.end


@pytest.mark.parametrize("group", ["incast", "shared link"])
def test_a_runs_traces(group: str, seed: int) -> None:
    spec = QueueRun(group, "dcqcn", 3, 0.5, seed, 300.0)
    trace, result = queue_trace(spec)
    assert trace.queues == 3
    assert trace.end == 300_000
    assert trace.base_rtt == round(result.scenario.base_rtt_us * 1e3)
    assert (result.queue_log[:, 2] == trace.size).all()
    offered = sum(flow.messages is not None for flow in result.scenario.flows)
    assert offered == 3
    again, _ = queue_trace(spec)
    assert np.array_equal(again.t, trace.t)


def test_the_score_is_judged_on_other_windows_than_its_table(seed: int) -> None:
    """Positions that are right need no table, and a table of other rates is found out."""
    rng = np.random.default_rng(seed)
    position = rng.integers(0, PROBABILITY.one + 1, 20_000)
    block = np.arange(20_000) % 50
    event = rng.random(20_000) < position / PROBABILITY.one
    right = judge_event((position, event), position, event, block)
    assert right.calibration.ece.value < 0.02
    assert right.brier_skill.value > 0.2
    rare = rng.random(20_000) < (position / PROBABILITY.one) ** 5
    wrong = judge_event((position, rare), position, event, block)
    assert wrong.calibration.ece.value > 0.1
    assert wrong.uncalibrated_ece == right.uncalibrated_ece


def test_what_is_missed() -> None:
    good = dict(TARGETS)
    assert not missed(good)
    bad = {"crps_skill": 0.19, "reliability": 0.021, "ece": 0.5, "brier_skill": -1.0}
    texts = missed(bad)
    assert len(texts) == 4
    assert texts[0] == "crps_skill is 0.1900, target at least 0.2"
    assert texts[1] == "reliability is 0.0210, target at most 0.02"


def test_the_whole_in_small(tmp_path: Path) -> None:
    out, models = tmp_path / "out", tmp_path / "models"
    models.mkdir()
    small = ["--plan", "smoke", "--updates", "6", "--tune-updates", "3"]
    status = main([*small, "--out", str(out), "--save", str(models)])
    result: dict[str, Any] = json.loads((out / "forecast.json").read_text())
    assert [judged["horizon_base_rtts"] for judged in result["horizons"]] == [1, 4]
    assert status == int(any(judged["missed"] for judged in result["horizons"]))
    for judged in result["horizons"]:
        assert tuple(judged["methods"]) == METHODS
        assert judged["methods"]["persistence"]["skill"]["value"] == 0.0
        assert judged["methods"]["transition"]["skill_of_transition"]["value"] == 0.0
        assert len(judged["lstm_by_scenario"]) == 4
        for figures in judged["methods"].values():
            assert len(figures["reliability"]) == 9
            assert figures["windows"] == result["windows"]["test"]
        own = judged["per_queue"]
        assert own["queues"] == 12
        assert own["queues_better"] + own["queues_worse"] <= own["queues_with_own"]
        image = load(models / f"queue-{judged['horizon_base_rtts']}rtt.safetensors")
        assert f"{image.crc32:#010x}" == judged["crc32"]
        assert image.card["errors"] == judged["errors"]
    assert set(result["path"]) == {"predicted", "last"}


def test_the_record_is_of_the_shipped_models() -> None:
    path = Path(__file__).parents[3] / "docs/evidence/data/forecast.json"
    for judged in json.loads(path.read_text())["horizons"]:
        image = pretrained(f"queue-{judged['horizon_base_rtts']}rtt")
        assert judged["crc32"] == f"{image.crc32:#010x}"
        assert judged["missed"] == missed(judged["errors"]) == []


def test_sim_queues(tmp_path: Path, seed: int) -> None:
    app = typer.Typer()
    app.command()(queues)
    path = tmp_path / "q.npz"
    arguments = ["-o", str(path), "--senders", "2", "--runs", "2", "--horizon-us", "200", "-j"]
    done = CliRunner().invoke(app, [*arguments, "--seed", str(seed)])
    assert done.exit_code == 0, done.output
    traces = load_queue_traces(path)
    told = json.loads(done.stdout)
    assert told == {
        "path": str(path), "queues": 4, "changes": sum(len(trace.t) for trace in traces),
    }  # fmt: skip
    want, _ = queue_trace(QueueRun("incast", "dcqcn", 2, 0.6, seed + 1, 200.0))
    assert np.array_equal(traces[1].size, want.size)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"group": "ring"}, "group must be one of incast, shared link, not 'ring'"),
        ({"law": "hpcc"}, "law must be one of dcqcn, timely, not 'hpcc'"),
        ({"senders": 1}, "senders must be at least 2, not 1"),
        ({"delay_us": 0.0}, r"delay must be in 0\.\.1000 us, not 0\.0"),
    ],
)
def test_refusals(change: dict[str, Any], message: str) -> None:
    usual = {"group": "incast", "law": "timely", "senders": 2, "load": 0.5, "seed": 0}
    with pytest.raises(ValueError, match=message):
        QueueRun(**(usual | {"horizon_us": 1.0} | change))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"queue plan must be one of full, .*, not 'none'"):
        plan("none")
