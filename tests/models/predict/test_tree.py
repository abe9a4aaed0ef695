"""The golden tree: walks by hand, and what it refuses."""

import numpy as np
import pytest

from precog_models.predict.tree import Tree, tree_predict
from precog_spec.contract import MAX_OUTPUTS, PROBABILITY


def _leaves(count: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    leaves = np.zeros((count, MAX_OUTPUTS), dtype=np.int64)
    leaves[np.arange(count), np.arange(count)] = PROBABILITY.one
    return leaves


def _array(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def test_a_walk_by_hand() -> None:
    # the newest input 0, then: below, input 1 of the step before; above, the newest input 3
    tree = Tree(_array(0, 9, 3), _array(100, -5, 7), _leaves(4))
    assert tree.depth == 2
    x = np.zeros((5, 3, 8), dtype=np.int64)
    x[0, 2, 0], x[0, 1, 1] = 99, -6
    x[1, 2, 0], x[1, 1, 1] = -32768, -5
    x[2, 2, 0], x[2, 2, 3] = 100, 6
    x[3, 2, 0], x[3, 2, 3] = 32767, 7
    x[4, 1, 0], x[4, 0, 1] = 500, -500  # of other steps: not looked at
    assert tree_predict(tree, x).argmax(axis=1).tolist() == [0, 1, 2, 3, 1]


def test_every_window_gets_a_leaf(seed: int) -> None:
    rng = np.random.default_rng(seed)
    leaves = rng.multinomial(PROBABILITY.one, np.full(16, 1 / 16), size=32).astype(np.int64)
    tree = Tree(rng.integers(0, 24, 31), rng.integers(-32768, 32768, 31), leaves)
    x = rng.integers(-32768, 32768, (100, 3, 8))
    got = tree_predict(tree, x)
    for n in range(100):
        node = 0
        while node < 31:
            age, column = divmod(int(tree.source[node]), 8)
            node = 2 * node + 1 + int(x[n, 2 - age, column] >= tree.threshold[node])
        assert np.array_equal(got[n], leaves[node - 31])


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"2\*\*D - 1 nodes, D in 1\.\.6, not 2"):
        Tree(_array(0, 0), _array(0, 0), _leaves(3))
    with pytest.raises(ValueError, match=r"tree source must lie in 0\.\.63, not 64\.\.64"):
        Tree(_array(64), _array(0), _leaves(2))
    with pytest.raises(ValueError, match=r"tree threshold must lie in -32768\.\.32767"):
        Tree(_array(0), _array(40_000), _leaves(2))
    with pytest.raises(ValueError, match=r"thresholds and leaves must have shapes \(1,\)"):
        Tree(_array(0), _array(0), _leaves(3))
    with pytest.raises(ValueError, match="leaf 0 must sum to 32768, not 32767"):
        Tree(_array(0), _array(0), _leaves(2) - np.eye(2, 16, dtype=np.int64))
    with pytest.raises(TypeError, match="tree threshold must be int64, not float64"):
        Tree(_array(0), np.zeros(1), _leaves(2))  # type: ignore[arg-type]
    tree = Tree(_array(16), _array(0), _leaves(2))
    with pytest.raises(ValueError, match="windows must have at least 3 steps, not 2"):
        tree_predict(tree, np.zeros((1, 2, 8), dtype=np.int64))
    with pytest.raises(ValueError, match=r"x must have shape \(n, steps, 8\), not \(1, 8\)"):
        tree_predict(tree, np.zeros((1, 8), dtype=np.int64))
