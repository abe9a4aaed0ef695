"""Features and LSTM predictor in float: thesis sections 3.3 and 3.4, (2)-(10) and (12).

``S_0 = R_0; S_t = sigma R_t + (1 - sigma) S_{t-1}`` (2); ``K_t = (R_t - S_t) / S_t`` (3). An LSTM
with 16 units runs over the latest `steps` features from a zero state, a linear layer gives `out`,
and the prediction is ``(1 + out) S_t`` (12). Features from before the first sample are 0, so there
is a prediction from the first sample on.

A weight vector is the concatenation of input weights (64), recurrent weights (64 x 16, row by
row), the summed bias (64), the head's weights (16) and its bias; gate order i, f, g, o as in
torch.nn.LSTM.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from precog_models.rate.reference.common import clamp
from precog_models.rate.reference.pid import Param, State

from ...jit import njit

__all__ = ["HIDDEN", "MAX_STEPS", "WEIGHTS", "WORK", "lstm_forward", "pack_weights", "predict_step"]

HIDDEN = 16
_GATES = 4 * HIDDEN
_WX, _WH, _B, _HEAD, _HEAD_BIAS = (
    0,
    _GATES,
    _GATES + _GATES * HIDDEN,
    2 * _GATES + _GATES * HIDDEN,
    2 * _GATES + _GATES * HIDDEN + HIDDEN,
)
WEIGHTS = _HEAD_BIAS + 1  # 1169
WORK = _GATES + 2 * HIDDEN
MAX_STEPS = 8


def pack_weights(
    w_ih: ArrayLike, w_hh: ArrayLike, bias: ArrayLike, head: ArrayLike, head_bias: ArrayLike
) -> NDArray[np.float64]:
    """One weight vector from the tensors of torch.nn.LSTM(1, 16) and torch.nn.Linear(16, 1).

    Parameters
    ----------
    w_ih, w_hh : array_like
        ``weight_ih_l0`` (64, 1) and ``weight_hh_l0`` (64, 16).
    bias : array_like
        ``bias_ih_l0 + bias_hh_l0`` (64).
    head, head_bias : array_like
        Weight (1, 16) and bias (1) of the linear layer.

    Raises
    ------
    ValueError
        A tensor has the wrong number of elements or holds a NaN.
    """
    parts = []
    for name, value, size in (
        ("w_ih", w_ih, _GATES),
        ("w_hh", w_hh, _GATES * HIDDEN),
        ("bias", bias, _GATES),
        ("head", head, HIDDEN),
        ("head_bias", head_bias, 1),
    ):
        part = np.asarray(value, dtype=np.float64).reshape(-1)
        if part.size != size:
            raise ValueError(f"{name} must have {size} elements, not {part.size}")
        if not np.isfinite(part).all():
            raise ValueError(f"{name} must be finite numbers: it holds a NaN or an infinity")
        parts.append(part)
    return np.concatenate(parts)


@njit
def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@njit
def lstm_forward(
    w: NDArray[np.float64],
    work: NDArray[np.float64],
    state: NDArray[np.float64],
    flow: int,
    first: int,
    steps: int,
) -> float:
    """`out` of (10) for the features ``state[flow, first:first + steps]``, oldest first.

    `work` is room for `WORK` numbers; what it holds before does not matter.
    """
    z = work[:_GATES]
    h = work[_GATES : _GATES + HIDDEN]
    c = work[_GATES + HIDDEN : WORK]
    for j in range(HIDDEN):
        h[j] = 0.0
        c[j] = 0.0
    for step in range(steps):
        x = state[flow, first + step]
        for r in range(_GATES):
            total = w[_B + r] + w[_WX + r] * x
            if step > 0:
                row = _WH + r * HIDDEN
                for j in range(HIDDEN):
                    total += w[row + j] * h[j]
            z[r] = total
        for j in range(HIDDEN):
            i = _sigmoid(z[j])
            f = _sigmoid(z[HIDDEN + j])
            g = math.tanh(z[2 * HIDDEN + j])
            o = _sigmoid(z[3 * HIDDEN + j])
            c[j] = f * c[j] + i * g
            h[j] = o * math.tanh(c[j])
    out = w[_HEAD_BIAS]
    for j in range(HIDDEN):
        out += w[_HEAD + j] * h[j]
    return float(out)


@njit
def predict_step(
    state: NDArray[np.float64],
    flow: int,
    p: NDArray[np.float64],
    w: NDArray[np.float64],
    work: NDArray[np.float64],
    rtt_us: float,
) -> float:
    """Take one sample in and return the predicted RTT (12) in microseconds.

    The state columns are those of `pid.State`; `p` is a vector of `PidParams.vector`;
    `work` is scratch room as for `lstm_forward`.
    """
    steps = int(p[Param.STEPS])
    if state[flow, State.SRTT_US] == 0:
        srtt = rtt_us
    else:
        srtt = p[Param.SIGMA] * rtt_us + (1 - p[Param.SIGMA]) * state[flow, State.SRTT_US]
    state[flow, State.SRTT_US] = srtt
    for i in range(steps - 1):
        state[flow, State.FEATURE + i] = state[flow, State.FEATURE + i + 1]
    state[flow, State.FEATURE + steps - 1] = (rtt_us - srtt) / srtt
    out = lstm_forward(w, work, state, flow, State.FEATURE, steps)
    predicted = (1 + out) * srtt
    limit = p[Param.ADVICE_LIMIT]
    if limit > 0:
        predicted = clamp(predicted, rtt_us * (1 - limit), rtt_us * (1 + limit))
    state[flow, State.PREDICTED_US] = predicted
    return float(predicted)
