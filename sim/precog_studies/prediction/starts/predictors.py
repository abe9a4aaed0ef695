"""The predictors: a level for each window."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from precog_models.image import Image
from precog_models.predict.lstm import forward_windows
from precog_models.predict.softmax import distributions
from precog_models.predict.tree import tree_predict
from precog_models.tree_image import TreeImage
from precog_spec.contract import PROBABILITY, Fmt

from .windows import BINS, INPUTS, LEVEL, LEVEL_ONE

__all__ = ["MODELS", "Predictor", "linear_columns", "of_image", "predictors", "quantile", "read"]

MODELS = Path(__file__).parent / "models"
_SHARE = 0.5
_Ints = NDArray[np.int64]

#: Levels from windows [n, STEPS, 8].
Predictor = Callable[[_Ints], _Ints]


def quantile(p: _Ints, share: float) -> _Ints:
    """The greatest level that is reached with a probability of more than `share`."""
    beyond = np.cumsum(p[:, ::-1], axis=1)[:, ::-1][:, :BINS]
    return np.asarray((beyond > share * PROBABILITY.one).sum(axis=1) - 1).clip(0)


def linear_columns(x: _Ints) -> NDArray[np.float64]:
    """All inputs of all steps, and one."""
    return np.column_stack([x[:, :, :INPUTS].reshape(len(x), -1) / Fmt.X.one, np.ones(len(x))])


def _of(image: Image | TreeImage, x: _Ints) -> _Ints:
    """Distributions in the engine's integers."""
    if isinstance(image, TreeImage):
        return tree_predict(image.model.tree, x)
    return distributions(forward_windows(image.weights, x), image.weights.outputs)


def of_image(image: Image | TreeImage) -> Predictor:
    """The predictor that a model is."""
    return lambda x: quantile(_of(image, x), _SHARE)


def read(lstm: Image, tree: TreeImage) -> Mapping[str, Predictor]:
    """Predictors by name."""
    weights = np.array(lstm.card["ar"])

    def linear(x: _Ints) -> _Ints:
        levels = np.floor(linear_columns(x) @ weights + 0.5)
        return np.asarray(np.clip(levels, 0, BINS - 1), dtype=np.int64)

    return {
        "persistence": lambda x: x[:, -1, LEVEL] // LEVEL_ONE,
        "ar": linear,
        "tree": of_image(tree),
        "lstm": of_image(lstm),
    }


@cache
def predictors() -> Mapping[str, Predictor]:
    """Of the models in `MODELS`.

    Raises
    ------
    ModelImageError, OSError
        A model cannot be read.
    """
    return read(
        Image.load(MODELS / "lstm.safetensors"), TreeImage.load(MODELS / "tree.safetensors")
    )
