"""A decision tree in integers: the cheap predictor with the queue head's inputs and outputs.

A complete binary tree of depth D in breadth-first order: node n asks whether an input is at least a
threshold and goes on at 2 n + 1 (no) or 2 n + 2 (yes); after D questions a leaf gives the
distribution. An input is one of the 8 of a step, of the newest step or one before it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import MAX_INPUTS, MAX_OUTPUTS, MAX_STEPS, PROBABILITY, TREE_DEPTH, Fmt

from ..jit import njit

__all__ = ["Tree", "tree_leaf", "tree_predict"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree's integers.

    Parameters
    ----------
    source : ndarray of int64, shape (2**D - 1,)
        What each node looks at: age * 8 + input; age 0 is the newest step.
    threshold : ndarray of int64, shape (2**D - 1,)
        In X's format.
    leaves : ndarray of int64, shape (2**D, 16)
        Distributions in PROBABILITY's format, each 32768 in all.

    Raises
    ------
    ValueError
        A shape or a number is outside its range.
    """

    source: Ints
    threshold: Ints
    leaves: Ints

    def __post_init__(self) -> None:
        nodes = len(self.source)
        if not 1 <= self.depth <= TREE_DEPTH or nodes != (1 << self.depth) - 1:
            raise ValueError(f"tree must have 2**D - 1 nodes, D in 1..{TREE_DEPTH}, not {nodes}")
        if self.threshold.shape != (nodes,) or self.leaves.shape != (nodes + 1, MAX_OUTPUTS):
            raise ValueError(
                f"thresholds and leaves must have shapes ({nodes},) and ({nodes + 1}, "
                f"{MAX_OUTPUTS}), not {self.threshold.shape} and {self.leaves.shape}"
            )
        for name, low, high in (
            ("source", 0, MAX_STEPS * MAX_INPUTS - 1),
            ("threshold", Fmt.X.min, Fmt.X.max),
            ("leaves", 0, PROBABILITY.one),
        ):
            array = getattr(self, name)
            if array.dtype != np.int64:
                raise TypeError(f"tree {name} must be int64, not {array.dtype}")
            if array.min() < low or array.max() > high:
                raise ValueError(
                    f"tree {name} must lie in {low}..{high}, not {array.min()}..{array.max()}"
                )
        sums = self.leaves.sum(axis=1)
        if (sums != PROBABILITY.one).any():
            leaf = int(np.argmax(sums != PROBABILITY.one))
            raise ValueError(f"leaf {leaf} must sum to {PROBABILITY.one}, not {int(sums[leaf])}")

    @property
    def depth(self) -> int:
        """Questions on the way to a leaf."""
        return (len(self.source) + 1).bit_length() - 1


@njit
def tree_leaf(source: Ints, threshold: Ints, depth: int, x: Ints) -> int:
    """The leaf of a window `x` [steps, 8], oldest step first."""
    node = 0
    for _ in range(depth):
        age = source[node] // MAX_INPUTS
        value = x[x.shape[0] - 1 - age, source[node] % MAX_INPUTS]
        node = 2 * node + (2 if value >= threshold[node] else 1)
    return int(node - len(source))


@njit
def _leaves(source: Ints, threshold: Ints, depth: int, x: Ints, out: Ints) -> None:
    for n in range(len(x)):
        out[n] = tree_leaf(source, threshold, depth, x[n])


def tree_predict(tree: Tree, x: Ints) -> Ints:
    """Distributions of many windows.

    Parameters
    ----------
    tree : Tree
    x : ndarray of int64, shape (n, steps, 8)
        Inputs in X's format, oldest first.

    Returns
    -------
    ndarray of int64, shape (n, 16)
        In PROBABILITY's format.

    Raises
    ------
    ValueError
        Another shape, or fewer steps than the tree looks back.
    """
    if x.ndim != 3 or x.shape[2] != MAX_INPUTS:
        raise ValueError(f"x must have shape (n, steps, {MAX_INPUTS}), not {x.shape}")
    steps = 1 + int(tree.source.max()) // MAX_INPUTS
    if x.shape[1] < steps:
        raise ValueError(f"windows must have at least {steps} steps, not {x.shape[1]}")
    leaf = np.zeros(len(x), dtype=np.int64)
    _leaves(tree.source, tree.threshold, tree.depth, x, leaf)
    return np.asarray(tree.leaves[leaf])
