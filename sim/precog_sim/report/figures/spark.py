"""Small inline lines, one a flow, for the table of flows."""

import numpy as np
from numpy.typing import NDArray

from precog_sim.report.figures.network import binned

__all__ = ["HEIGHT_PX", "WIDTH_PX", "spark"]

WIDTH_PX, HEIGHT_PX = 220, 34


def spark(
    t: NDArray[np.float32],
    value: NDArray[np.float32],
    *,
    end: float,
    low: float,
    high: float,
    log: bool = False,
) -> str:
    """An SVG path of the mean of `value` over time.

    Parameters
    ----------
    t, value : ndarray of float32, (n,)
        Samples.
    end : float
        Time at the right edge, in the unit of `t`.
    low, high : float
        Values at the bottom and top edge; a mean outside is drawn on the edge.
    log : bool
        Logarithmic value axis.
    """
    centres, means = binned(t, value, np.linspace(0, end, WIDTH_PX // 2 + 1))
    if log:
        means, low, high = np.log(means), float(np.log(low)), float(np.log(high))
    x = centres / end * WIDTH_PX
    y = np.clip(HEIGHT_PX - 2 - (means - low) / (high - low) * (HEIGHT_PX - 4), 2, HEIGHT_PX - 2)
    points = " ".join(f"{a:.0f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return f"M{points}" if points else ""
