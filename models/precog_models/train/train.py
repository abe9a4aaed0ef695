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
from .network import Network
from .presets import Recipe, recipe
from .sampler import BalancedSampler, balanced_pool

__all__ = ["Epoch", "Progress", "TrainedModel", "train"]

Progress = Callable[[int, int, str], None]  # epochs done, of how many, what to show

_WARM_UP = 0.1
_AVERAGE_DECAY = 0.999
_MAX_GRADIENT = 1.0


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

    def __init__(self, network: Network) -> None:
        self._parameters: list[Tensor] = list(network.parameters())
        self._means = [p.detach().clone() for p in self._parameters]
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
    threads: int = 2,
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
        CPU threads. The same seed and threads give the same weights on the same machine.
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
    core = dataset.core
    if plan.pool:
        core = balanced_pool(core, plan.pool, rng)
    sources = [(core, 1.0)]
    if dataset.varied is not None and plan.varied_share > 0.0:
        sources = [(core, 1.0 - plan.varied_share), (dataset.varied, plan.varied_share)]
    sampler = BalancedSampler(sources, plan.batch, rng)
    x, label = _tensors(Pairs.concatenate([pairs for pairs, _ in sources]), plan.steps)
    checks = [(core, rng), (_held_out(dataset), rng)]

    network = Network(steps=plan.steps, seed=seed)
    optimizer = torch.optim.Adam(network.parameters(), lr=plan.rate)
    average = _Average(network)
    total = plan.epochs * plan.updates
    rounded_from = total - round(plan.quantized_share * total)
    history = []
    for epoch in range(plan.epochs):
        draws = torch.from_numpy(sampler.draw(plan.updates))
        epoch_error = torch.zeros(())
        for update in range(plan.updates):
            done = epoch * plan.updates + update
            if plan.scheduled:
                optimizer.param_groups[0]["lr"] = plan.rate * _rate_factor(done / total)
            if done == rounded_from:
                average.restart()  # means of unrounded weights would blur the rounded ones
            which = draws[update]
            y = label[which]
            out = network(x[which], rounded=done >= rounded_from)[:, 0]
            distance = (out - y).abs()
            relative = (distance / (1.0 + y)).mean()
            loss = relative if plan.loss == "mape" else distance.mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), _MAX_GRADIENT)
            optimizer.step()
            epoch_error += relative.detach()
            if plan.averaged:
                average.update()
        error = float(epoch_error) / plan.updates
        if not math.isfinite(error):
            raise ValueError(f"training diverged in epoch {epoch + 1}: the loss is {error}")
        if plan.averaged and epoch == plan.epochs - 1:
            average.apply()
        pool_test, held_out = (
            _random_error(network, pairs, plan.history_pairs, generator)
            for pairs, generator in checks
        )
        history.append(Epoch(epoch + 1, error, pool_test, held_out))
        if progress is not None:
            progress(epoch + 1, plan.epochs, f"MAPE {100 * error:.2f} %")
    return TrainedModel(
        model=network.to_float_lstm(),
        history=tuple(history),
        recipe=plan,
        seed=seed,
        wall_s=time.monotonic() - started,
    )


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
