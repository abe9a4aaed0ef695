"""Training of queue models: one for all queues, or one for each of a thousand in one go.

Cross entropy on the bin that came. Rounding to the engine's integers is part of the forward pass
for the last updates, so that the weights settle on the grid. The same seed and threads give the
same weights on the same machine.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from precog_spec.contract import Fmt

from .stacked import Learner

__all__ = ["QUEUE_RECIPES", "QueueRecipe", "fit", "probabilities"]

Ints = NDArray[np.int64]
Progress = Callable[[int, int, str], None]  # updates done, of how many, what to show

_WARM_UP = 0.1
_MAX_GRADIENT = 1.0
_REPORT_EVERY = 50
_CHUNK = 16384


@dataclass(frozen=True)
class QueueRecipe:
    """One way of training.

    Parameters
    ----------
    updates : int
        Optimizer steps.
    batch : int
        Windows of each model in a step.
    rate : float
        Adam's peak learning rate: a tenth of warm-up, then a cosine to zero.
    rounded_share : float
        Share of all updates, the last, with rounded weights.

    Raises
    ------
    ValueError
        A value is outside its range.
    """

    updates: int
    batch: int
    rate: float
    rounded_share: float = 0.4

    def __post_init__(self) -> None:
        for name in ("updates", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)!r}")
        if not 0.0 < self.rate < math.inf:
            raise ValueError(f"rate must be a positive number, not {self.rate!r}")
        if not 0.0 <= self.rounded_share <= 1.0:
            raise ValueError(f"rounded_share must be in 0..1, not {self.rounded_share!r}")

    def card(self) -> dict[str, Any]:
        """JSON data for an image's card."""
        return asdict(self)


QUEUE_RECIPES = {
    "base": QueueRecipe(updates=6000, batch=512, rate=2e-2),
    "tune": QueueRecipe(updates=120, batch=32, rate=3e-3, rounded_share=0.5),
}


def _tensor(x: Ints, inputs: int) -> Tensor:
    """Engine inputs [n, T, 8] as real numbers [n, T, I]."""
    return torch.from_numpy((x[:, :, :inputs] / Fmt.X.one).astype(np.float32))


def fit(
    network: Learner,
    x: Ints,
    label: Ints,
    groups: Sequence[Ints],
    recipe: QueueRecipe,
    *,
    inputs: int,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> float:
    """Train a stack in place, each model on its own windows.

    Parameters
    ----------
    network : Learner
    x : ndarray of int64, shape (n, T, 8)
        Windows in X's format.
    label : ndarray of int64, shape (n,)
        The bin that came.
    groups : sequence of ndarray of int64
        Each model's windows, as indices.
    recipe : QueueRecipe
    inputs : int
        I: how many of the 8 inputs are used.
    seed : int
        Of the draws.
    threads : int
        CPU threads.
    progress : callable, optional
        Called with (updates done, updates, text).

    Returns
    -------
    float
        Mean cross entropy of the last tenth of updates.

    Raises
    ------
    ValueError
        A model has no window, or the loss became NaN.
    """
    empty = [k for k, group in enumerate(groups) if not len(group)]
    if empty:
        raise ValueError(f"each model must have a window, model {empty[0]} has none")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return _fit(network, _tensor(x, inputs), label, groups, recipe, seed, progress)
    finally:
        torch.set_num_threads(before)


def _fit(
    network: Learner,
    x: Tensor,
    label: Ints,
    groups: Sequence[Ints],
    recipe: QueueRecipe,
    seed: int,
    progress: Progress | None,
) -> float:
    rng = np.random.default_rng(seed)
    counts = np.array([len(group) for group in groups])
    starts = np.cumsum(counts) - counts
    members = torch.from_numpy(np.concatenate(groups))
    y = torch.from_numpy(label)
    parameters = list(network.parameters())
    optimizer = torch.optim.Adam(parameters, lr=recipe.rate)
    rounded_from = round(recipe.updates * (1.0 - recipe.rounded_share))
    losses = []
    for k in range(recipe.updates):
        network.quantized = k >= rounded_from
        done = k / recipe.updates
        optimizer.param_groups[0]["lr"] = recipe.rate * _rate_factor(done)
        place = (rng.random((len(groups), recipe.batch)) * counts[:, None]).astype(np.int64)
        chosen = members[torch.from_numpy(place + starts[:, None])]
        logits = network(x[chosen])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), y[chosen].flatten())
        optimizer.zero_grad(set_to_none=True)
        # Each model's gradient is its own mean's.
        torch.autograd.backward(loss * len(groups))
        _clip(parameters, len(groups))
        optimizer.step()
        network.hold()
        losses.append(float(loss.detach()))
        if not math.isfinite(losses[-1]):
            raise ValueError(f"training diverged in update {k + 1}: the loss is {losses[-1]}")
        if progress is not None and (k + 1) % _REPORT_EVERY == 0:
            progress(k + 1, recipe.updates, f"loss {np.mean(losses[-_REPORT_EVERY:]):.3f}")
    return float(np.mean(losses[-max(recipe.updates // 10, 1) :]))


def _rate_factor(done: float) -> float:
    if done < _WARM_UP:
        return (done + 1e-2) / (_WARM_UP + 1e-2)
    return 0.5 * (1.0 + math.cos(math.pi * (done - _WARM_UP) / (1.0 - _WARM_UP)))


def _clip(parameters: Sequence[nn.Parameter], models: int) -> None:
    """Limit each model's gradient to a norm of 1."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    squares = torch.stack([(g.reshape(models, -1) ** 2).sum(dim=1) for g in gradients]).sum(dim=0)
    factor = (_MAX_GRADIENT / squares.sqrt().clamp_min(_MAX_GRADIENT)).view(-1, 1, 1)
    for gradient in gradients:
        gradient.mul_(factor)


def probabilities(network: Learner, x: Ints, *, inputs: int) -> NDArray[np.float64]:
    """A single model's distributions [n, O] in real numbers, of windows [n, T, 8]."""
    parts = []
    with torch.no_grad():
        for start in range(0, len(x), _CHUNK):
            logits = network(_tensor(x[start : start + _CHUNK], inputs)[None])[0]
            parts.append(torch.softmax(logits, dim=1).double().numpy())
    return np.concatenate(parts)
