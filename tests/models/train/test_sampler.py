"""Balanced draws."""

import numpy as np
import pytest

from precog_models.data.dataset import Dataset
from precog_models.train.sampler import BalancedSampler, balanced_pool, balanced_weights


def test_weights_make_every_bin_weigh_the_same(dataset: Dataset) -> None:
    weights = balanced_weights(dataset.core)
    sums = np.bincount(dataset.core.bin, weights)
    np.testing.assert_allclose(sums, 0.25, rtol=1e-12)


def test_pool_has_near_equal_bins_and_no_repetition(dataset: Dataset, seed: int) -> None:
    tagged = dataset.core.select(np.arange(len(dataset.core)))
    smallest = int(tagged.bin_counts.min())
    pool = balanced_pool(tagged, 4 * smallest, np.random.default_rng(seed))
    assert pool.bin_counts.tolist() == [smallest] * 4
    rows = np.column_stack([pool.k, pool.srtt, pool.rtt_next, pool.block])
    assert len(np.unique(rows, axis=0)) == len(pool)


def test_pool_needs_every_bin(dataset: Dataset) -> None:
    poor = dataset.core.select(dataset.core.bin > 0)
    with pytest.raises(ValueError, match=r"every bin of .* must hold a pair, not \[0, "):
        balanced_pool(poor, 100, np.random.default_rng(0))


def test_draws_keep_shares_and_bins(dataset: Dataset, seed: int) -> None:
    assert dataset.varied is not None
    sources = [(dataset.core, 0.7), (dataset.varied, 0.3)]
    sampler = BalancedSampler(sources, 400, np.random.default_rng(seed))
    drawn = sampler.draw(100)
    assert drawn.shape == (100, 400)
    assert drawn.min() >= 0
    assert drawn.max() < len(dataset.core) + len(dataset.varied)
    varied = (drawn >= len(dataset.core)).mean()
    assert abs(varied - 0.3) < 6 * np.sqrt(0.3 * 0.7 / 40_000)  # six sigma
    bins = np.concatenate([dataset.core.bin, dataset.varied.bin])[drawn]
    for b in range(4):
        assert abs((bins == b).mean() - 0.25) < 6 * np.sqrt(0.25 * 0.75 / 40_000)
