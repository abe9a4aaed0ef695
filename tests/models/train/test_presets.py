"""Recipes and what they refuse."""

from dataclasses import replace

import pytest

from precog_models.train.presets import RECIPES, recipe


def test_the_thesis_recipe_is_the_thesis() -> None:
    plan = recipe("thesis")
    assert (plan.epochs, plan.updates, plan.batch, plan.rate) == (19, 800, 1, 0.001)
    assert (plan.steps, plan.loss, plan.pool, plan.history_pairs) == (3, "l1", 19_058, 200)
    assert not plan.scheduled
    assert not plan.averaged
    assert plan.freeze_share == plan.varied_share == 0.0


def test_unknown_preset_is_refused() -> None:
    with pytest.raises(ValueError, match="must be one of thesis, precog, not 'best'"):
        recipe("best")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("epochs", 0, "epochs must be positive"),
        ("updates", -1, "updates must be positive"),
        ("batch", 0, "batch must be positive"),
        ("history_pairs", 0, "history_pairs must be positive"),
        ("rate", float("nan"), "rate must be a positive number, not nan"),
        ("rate", 0.0, "rate must be a positive number"),
        ("steps", 9, "steps must be in 1..8"),
        ("loss", "l2", "loss must be 'l1' or 'mape'"),
        ("varied_share", 1.5, "varied_share must be in 0..1"),
        ("freeze_share", -0.1, "freeze_share must be in 0..1"),
    ],
)
def test_bad_values_are_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(RECIPES["precog"], **{field: value})
