"""Float LSTM and features against numpy written from (2)-(12)."""

import numpy as np
import pytest

from precog_models.rate.reference.common import STATES
from precog_models.rate.reference.pid import PidParams, pid_reset
from precog_models.rate.reference.predictor import HIDDEN, WORK, pack_weights, predict_step

_GATES = 4 * HIDDEN


def _tensors(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = {
        "w_ih": (_GATES, 1),
        "w_hh": (_GATES, HIDDEN),
        "bias": (_GATES,),
        "head": (1, HIDDEN),
        "head_bias": (1,),
    }
    return {name: rng.normal(0, 0.4, shape) for name, shape in shapes.items()}


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _out(t: dict[str, np.ndarray], features: list[float]) -> float:
    h, c = np.zeros(HIDDEN), np.zeros(HIDDEN)
    for x in features:
        z = t["w_ih"][:, 0] * x + t["w_hh"] @ h + t["bias"]
        i, f, g, o = z.reshape(4, HIDDEN)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        h = _sigmoid(o) * np.tanh(c)
    return float((t["head"] @ h + t["head_bias"])[0])


@pytest.mark.parametrize("steps", [1, 3, 8])
def test_equals_the_equations(seed: int, steps: int) -> None:
    t = _tensors(seed)
    w = pack_weights(**t)
    p = PidParams().vector(steps=steps)
    state = np.zeros((3, STATES))
    pid_reset(state, 2, p)
    rng = np.random.default_rng(seed + 1)
    smoothed, features = 0.0, [0.0] * steps
    for n in range(40):
        rtt = float(rng.uniform(4.0, 30.0))
        smoothed = rtt if n == 0 else 0.2 * rtt + 0.8 * smoothed
        features = [*features[1:], (rtt - smoothed) / smoothed]
        work = np.full(WORK, np.nan)  # what scratch room held before must not matter
        got = predict_step(state, 2, p, w, work, rtt)
        assert got == pytest.approx((1 + _out(t, features)) * smoothed, rel=1e-12)


def test_advice_is_clamped_to_the_measurement() -> None:
    t = _tensors(1)
    t["head_bias"] = np.array([50.0])
    p = PidParams().vector(advice_limit=0.25)
    state = np.zeros((1, STATES))
    pid_reset(state, 0, p)
    assert predict_step(state, 0, p, pack_weights(**t), np.empty(WORK), 8.0) == 10.0


def test_wrong_shape_and_nan_are_refused() -> None:
    t = _tensors(2)
    with pytest.raises(ValueError, match="w_hh must have 1024 elements, not 1023"):
        pack_weights(**{**t, "w_hh": t["w_hh"].reshape(-1)[1:]})
    t["bias"][3] = np.nan
    with pytest.raises(ValueError, match="bias must be finite"):
        pack_weights(**t)
