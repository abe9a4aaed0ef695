"""Every method on the same held-out windows, at both horizons; the score; queues of their own."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_models.data.windows import BIN_EDGES, HORIZONS, STEPS, Windows
from precog_models.forecast.baselines import AutoRegression, Climatology, Persistence, Transition
from precog_models.forecast.forecaster import Forecaster
from precog_models.image import Image
from precog_models.predict.tree import tree_predict
from precog_models.quantize import dequantize
from precog_models.train.distill import distill
from precog_models.train.gru import Gru
from precog_models.train.queue import QueueRecipe, fit, probabilities
from precog_models.train.stacked import Learner, Stack
from precog_sim.forecast.judge import Figures, event_figures, figures, judge_event
from precog_sim.forecast.learn import Data, Progress
from precog_spec.contract import PROBABILITY, PROFILE_INPUTS, TREE_DEPTH, Fmt

__all__ = ["METHODS", "errors_of", "judge_horizon", "judge_path"]

METHODS = (
    "lstm",
    "lstm float",
    "tree",
    "gru",
    "oracle",
    "transition",
    "ar",
    "climatology",
    "persistence",
)
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_INPUTS = len(PROFILE_INPUTS)
_LOG_CENTER, _LOG_GAIN = 8.0, 0.4  # of the oracle's fifth input


def _with_future(x: Ints, windows: Windows, column: int) -> Ints:
    """Engine inputs and a fifth one, at the newest step: what will be requested."""
    log = np.log2(windows.requested[:, column] + 1.0)
    told = x.copy()
    told[:, -1, _INPUTS] = np.floor((log - _LOG_CENTER) * _LOG_GAIN * Fmt.X.one)
    return told


def _trained(
    network: Learner,
    x: Ints,
    label: Ints,
    recipe: QueueRecipe,
    inputs: int,
    name: str,
    progress: Progress,
) -> Learner:
    fit(
        network,
        x,
        label,
        [np.arange(len(label))],
        recipe,
        inputs=inputs,
        progress=lambda done, total, text: progress(f"train {name}, {text}", done, total),
    )
    return network


def _forecasts(
    data: Data, image: Image, recipe: QueueRecipe, progress: Progress
) -> dict[str, Floats]:
    """Each method's distributions of the test windows."""
    forecaster = Forecaster(image)
    settings = forecaster.settings
    column = HORIZONS.index(settings.horizon)
    edges = np.array(settings.bin_edges)
    bins = len(edges) + 1
    train, test = data.windows["train"], data.windows["test"]
    x, told = settings.normaliser(train.signals), settings.normaliser(test.signals)
    label = settings.bins(train.later[:, column])
    shape = {"outputs": bins, "steps": STEPS}
    real = Stack.of(dequantize(image.weights), 1)
    gru = _trained(Gru(inputs=_INPUTS, **shape), x, label, recipe, _INPUTS, "gru", progress)
    future = _with_future(x, train, column)
    more = _INPUTS + 1
    oracle = Stack(inputs=more, **shape)
    _trained(oracle, future, label, recipe, more, "oracle", progress)
    progress("grow tree", 0, 1)
    says = forecaster.distributions(train.signals)[:, :bins] / PROBABILITY.one
    tree = distill(x, says, depth=TREE_DEPTH, inputs=_INPUTS)
    found = {
        "lstm": forecaster.distributions(test.signals)[:, :bins] / PROBABILITY.one,
        "lstm float": probabilities(real, told, inputs=_INPUTS),
        "tree": tree_predict(tree, told)[:, :bins] / PROBABILITY.one,
        "gru": probabilities(gru, told, inputs=_INPUTS),
        "oracle": probabilities(oracle, _with_future(told, test, column), inputs=more),
    }
    for name, kind in (
        ("transition", Transition),
        ("ar", AutoRegression),
        ("climatology", Climatology),
        ("persistence", Persistence),
    ):
        found[name] = kind.fit(train, column, edges).predict(test)
    return found


def judge_horizon(
    data: Data, image: Image, recipe: QueueRecipe, progress: Progress
) -> dict[str, Any]:
    """Figures of every method at the model's horizon; of the LSTM by scenario; of the score."""
    forecaster = Forecaster(image)
    settings = forecaster.settings
    if settings.bin_edges != BIN_EDGES:
        raise ValueError(f"bin_edges must be {BIN_EDGES}, not {settings.bin_edges}")
    test, validation = data.windows["test"], data.windows["validation"]
    p = _forecasts(data, image, recipe, progress)
    y = settings.bins(test.later[:, HORIZONS.index(settings.horizon)])

    def judged(name: str, which: NDArray[np.bool_] | slice) -> Figures:
        own, persistence, transition = (
            p[method][which] for method in (name, "persistence", "transition")
        )
        return figures(own, persistence, transition, y[which], test.block[which])

    progress("judge", 0, 1)
    specs = data.runs["test"]
    subsets = sorted({(spec.group, spec.law) for spec in specs})
    return {
        "horizon_base_rtts": settings.horizon,
        "bin_edges": list(settings.bin_edges),
        "bin_share": (np.bincount(y, minlength=len(BIN_EDGES) + 1) / len(y)).tolist(),
        "crc32": f"{image.crc32:#010x}",
        "methods": {name: judged(name, slice(None)).to_dict() for name in METHODS},
        "lstm_by_scenario": {
            f"{group}, {law}": judged(
                "lstm",
                np.array([(s.group, s.law) == (group, law) for s in specs])[test.run],
            ).to_dict()
            for group, law in subsets
        },
        "score": {
            "threshold_bytes": settings.threshold_bytes,
            **event_figures(
                validation,
                test,
                forecaster.distributions(validation.signals),
                forecaster.distributions(test.signals),
                settings,
            ).to_dict(),
        },
    }


def judge_path(data: Data) -> dict[str, Any]:
    """The score of the path's queueing delay: from the rtt model, and from the last RTT."""
    fitted, test = data.paths["validation"], data.paths["test"]
    return {
        name: judge_event(
            (getattr(fitted, name), fitted.event), getattr(test, name), test.event, test.block
        ).to_dict()
        for name in ("predicted", "last")
    }


def errors_of(judged: dict[str, Any]) -> dict[str, float]:
    """What an image's card says of its errors."""
    lstm, score = judged["methods"]["lstm"], judged["score"]
    return {
        "brier_skill": round(score["brier_skill"]["value"], 4),
        "crps_skill": round(lstm["skill"]["value"], 4),
        "ece": round(score["calibration"]["ece"]["value"], 4),
        "reliability": round(lstm["worst_decile"], 4),
    }
