"""The LSTM of (4)-(8) in torch, written out so that short windows train fast on a CPU.

torch.nn.LSTM spends most of a three-step window on bookkeeping; here the first step skips the
recurrent product (h_0 = 0), and the weights can be rounded as the quantizer will round them.
"""

import math

import numpy as np
import torch
from torch import Tensor, nn

from ..contract import HIDDEN, MAX_SHIFT, HeadKind
from ..float_lstm import FloatLstm

__all__ = ["Network", "round_rows"]

_FORGET_BIAS = 0.5  # remember at first: gradients reach the window's first step


def round_rows(weights: Tensor) -> Tensor:
    """`weights` [rows, columns] on the quantizer's grid, gradients passed straight through."""
    largest = weights.detach().abs().amax(dim=1, keepdim=True).clamp_min(1e-9)
    shift = torch.floor(torch.log2(127.5 / largest)).clamp(0, MAX_SHIFT)
    scale = torch.exp2(shift)
    rounded = torch.floor(weights.detach() * scale + 0.5).clamp(-128, 127) / scale
    return weights + (rounded - weights.detach())


class Network(nn.Module):
    """One LSTM layer of 16 units and a linear head.

    Parameters
    ----------
    inputs, outputs : int
        I and O.
    steps : int
        Window length T.
    seed : int
        Of the initial weights: uniform in +-1/4, as torch's own LSTM of this size.
    """

    def __init__(self, *, inputs: int = 1, outputs: int = 1, steps: int = 3, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        bound = 1.0 / math.sqrt(HIDDEN)

        def uniform(*shape: int) -> nn.Parameter:
            return nn.Parameter((torch.rand(*shape, generator=generator) * 2 - 1) * bound)

        self.steps = steps
        self.w_ih = uniform(4 * HIDDEN, inputs)
        self.w_hh = uniform(4 * HIDDEN, HIDDEN)
        self.bias = uniform(4 * HIDDEN)
        self.head_w = uniform(outputs, HIDDEN)
        self.head_b = uniform(outputs)
        with torch.no_grad():
            self.bias[HIDDEN : 2 * HIDDEN] += _FORGET_BIAS

    def forward(self, x: Tensor, rounded: bool = False) -> Tensor:
        """Windows [n, T, I], oldest first, to outputs [n, O]; `rounded`: on the int8 grid."""
        rows: tuple[Tensor, ...] = (self.w_ih, self.w_hh, self.head_w)
        if rounded:
            rows = tuple(round_rows(weights) for weights in rows)
        w_ih, w_hh, head_w = (weights.t() for weights in rows)
        h = c = torch.zeros(())
        for k in range(self.steps):
            pre = torch.addmm(self.bias, x[:, k], w_ih)
            if k:
                pre = torch.addmm(pre, h, w_hh)
            i, f, g, o = pre.chunk(4, dim=1)
            new = torch.sigmoid(i) * torch.tanh(g)
            c = torch.sigmoid(f) * c + new if k else new
            h = torch.sigmoid(o) * torch.tanh(c)
        return torch.addmm(self.head_b, h, head_w)

    def to_float_lstm(self, kind: HeadKind = HeadKind.RTT) -> FloatLstm:
        """The weights as plain arrays."""

        def array(parameter: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
            return parameter.detach().double().numpy().copy()

        return FloatLstm(
            w_ih=array(self.w_ih),
            w_hh=array(self.w_hh),
            bias=array(self.bias),
            head_w=array(self.head_w),
            head_b=array(self.head_b),
            steps=self.steps,
            kind=kind,
        )
