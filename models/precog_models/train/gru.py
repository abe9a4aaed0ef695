"""A GRU in real numbers only, by default of the LSTM's units: a baseline that no engine runs."""

import math

import torch
from torch import Tensor, nn

from precog_spec.contract import HIDDEN

from .stacked import Learner

__all__ = ["Gru"]


class Gru(Learner):
    """One GRU layer and a linear head; a stack of one.

    Parameters
    ----------
    inputs, outputs, steps : int
        I, O and T.
    seed : int
        Of the initial weights.
    units : int
    """

    def __init__(
        self, *, inputs: int, outputs: int, steps: int, seed: int = 0, units: int = HIDDEN
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        bound = 1.0 / math.sqrt(units)

        def uniform(*shape: int) -> nn.Parameter:
            return nn.Parameter((torch.rand(1, *shape, generator=generator) * 2 - 1) * bound)

        self.steps = steps
        self.units = units
        self.w_ih = uniform(inputs, 3 * units)
        self.w_hh = uniform(units, 3 * units)
        self.b_ih = uniform(1, 3 * units)
        self.b_hh = uniform(1, 3 * units)
        self.head_w = uniform(units, outputs)
        self.head_b = uniform(1, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Windows [1, n, T, I], oldest first, to outputs [1, n, O]."""
        h = torch.zeros(1, x.shape[1], self.units)
        for k in range(self.steps):
            of_x = torch.baddbmm(self.b_ih, x[:, :, k], self.w_ih).chunk(3, dim=2)
            of_h = torch.baddbmm(self.b_hh, h, self.w_hh).chunk(3, dim=2)
            reset = torch.sigmoid(of_x[0] + of_h[0])
            update = torch.sigmoid(of_x[1] + of_h[1])
            new = torch.tanh(of_x[2] + reset * of_h[2])
            h = torch.lerp(new, h, update)
        return torch.baddbmm(self.head_b, h, self.head_w)
