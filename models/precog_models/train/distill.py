"""A decision tree that says what a network says: grown on the network's own distributions.

Greedy, level by level: each node takes the question that leaves the least squared distance between
the distributions of its windows and their mean. A leaf is that mean, in integers that sum to 1.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import MAX_INPUTS, MAX_OUTPUTS, PROBABILITY, TREE_DEPTH, Fmt

from ..data.windows import HORIZONS, Windows
from ..forecast.calibrate import fit_knots
from ..forecast.forecaster import Forecaster
from ..image import Image
from ..predict.tree import Tree
from ..predict.tree_model import TreeModel
from ..tree_image import TreeImage

__all__ = ["distill", "distill_image"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEVELS = 32  # thresholds that are tried at an input of a node
_NEVER = Fmt.X.min  # every value is at least that: all go one way


def distill(x: Ints, p: Floats, *, depth: int = 6, inputs: int = 4, look_back: int = 2) -> Tree:
    """Grow a tree on a network's answers.

    Parameters
    ----------
    x : ndarray of int64, shape (n, steps, 8)
        Windows in X's format, oldest first.
    p : ndarray, shape (n, bins)
        The network's distributions.
    depth : int
        Questions on the way to a leaf.
    inputs : int
        How many of the 8 inputs are used.
    look_back : int
        Steps that it may look at, the newest first.

    Raises
    ------
    ValueError
        The depth or `look_back` is outside its range, or there is no window.
    """
    if not 1 <= depth <= TREE_DEPTH:
        raise ValueError(f"depth must be in 1..{TREE_DEPTH}, not {depth!r}")
    if not 1 <= look_back <= x.shape[1]:
        raise ValueError(f"look_back must be in 1..{x.shape[1]}, not {look_back!r}")
    if not len(x):
        raise ValueError("a tree must have windows to grow on, not none")
    sources = np.array([a * MAX_INPUTS + i for a in range(look_back) for i in range(inputs)])
    columns = np.stack(
        [x[:, x.shape[1] - 1 - s // MAX_INPUTS, s % MAX_INPUTS] for s in sources], axis=1
    )
    nodes = (1 << depth) - 1
    source = np.zeros(nodes, dtype=np.int64)
    threshold = np.full(nodes, _NEVER, dtype=np.int64)
    place = np.zeros(len(x), dtype=np.int64)  # the node of each window
    for node in range(nodes):
        here = np.flatnonzero(place == node)
        if len(here) > 1:
            best, level = _split(columns[here], p[here])
            source[node], threshold[node] = sources[best], level
            at_least = columns[here, best] >= level
        else:
            at_least = np.ones(len(here), dtype=bool)
        place[here] = 2 * node + 1 + at_least
    return Tree(source, threshold, _leaves(place - nodes, p, depth))


def distill_image(
    base: Image, train: Windows, validation: Windows, *, depth: int = 6, look_back: int = 2
) -> TreeImage:
    """A tree that says what a queue model says, with a score of its own.

    Parameters
    ----------
    base : Image
        A `queue` head with settings in its card, which the tree's card takes over.
    train : Windows
        What it grows on.
    validation : Windows
        Other windows, to which the table of its score is fitted: the score's event is a queue that
        reaches the threshold at some time within the horizon.
    depth, look_back : int
        As of `distill`.

    Raises
    ------
    ModelImageError
        `base` is not a queue model.
    ValueError
        As `distill`, or there is no window to fit the score to.
    """
    forecaster = Forecaster(base)
    settings, bins = forecaster.settings, base.weights.outputs
    if settings.horizon not in HORIZONS:
        raise ValueError(f"horizon must be one of {HORIZONS} base RTTs, not {settings.horizon}")
    if not len(validation):
        raise ValueError("a tree's score must have windows to be fitted to, not none")
    p = forecaster.distributions(train.signals)[:, :bins] / PROBABILITY.one
    x = settings.normaliser(train.signals)
    tree = distill(x, p, depth=depth, inputs=base.weights.inputs, look_back=look_back)
    model = TreeModel(tree, outputs=bins, version=base.weights.version)
    raw = Forecaster(TreeImage(model, settings.card()))
    position = raw.tails(raw.distributions(validation.signals))
    highest = validation.highest[:, HORIZONS.index(settings.horizon)]
    knots = fit_knots(position, highest >= settings.threshold_bytes)
    told = {"distilled_from": f"{base.crc32:#010x}", "base": base.card}
    return TreeImage(model, replace(settings, knots=knots).card() | told)


def _split(columns: Ints, p: Floats) -> tuple[int, int]:
    """The column and threshold that explain most of `p`."""
    total = p.sum(axis=0)
    best = (-np.inf, 0, _NEVER)
    for c in range(columns.shape[1]):
        levels = np.unique(
            np.quantile(columns[:, c], np.arange(1, _LEVELS) / _LEVELS, method="higher")
        )
        bucket = np.searchsorted(levels, columns[:, c], side="right")
        count = np.bincount(bucket, minlength=len(levels) + 1)
        sums = np.stack([np.bincount(bucket, q, len(levels) + 1) for q in p.T], axis=1)
        below_n = np.cumsum(count)[:-1]
        below = np.cumsum(sums, axis=0)[:-1]
        above_n = len(p) - below_n
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = (below**2).sum(axis=1) / below_n + ((total - below) ** 2).sum(axis=1) / above_n
        gain = np.where((below_n > 0) & (above_n > 0), gain, -np.inf)
        k = int(np.argmax(gain))
        if gain[k] > best[0]:
            best = (float(gain[k]), c, int(levels[k]))
    return best[1], best[2]


def _leaves(leaf: Ints, p: Floats, depth: int) -> Ints:
    """Mean distributions of the windows of each leaf; one without windows has the mean of all."""
    leaves = np.zeros((1 << depth, MAX_OUTPUTS), dtype=np.int64)
    for k in range(1 << depth):
        here = p[leaf == k]
        mean = here.mean(axis=0) if len(here) else p.mean(axis=0)
        numbers = np.floor(mean * PROBABILITY.one + 0.5).astype(np.int64)
        top = int(np.argmax(numbers))
        others = np.delete(numbers, top)
        np.minimum(others, (PROBABILITY.one >> 1) - 1, out=others)  # an image stores no two halves
        leaves[k, : p.shape[1]] = np.insert(others, top, PROBABILITY.one - others.sum())
    return leaves
