"""Quantizer: grids, limits, refusals, and the integer model's distance from the float one."""

import numpy as np
import pytest

from precog_models.float_lstm import FloatLstm
from precog_models.predict.lstm import forward_windows
from precog_models.quantize import dequantize, quantize, quantize_rows, quantize_weights
from precog_spec.contract import MAX_INPUTS, Fmt


def random_model(
    seed: int, inputs: int = 1, outputs: int = 1, steps: int = 3, scale: float = 1.0
) -> FloatLstm:
    rng = np.random.default_rng(seed)
    return FloatLstm(
        w_ih=rng.normal(0, scale, (64, inputs)),
        w_hh=rng.normal(0, scale / 2, (64, 16)),
        bias=rng.normal(0, 1.0, 64),
        head_w=rng.normal(0, 0.3, (outputs, 16)),
        head_b=rng.normal(0, 0.3, outputs),
        steps=steps,
    )


def changed(model: FloatLstm, **changes: object) -> FloatLstm:
    names = ("w_ih", "w_hh", "bias", "head_w", "head_b", "steps", "kind")
    return FloatLstm(**({name: getattr(model, name) for name in names} | changes))


def test_each_row_has_the_finest_scale_that_fits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(200, 16)) * 2.0 ** (np.arange(200)[:, None] % 15 - 9)
    integers, shifts = quantize_rows(rows)
    assert set(shifts.tolist()) == set(range(8))
    assert integers.min() >= -128
    assert integers.max() <= 127
    for row, q, s in zip(rows, integers, shifts, strict=True):
        np.testing.assert_array_equal(q, np.floor(row * 2.0**s + 0.5))  # nearest, ties up
        if s < 7:  # the next scale would saturate
            finer = np.floor(row * 2.0 ** (s + 1) + 0.5)
            assert finer.max() > 127 or finer.min() < -128


def test_the_ends_of_int8_are_used() -> None:
    integers, shifts = quantize_rows(np.array([[127.49], [-128.5], [-1.0], [0.99], [0.997], [0.0]]))
    assert integers[:, 0].tolist() == [127, -128, -128, 127, 64, 0]
    assert shifts.tolist() == [0, 0, 7, 7, 6, 7]


@pytest.mark.parametrize("value", [127.5, -128.6, 1e30])
def test_weights_that_do_not_fit_are_refused(value: float, seed: int) -> None:
    rows = np.zeros((5, 4))
    rows[3, 2] = value
    with pytest.raises(ValueError, match=r"head weights must lie in -128..127 .* \(row 3\)"):
        quantize_rows(rows, "head weights")
    model = random_model(seed)
    w_hh = model.w_hh.copy()
    w_hh[9, 9] = value
    with pytest.raises(ValueError, match=r"recurrent weights must lie in -128..127"):
        quantize(changed(model, w_hh=w_hh))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinity_are_refused(value: float, seed: int) -> None:
    with pytest.raises(ValueError, match="weights must be finite, not NaN or infinite"):
        quantize_rows(np.array([[0.0, value]]))
    bias = np.zeros(64)
    bias[5] = value
    with pytest.raises(ValueError, match="bias must be finite, not NaN or infinite"):
        changed(random_model(seed), bias=bias)


def test_saturated_biases_are_counted(seed: int) -> None:
    bias = np.zeros(64)
    bias[:3] = [40.0, -16.1, 15.9]
    model = changed(random_model(seed), bias=bias, head_b=np.array([9.0]))
    weights, report = quantize_weights(model)
    assert weights.b[:3].tolist() == [Fmt.PRE.max, Fmt.PRE.min, round(15.9 * 2048)]
    assert weights.bl[0] == Fmt.OUT.max
    assert report.saturated_biases == 3
    assert report.worst_bias_error <= 0.5 / 2048
    assert quantize(model).card["quantization"]["saturated_biases"] == 3


def test_report_and_way_back(seed: int) -> None:
    model = random_model(seed, inputs=3, outputs=5, steps=8)
    weights, report = quantize_weights(model, version=77)
    assert (weights.inputs, weights.outputs, weights.steps, weights.version) == (3, 5, 8, 77)
    back = dequantize(weights)
    worst = 0.0
    for name in ("w_ih", "w_hh", "head_w"):
        worst = max(worst, float(np.abs(getattr(back, name) - getattr(model, name)).max()))
    assert report.worst_weight_error == worst > 0
    again, second = quantize_weights(back, version=77)
    assert second.worst_weight_error == 0.0
    # Idempotent in value. A row whose largest weight was rounded to -64 has a finer scale now.
    twice = dequantize(again)
    for name in ("w_ih", "w_hh", "bias", "head_w", "head_b"):
        np.testing.assert_array_equal(getattr(twice, name), getattr(back, name))
    for name in ("sh_h", "sh_x", "sh_l"):
        assert (getattr(again, name) >= getattr(weights, name)).all()


@pytest.mark.parametrize(("inputs", "outputs", "steps"), [(1, 1, 3), (5, 7, 4), (8, 16, 8)])
def test_integer_outputs_follow_the_float_model(
    inputs: int, outputs: int, steps: int, seed: int
) -> None:
    """The float model of the integers' real values differs only by arithmetic: a few LSB."""
    rng = np.random.default_rng(seed)
    weights, _ = quantize_weights(random_model(seed, inputs, outputs, steps))
    x = np.zeros((400, steps, MAX_INPUTS), dtype=np.int64)
    x[:, :, :inputs] = rng.integers(-4096, 8192, (400, steps, inputs))
    real = dequantize(weights).forward(x[:, :, :inputs] / Fmt.X.one)
    integer = forward_windows(weights, x)[:, :outputs] / Fmt.OUT.one
    error = np.abs(integer - np.clip(real, -8, 8))
    print(f"worst {error.max():.5f}, mean {error.mean():.6f}")
    assert error.mean() < 1e-3
    assert error.max() < 2e-2


def test_card_keeps_what_it_was_given(seed: int) -> None:
    card = {"source": "here", "date": "2020-01-01"}
    image = quantize(random_model(seed), card=card)
    assert image.card["source"] == "here"
    assert image.card["date"] == "2020-01-01"
    assert "quantization" not in card  # not changed in place
    assert len(quantize(random_model(seed)).card["date"]) == 10
