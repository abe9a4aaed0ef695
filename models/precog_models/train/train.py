"""Training: a dataset and a recipe to real weights, the same for the same seed and threads.

from precog_models.train.train import train
trained = train("precog", Dataset.from_traces(load_traces("traces.npz")))
quantize(trained.model, card=...).save("model.safetensors")
"""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.dataset import Dataset
from ..data.pairs import Pairs
from ..float_lstm import FloatLstm
from .freeze import FREEZE_SHARES, Freezer
from .network import Network
from .presets import Recipe, recipe
from .sampler import BalancedSampler, balanced_pool

__all__ = ["Epoch", "Progress", "TrainedModel", "train"]

Progress = Callable[[int, int, str], None]  # epochs done, of how many, what to show

_WARM_UP = 0.1
_AVERAGE_DECAY = 0.999
_MAX_GRADIENT = 1.0
_FREEZE_RATE = 0.1  # of the peak rate, where freezing begins


@dataclass(frozen=True)
class Epoch:
    """A row of the thesis' table 1; errors by (13), as a fraction.

    Parameters
    ----------
    number : int
        From 1.
    train : float
        Mean error over the epoch's training pairs, as they were trained.
    pool_test : float
        Over random pairs of the training pool, re-drawn each epoch: the thesis' test column.
    held_out : float
        Over random pairs of blocks that are never trained on.
    """

    number: int
    train: float
    pool_test: float
    held_out: float


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """What training returns.

    Parameters
    ----------
    model : FloatLstm
        Real weights.
    history : tuple of Epoch
        One row an epoch.
    recipe : Recipe
    seed : int
    wall_s : float
        How long it took.
    """

    model: FloatLstm
    history: tuple[Epoch, ...]
    recipe: Recipe
    seed: int
    wall_s: float

    def card(self) -> dict[str, Any]:
        """The training's part of a data card."""
        return {
            "recipe": asdict(self.recipe),
            "seed": self.seed,
            "torch": torch.__version__,
        }


def _tensors(pairs: Pairs, steps: int) -> tuple[Tensor, Tensor]:
    x = np.ascontiguousarray(pairs.k[:, -steps:, None], dtype=np.float32)
    return torch.from_numpy(x), torch.from_numpy(pairs.label.astype(np.float32))


def _rate_factor(done: float) -> float:
    if done < _WARM_UP:
        return (done + 1e-3) / _WARM_UP
    return 0.5 * (1.0 + math.cos(math.pi * (done - _WARM_UP) / (1.0 - _WARM_UP)))


class _Average:
    """Running mean of a network's weights; a plain mean until the decay's horizon is reached."""

    def __init__(self, parameters: list[Tensor]) -> None:
        self._parameters = parameters
        self._means = [p.detach().clone() for p in parameters]
        self._updates = 0

    def update(self) -> None:
        self._updates += 1
        weight = max(1.0 / self._updates, 1.0 - _AVERAGE_DECAY)
        with torch.no_grad():
            torch._foreach_lerp_(self._means, self._parameters, weight)

    def restart(self) -> None:
        self._updates = 0

    def apply(self) -> None:
        with torch.no_grad():
            for parameter, mean in zip(self._parameters, self._means, strict=True):
                parameter.copy_(mean)


def train(
    preset: str | Recipe,
    dataset: Dataset,
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> TrainedModel:
    """Train a predictor of L_t.

    Parameters
    ----------
    preset : str or Recipe
        ``"thesis"``, ``"precog"``, or a recipe of one's own.
    dataset : Dataset
        What to learn from; its test groups are used for the history only.
    seed : int
        Of initial weights and draws.
    threads : int
        CPU threads; a second one gains nothing at these sizes. The same seed and threads give the
        same weights on the same machine.
    progress : callable, optional
        Called after each epoch with (epochs done, epochs, text).

    Returns
    -------
    TrainedModel

    Raises
    ------
    ValueError
        The preset does not exist, a bin has no training pair, or the loss became NaN.
    """
    plan = recipe(preset) if isinstance(preset, str) else preset
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return _train(plan, dataset, seed, progress)
    finally:
        torch.set_num_threads(before)


def _train(plan: Recipe, dataset: Dataset, seed: int, progress: Progress | None) -> TrainedModel:
    started = time.monotonic()
    rng = np.random.default_rng(seed)
    core = balanced_pool(dataset.core, plan.pool, rng) if plan.pool else dataset.core
    sources = [(core, 1.0)]
    if dataset.varied is not None and plan.varied_share > 0.0:
        sources = [(core, 1.0 - plan.varied_share), (dataset.varied, plan.varied_share)]
    sampler = BalancedSampler(sources, plan.batch, rng)
    x, label = _tensors(Pairs.concatenate([pairs for pairs, _ in sources]), plan.steps)
    held_out = _held_out(dataset)
    network = Network(steps=plan.steps, seed=seed, input_scale=plan.input_scale)
    run = _Run(plan, network)
    history = []
    for epoch in range(plan.epochs):
        draws = torch.from_numpy(sampler.draw(plan.updates))
        errors = torch.stack([run.update(x[which], label[which]) for which in draws])
        error = float(errors.mean())
        if not math.isfinite(error):
            raise ValueError(f"training diverged in epoch {epoch + 1}: the loss is {error}")
        if epoch == plan.epochs - 1:
            run.finish()
        history.append(
            Epoch(
                number=epoch + 1,
                train=error,
                pool_test=_random_error(network, core, plan.history_pairs, rng),
                held_out=_random_error(network, held_out, plan.history_pairs, rng),
            )
        )
        if progress is not None:
            progress(epoch + 1, plan.epochs, f"MAPE {100 * error:.2f} %")
    return TrainedModel(
        model=network.to_float_lstm(),
        history=tuple(history),
        recipe=plan,
        seed=seed,
        wall_s=time.monotonic() - started,
    )


class _Run:
    """The state of one training: optimizer, schedule, average, and what is frozen."""

    def __init__(self, plan: Recipe, network: Network) -> None:
        self._plan = plan
        self._network = network
        self._parameters: list[Tensor] = list(network.parameters())
        self._optimizer = torch.optim.Adam(self._parameters, lr=plan.rate)
        self._average = _Average(self._parameters)
        self._done = 0
        total = plan.epochs * plan.updates
        freezing = round(plan.freeze_share * total)
        self._learning = total - freezing  # updates before anything is frozen
        self._freezing = freezing
        # The last of the equal stretches has every weight frozen: only biases learn.
        stages = len(FREEZE_SHARES) + 1
        self._stages = {
            self._learning + k * freezing // stages: share
            for k, share in enumerate(FREEZE_SHARES)
            if freezing >= stages
        }
        self._freezer: Freezer | None = None

    def update(self, x: Tensor, label: Tensor) -> Tensor:
        """One optimizer step; returns the batch's mean error (13) before it."""
        self._freeze_if_due()
        self._optimizer.param_groups[0]["lr"] = self._rate()
        distance = (self._network(x)[:, 0] - label).abs()
        relative: Tensor = (distance / (1.0 + label)).mean()
        loss = relative if self._plan.loss == "mape" else distance.mean()
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._parameters, _MAX_GRADIENT)
        self._optimizer.step()
        if self._freezer is not None:
            self._freezer.hold()
        if self._plan.averaged:
            self._average.update()
        self._done += 1
        return relative.detach()

    def finish(self) -> None:
        """Leave the averaged weights in the network."""
        if self._plan.averaged:
            self._average.apply()

    def _rate(self) -> float:
        plan = self._plan
        if not plan.scheduled:
            return plan.rate
        if self._done < self._learning:
            return plan.rate * _rate_factor(self._done / self._learning)
        share = (self._done - self._learning) / self._freezing
        return plan.rate * _FREEZE_RATE * 0.5 * (1.0 + math.cos(math.pi * share))

    def _freeze_if_due(self) -> None:
        share = self._stages.get(self._done)
        if share is None:
            return
        if self._freezer is None:
            self.finish()  # rounding begins from the average
            self._freezer = Freezer(self._network.matrices)
        self._freezer.freeze(share)
        self._average.restart()  # a mean over weights that were free would leave the grid


def _held_out(dataset: Dataset) -> Pairs:
    """Test blocks of the core scenarios."""
    core_groups = {dataset.traces[i].group for i in np.unique(dataset.core.trace)}
    return Pairs.concatenate([dataset.test[group] for group in sorted(core_groups)])


def _random_error(network: Network, pairs: Pairs, count: int, rng: np.random.Generator) -> float:
    """(13) over a balanced random draw, as a fraction."""
    chosen = pairs.select(BalancedSampler([(pairs, 1.0)], count, rng).draw(1)[0])
    x, label = _tensors(chosen, network.steps)
    with torch.no_grad():
        out = network(x)[:, 0]
    return float(((out - label).abs() / (1.0 + label)).mean())
