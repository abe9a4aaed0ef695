"""The LSTM in real numbers: the exchange format of trainer, importer and quantizer.

Equations (4)-(8), (11) of the thesis, computed by numpy in float64. It is the reference against
which the integer model's error is reported; nothing in the data path uses it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import HIDDEN, MAX_INPUTS, MAX_OUTPUTS, MAX_STEPS, HeadKind

__all__ = ["FloatLstm"]

Floats = NDArray[np.float64]

_CHUNK = 16384


@dataclass(frozen=True, eq=False)
class FloatLstm:
    """Weights of one LSTM layer and its linear head.

    Gate row r = gate * 16 + unit, gates in the order i, f, g, o (as torch.nn.LSTM).

    Parameters
    ----------
    w_ih : ndarray, shape (64, I)
        Input weights, I in 1..8.
    w_hh : ndarray, shape (64, 16)
        Recurrent weights.
    bias : ndarray, shape (64,)
        Gate biases (torch's two bias vectors summed).
    head_w : ndarray, shape (O, 16)
        Linear head, O in 1..16.
    head_b : ndarray, shape (O,)
        Its bias.
    steps : int
        Window length T, 1..8.
    kind : HeadKind
        What the outputs mean.

    Raises
    ------
    ValueError
        A shape is not one of those above, or a number is NaN or infinite.
    """

    w_ih: Floats
    w_hh: Floats
    bias: Floats
    head_w: Floats
    head_b: Floats
    steps: int
    kind: HeadKind = HeadKind.RTT

    def __post_init__(self) -> None:
        if not 1 <= self.steps <= MAX_STEPS:
            raise ValueError(f"steps must be in 1..{MAX_STEPS}, not {self.steps!r}")
        inputs = self.w_ih.shape[1] if self.w_ih.ndim == 2 else 0
        outputs = self.head_w.shape[0] if self.head_w.ndim == 2 else 0
        if not 1 <= inputs <= MAX_INPUTS:
            raise ValueError(f"inputs must be in 1..{MAX_INPUTS}, not {inputs!r}")
        if not 1 <= outputs <= MAX_OUTPUTS:
            raise ValueError(f"outputs must be in 1..{MAX_OUTPUTS}, not {outputs!r}")
        for name, shape in (
            ("w_ih", (4 * HIDDEN, inputs)),
            ("w_hh", (4 * HIDDEN, HIDDEN)),
            ("bias", (4 * HIDDEN,)),
            ("head_w", (outputs, HIDDEN)),
            ("head_b", (outputs,)),
        ):
            array = getattr(self, name)
            if array.shape != shape:
                raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
            if np.iscomplexobj(array):
                raise ValueError(f"{name} must hold real numbers, not {array.dtype}")
            if not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite, not NaN or infinite")

    @property
    def inputs(self) -> int:
        """Inputs I of a step."""
        return int(self.w_ih.shape[1])

    @property
    def outputs(self) -> int:
        """Outputs O of the head."""
        return int(self.head_w.shape[0])

    def forward(self, x: NDArray[np.floating]) -> Floats:
        """Predict from many windows.

        Parameters
        ----------
        x : ndarray, shape (n, T, I)
            Features, oldest step first.

        Returns
        -------
        ndarray, shape (n, O)
            The head's outputs.

        Raises
        ------
        ValueError
            `x` has another shape.
        """
        if x.ndim != 3 or x.shape[1:] != (self.steps, self.inputs):
            raise ValueError(f"x must have shape (n, {self.steps}, {self.inputs}), not {x.shape}")
        out = np.empty((len(x), self.outputs))
        for start in range(0, len(x), _CHUNK):  # bounds the working set
            out[start : start + _CHUNK] = self._forward(x[start : start + _CHUNK])
        return out

    def _forward(self, x: NDArray[np.floating]) -> Floats:
        h = np.zeros((len(x), HIDDEN))
        c = np.zeros((len(x), HIDDEN))
        for k in range(self.steps):
            pre = x[:, k] @ self.w_ih.T + h @ self.w_hh.T + self.bias
            i, f, g, o = np.split(pre, 4, axis=1)
            c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
            h = _sigmoid(o) * np.tanh(c)
        return np.asarray(h @ self.head_w.T + self.head_b)


def _sigmoid(x: Floats) -> Floats:
    return 0.5 + 0.5 * np.tanh(0.5 * x)
