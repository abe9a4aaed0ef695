"""Many LSTMs of one shape, trained at once: weights have one more dimension, products are batched.

The weights of the forward pass are rounded to what the quantizer makes of them, with gradients
straight through (fake quantization): each row has its own power-of-two scale. Sums that the engine
saturates are limited in the same way. One model is a stack of one.
"""

import math

import numpy as np
import torch
from torch import Tensor, nn

from precog_spec.contract import HIDDEN, MAX_SHIFT, Fmt, HeadKind

from ..float_lstm import FloatLstm

__all__ = ["Learner", "Stack"]

_LOW, _HIGH = -128, 127
_FORGET_BIAS = 0.5
_PRE, _OUT = ((fmt.min / fmt.one, fmt.max / fmt.one) for fmt in (Fmt.PRE, Fmt.OUT))


def _rounded(weight: Tensor) -> Tensor:
    """`weight` on the int8 grid of its rows, as `quantize.quantize_rows` has it."""
    with torch.no_grad():
        # Ties round up, so that the largest positive weight fits below 127.5 and -128.5 just does.
        high = weight.amax(dim=-1, keepdim=True).clamp_min(1e-9) / (_HIGH + 0.5)
        low = (-weight).amax(dim=-1, keepdim=True).clamp_min(1e-9) / (-_LOW + 0.5)
        shift = torch.floor(-torch.log2(torch.maximum(high, low))).clamp(0, MAX_SHIFT)
        scale = torch.exp2(shift)
        grid = torch.floor(weight * scale + 0.5).clamp(_LOW, _HIGH) / scale
    return weight + (grid - weight).detach()


class Learner(nn.Module):
    """What `queue.fit` trains: from windows [models, n, T, I] to logits [models, n, O].

    Attributes
    ----------
    quantized : bool
        The forward pass rounds the weights, if the engine runs such a network.
    """

    quantized = False

    def hold(self) -> None:
        """Keep every number within the engine's formats, if it has such."""


class Stack(Learner):
    """LSTM layers of 16 units with linear heads.

    Parameters
    ----------
    models : int
        How many.
    inputs, outputs, steps : int
        I, O and T of each.
    seed : int
        Of the initial weights: uniform in +-1/4.
    """

    def __init__(
        self, models: int = 1, *, inputs: int, outputs: int, steps: int, seed: int = 0
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        bound = 1.0 / math.sqrt(HIDDEN)

        def uniform(*shape: int) -> nn.Parameter:
            draw = torch.rand(models, *shape, generator=generator)
            return nn.Parameter((draw * 2 - 1) * bound)

        self.steps = steps
        self.w_ih = uniform(4 * HIDDEN, inputs)
        self.w_hh = uniform(4 * HIDDEN, HIDDEN)
        self.bias = uniform(1, 4 * HIDDEN)
        self.head_w = uniform(outputs, HIDDEN)
        self.head_b = uniform(1, outputs)
        with torch.no_grad():
            self.bias[:, :, HIDDEN : 2 * HIDDEN] += _FORGET_BIAS

    @classmethod
    def of(cls, model: FloatLstm, copies: int) -> "Stack":
        """`copies` models that begin as `model`."""
        stack = cls(copies, inputs=model.inputs, outputs=model.outputs, steps=model.steps)
        with torch.no_grad():
            for parameter, array in (
                (stack.w_ih, model.w_ih),
                (stack.w_hh, model.w_hh),
                (stack.bias, model.bias),
                (stack.head_w, model.head_w),
                (stack.head_b, model.head_b),
            ):
                parameter.copy_(torch.from_numpy(array).float().expand_as(parameter))
        return stack

    def forward(self, x: Tensor) -> Tensor:
        """Windows [models, n, T, I], oldest first, to outputs [models, n, O]."""
        weights = [self.w_ih, self.w_hh, self.head_w]
        w_ih, w_hh, head = (_rounded(w) if self.quantized else w for w in weights)
        w_ih, w_hh, head = (w.transpose(1, 2) for w in (w_ih, w_hh, head))
        h = c = torch.zeros(())
        for k in range(self.steps):
            before = torch.baddbmm(self.bias, h, w_hh).clamp(_PRE[0], _PRE[1]) if k else self.bias
            pre = torch.baddbmm(before.expand(-1, x.shape[1], -1), x[:, :, k], w_ih)
            i, f, g, o = pre.chunk(4, dim=2)
            new = torch.sigmoid(i) * torch.tanh(g)
            c = torch.sigmoid(f) * c + new if k else new
            h = torch.sigmoid(o) * torch.tanh(c)
        return torch.baddbmm(self.head_b, h, head).clamp(_OUT[0], _OUT[1])

    def hold(self) -> None:
        """Keep every number within the engine's formats."""
        with torch.no_grad():
            for matrix in (self.w_ih, self.w_hh, self.head_w):
                matrix.clamp_(_LOW, _HIGH)
            for bias, (low, high) in ((self.bias, _PRE), (self.head_b, _OUT)):
                bias.clamp_(low, high)

    def to_float_lstm(self, model: int = 0) -> FloatLstm:
        """The weights of one model as plain arrays, on the grid if they were trained on it."""

        def array(parameter: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
            return parameter[model].detach().double().numpy().copy()

        return FloatLstm(
            w_ih=array(self.w_ih),
            w_hh=array(self.w_hh),
            bias=array(self.bias)[0],
            head_w=array(self.head_w),
            head_b=array(self.head_b)[0],
            steps=self.steps,
            kind=HeadKind.QUEUE,
        )
