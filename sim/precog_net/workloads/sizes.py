"""Flow sizes as published: cumulative distributions, drawn by linear interpolation.

The files in ``data/`` are those of the HPCC authors' traffic generator (``traffic_gen`` of
alibaba-edu/High-Precision-Congestion-Control), two columns: bytes, and percent of the flows up to
that size. ``websearch``: DCTCP's web search cluster (SIGCOMM 2010); ``hadoop``: Facebook's Hadoop
(SIGCOMM 2015); ``storage``: Alibaba's block storage (2019); ``rpc``: all RPCs of a Google data
centre (2008; Homa's W3, SIGCOMM 2018).
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from precog_models.limits import read_at_most

__all__ = ["SHIPPED", "Sizes", "read_sizes", "shipped_sizes"]

#: Names on the command line, and files.
SHIPPED = {
    "websearch": "cdf_websearch.txt",
    "hadoop": "cdf_fb_hadoop.txt",
    "storage": "cdf_alistorage2019.txt",
    "rpc": "cdf_google_rpc2008.txt",
}
_MOST_BYTES = 1 << 40
_MOST_LINES = 100_000
_MOST_FILE = 8 << 20


@dataclass(frozen=True, eq=False)
class Sizes:
    """A distribution of flow sizes.

    Parameters
    ----------
    size : ndarray of float64, shape (n,)
        Bytes, ascending.
    share : ndarray of float64, shape (n,)
        Share of the flows with at most that size, from 0 to 1.
    """

    size: NDArray[np.float64]
    share: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """Bytes: of the interpolated distribution, exactly."""
        middles = (self.size[1:] + self.size[:-1]) / 2
        return float((middles * np.diff(self.share)).sum())

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """`count` sizes in bytes, at least 1 each."""
        drawn = np.interp(rng.random(count), self.share, self.size)
        return np.maximum(drawn.astype(np.int64), 1)


@cache
def shipped_sizes(name: str) -> Sizes:
    """One of `SHIPPED`.

    Raises
    ------
    ValueError
        There is none of that name.
    """
    if name not in SHIPPED:
        raise ValueError(f"size distribution must be one of {', '.join(SHIPPED)}, not {name!r}")
    place = files("precog_net") / "data" / SHIPPED[name]
    return _parse(place.read_text(), f"size distribution {name}")


def read_sizes(path: Path) -> Sizes:
    """The distribution in a file of two columns, bytes and percent.

    Raises
    ------
    ValueError
        It is none: the message says which line is wrong.
    OSError
        It cannot be read.
    """
    data = read_at_most(path, _MOST_FILE)
    return _parse(data.decode(errors="replace"), f"file {path}")


def _parse(text: str, what: str) -> Sizes:
    lines = text.splitlines()
    if len(lines) > _MOST_LINES:
        raise ValueError(f"{what} must have at most {_MOST_LINES} lines, not {len(lines)}")
    rows: list[tuple[float, float]] = []
    for n, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            size, percent = map(float, line.split())
        except ValueError:
            raise ValueError(
                f"{what}, line {n}: must be bytes and percent, not {line[:80]!r}"
            ) from None
        if not (0 <= size <= _MOST_BYTES and 0 <= percent <= 100):
            raise ValueError(
                f"{what}, line {n}: must be 0..{_MOST_BYTES} bytes and 0..100 percent, "
                f"not {line[:80]!r}"
            )
        if rows and (size <= rows[-1][0] or percent < rows[-1][1]):
            raise ValueError(
                f"{what}, line {n}: sizes and percents must go upwards, not {line[:80]!r}"
            )
        rows.append((size, percent))
    if len(rows) < 2 or rows[0][1] != 0 or rows[-1][1] != 100:
        raise ValueError(f"{what} must begin at 0 percent and end at 100")
    table = np.array(rows)
    return Sizes(table[:, 0], table[:, 1] / 100)
