"""The predictors: a level for each window."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from precog_models.forecast.starts import BINS, INPUTS, LEVEL, LEVEL_ONE, StartForecaster
from precog_models.image import Image
from precog_models.tree_image import TreeImage
from precog_spec.contract import Fmt
from precog_studies.prediction.starts.gru import levels_of, read_weights

__all__ = ["MODELS", "Predictor", "linear_columns", "of_image", "predictors", "read"]

MODELS = Path(__file__).parent / "models"
_Ints = NDArray[np.int64]

#: Levels from windows [n, STEPS, 8].
Predictor = Callable[[_Ints], _Ints]


def linear_columns(x: _Ints) -> NDArray[np.float64]:
    """All inputs of all steps, and one."""
    return np.column_stack([x[:, :, :INPUTS].reshape(len(x), -1) / Fmt.X.one, np.ones(len(x))])


def of_image(image: Image | TreeImage) -> Predictor:
    """The predictor that a model is.

    Raises
    ------
    ModelImageError
        It is none of starts.
    """
    return StartForecaster(image).levels


def read(lstm: Image, tree: TreeImage) -> Mapping[str, Predictor]:
    """Predictors by name, of what cards run."""
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
    lstm, tree = (
        Image.load(MODELS / "lstm.safetensors"),
        TreeImage.load(MODELS / "tree.safetensors"),
    )
    gru = read_weights(MODELS / "gru.safetensors")
    return {**read(lstm, tree), "gru": partial(levels_of, gru)}
