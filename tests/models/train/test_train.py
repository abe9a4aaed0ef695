"""Training: it learns, repeats itself, reports, and ends on the quantizer's grid."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from precog_models.data.dataset import Dataset
from precog_models.quantize import dequantize, quantize_weights
from precog_models.train.evaluate import evaluate
from precog_models.train.presets import RECIPES, Recipe
from precog_models.train.train import TrainedModel, train

SHORT = replace(RECIPES["precog"], epochs=8, updates=100, batch=128, history_pairs=200)


@pytest.fixture(scope="module")
def trained(dataset: Dataset) -> TrainedModel:
    return train(SHORT, dataset, seed=3)


def test_it_beats_every_baseline(dataset: Dataset, trained: TrainedModel) -> None:
    table = evaluate(dataset, trained.model, draws=50)
    for group in ("core", "unseen"):
        lstm = table.score(group, "float").balanced
        for method in ("ar3", "ar3-robust", "linear", "persistence"):
            assert lstm < 0.8 * table.score(group, method).balanced


def test_weights_end_on_the_quantizers_grid(trained: TrainedModel) -> None:
    weights, report = quantize_weights(trained.model)
    assert report.worst_weight_error == 0.0
    assert report.saturated_biases == 0
    np.testing.assert_array_equal(dequantize(weights).w_hh, trained.model.w_hh)


def test_the_same_seed_gives_the_same_weights(dataset: Dataset, trained: TrainedModel) -> None:
    again = train(SHORT, dataset, seed=3)
    other = train(replace(SHORT, epochs=1), dataset, seed=4)
    for name in ("w_ih", "w_hh", "bias", "head_w", "head_b"):
        np.testing.assert_array_equal(getattr(again.model, name), getattr(trained.model, name))
    assert not np.array_equal(other.model.w_hh, trained.model.w_hh)
    assert again.history == trained.history


def test_history_and_progress(dataset: Dataset) -> None:
    calls: list[tuple[int, int, str]] = []
    plan = Recipe(name="tiny", epochs=3, updates=20, batch=16, rate=1e-2, history_pairs=50)
    result = train(plan, dataset, progress=lambda *call: calls.append(call))
    assert [call[:2] for call in calls] == [(1, 3), (2, 3), (3, 3)]
    assert [epoch.number for epoch in result.history] == [1, 2, 3]
    for epoch in result.history:
        assert 0 < epoch.train < 1
        assert 0 < epoch.pool_test < 1
        assert 0 < epoch.held_out < 1
    assert result.recipe is plan
    assert result.wall_s > 0
    assert result.card()["recipe"]["name"] == "tiny"


def test_the_thesis_recipe_runs_on_single_pairs(dataset: Dataset) -> None:
    plan = replace(RECIPES["thesis"], epochs=3, updates=300, pool=1000)
    first, _, last = train(plan, dataset).history
    assert last.train < first.train


def test_settings_of_torch_are_left_alone(dataset: Dataset) -> None:
    before = torch.get_num_threads()
    plan = replace(SHORT, epochs=1, updates=1)
    train(plan, dataset, threads=before + 1)
    assert torch.get_num_threads() == before


def test_divergence_is_reported(dataset: Dataset) -> None:
    plan = replace(SHORT, epochs=1, updates=5, rate=1e37, scheduled=False)
    with pytest.raises(ValueError, match="diverged in epoch 1"):
        train(plan, dataset)


def test_unknown_preset_is_refused(dataset: Dataset) -> None:
    with pytest.raises(ValueError, match="must be one of thesis, precog"):
        train("mine", dataset)
