"""Freezing: what is frozen is on the quantizer's grid, and stays."""

import numpy as np
import pytest
import torch

from precog_models.quantize import quantize_rows
from precog_models.train.freeze import FREEZE_SHARES, Freezer


def test_frozen_weights_are_what_the_quantizer_gives(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(12, 16, generator=generator, dtype=torch.double)
    rows *= torch.exp2(torch.arange(-4, 8))[:, None] / 4
    free = rows.clone()
    freezer = Freezer([free])
    frozen = torch.zeros_like(free, dtype=torch.bool)
    for share in FREEZE_SHARES:
        freezer.freeze(share)
        integers, shifts = quantize_rows(free.numpy())
        on_grid = torch.from_numpy(integers * 2.0 ** -shifts[:, None]) == free
        assert on_grid.sum() >= round(share * free.numel())
        held = free.clone()
        free += 0.3 * torch.randn(12, 16, generator=generator, dtype=torch.double)
        freezer.hold()
        assert torch.equal(free[frozen], held[frozen])  # frozen earlier: not moved
        frozen = free == held
    assert frozen.all()
    assert on_grid.all()


def test_weights_stay_within_their_rows_range() -> None:
    weights = torch.full((2, 3), 0.9)
    freezer = Freezer([weights])
    weights += 50.0
    freezer.hold()
    assert weights.max() == pytest.approx(127 / 128)


def test_the_nearest_are_frozen_first() -> None:
    weights = torch.tensor([[1.0, 1.0 + 0.4 / 64, 1.0 + 0.1 / 64, 1.0 - 0.2 / 64]])
    before = weights.clone()
    Freezer([weights]).freeze(0.5)
    moved = (weights != before).numpy()[0]
    np.testing.assert_array_equal(moved, [False, False, True, False])
