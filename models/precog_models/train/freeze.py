"""Weights moved to the quantizer's grid a share at a time, while the others go on learning.

Rounding every weight at once costs accuracy that rounding straight through (fake quantization) does
not win back at this size. Here the weights nearest to their grid points are rounded and frozen, the
rest adapts, and so on until all are on the grid: the integer model then has exactly the weights
that were trained. Each row keeps the scale that it has when freezing begins.
"""

import torch
from torch import Tensor

from precog_spec.contract import MAX_SHIFT

__all__ = ["FREEZE_SHARES", "Freezer"]

#: Share of each matrix that is frozen after each stage.
FREEZE_SHARES = (0.3, 0.5, 0.65, 0.78, 0.88, 0.95, 0.98, 1.0)

_LOW, _HIGH = -128, 127


class Freezer:
    """Freezes weight matrices on the int8 grid of power-of-two row scales.

    Parameters
    ----------
    weights : list of Tensor, each (rows, columns)
        Parameters, changed in place.
    """

    def __init__(self, weights: list[Tensor]) -> None:
        self._weights = weights
        self._scales = []
        for weight in weights:
            largest = weight.detach().abs().amax(dim=1, keepdim=True).clamp_min(1e-9)
            shift = torch.floor(torch.log2((_HIGH + 0.5) / largest)).clamp(0, MAX_SHIFT)
            self._scales.append(torch.exp2(shift))
        self._frozen = [torch.zeros_like(weight, dtype=torch.bool) for weight in weights]
        self._grid = [weight.detach().clone() for weight in weights]

    def freeze(self, share: float) -> None:
        """Round and freeze the weights nearest to the grid until `share` of each matrix is."""
        with torch.no_grad():
            for weight, scale, frozen, grid in zip(
                self._weights, self._scales, self._frozen, self._grid, strict=True
            ):
                rounded = torch.floor(weight * scale + 0.5).clamp(_LOW, _HIGH)
                distance = (weight * scale - rounded).abs()
                distance[frozen] = -1.0  # frozen ones stay first
                count = round(share * weight.numel())
                chosen = distance.flatten().argsort(stable=True)[:count]
                new = torch.zeros_like(frozen).flatten()
                new[chosen] = True
                new = new.view_as(frozen) & ~frozen
                grid[new] = (rounded / scale)[new]
                frozen |= new
        self.hold()

    def hold(self) -> None:
        """Put frozen weights back on the grid and keep the others within its range."""
        with torch.no_grad():
            for weight, scale, frozen, grid in zip(
                self._weights, self._scales, self._frozen, self._grid, strict=True
            ):
                weight.copy_(torch.where(frozen, grid, weight.clamp(_LOW / scale, _HIGH / scale)))
