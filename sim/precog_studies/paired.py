"""Quotients of figures over paired seeds, with their intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["DRAWS", "Ratio", "paired"]

DRAWS = 2000  #: times that seeds are drawn again


@dataclass(frozen=True)
class Ratio:
    """A figure over another one of the same seeds.

    Parameters
    ----------
    before, after : float
    ratio, low, high : float
        The quotient, and its 95 % interval: seeds drawn again `DRAWS` times, for both figures.
    """

    before: float
    after: float
    ratio: float
    low: float
    high: float


def _over(after: float, before: float) -> float:
    return after / before if before else float(after > 0) + 1.0


def paired(
    before: Callable[[Sequence[int]], float], after: Callable[[Sequence[int]], float], count: int
) -> Ratio:
    """The quotient of two figures of the same of `count` seeds; draws without a figure are NaN."""
    rng = np.random.default_rng(1)
    draws: NDArray[np.int64] = rng.integers(0, count, (DRAWS, count))
    again = [_over(after(draw), before(draw)) for draw in draws.tolist()]
    low, high = np.nanquantile(again, [0.025, 0.975])
    first, second = before(range(count)), after(range(count))
    return Ratio(first, second, _over(second, first), float(low), float(high))
