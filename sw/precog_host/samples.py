"""Rows of integers from the host, checked before compiled code or RTL reads them."""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from precog_spec.contract import PROFILE_FIELDS, SAMPLE_FIELDS

__all__ = ["checked_profiles", "checked_samples"]

_INPUTS = [name for name, _ in PROFILE_FIELDS if name.startswith("x")]


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
    return _checked(samples, SAMPLE_FIELDS, "sample")


def checked_profiles(profiles: ArrayLike) -> NDArray[np.int64]:
    """Profiles as contiguous rows of int64.

    Parameters
    ----------
    profiles : array_like of integers, shape (n, 6)
        The contract's `PROFILE_FIELDS`.

    Raises
    ------
    ValueError
        As `checked_samples`.
    """
    return _checked(profiles, PROFILE_FIELDS, "profile", signed=_INPUTS)


def _checked(
    rows: ArrayLike,
    fields: Sequence[tuple[str, int]],
    what: str,
    *,
    signed: Collection[str] = (),
) -> NDArray[np.int64]:
    given = np.asarray(rows)
    if given.ndim != 2 or given.shape[1] != len(fields):
        raise ValueError(f"{what}s must have shape (n, {len(fields)}), not {given.shape}")
    if given.dtype.kind not in "iu":
        raise ValueError(f"{what}s must be integers, not {given.dtype}")
    for column, (name, bits) in enumerate(fields):
        low = -(1 << (bits - 1)) if name in signed else 0
        high = low + (1 << bits) - 1
        outside = np.flatnonzero((given[:, column] < low) | (given[:, column] > high))
        if outside.size:
            row = int(outside[0])
            raise ValueError(
                f"{name} of {what} {row} must be in {low}..{high}, not {given[row, column]}"
            )
    return np.ascontiguousarray(given, dtype=np.int64)
