"""Models for tests: random, saturating, and like trained ones; and a float LSTM."""

import numpy as np
from numpy.typing import NDArray

from precog_models.predict.lstm import LstmWeights
from precog_spec.contract import MAX_SHIFT, Fmt

__all__ = ["float_forward", "random_weights", "trained_like_weights"]


def random_weights(
    rng: np.random.Generator,
    *,
    inputs: int = 1,
    steps: int = 3,
    outputs: int = 1,
    saturating: bool = False,
) -> LstmWeights:
    """Any model at all; `saturating` uses the largest weights and no shifts only."""

    def weights(*shape: int) -> NDArray[np.int64]:
        return rng.choice([-128, 127], shape) if saturating else rng.integers(-128, 128, shape)

    def shifts(n: int) -> NDArray[np.int64]:
        return rng.integers(0, 2 if saturating else 8, n)

    w = LstmWeights(
        wh=weights(64, 16),
        wx=weights(64, 8) * (np.arange(8) < inputs),
        b=rng.integers(Fmt.PRE.min, Fmt.PRE.max + 1, 64) // (1 if saturating else 8),
        sh_h=shifts(64),
        sh_x=shifts(64),
        wl=weights(16, 16) * (np.arange(16) < outputs)[:, None],
        bl=rng.integers(Fmt.OUT.min, Fmt.OUT.max + 1, 16) * (np.arange(16) < outputs),
        sh_l=shifts(16) * (np.arange(16) < outputs),
        inputs=inputs,
        steps=steps,
        outputs=outputs,
    )
    return w


def trained_like_weights(rng: np.random.Generator, *, steps: int) -> LstmWeights:
    """One input, one output, weights of a size that training gives."""

    def quantized(rows: int, columns: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        real = rng.normal(0, 0.25, (rows, columns))
        shift = np.floor(7 - np.log2(np.abs(real).max(axis=1))).clip(0, MAX_SHIFT).astype(np.int64)
        return np.clip(np.rint(real * 2.0 ** shift[:, None]), -128, 127).astype(np.int64), shift

    (wh, sh_h), (wx, sh_x), (wl, sh_l) = quantized(64, 16), quantized(64, 8), quantized(16, 16)
    wx[:, 1:] = wl[1:] = sh_l[1:] = 0
    b = np.rint(rng.normal(0, 0.25, 64) * Fmt.PRE.one).astype(np.int64)
    bl = np.zeros(16, dtype=np.int64)
    return LstmWeights(wh, wx, b, sh_h, sh_x, wl, bl, sh_l, inputs=1, steps=steps, outputs=1)


def float_forward(w: LstmWeights, x: NDArray[np.int64]) -> NDArray[np.float64]:
    """A textbook LSTM with the dequantized weights; inputs (n, steps, 8), outputs (n, 16)."""

    def sigmoid(v: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1 / (1 + np.exp(-v))

    wh, wx, wl = (
        m * 2.0 ** -s[:, None] for m, s in ((w.wh, w.sh_h), (w.wx, w.sh_x), (w.wl, w.sh_l))
    )
    h = c = np.zeros((len(x), 16))
    for k in range(w.steps):
        pre = h @ wh.T + x[:, k] / Fmt.X.one @ wx.T + w.b / Fmt.PRE.one
        i, f, g, o = np.split(pre, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return h @ wl.T + w.bl / Fmt.OUT.one
