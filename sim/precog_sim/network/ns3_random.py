"""ns-3's random numbers for marking: MRG32k3a, a new stream for every draw.

ns-3's switch makes a new random variable for each draw, and each takes the next stream of
L'Ecuyer's MRG32k3a: the n-th draw is the first output of stream (first + n), in the substream of
the run's number. Streams are 2^127 steps apart, substreams 2^76.
"""

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.control import Ctl
from precog_sim.network.jit import compiled

__all__ = ["first_stream", "ns3_uniform", "stream_state"]

_M1, _M2 = 4294967087, 4294944443
_A12, _A13, _A21, _A23 = 1403580, 810728, 527612, 1370589
_NORM = 2.328306549295727688e-10  # 1 / (m1 + 1)
_STREAM, _SUBSTREAM = 127, 76

_Matrix = list[list[int]]


def _times(a: _Matrix, b: _Matrix, m: int) -> _Matrix:
    return [[sum(a[i][k] * b[k][j] for k in range(3)) % m for j in range(3)] for i in range(3)]


def _power(a: _Matrix, n: int, m: int) -> _Matrix:
    result = [[int(i == j) for j in range(3)] for i in range(3)]
    while n:
        if n & 1:
            result = _times(result, a, m)
        a = _times(a, a, m)
        n >>= 1
    return result


_A1: _Matrix = [[0, 1, 0], [0, 0, 1], [-_A13, _A12, 0]]
_A2: _Matrix = [[0, 1, 0], [0, 0, 1], [-_A23, 0, _A21]]
_NEXT = np.array([_power(_A1, 1 << _STREAM, _M1), _power(_A2, 1 << _STREAM, _M2)], dtype=np.uint64)


def first_stream(nodes: int) -> int:
    """Stream of a program's first draw: six went to each node, two to the error model.

    Confirmed on the 22 nodes of the incast, where the marks then fall on ns-3's packets.
    """
    return 6 * nodes + 2


def stream_state(first: int, run: int) -> NDArray[np.int64]:
    """State of substream `run` of stream `first` for ns-3's seed 1."""
    state: list[int] = []
    for a, m in ((_A1, _M1), (_A2, _M2)):
        steps = (first << _STREAM) + (run << _SUBSTREAM)
        state += [sum(row) % m for row in _power(a, steps, m)]
    return np.array(state, dtype=np.int64)


@compiled
def ns3_uniform(ctl: NDArray[np.int64]) -> float:
    """The next draw in (0, 1): the first output of the stream, and on to the next stream."""
    s = Ctl.STREAM
    p1 = (_A12 * ctl[s + 1] - _A13 * ctl[s]) % _M1
    p2 = (_A21 * ctl[s + 5] - _A23 * ctl[s + 3]) % _M2
    for half in range(2):
        m = np.uint64(_M1 if half == 0 else _M2)
        x0 = np.uint64(ctl[s + 3 * half])
        x1 = np.uint64(ctl[s + 3 * half + 1])
        x2 = np.uint64(ctl[s + 3 * half + 2])
        for row in range(3):
            total = (_NEXT[half, row, 0] * x0) % m + (_NEXT[half, row, 1] * x1) % m
            total = (total + (_NEXT[half, row, 2] * x2) % m) % m
            ctl[s + 3 * half + row] = np.int64(total)
    return float(p1 - p2 if p1 > p2 else p1 - p2 + _M1) * _NORM
