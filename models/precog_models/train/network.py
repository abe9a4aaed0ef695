"""The LSTM of (4)-(8) in torch, written out so that short windows train fast on a CPU.

torch.nn.LSTM spends most of a three-step window on bookkeeping; here the first step skips the
recurrent product (h_0 = 0).
"""

import math

import numpy as np
import torch
from torch import Tensor, nn

from precog_spec.contract import HIDDEN, HeadKind

from ..float_lstm import FloatLstm

__all__ = ["Network"]

_FORGET_BIAS = 0.5  # remember at first: gradients reach the window's first step


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
    input_scale : float
        The initial input weights times this: K is mostly far below 1, and gates that hardly move
        learn slowly.
    """

    def __init__(
        self,
        *,
        inputs: int = 1,
        outputs: int = 1,
        steps: int = 3,
        seed: int = 0,
        input_scale: float = 1.0,
    ) -> None:
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
            self.w_ih.mul_(input_scale)
            self.bias[HIDDEN : 2 * HIDDEN] += _FORGET_BIAS

    def forward(self, x: Tensor) -> Tensor:
        """Windows [n, T, I], oldest first, to outputs [n, O]."""
        w_ih, w_hh = self.w_ih.t(), self.w_hh.t()
        h = c = torch.zeros(())
        for k in range(self.steps):
            pre = torch.addmm(self.bias, x[:, k], w_ih)
            if k:
                pre = torch.addmm(pre, h, w_hh)
            i, f, g, o = pre.chunk(4, dim=1)
            new = torch.sigmoid(i) * torch.tanh(g)
            c = torch.sigmoid(f) * c + new if k else new
            h = torch.sigmoid(o) * torch.tanh(c)
        return torch.addmm(self.head_b, h, self.head_w.t())

    @property
    def matrices(self) -> list[Tensor]:
        """The weights that become int8: rows have their own scales."""
        return [self.w_ih, self.w_hh, self.head_w]

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
