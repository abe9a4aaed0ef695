"""The float reference: shapes it refuses; its values are checked against torch elsewhere."""

import numpy as np
import pytest

from precog_models.float_lstm import FloatLstm

SHAPES = {
    "w_ih": (64, 2),
    "w_hh": (64, 16),
    "bias": (64,),
    "head_w": (3, 16),
    "head_b": (3,),
}


def build(**changes: object) -> FloatLstm:
    values: dict[str, object] = {name: np.zeros(shape) for name, shape in SHAPES.items()}
    return FloatLstm(**(values | {"steps": 4} | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "steps must be in 1..8, not 0"),
        ({"steps": 9}, "steps must be in 1..8, not 9"),
        ({"w_ih": np.zeros((64, 9))}, "inputs must be in 1..8, not 9"),
        ({"w_ih": np.zeros(64)}, "inputs must be in 1..8, not 0"),
        ({"head_w": np.zeros((17, 16))}, "outputs must be in 1..16, not 17"),
        ({"w_hh": np.zeros((80, 20))}, r"w_hh must have shape \(64, 16\), not \(80, 20\)"),
        ({"head_b": np.zeros(2)}, r"head_b must have shape \(3,\), not \(2,\)"),
        ({"bias": np.full(64, np.nan)}, "bias must be finite"),
        ({"w_ih": np.full((64, 2), np.inf)}, "w_ih must be finite"),
    ],
)
def test_bad_models_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(**changes)


def test_windows_must_fit() -> None:
    with pytest.raises(ValueError, match=r"x must have shape \(n, 4, 2\), not \(5, 3, 2\)"):
        build().forward(np.zeros((5, 3, 2)))
    assert build().forward(np.zeros((5, 4, 2))).shape == (5, 3)


def test_one_step_by_hand() -> None:
    w_ih = np.zeros((64, 2))
    w_ih[32, 0] = 1.0  # g of unit 0
    head = np.zeros((3, 16))
    head[1, 0] = 2.0
    model = build(w_ih=w_ih, head_w=head, head_b=np.array([0.0, 0.5, 1.0]), steps=1)
    out = model.forward(np.array([[[0.7, 9.0]]]))
    c = 0.5 * np.tanh(0.7)  # input gate sigmoid(0)
    np.testing.assert_allclose(out, [[0.0, 2.0 * 0.5 * np.tanh(c) + 0.5, 1.0]], rtol=1e-12)
