"""From simulated send queues to queue models in the card's integers, calibrated on other runs.

    precog study forecasts --save models/precog_models/pretrained

makes the queue models that come with the package.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from precog_models.data.queue_trace import QueueTrace
from precog_models.data.windows import (
    BIN_EDGES,
    HORIZONS,
    STEPS,
    THRESHOLD_BIN,
    Normaliser,
    Windows,
    make_windows,
)
from precog_models.forecast.finish import calibrated
from precog_models.forecast.forecaster import Settings
from precog_models.image import Image, pretrained
from precog_models.predict.cps import identity_knots
from precog_models.train.queue import QueueRecipe, fit
from precog_models.train.stacked import Stack
from precog_sim.forecast.path import PathSamples, path_samples
from precog_sim.forecast.scenarios import QueueRun, queue_trace
from precog_spec.contract import PROFILE_INPUTS

__all__ = ["Data", "Progress", "collect", "train_base"]

Progress = Callable[[str, int, int], None]  # what is going on, done, of how many

_TRAIN_STRIDE = 2  # neighbouring windows say nearly the same
_SOURCE = "Precog's packet-level simulator: incasts and shared links, DCQCN and TIMELY"


@dataclass(frozen=True, eq=False)
class Data:
    """Windows to learn from, to calibrate on, and to be judged by.

    Parameters
    ----------
    runs : dict
        By use (``train``, ``validation``, ``test``): what `Windows.run` is an index into.
    windows : dict
        By use; those of the test are independent.
    paths : dict
        RTT samples, by use.
    normaliser : Normaliser
        Of the training windows.
    """

    runs: dict[str, tuple[QueueRun, ...]]
    windows: dict[str, Windows]
    paths: dict[str, PathSamples]
    normaliser: Normaliser


def collect(runs: dict[str, tuple[QueueRun, ...]], progress: Progress) -> Data:
    """Simulate every run of a plan and cut it into windows."""
    total = sum(len(some) for some in runs.values())
    windows = {}
    paths = {}
    rtt_model = pretrained("rtt-incast")
    done = 0
    for use, some in runs.items():
        traces: list[QueueTrace] = []
        parts: list[PathSamples] = []
        for spec in some:
            trace, result = queue_trace(spec)
            traces.append(trace)
            parts.append(path_samples(rtt_model, trace, result, len(parts)))
            done += 1
            progress("simulate", done, total)
        paths[use] = PathSamples.concatenate(parts)
        windows[use] = (
            make_windows(traces) if use == "test" else make_windows(traces, stride=_TRAIN_STRIDE)
        )
    return Data(runs, windows, paths, Normaliser.fit(windows["train"].signals))


def train_base(
    data: Data, horizon: int, recipe: QueueRecipe, *, seed: int = 0, progress: Progress
) -> Image:
    """One model for all queues: trained, quantized and calibrated.

    Parameters
    ----------
    data : Data
    horizon : int
        One of `HORIZONS`.
    recipe : QueueRecipe
    seed : int
        Of initial weights and draws.
    progress : callable
    """
    train = data.windows["train"]
    settings = Settings(BIN_EDGES, horizon, data.normaliser, THRESHOLD_BIN, identity_knots())
    label = settings.bins(train.later[:, HORIZONS.index(horizon)])
    inputs = len(PROFILE_INPUTS)
    stack = Stack(inputs=inputs, outputs=len(BIN_EDGES) + 1, steps=STEPS, seed=seed)
    fit(
        stack,
        data.normaliser(train.signals),
        label,
        [np.arange(len(train))],
        recipe,
        inputs=inputs,
        seed=seed,
        progress=lambda done, total, text: progress(f"train {horizon} RTT, {text}", done, total),
    )
    return calibrated(
        stack.to_float_lstm(),
        settings,
        data.windows["validation"],
        source=_SOURCE,
        training={"recipe": recipe.card(), "seed": seed, "windows": len(train)},
        scenarios=_summary(data),
    )


def _summary(data: Data) -> dict[str, object]:
    return {
        use: {
            "runs": len(runs),
            "loads": sorted({run.load for run in runs}),
            "senders": sorted({run.senders for run in runs}),
            "seeds": [min(run.seed for run in runs), max(run.seed for run in runs)],
            "windows": len(data.windows[use]),
        }
        for use, runs in data.runs.items()
    }
