"""Trees for tests: every depth, thresholds at the ends, leaves from flat to certain."""

import numpy as np
from numpy.typing import NDArray

from precog_models.predict.tree import Tree
from precog_models.predict.tree_model import TreeModel, pack_tree
from precog_spec.contract import HEADER_OFFSET, MAX_INPUTS, MAX_OUTPUTS, PROBABILITY, Fmt

__all__ = ["broken_images", "random_leaves", "random_tree"]

Ints = NDArray[np.int64]

_ENDS = (Fmt.X.min, Fmt.X.min + 1, -1, 0, 1, Fmt.X.max)


def random_leaves(rng: np.random.Generator, count: int) -> Ints:
    """Distributions: of random spread, certain ones, and nearly two halves."""
    one = PROBABILITY.one
    weights = rng.random((count, MAX_OUTPUTS)) ** rng.choice([0.5, 2, 8, 30], (count, 1))
    leaves = np.floor(weights / weights.sum(axis=1, keepdims=True) * one).astype(np.int64)
    leaves[np.arange(count), leaves.argmax(axis=1)] += one - leaves.sum(axis=1)
    special = rng.random(count) < 0.3
    a, b = rng.integers(0, MAX_OUTPUTS, count), rng.integers(1, MAX_OUTPUTS, count)
    share = np.where(rng.random(count) < 0.5, one, one // 2 + 1)
    certain = np.zeros_like(leaves)
    certain[np.arange(count), a] = share
    certain[np.arange(count), (a + b) % MAX_OUTPUTS] = one - share
    return np.where(special[:, None], certain, leaves)


def random_tree(
    rng: np.random.Generator, *, depth: int = 6, steps: int = 8, version: int = 0
) -> TreeModel:
    """Any tree of that depth that looks back exactly `steps` steps."""
    nodes = (1 << depth) - 1
    source = rng.integers(0, steps, nodes) * MAX_INPUTS + rng.integers(0, 4, nodes)
    source[rng.integers(0, nodes)] = (steps - 1) * MAX_INPUTS + rng.integers(0, 4)
    threshold = rng.integers(Fmt.X.min, Fmt.X.max + 1, nodes)
    threshold = np.where(rng.random(nodes) < 0.3, rng.choice(_ENDS, nodes), threshold)
    return TreeModel(Tree(source, threshold, random_leaves(rng, nodes + 1)), version=version)


def broken_images(rng: np.random.Generator) -> dict[str, tuple[bytes, str]]:
    """What goes wrong: an image, and the loader's status for it."""
    good = pack_tree(random_tree(rng, depth=int(rng.integers(1, 7)), steps=3))
    at = 4 * 7 * int(rng.integers(0, 64))  # some leaf, even one that is never reached

    def but(place: int, value: bytes) -> bytes:
        return good[:place] + value + good[place + len(value) :]

    full = (b"\xff\xff\xff\x0f") * 7
    return {
        "leaf above one": (but(at, full), "bad_tree"),
        "fifteenth bin above one": (but(at + 16, b"\x00\x00\x00\x90"), "bad_tree"),
        "input that there is not": (but(30 * 64 + int(rng.integers(0, 64)), b"\x04"), "bad_tree"),
        "step that there is not": (but(30 * 64 + int(rng.integers(0, 64)), b"\x18"), "bad_tree"),
        "source of more bits": (but(30 * 64 + int(rng.integers(0, 64)), b"\x40"), "bad_tree"),
        "depth 0": (but(HEADER_OFFSET + 13, b"\x00"), "bad_header"),
        "depth 7": (but(HEADER_OFFSET + 13, b"\x07"), "bad_header"),
        "cell that there is not": (but(HEADER_OFFSET + 12, b"\x02"), "bad_header"),
        "LSTM of queues": (but(HEADER_OFFSET + 12, b"\x00"), "bad_header"),
        "tree of RTTs": (but(HEADER_OFFSET + 3, b"\x00"), "bad_header"),
        "too many steps": (but(HEADER_OFFSET + 1, b"\x09"), "bad_header"),
        "another contract": (but(HEADER_OFFSET + 8, b"\x00\x00\x00\x00"), "bad_contract"),
    }
