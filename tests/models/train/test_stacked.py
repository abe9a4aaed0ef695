"""Stacks of LSTMs: each is its own, and rounds as the quantizer does."""

import numpy as np
import pytest
import torch

from precog_models.float_lstm import FloatLstm
from precog_models.predict.lstm import forward_windows
from precog_models.quantize import dequantize, quantize, quantize_weights
from precog_models.train.queue import QueueRecipe, fit, probabilities
from precog_models.train.stacked import Stack
from precog_spec.contract import Fmt


def _random(seed: int, models: int = 2) -> Stack:
    stack = Stack(models, inputs=4, outputs=5, steps=3, seed=seed)
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for parameter in stack.parameters():
            spread = torch.from_numpy(rng.choice([0.3, 2.0, 9.0], size=(*parameter.shape[:2], 1)))
            parameter.mul_(spread.float())
        stack.hold()
    return stack


def _windows(seed: int, n: int = 50) -> np.ndarray[tuple[int, int, int], np.dtype[np.int64]]:
    x = np.random.default_rng(seed).integers(Fmt.X.min, Fmt.X.max + 1, (n, 3, 8))
    x[:, :, 4:] = 0
    return x


def test_a_stack_is_its_models(seed: int) -> None:
    stack = _random(seed)
    x = _windows(seed)
    with torch.no_grad():
        reals = torch.from_numpy((x[:, :, :4] / Fmt.X.one).astype(np.float32))
        both = stack(torch.stack([reals, reals])).double().numpy()
    for m in range(2):
        want = stack.to_float_lstm(m).forward(x[:, :, :4] / Fmt.X.one)
        limited = np.clip(want, Fmt.OUT.min / Fmt.OUT.one, Fmt.OUT.max / Fmt.OUT.one)
        # the exact model does not limit the recurrent sum; few windows reach it
        assert np.median(np.abs(both[m] - limited)) < 1e-3


def test_rounding_is_the_quantizers(seed: int) -> None:
    stack = _random(seed, models=1)
    x = _windows(seed)
    stack.quantized = True
    rounded = probabilities(stack, x, inputs=4)
    weights, _ = quantize_weights(stack.to_float_lstm())
    again = Stack.of(dequantize(weights), 1)
    assert np.allclose(rounded, probabilities(again, x, inputs=4), atol=2e-3)
    # and the engine says the same but for its own rounding
    logits = forward_windows(weights, x)[:, :5] / Fmt.OUT.one
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    assert np.median(np.abs(p - rounded)) < 0.01


def test_copies_begin_alike(seed: int) -> None:
    model = _random(seed, models=1).to_float_lstm()
    stack = Stack.of(model, 3)
    for m in range(3):
        copy = stack.to_float_lstm(m)
        for name in ("w_ih", "w_hh", "bias", "head_w", "head_b"):
            assert np.array_equal(getattr(copy, name), getattr(model, name))


def test_each_model_learns_its_own_windows(seed: int) -> None:
    """Two queues whose futures are opposite: one stack, two answers."""
    x = _windows(seed, 400)
    label = (x[:, -1, 0] > 0).astype(np.int64)
    label[200:] = 1 - label[200:]
    stack = Stack(2, inputs=4, outputs=2, steps=3, seed=seed)
    recipe = QueueRecipe(updates=250, batch=64, rate=2e-2)
    groups = [np.arange(200), np.arange(200, 400)]
    loss = fit(stack, x, label, groups, recipe, inputs=4, seed=seed)
    assert loss < 0.3
    for m, group in enumerate(groups):
        image = quantize(stack.to_float_lstm(m))
        won = forward_windows(image.weights, x[group])[:, :2].argmax(axis=1) == label[group]
        assert won.mean() > 0.9


def test_the_same_seed_gives_the_same_weights(seed: int) -> None:
    x = _windows(seed)
    label = np.arange(50) % 5

    def weights() -> FloatLstm:
        stack = Stack(1, inputs=4, outputs=5, steps=3, seed=seed)
        recipe = QueueRecipe(updates=5, batch=8, rate=1e-2)
        fit(stack, x, label, [np.arange(50)], recipe, inputs=4, seed=seed)
        return stack.to_float_lstm()

    assert np.array_equal(weights().w_hh, weights().w_hh)


def test_refusals() -> None:
    stack = Stack(2, inputs=4, outputs=5, steps=3)
    recipe = QueueRecipe(updates=1, batch=1, rate=1e-3)
    empty = np.zeros(0, dtype=np.int64)
    with pytest.raises(ValueError, match="model 1 has none"):
        fit(stack, _windows(0), np.zeros(50, np.int64), [np.arange(3), empty], recipe, inputs=4)
    with pytest.raises(ValueError, match="updates must be positive, not 0"):
        QueueRecipe(updates=0, batch=1, rate=1e-3)
    with pytest.raises(ValueError, match="rate must be a positive number, not 0"):
        QueueRecipe(updates=1, batch=1, rate=0)
    with pytest.raises(ValueError, match=r"rounded_share must be in 0\.\.1, not 2"):
        QueueRecipe(updates=1, batch=1, rate=1e-3, rounded_share=2)
