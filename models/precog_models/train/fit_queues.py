"""A model of its own for each queue: the shared one, tuned on the queue's own history.

All queues are trained in one go. A queue keeps the shared model where its own is no better on the
validation part of its history, so that a short or odd history does no harm.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import PROBABILITY

from ..data.windows import HORIZONS, Windows
from ..forecast.forecaster import Forecaster, Settings
from ..forecast.metrics import crps
from ..image import Image
from ..quantize import dequantize, quantize
from .queue import Progress, QueueRecipe, fit
from .stacked import Stack

__all__ = ["QueueFit", "fit_queues"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class QueueFit:
    """One queue's model.

    Parameters
    ----------
    run, queue : int
        Which queue.
    image : Image
        Its own model, or the shared one.
    own : bool
        It has one of its own.
    windows : int
        That it was tuned on.
    shared_crps, own_crps : float
        Mean CRPS on the queue's validation windows.
    """

    run: int
    queue: int
    image: Image
    own: bool
    windows: int
    shared_crps: float
    own_crps: float


def _groups(windows: Windows) -> dict[tuple[int, int], Ints]:
    """Windows of each queue, by (run, queue)."""
    if not len(windows):
        return {}
    key = np.stack([windows.run, windows.queue], axis=1)
    names, member = np.unique(key, axis=0, return_inverse=True)
    order = np.argsort(member, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(member))[:-1])
    return {(int(r), int(q)): part for (r, q), part in zip(names, parts, strict=True)}


def _scores(image: Image, settings: Settings, windows: Windows, column: int) -> float:
    p = Forecaster(image).distributions(windows.signals) / PROBABILITY.one
    return float(crps(p, settings.bins(windows.later[:, column])).mean())


def fit_queues(
    base: Image,
    train: Windows,
    validation: Windows,
    recipe: QueueRecipe,
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> list[QueueFit]:
    """Tune the shared model for every queue that both parts of the history know.

    Parameters
    ----------
    base : Image
        The shared model: a `queue` head with settings in its card.
    train, validation : Windows
        Of the queues' own histories, the second later than the first.
    recipe : QueueRecipe
    seed, threads, progress
        As of `queue.fit`.

    Returns
    -------
    list of QueueFit
        By run and queue.

    Raises
    ------
    ModelImageError
        The shared model is not a queue model.
    ValueError
        No queue has windows in both parts, or the model's horizon is not one of `HORIZONS`.
    """
    settings = Forecaster(base).settings
    if settings.horizon not in HORIZONS:
        raise ValueError(f"horizon must be one of {HORIZONS} base RTTs, not {settings.horizon}")
    column = HORIZONS.index(settings.horizon)
    learn, check = _groups(train), _groups(validation)
    names = sorted(set(learn) & set(check))
    if not names:
        raise ValueError("queues must have windows to learn from and later ones to check, none has")
    stack = Stack.of(dequantize(base.weights), len(names))
    fit(
        stack,
        settings.normaliser(train.signals),
        settings.bins(train.later[:, column]),
        [learn[name] for name in names],
        recipe,
        inputs=base.weights.inputs,
        seed=seed,
        threads=threads,
        progress=progress,
    )
    return [
        _fitted(base, stack, m, name, settings, validation.select(check[name]), len(learn[name]))
        for m, name in enumerate(names)
    ]


def _fitted(
    base: Image,
    stack: Stack,
    model: int,
    name: tuple[int, int],
    settings: Settings,
    validation: Windows,
    windows: int,
) -> QueueFit:
    run, queue = name
    column = HORIZONS.index(settings.horizon)
    card = {**settings.card(), "base": base.card, "queue": {"run": run, "queue": queue}}
    mine = quantize(stack.to_float_lstm(model), card=card, version=base.weights.version)
    shared = _scores(base, settings, validation, column)
    own = _scores(mine, settings, validation, column)
    better = own < shared
    return QueueFit(run, queue, mine if better else base, better, windows, shared, own)
