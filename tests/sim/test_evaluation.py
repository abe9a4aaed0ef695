"""A model image in the closed loop: which it is, what is compared, and who is refused."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from precog_fleet.evaluate import closed_loop
from precog_host import cli
from precog_host.commands.model_card import find_evaluation
from precog_models.image import Image, pretrained, pretrained_names
from precog_models.judged import SCENARIOS, loop_failures, sealed, verdict_of
from precog_models.presets import LAW_PRESETS
from precog_models.tree_image import load_any
from precog_sim.evaluation import evaluated, kind_of
from precog_sim.scored.judge import rtt_row
from precog_studies.prediction.candidate import start_row
from precog_studies.prediction.starts.predictors import MODELS

_START = MODELS / "lstm.safetensors"


def _run(*words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    return int(caught.value.code or 0)


def _with(image: Image, **changes: Any) -> Image:
    return dataclasses.replace(image, weights=dataclasses.replace(image.weights, **changes))


def test_a_model_is_known_by_what_it_predicts() -> None:
    assert [kind_of(pretrained(name)) for name in ("rtt-incast", "queue-4rtt")] == ["rtt", "queue"]
    images = [path for path in MODELS.glob("*.safetensors") if path.stem != "gru"]  # no card's
    assert {kind_of(load_any(path)) for path in images} == {"start"}
    bare = dataclasses.replace(pretrained("queue-1rtt"), card={})
    with pytest.raises(ValueError, match=r"model must predict RTTs, have .* not 4 and 16"):
        kind_of(bare)


def test_the_fleet_s_closed_loop_is_this_record() -> None:
    """Through its entry point; a model is exactly as good as itself, seed by seed."""
    run = closed_loop()
    one, other = (pretrained(name).to_bytes() for name in ("queue-1rtt", "queue-4rtt"))
    options: dict[str, Any] = {"seeds": 2, "scenarios": ("messages",)}
    found = run(one, one, **options)
    assert found["image"] == hashlib.sha256(one).hexdigest()
    assert found["closed_loop"]["seeds"] == 2
    assert [row["law"] for row in found["closed_loop"]["results"]] == ["timely", "dcqcn"]
    row = found["closed_loop"]["results"][1]
    assert set(row["live"]) == {"slowdown_p50", "slowdown_p99", "queue_p99_kb"}
    assert set(row) >= {"alone", "persistence", "inverted", "untried"}
    assert row["inverted"] != row["untried"]
    for ratio in row["live"].values():
        assert ratio == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert row["followed"] > 0
    assert run(other, one, **options)["closed_loop"]["results"][1]["followed"] != row["followed"]
    far = run(one, one, **options, delay_us=3.0)["closed_loop"]
    assert far["delay_us"] == 3.0
    assert far["results"][1]["followed"] != row["followed"]


def test_a_model_that_predicts_no_change_is_its_own_inversion() -> None:
    image = pretrained()
    w = image.weights
    still = _with(image, wl=np.zeros_like(w.wl), bl=np.zeros_like(w.bl))
    found = rtt_row(still, "leaves", seeds=range(2), scale=0.3)
    assert found["alone"] == found["inverted"] == found["persistence"] == found["stale"]
    other = rtt_row(image, "leaves", seeds=range(2), scale=0.3)
    assert other["alone"] != found["alone"]
    assert other["alone"] != other["inverted"]


def test_false_rtt_predictions_are_not_followed() -> None:
    """Without the monitor the inverted model harms; with it none does, and the true one helps."""
    found = rtt_row(pretrained(), "leaves", seeds=range(3), scale=0.3)
    assert found["untried"]["queue_p99_kb"]["low"] > 1.5
    for false in ("inverted", "random", "stale", "rising", "falling"):
        assert all(ratio["high"] <= 1.05 for ratio in found[false].values()), false
    assert found["alone"]["slowdown_p99"]["high"] < 1
    assert 0.05 < found["followed"] < 0.5


def test_inverted_guesses_of_a_start_do_not_pass_their_trial() -> None:
    found = start_row(Image.load(_START), "rounds", seeds=2)
    assert found["tried"]["model"] > 0.25 > 0 > found["tried"]["inverted"]
    assert found["offline"]["skill"] == pytest.approx(
        1 - found["offline"]["error"] / found["offline"]["persistence"]
    )
    assert found["alone"]["queue_max"]["mean"] < 0.5
    assert found["inverted"]["queue_max"]["mean"] == pytest.approx(1.0, abs=0.01)
    assert found["untried"]["middle"]["mean"] > found["inverted"]["middle"]["mean"]
    assert "incast_mean" not in found["alone"]


def test_the_command_names_what_harms_and_its_record_is_of_this_image(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the skill monitor the inverted model does harm."""
    blind = dataclasses.replace(LAW_PRESETS["precog"], skill_monitor=False)
    monkeypatch.setitem(LAW_PRESETS, "precog", blind)
    words = ("model", "evaluate", "rtt-incast", "--scenario", "leaves", "--seeds", "3")
    assert _run(*words, "--out", str(tmp_path), "-j") == 1
    out, err = capsys.readouterr()
    told = json.loads(out)
    path = Path(told["record"])
    assert json.loads(path.read_bytes()) | {"record": str(path)} == told
    command = "precog model evaluate rtt-incast --seeds 3 --scenario leaves --bound 1.05"
    assert told["command"] == command
    assert not told["passed"]
    harm = told["closed_loop"]["results"][0]["inverted"]["slowdown_p99"]["high"]
    assert (
        "; slowdown_p99 under predpid in leaves must be at most 1.05 "
        f"times that of alone, not {harm:.3f}, if predictions are inverted"
    ) in err
    monkeypatch.undo()
    assert _run(*words, "--out", str(tmp_path)) == 0
    assert "passed" in capsys.readouterr().out
    assert _run("model", "show", "rtt-incast", "--evaluation", str(path)) == 0
    shown = capsys.readouterr().out
    assert "Closed loop" in shown
    assert "Offline" in shown
    assert f"commit {told['commit']}: {told['command']}" in shown
    (tmp_path / "list.json").write_text("[]")
    assert _run("model", "show", "rtt-incast", "--evaluation", str(tmp_path / "list.json")) == 2
    assert "must be a record of precog model evaluate" in capsys.readouterr().err
    assert _run("model", "show", "queue-1rtt", "--evaluation", str(path)) == 2
    assert "must be of the image with SHA-256" in capsys.readouterr().err


@pytest.mark.parametrize("name", pretrained_names())
def test_shipped_models_come_with_their_records(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is of the very image, has all scenarios and 20 seeds, and its verdict follows."""
    image = pretrained(name)
    found = find_evaluation(name, None, image.to_bytes())
    assert found is not None, f"shipped model {name} must have a record: precog model evaluate"
    loop = found["closed_loop"]
    assert found["failed"] == loop_failures(loop, found["bound"])
    assert found["passed"] == (not found["failed"])
    assert found["kind"] == kind_of(image)
    assert {row["network"] for row in loop["results"]} == set(SCENARIOS[found["kind"]])
    assert loop["seeds"] >= 20
    assert all(one["skill"] > 0 for one in found["offline"])
    assert _run("model", "show", name) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"image {found['image'][:16]}: {verdict_of(found)}" in shown
    assert "Closed loop" in shown
    changed = dataclasses.replace(image, card={})
    assert find_evaluation("model.safetensors", None, changed.to_bytes()) is None


def test_a_verdict_says_by_how_much() -> None:
    found = find_evaluation("rtt-incast", None, pretrained().to_bytes())
    assert found is not None
    ends = [r["high"] for row in found["closed_loop"]["results"] for r in row["stale"].values()]
    found["closed_loop"]["results"][0]["stale"]["slowdown_p50"]["high"] = 1.2
    assert max(ends) < 1.05
    assert verdict_of(found) == (
        "not passed, 1 figure fails: worst upper end 1.200, 0.150 above the bound 1.05 "
        "(slowdown_p50 under predpid in leaves, to alone, if predictions are stale)"
    )
    found["closed_loop"]["results"][0]["stale"]["slowdown_p50"]["high"] = 1.05
    assert verdict_of(found).startswith("passed: worst upper end 1.050, 0.000 below the bound")


def test_a_record_of_others_steers_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = find_evaluation("rtt-incast", None, pretrained().to_bytes())
    assert found is not None
    first = found["closed_loop"]["results"][0]
    first["network"] = found["command"] = found["commit"] = "a\a"
    first["alone"]["slowdown_p50"] |= {"low": None, "high": 1e9}
    path = tmp_path / "record.json"
    path.write_text(json.dumps(sealed(found)))
    assert _run("model", "show", "rtt-incast", "--evaluation", str(path)) == 0
    shown = capsys.readouterr().out
    assert "\a" not in shown
    assert "under predpid in a\N{REPLACEMENT CHARACTER}" in shown


def test_processes_change_nothing() -> None:
    one, two = (evaluated(pretrained(), seeds=2, jobs=jobs) for jobs in (1, 2))
    assert one["closed_loop"] == two["closed_loop"]
    assert next(row["data"] for row in one["offline"]) == "32 senders"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nobody", "No such file; shipped models"),
        ("rtt-incast --seeds 1", "seeds must be at least 2, not 1: a ratio has an interval"),
        ("rtt-incast --scenario rounds", "kind rtt must be one of leaves, messages, not rounds"),
        ("rtt-incast --bound 0.9", "bound must be in 1..10, not 0.9"),
        ("rtt-incast --jobs 0", "jobs"),
        ("rtt-incast --seeds 1 --out /dev/null/x", "/dev/null: No such folder"),
    ],
)
def test_refused(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("model", "evaluate", *words.split()) != 0
    assert message in " ".join(capsys.readouterr().err.split())
