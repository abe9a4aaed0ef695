"""A queue model in use: its card's settings, and the steps from samples to a score."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from precog_models.data.windows import BIN_EDGES, THRESHOLD_BIN, Normaliser
from precog_models.forecast.forecaster import Forecaster, Settings
from precog_models.image import Image, ModelImageError
from precog_models.predict.cps import identity_knots
from precog_models.predict.lstm import forward_windows
from precog_models.predict.softmax import distributions
from precog_models.quantize import quantize
from precog_models.train.stacked import Stack
from precog_spec.contract import PROBABILITY, HeadKind


def _settings() -> Settings:
    normaliser = Normaliser((8_000, 30_000, 15_000, 30_000), (6_000, 16_000, 36_000, 23_000))
    return Settings(BIN_EDGES, 4, normaliser, THRESHOLD_BIN, identity_knots())


def _image(seed: int, **changes: Any) -> Image:
    stack = Stack(inputs=4, outputs=len(BIN_EDGES) + 1, steps=3, seed=seed)
    return quantize(stack.to_float_lstm(), card=_settings().card() | changes, version=3)


def test_settings_survive_a_file(seed: int) -> None:
    image = Image.from_bytes(_image(seed).to_bytes())
    got = Forecaster(image).settings
    want = _settings()
    assert (got.bin_edges, got.horizon, got.normaliser) == (
        want.bin_edges, want.horizon, want.normaliser,
    )  # fmt: skip
    assert np.array_equal(got.knots, want.knots)
    assert got.threshold_bytes == 65_536


def test_bins() -> None:
    bins = _settings().bins(np.array([0, 1, 2047, 2048, 65_535, 65_536, 1 << 40]))
    assert bins.tolist() == [0, 1, 1, 2, THRESHOLD_BIN - 1, THRESHOLD_BIN, 15]


def test_distributions_and_scores(seed: int) -> None:
    image = _image(seed)
    forecaster = Forecaster(image)
    rng = np.random.default_rng(seed)
    signals = rng.integers(0, 1 << 33, (300, 3, 4)) >> rng.integers(0, 33, (300, 3, 4))
    p = forecaster.distributions(signals)
    assert (p.sum(axis=1) == PROBABILITY.one).all()
    x = _settings().normaliser(signals)
    assert not x[:, :, 4:].any()
    assert np.array_equal(p, distributions(forward_windows(image.weights, x), 16))
    tails = forecaster.tails(p)
    assert np.array_equal(tails, p[:, THRESHOLD_BIN:].sum(axis=1))
    # the identity's score is 100 P to the nearest
    assert np.array_equal(forecaster.scores(p), (100 * tails + (1 << 14)) >> 15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bin_edges": [1, 1]}, r"bin_edges must be ascending and positive, not \(1, 1\)"),
        ({"horizon_base_rtts": 0}, "horizon must be at least 1 base RTT, not 0"),
        ({"threshold_bin": 16}, r"threshold_bin must be in 1\.\.15, not 16"),
        ({"centers": [1, 2, 3]}, r"centers must be 4 numbers, not \(1, 2, 3\)"),
        ({"gains": [1, 2, 3, 1 << 16]}, r"gains must lie in 0\.\.65535"),
        ({"knots": [5, 4] + [6] * 63}, "knots must not fall"),
        ({"knots": [5, 4]}, "cannot reshape"),
    ],
)
def test_a_bad_card_is_refused(change: dict[str, Any], message: str) -> None:
    card = _settings().card()
    card["forecast"] |= change
    with pytest.raises(ModelImageError, match=message):
        Settings.from_card(card)


def test_other_models_are_refused(seed: int) -> None:
    image = _image(seed)
    with pytest.raises(ModelImageError, match="must have an object 'forecast'"):
        Forecaster(Image(image.weights, {}))
    rtt = Image(replace(image.weights, kind=HeadKind.RTT), image.card)
    with pytest.raises(ModelImageError, match="not a rtt head of 4"):
        Forecaster(rtt)
    card = _settings().card()
    card["forecast"]["bin_edges"] = [1, 2, 3]
    card["forecast"]["threshold_bin"] = 2
    with pytest.raises(ModelImageError, match="the model has 16 bins, its card 4"):
        Forecaster(Image(image.weights, card))
