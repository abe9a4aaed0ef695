"""From real weights to the engine's integers, row by row.

Every gate row has its own power-of-two scale for the recurrent and for the input weights, so that
one large weight costs precision in its own row only: w = w_q * 2**-shift with int8 w_q and the
largest shift in 0..7 that does not saturate. Biases are 16 bit, in PRE (gates) and OUT (head).
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import HIDDEN, MAX_INPUTS, MAX_OUTPUTS, MAX_SHIFT, Fmt, Q

from .float_lstm import FloatLstm
from .image import Image
from .predict.lstm import LstmWeights

__all__ = [
    "QuantizationReport",
    "dequantize",
    "quantize",
    "quantize_rows",
    "quantize_weights",
]

_BYTE_MIN, _BYTE_MAX = -128, 127


@dataclass(frozen=True)
class QuantizationReport:
    """What rounding did to a model.

    Parameters
    ----------
    worst_weight_error : float
        Largest |integer's real value - float| of all weights.
    worst_bias_error : float
        The same of all biases that were not saturated.
    saturated_biases : int
        Biases outside PRE (gates, +-16) or OUT (head, +-8), set to the format's end. A saturated
        gate bias holds its gate open or shut; a saturated head bias shifts every prediction.
    """

    worst_weight_error: float
    worst_bias_error: float
    saturated_biases: int


def quantize_rows(
    weights: NDArray[np.float64], name: str = "weights"
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Integers and shift of each row.

    Parameters
    ----------
    weights : ndarray, shape (rows, columns)
        Real weights.
    name : str
        Their name in messages.

    Returns
    -------
    (integers, shifts) : ndarray of int64, shapes (rows, columns) and (rows,)
        `weights` is about ``integers * 2.0**-shifts[:, None]``, rounded to nearest, ties up.

    Raises
    ------
    ValueError
        A weight is NaN or infinite, or does not fit int8 even with shift 0.
    """
    if not np.isfinite(weights).all():
        raise ValueError(f"{name} must be finite, not NaN or infinite")
    candidates = np.floor(weights[None] * 2.0 ** np.arange(MAX_SHIFT + 1)[:, None, None] + 0.5)
    inside = (candidates >= _BYTE_MIN) & (candidates <= _BYTE_MAX)
    fits = np.logical_and.reduce(inside, axis=2)  # [shift, row]
    if not fits[0].all():
        row = int(np.argmin(fits[0]))
        worst = weights[row][np.argmax(np.abs(weights[row]))]
        raise ValueError(
            f"{name} must lie in {_BYTE_MIN}..{_BYTE_MAX} to fit int8, not {worst:.6g} (row {row})"
        )
    shifts = fits.sum(axis=0) - 1  # a weight that fits a shift fits every smaller one
    rows = np.arange(len(weights))
    return candidates[shifts, rows].astype(np.int64), shifts.astype(np.int64)


def _quantize_bias(bias: NDArray[np.float64], fmt: Q) -> tuple[NDArray[np.int64], int, float]:
    exact = np.floor(bias * fmt.one + 0.5)
    integers = np.clip(exact, fmt.min, fmt.max)
    inside = integers == exact
    error = np.abs(integers / fmt.one - bias)[inside]
    return integers.astype(np.int64), int((~inside).sum()), float(error.max(initial=0.0))


def quantize_weights(
    model: FloatLstm, *, version: int = 0
) -> tuple[LstmWeights, QuantizationReport]:
    """The integer model of a float one.

    Parameters
    ----------
    model : FloatLstm
        Real weights (finite by construction).
    version : int
        32-bit version that the image's header carries.

    Returns
    -------
    (weights, report) : LstmWeights, QuantizationReport

    Raises
    ------
    ValueError
        A weight lies outside -128..127.
    """
    wh, sh_h = quantize_rows(model.w_hh, "recurrent weights")
    wx, sh_x = quantize_rows(model.w_ih, "input weights")
    wl, sh_l = quantize_rows(model.head_w, "head weights")
    b, saturated_b, error_b = _quantize_bias(model.bias, Fmt.PRE)
    bl, saturated_l, error_l = _quantize_bias(model.head_b, Fmt.OUT)
    worst = max(
        float(np.abs(q * 2.0 ** -s[:, None] - w).max())
        for q, s, w in ((wh, sh_h, model.w_hh), (wx, sh_x, model.w_ih), (wl, sh_l, model.head_w))
    )
    outputs = MAX_OUTPUTS - model.outputs
    weights = LstmWeights(
        wh=wh,
        wx=np.pad(wx, ((0, 0), (0, MAX_INPUTS - model.inputs))),
        b=b,
        sh_h=sh_h,
        sh_x=sh_x,
        wl=np.pad(wl, ((0, outputs), (0, 0))),
        bl=np.pad(bl, (0, outputs)),
        sh_l=np.pad(sh_l, (0, outputs)),
        inputs=model.inputs,
        steps=model.steps,
        outputs=model.outputs,
        kind=model.kind,
        version=version,
    )
    return weights, QuantizationReport(worst, max(error_b, error_l), saturated_b + saturated_l)


def dequantize(weights: LstmWeights) -> FloatLstm:
    """The real values that a model's integers stand for."""
    w = weights
    return FloatLstm(
        w_ih=(w.wx * 2.0 ** -w.sh_x[:, None])[:, : w.inputs],
        w_hh=w.wh * 2.0 ** -w.sh_h[:, None],
        bias=w.b / Fmt.PRE.one,
        head_w=(w.wl * 2.0 ** -w.sh_l[:, None])[: w.outputs, :HIDDEN],
        head_b=w.bl[: w.outputs] / Fmt.OUT.one,
        steps=w.steps,
        kind=w.kind,
    )


def quantize(model: FloatLstm, *, card: dict[str, Any] | None = None, version: int = 0) -> Image:
    """A loadable image of a float model.

    Parameters
    ----------
    model : FloatLstm
        What `train` or an importer returned.
    card : dict, optional
        The data card: where the data came from, scenarios, seeds, errors. The date of quantization
        and the rounding report are added to it.
    version : int
        32-bit version that the image carries.

    Returns
    -------
    Image

    Raises
    ------
    ValueError
        A weight lies outside -128..127.
    """
    weights, report = quantize_weights(model, version=version)
    full = dict(card or {})
    full.setdefault("date", datetime.now(UTC).strftime("%Y-%m-%d"))
    full["quantization"] = {
        "saturated_biases": report.saturated_biases,
        "worst_bias_error": report.worst_bias_error,
        "worst_weight_error": report.worst_weight_error,
    }
    return Image(weights=weights, card=full)
