"""From simulated round trips to a quantized model, its errors and those of the baselines."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from precog_models.data.dataset import Dataset
from precog_models.data.pairs import Pairs
from precog_models.data.trace import RttTrace
from precog_models.image import Image
from precog_models.quantize import quantize
from precog_models.train.baselines import AutoRegression, persistence
from precog_models.train.card import data_card
from precog_models.train.evaluate import Evaluation, evaluate, integer_rtt
from precog_models.train.train import TrainedModel, train
from precog_sim.collect import collect, plan
from precog_sim.demo.progress import Stages
from precog_sim.report import thesis
from precog_sim.report.data import AtWork, Epoch, Errors, Mape
from precog_sim.report.series import Training
from precog_spec.contract import Fmt

__all__ = ["Learned", "judge_at_work", "learn"]

_CORE = "incast-20"
_AT_WORK = "closed loop"
_METHODS = {
    "float_": "float",
    "integer": "integer",
    "ar3": "ar3",
    "persistence": "persistence",
    "linear": "linear",
}
_SCATTER = 4000


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learnt.

    Parameters
    ----------
    image : Image
        The quantized model.
    mape : Mape
    table1 : tuple of Epoch
        The thesis' recipe, epoch by epoch.
    training : Training
        The loaded model's curve, percent.
    dataset : Dataset
        The training data.
    trained : TrainedModel
        The model before it was quantized.
    truth_us, predicted_us : ndarray
        A random subset of the test blocks: the integer model's predictions.
    errors : dict of str to ndarray
        Signed relative errors in percent over the test blocks: lstm, ar3, persistence.
    """

    image: Image
    mape: Mape
    table1: tuple[Epoch, ...]
    training: Training
    dataset: Dataset
    trained: TrainedModel
    truth_us: np.ndarray
    predicted_us: np.ndarray
    errors: dict[str, np.ndarray]


def learn(stages: Stages, data: str, recipe: str, seed: int, out: Path) -> Learned:
    """Collect, train by the thesis' recipe and by `recipe`, quantize, judge; writes model files."""
    runs = plan(data)
    with stages.stage("Simulate incasts, collect round trips") as bar:
        traces = collect(runs, workers=2, progress=bar)
    with stages.stage("Pairs of features and labels"):
        dataset = Dataset.from_traces(traces)
    with stages.stage("Train, the thesis' recipe") as bar:
        ours_of_thesis = train("thesis", dataset, seed=seed, progress=bar)
    with stages.stage(f"Train, preset {recipe}") as bar:
        trained = train(recipe, dataset, seed=seed, progress=bar)
    with stages.stage("Quantize and judge") as bar:
        image, judged = _quantized(trained, dataset, data)
        image.save(out / "model.safetensors")
        bar(1, 2)
        _, judged_thesis = _quantized(ours_of_thesis, dataset, data)
    core = dataset.test[_CORE]
    truth, predicted, errors = _curves(image, dataset, core, seed)
    return Learned(
        image=image,
        mape=_mape(dataset, judged, judged_thesis),
        table1=thesis.epochs(
            tuple(100 * e.train for e in ours_of_thesis.history),
            tuple(100 * e.pool_test for e in ours_of_thesis.history),
        ),
        training=Training(
            epoch=np.array([e.number for e in trained.history], np.float32),
            train=np.array([100 * e.train for e in trained.history], np.float32),
            test=np.array([100 * e.held_out for e in trained.history], np.float32),
        ),
        dataset=dataset,
        trained=trained,
        truth_us=truth,
        predicted_us=predicted,
        errors=errors,
    )


def judge_at_work(learned: Learned, trace: RttTrace) -> AtWork:
    """The predictor's errors on the round trips of the loop that it steered.

    The features of the trace and the golden model give what the RTL predicted, bit for bit.

    Parameters
    ----------
    learned : Learned
    trace : RttTrace
        Every sample of the loop, with `Role.TEST`.
    """
    seen = replace(trace, group=_AT_WORK)
    data = Dataset.from_traces([*learned.dataset.traces, seen])
    only = replace(data, test={_AT_WORK: data.test[_AT_WORK]})
    judged = evaluate(only, learned.trained.model, learned.image)
    return AtWork(
        as_they_come=_errors(judged, _AT_WORK, "unbalanced"),
        balanced=_errors(judged, _AT_WORK, "balanced"),
    )


def _quantized(trained: TrainedModel, dataset: Dataset, data: str) -> tuple[Image, Evaluation]:
    """The image with its data card, and the errors that stand in the card."""
    judged = evaluate(dataset, trained.model, quantize(trained.model))
    source = f"Precog's packet-level simulator, plan {data!r}"
    card = data_card(dataset, judged, trained.card(), source=source)
    return quantize(trained.model, card=card, version=1), judged


def _errors(judged: Evaluation, group: str, which: str) -> Errors:
    scores = {ours: judged.score(group, method) for ours, method in _METHODS.items()}
    return Errors(
        **{ours: getattr(score, which) for ours, score in scores.items()},
        pairs=scores["float_"].pairs,
    )


def _mape(dataset: Dataset, judged: Evaluation, judged_thesis: Evaluation) -> Mape:
    core = _errors(judged, _CORE, "balanced")
    values = {name: getattr(core, name) for name in (*_METHODS, "pairs")}
    return Mape(
        **values,
        unbalanced=_errors(judged, _CORE, "unbalanced"),
        unseen={
            group: _errors(judged, group, "balanced") for group in dataset.test if group != _CORE
        },
        thesis_preset=_errors(judged_thesis, _CORE, "balanced"),
    )


def _curves(
    image: Image, dataset: Dataset, core: Pairs, seed: int
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Truth and prediction of a random subset, and every predictor's signed errors."""
    tick_us = dataset.traces[0].tick_ps * 1e-6
    truth = core.rtt_next * tick_us
    regression = AutoRegression.fit(dataset.core)
    predicted = {
        "lstm": integer_rtt(image, core) / Fmt.SRTT.one * tick_us,
        "ar3": (1.0 + regression.predict(core)) * core.srtt * tick_us,
        "persistence": (1.0 + persistence(core)) * core.srtt * tick_us,
    }
    errors = {name: 100.0 * (value - truth) / truth for name, value in predicted.items()}
    pick = np.random.default_rng(seed).permutation(len(core))[:_SCATTER]
    return truth[pick], predicted["lstm"][pick], errors
