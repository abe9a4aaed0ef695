"""Balanced draws: near-equally many pairs from each of the four bins of |K_t|, thesis §3.3."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..data.pairs import BIN_EDGES, Pairs

__all__ = ["BalancedSampler", "balanced_pool", "balanced_weights"]

_BINS = len(BIN_EDGES) + 1


def balanced_weights(pairs: Pairs) -> NDArray[np.float64]:
    """A weight for each pair: every bin that is not empty weighs the same; they sum to 1."""
    counts = pairs.bin_counts
    return np.asarray(1.0 / (counts[pairs.bin] * np.count_nonzero(counts)))


def balanced_pool(pairs: Pairs, size: int, rng: np.random.Generator) -> Pairs:
    """About `size` pairs without repetition, a quarter from each bin (fewer where a bin is short).

    Raises
    ------
    ValueError
        A bin is empty.
    """
    if not pairs.bin_counts.all():
        raise ValueError(f"every bin of |K| must hold a pair, not {pairs.bin_counts.tolist()}")
    parts = []
    for b in range(_BINS):
        members = np.flatnonzero(pairs.bin == b)
        parts.append(rng.choice(members, min(len(members), -(-size // _BINS)), replace=False))
    return pairs.select(rng.permutation(np.concatenate(parts))[:size])


class BalancedSampler:
    """Draws batches from several sources, each with its share and bin by bin.

    Parameters
    ----------
    sources : sequence of (Pairs, float)
        Pairs and their share of a batch. Indices count through all sources in order.
    batch : int
        Pairs in a batch.
    rng : numpy.random.Generator
    """

    def __init__(
        self, sources: Sequence[tuple[Pairs, float]], batch: int, rng: np.random.Generator
    ) -> None:
        cells: list[NDArray[np.int64]] = []
        shares: list[float] = []
        offset = 0
        for pairs, share in sources:
            filled = [b for b in range(_BINS) if pairs.bin_counts[b]]
            for b in filled:
                cells.append(offset + np.flatnonzero(pairs.bin == b))
                shares.append(share / len(filled))
            offset += len(pairs)
        self._members = np.concatenate(cells)
        self._sizes = np.array([len(cell) for cell in cells])
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._shares = np.array(shares) / np.sum(shares)
        self._batch = batch
        self._rng = rng

    def draw(self, batches: int) -> NDArray[np.int64]:
        """Indices of that many batches, shape (batches, batch)."""
        shape = (batches, self._batch)
        cell = self._rng.choice(len(self._sizes), size=shape, p=self._shares)
        place = (self._rng.random(shape) * self._sizes[cell]).astype(np.int64)
        return np.asarray(self._members[self._starts[cell] + place])
