"""Trains the predictors: on runs of services that no arm of the study sees, first without guesses,
then with the LSTM's own, for the GRU with the GRU's own.

``python -m precog_studies.prediction.starts.learn`` replaces LSTM and tree, ``learn gru`` the GRU.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from precog_models.forecast.starts import BINS, INPUTS, STEPS
from precog_models.image import Image
from precog_models.predict.tree_model import TreeModel
from precog_models.quantize import quantize
from precog_models.train.distill import distill
from precog_models.train.gru import Gru
from precog_models.train.queue import QueueRecipe, fit
from precog_models.train.stacked import Stack
from precog_models.tree_image import TreeImage
from precog_studies.prediction.arms import ARMS
from precog_studies.prediction.cases import closed_loop
from precog_studies.prediction.guesses import LEAST
from precog_studies.prediction.starts.gru import UNITS, Weights, levels_of, write_weights
from precog_studies.prediction.starts.predictors import (
    MODELS,
    Predictor,
    linear_columns,
    read,
)
from precog_studies.prediction.starts.windows import known, windows

_Ints = NDArray[np.int64]
_SEEDS = range(2001, 2013)
_RECIPE = QueueRecipe(updates=3000, batch=256, rate=1e-2)
_DEPTH = 6


def collected(predictor: Predictor | None) -> tuple[_Ints, _Ints]:
    """Windows, and the levels that their flows were told."""
    parts = []
    for seed in _SEEDS:
        result, traffic, _ = closed_loop("services", ARMS["echo"], seed, predictor)
        counts = traffic.size > LEAST
        x = windows(traffic, known(traffic, result.heard, result.heard_us))
        parts.append((x[counts], np.minimum(result.heard[counts], BINS - 1)))
    return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])


def trained(x: _Ints, y: _Ints) -> tuple[Image, TreeImage]:
    """The LSTM, with the auto-regression's weights in its card; and the tree."""
    network = Stack(inputs=INPUTS, outputs=BINS, steps=STEPS, seed=1)
    loss = fit(network, x, y, [np.arange(len(x))], _RECIPE, inputs=INPUTS, seed=1)
    columns = linear_columns(x)
    solution = np.linalg.lstsq(columns, y.astype(float), rcond=None)[0]
    card = {
        "data": f"services, seeds {_SEEDS[0]} to {_SEEDS[-1]}, {len(x)} starts",
        "loss": round(loss, 4),
        "ar": np.round(solution, 6).tolist(),
    }
    lstm = quantize(network.to_float_lstm(), card=card)
    tree = distill(x, np.eye(BINS)[y], depth=_DEPTH, inputs=INPUTS, look_back=4)
    return lstm, TreeImage(TreeModel(tree, outputs=BINS), {"data": card["data"]})


def trained_gru(x: _Ints, y: _Ints) -> Weights:
    """The GRU, by the LSTM's recipe."""
    network = Gru(inputs=INPUTS, outputs=BINS, steps=STEPS, seed=1, units=UNITS)
    loss = fit(network, x, y, [np.arange(len(x))], _RECIPE, inputs=INPUTS, seed=1)
    print(f"gru of {len(x)} starts: loss {loss:.4f}")
    return {
        name: parameter[0].detach().double().numpy()
        for name, parameter in network.named_parameters()
    }


def _learn_gru() -> None:
    x, y = collected(None)
    first = trained_gru(x, y)
    again = collected(partial(levels_of, first))
    both = np.concatenate([x, again[0]]), np.concatenate([y, again[1]])
    second = trained_gru(*both)
    print(_errors({"gru": partial(levels_of, second)}, *again))
    write_weights(second, MODELS / "gru.safetensors")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["gru"], help="by default LSTM and tree")
    if parser.parse_args(arguments).what:
        _learn_gru()
        return 0
    x, y = collected(None)
    lstm, tree = trained(x, y)
    print(_errors(read(lstm, tree), x, y))
    again = collected(read(lstm, tree)["lstm"])
    x, y = np.concatenate([x, again[0]]), np.concatenate([y, again[1]])
    lstm, tree = trained(x, y)
    print(_errors(read(lstm, tree), *again))
    MODELS.mkdir(exist_ok=True)
    lstm.save(MODELS / "lstm.safetensors")
    tree.save(MODELS / "tree.safetensors")
    return 0


def _errors(sources: Mapping[str, Predictor], x: _Ints, y: _Ints) -> str:
    """Mean absolute errors in levels."""
    parts = []
    for name, one in sources.items():
        error = one(x) - y
        parts.append(
            f"{name} {np.abs(error).mean():.3f}, too high {np.maximum(error, 0).mean():.3f}, exact "
            f"{(error == 0).mean():.3f}"
        )
    return "; ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
