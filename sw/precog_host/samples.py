"""Samples from the host, checked before compiled code or RTL reads them."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from precog_models.contract import SAMPLE_FIELDS

__all__ = ["checked_samples"]


def checked_samples(samples: ArrayLike) -> NDArray[np.int64]:
    """Samples as contiguous rows of int64.

    Parameters
    ----------
    samples : array_like of integers, shape (n, 3)
        The contract's `SAMPLE_FIELDS`.

    Raises
    ------
    ValueError
        The shape differs, the numbers are not integers, or one does not fit its field.
    """
    given = np.asarray(samples)
    if given.ndim != 2 or given.shape[1] != len(SAMPLE_FIELDS):
        raise ValueError(f"samples must have shape (n, {len(SAMPLE_FIELDS)}), not {given.shape}")
    if given.dtype.kind not in "iu":
        raise ValueError(f"samples must be integers, not {given.dtype}")
    for column, (name, bits) in enumerate(SAMPLE_FIELDS):
        outside = np.flatnonzero((given[:, column] < 0) | (given[:, column] >= 1 << bits))
        if outside.size:
            row = int(outside[0])
            raise ValueError(
                f"{name} of sample {row} must be in 0..{(1 << bits) - 1}, not {given[row, column]}"
            )
    return np.ascontiguousarray(given, dtype=np.int64)
