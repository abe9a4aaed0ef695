"""What workers do: train the shared model a round further, or the heads of some queues.

Pure functions of their arguments, so that a task may run anywhere, and again. Heads are trained
with the shared LSTM held as it is; their images differ from the base in the head alone and travel
as differences.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from precog_models.data.windows import HORIZONS, Windows
from precog_models.float_lstm import FloatLstm
from precog_models.forecast.forecaster import Forecaster, Settings
from precog_models.forecast.metrics import crps
from precog_models.image import Image
from precog_models.predict.lstm import forward_windows
from precog_models.predict.softmax import distributions
from precog_models.quantize import dequantize, quantize_weights
from precog_models.train.queue import QueueRecipe, fit
from precog_models.train.stacked import Stack
from precog_spec.contract import PROBABILITY

from .delta import head_delta

__all__ = ["HeadData", "HeadFit", "column_of", "crps_of", "fit_base", "fit_heads"]

Ints = NDArray[np.int64]
Shorts = NDArray[np.int16]  # inputs have 16 bits: less to send to workers


@dataclass(frozen=True, eq=False)
class HeadData:
    """Windows of some queues: engine inputs, the bins that came, and which queue.

    Parameters
    ----------
    x : ndarray of int16, shape (n, 8, 8)
    label : ndarray of int64, shape (n,)
    owner : ndarray of int64, shape (n,)
        0 to the number of queues - 1.
    """

    x: Shorts
    label: Ints
    owner: Ints

    def groups(self, count: int) -> list[Ints]:
        """Windows of each queue, as indices."""
        return [np.flatnonzero(self.owner == n) for n in range(count)]


@dataclass(frozen=True)
class HeadFit:
    """One queue's head.

    Parameters
    ----------
    delta : bytes
        Difference to the base; empty where the queue keeps the base.
    windows : int
        That it was tuned on.
    shared, own : float
        Mean CRPS on the validation windows.
    """

    delta: bytes
    windows: int
    shared: float
    own: float


def column_of(settings: Settings) -> int:
    """The column of `HORIZONS` that a model forecasts.

    Raises
    ------
    ValueError
        Windows do not tell what came at that horizon.
    """
    if settings.horizon not in HORIZONS:
        raise ValueError(f"horizon must be one of {HORIZONS} base RTTs, not {settings.horizon}")
    return HORIZONS.index(settings.horizon)


def crps_of(image: Image, windows: Windows) -> NDArray[np.float64]:
    """CRPS of each window under a model."""
    forecaster = Forecaster(image)
    settings = forecaster.settings
    p = forecaster.distributions(windows.signals) / PROBABILITY.one
    return crps(p, settings.bins(windows.later[:, column_of(settings)]))


def fit_base(
    start: FloatLstm, x: Shorts, label: Ints, recipe: QueueRecipe, seed: int
) -> tuple[FloatLstm, float]:
    """One round of training of the shared model; it and its loss."""
    stack = Stack.of(start, 1)
    everything = [np.arange(len(label))]
    loss = fit(stack, x.astype(np.int64), label, everything, recipe, inputs=start.inputs, seed=seed)
    return stack.to_float_lstm(), loss


def fit_heads(
    base: bytes,
    learn: HeadData,
    check: HeadData,
    count: int,
    recipe: QueueRecipe,
    seed: int,
) -> list[HeadFit]:
    """Heads of queues that have windows in both parts; all are trained at once.

    Parameters
    ----------
    base : bytes
        The shared model's file.
    learn, check : HeadData
        To tune on, and later ones to decide by.
    count : int
        Queues.
    recipe : QueueRecipe
    seed : int
    """
    image = Image.from_bytes(base)
    stack = Stack.of(dequantize(image.weights), count)
    for held in (stack.w_ih, stack.w_hh, stack.bias):
        held.requires_grad_(False)
    groups = learn.groups(count)
    fit(
        stack,
        learn.x.astype(np.int64),
        learn.label,
        groups,
        recipe,
        inputs=image.weights.inputs,
        seed=seed,
    )
    shared = _scores(image, check)
    found = []
    for n, windows in enumerate(check.groups(count)):
        part = HeadData(check.x[windows], check.label[windows], check.owner[windows])
        mine = _with_head(image, stack.to_float_lstm(n))
        before, own = float(shared[windows].mean()), float(_scores(mine, part).mean())
        delta = head_delta(image.payload, mine.payload) if own < before else b""
        found.append(HeadFit(delta, len(groups[n]), before, own))
    return found


def _with_head(base: Image, tuned: FloatLstm) -> Image:
    """The base with the head of another model, bit for bit the base otherwise."""
    head, _ = quantize_weights(tuned)
    weights = replace(base.weights, wl=head.wl, bl=head.bl, sh_l=head.sh_l)
    return Image(weights, base.card)


def _scores(image: Image, data: HeadData) -> NDArray[np.float64]:
    weights = image.weights
    p = (
        distributions(forward_windows(weights, data.x.astype(np.int64)), weights.outputs)
        / PROBABILITY.one
    )
    return crps(p, data.label)
