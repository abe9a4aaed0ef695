"""Evaluations: figures that separate better from worse, and no release past them."""

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from precog_fleet.dataset import Dataset
from precog_fleet.errors import FleetError
from precog_fleet.evaluate import Limits, check, evaluate, forced, verdict
from precog_fleet.modelset import BASE, MANIFEST, Manifest, ModelSet
from precog_fleet.record import RECORD
from precog_fleet.releases import EVALUATION
from precog_fleet.trainer import release_models
from precog_models.image import pretrained
from precog_models.judged import sealed

from .released import repository
from .test_record import harmless

START = ModelSet(pretrained("queue-1rtt"))
LIMITS = Limits(windows=100, seeds=2)


def loop(
    candidate: bytes, live: bytes, *, seeds: int, scenarios: tuple[str, ...]
) -> dict[str, Any]:
    """A closed loop in which every model is as good as none."""
    assert live
    return harmless(hashlib.sha256(candidate).hexdigest(), seeds=seeds, scenarios=scenarios)


@pytest.fixture
def models(trained: Path, tmp_path: Path) -> Path:
    """Models that may be changed."""
    return Path(shutil.copytree(trained, tmp_path / "models"))


def judged(models: Path, data: Dataset, live: ModelSet = START, **limits: float) -> dict[str, Any]:
    wanted = Limits(**(vars(LIMITS) | limits))
    return evaluate(models, data, live, loop, seeds=2, limits=wanted)


def test_better_models_pass_and_are_released_once(
    models: Path, data: Dataset, tmp_path: Path
) -> None:
    found = judged(models, data)
    forecast = found["forecast"]
    assert found["passed"]
    assert found["failed"] == []
    assert forecast["windows"] == len(data.parts["test"])
    assert forecast["crps"] < forecast["live_crps"]
    assert 0 < forecast["skill_over_live"]["low"] < forecast["skill_over_live"]["value"]
    assert forecast["skill"]["value"] == pytest.approx(
        1 - forecast["crps"] / forecast["persistence_crps"]
    )
    files, _ = check(models, LIMITS)
    digest = Manifest.parse(files[MANIFEST]).digest
    assert found["digest"] == digest.hex()
    made = repository(tmp_path)
    assert release_models(made, models, LIMITS) == (1, digest)
    assert release_models(made, models, LIMITS) == (1, digest)
    assert made.models(1)[0].files()[MANIFEST] == files[MANIFEST]
    assert made.models(1)[1] == digest
    with pytest.raises(ValueError, match="release must be one of 1, not 2"):
        made.models(2)


def test_models_that_are_worse_than_what_runs_do_not_pass(
    models: Path, data: Dataset, trained: Path, tmp_path: Path
) -> None:
    START.save(tmp_path / "old")
    found = judged(tmp_path / "old", data, ModelSet.load(trained))
    assert not found["passed"]
    (why,) = [line for line in found["failed"] if line.startswith("skill_over_live")]
    assert why.startswith("skill_over_live must be above -0.02 at its lower end, not -")
    with pytest.raises(FleetError, match="did not pass their evaluation: skill"):
        release_models(repository(tmp_path), tmp_path / "old", LIMITS)
    assert models


def test_no_release_without_an_evaluation(models: Path, tmp_path: Path) -> None:
    made = repository(tmp_path)
    with pytest.raises(ValueError, match="must have an evaluation: make one with precog"):
        release_models(made, models, LIMITS)
    assert made.releases() == {}


def test_an_evaluation_is_of_these_very_models(models: Path, data: Dataset) -> None:
    judged(models, data)
    changed = ModelSet(ModelSet.load(models).base)  # without heads
    for path in models.glob("heads*"):
        path.unlink()
    changed.save(models)
    with pytest.raises(ValueError, match=r"evaluation must be of the models of .*evaluate them"):
        check(models, LIMITS)


def test_the_record_is_of_this_very_image(models: Path, data: Dataset, tmp_path: Path) -> None:
    """A trainer's release reads the record that its evaluation has left, as one by hand does."""
    judged(models, data)
    path = models / RECORD
    told = json.loads(path.read_bytes())
    made = repository(tmp_path)
    path.write_text(json.dumps(sealed(told | {"image": "0" * 64})))
    with pytest.raises(ValueError, match=r"record.json must be of the image .* not of 0000"):
        release_models(made, models, LIMITS)
    path.unlink()
    with pytest.raises(ValueError, match=r"record .* must be a file: make one with precog model"):
        release_models(made, models, LIMITS)
    assert made.releases() == {}
    path.write_text(json.dumps(told))
    assert release_models(made, models, LIMITS)[0] == 1
    assert made.releases()[1]["scenarios"] == "messages, duplex"


def test_models_that_do_harm_in_the_loop_do_not_pass(
    models: Path, data: Dataset, tmp_path: Path
) -> None:
    def harm(*images: bytes, **options: Any) -> dict[str, Any]:
        told = loop(*images, **options)
        told["closed_loop"]["results"][1]["live"]["slowdown_p99"]["high"] = 1.06
        return sealed(told)

    found = evaluate(models, data, START, harm, seeds=2, limits=LIMITS)
    why = (
        "slowdown_p99 under dcqcn in messages must be at most 1.05 times that of live, not 1.060; "
        "its interval begins at 0.990: more seeds may decide"
    )
    assert (found["passed"], found["failed"]) == (False, [why])
    with pytest.raises(FleetError, match=why):
        release_models(repository(tmp_path), models, LIMITS)
    few = evaluate(models, data, START, loop, seeds=2, limits=replace(LIMITS, seeds=3))
    assert few["failed"] == ["seeds must be at least 3, not 2"]


def test_a_forced_release_says_so(models: Path, tmp_path: Path) -> None:
    """The reason and the refusal are signed with it; without a reason there is no release."""
    made = repository(tmp_path)
    with pytest.raises(ValueError, match="reason must have 10 to 500 characters, not 2"):
        release_models(made, models, LIMITS, force="no")
    assert made.releases() == {}
    reason = "the old models stop senders"
    number, digest = release_models(made, models, LIMITS, force=reason)
    assert made.releases() == {number: {"forced": reason}}
    (file,) = (made.folder / "targets" / f"r{number}").glob(f"*.{EVALUATION}")
    told = json.loads(file.read_bytes())
    assert told["digest"] == digest.hex()
    assert (told["passed"], told["forced"]) == (False, reason)
    assert "must have an evaluation" in told["refused"]


def test_a_damaged_model_is_not_released(models: Path, data: Dataset) -> None:
    judged(models, data)
    path = models / BASE
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(ValueError, match="must have SHA-256"):
        check(models, LIMITS)
    with pytest.raises(ValueError, match="must have SHA-256"):
        forced(models, "", "although it is damaged")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: e["forecast"]["skill"].update(low=-0.01), "skill must be above 0 at its lower"),
        (lambda e: e["forecast"].update(windows=99), "held-back windows must be 100, not 99"),
    ],
)
def test_the_verdict_follows_from_figures_not_from_what_is_claimed(
    models: Path, data: Dataset, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    judged(models, data)
    path = models / EVALUATION
    told = json.loads(path.read_bytes())
    assert verdict(told, LIMITS) == []
    change(told)
    path.write_text(json.dumps(told))
    assert told["passed"]
    with pytest.raises(FleetError, match=message):
        check(models, LIMITS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: e["forecast"]["skill"].pop("value"), "forecast.skill must have value"),
        (lambda e: e["forecast"]["skill"].update(low=None), "forecast.skill.low must be a number"),
        (
            lambda e: e["forecast"].update(crps=float("nan")),
            "forecast.crps must be a number within",
        ),
        (lambda e: e["forecast"].update(windows="99"), "forecast.windows must be a number within"),
        (
            lambda e: e["forecast"].update(skill_over_live=3),
            "skill_over_live must be an object, not",
        ),
        (lambda e: e.update(forecast=[]), "forecast must be an object, not []"),
        (lambda e: e.update(digest=7), "digest must be text, not 7"),
        (lambda e: e.update(passed="yes"), "passed must be true or false, not 'yes'"),
        (lambda e: e.pop("data"), "it must have data"),
    ],
)
def test_an_edited_evaluation_is_told_by_its_field(
    models: Path, data: Dataset, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    path = models / EVALUATION
    told = judged(models, data)
    change(told)
    path.write_text(json.dumps(told))
    with pytest.raises(ValueError, match=re.escape(f"{path} must be an evaluation, but ")) as why:
        check(models, LIMITS)
    assert message in str(why.value)
    assert str(why.value).endswith(": make one with precog fleet evaluate")


def test_an_evaluation_must_be_an_object(models: Path) -> None:
    for text in ("[]", "{", "[" * 50_000):
        (models / EVALUATION).write_text(text)
        with pytest.raises(ValueError, match=r"evaluation\.json must be an evaluation, but"):
            check(models)
