"""Models of starts: random ones, and one that says what the last start was told."""

import numpy as np

from precog_models.forecast.starts import BINS, CROWDED, INPUTS, LEVEL, LEVEL_ONE, STEPS
from precog_models.image import Image
from precog_models.predict.lstm import LstmWeights
from precog_models.predict.tree import Tree
from precog_models.predict.tree_model import TreeModel
from precog_models.tree_image import TreeImage
from precog_spec.contract import MAX_OUTPUTS, PROBABILITY, Fmt, HeadKind

__all__ = ["lstm", "parrot", "tree"]


def lstm(seed: int, **changes: int | HeadKind) -> Image:
    """Random weights, which give levels of all kinds."""
    rng = np.random.default_rng(seed)

    def drawn(low: int, high: int, *shape: int) -> np.ndarray:
        return rng.integers(low, high, shape, dtype=np.int64)

    sizes = {"inputs": INPUTS, "outputs": BINS, "steps": STEPS, "kind": HeadKind.QUEUE} | changes
    inputs, outputs = int(sizes["inputs"]), int(sizes["outputs"])
    wx, wl, bl = drawn(-128, 128, 64, 8), drawn(-128, 128, 16, 16), drawn(-2048, 2048, 16)
    wx[:, inputs:] = 0
    wl[outputs:] = 0
    bl[outputs:] = 0
    return Image(
        LstmWeights(
            wh=drawn(-128, 128, 64, 16),
            wx=wx,
            b=drawn(-2048, 2048, 64),
            sh_h=drawn(2, 5, 64),
            sh_x=drawn(2, 5, 64),
            wl=wl,
            bl=bl,
            sh_l=np.zeros(16, dtype=np.int64),
            **sizes,  # type: ignore[arg-type]
        )
    )


def tree(seed: int) -> TreeImage:
    rng = np.random.default_rng(seed)
    leaves = np.zeros((16, MAX_OUTPUTS), dtype=np.int64)
    leaves[np.arange(16), rng.integers(0, BINS, 16)] = PROBABILITY.one
    source = rng.integers(0, 4, 15) * 8 + rng.integers(0, INPUTS, 15)
    return TreeImage(
        TreeModel(Tree(source, rng.integers(-Fmt.X.one, 4 * Fmt.X.one, 15), leaves), outputs=BINS)
    )


def parrot(crowded: int = 4, other: int = 0) -> TreeImage:
    """One of two levels: whether the flow before was told that its receiver is crowded."""
    leaves = np.zeros((2, MAX_OUTPUTS), dtype=np.int64)
    leaves[0, other] = leaves[1, crowded] = PROBABILITY.one
    questions = (np.array([LEVEL]), np.array([CROWDED * LEVEL_ONE]))
    return TreeImage(TreeModel(Tree(*questions, leaves), outputs=BINS))
