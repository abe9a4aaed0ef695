"""MRG32k3a against its definition in Python integers."""

import numpy as np

from precog_sim.network.control import Ctl
from precog_sim.network.ns3_random import first_stream, ns3_uniform, stream_state

_M1, _M2 = 4294967087, 4294944443


def _advance(state: list[int], power: int) -> list[int]:
    """`state` after 2**power steps, by squaring companion matrices."""
    out = []
    for half, m, rows in (
        (state[:3], _M1, [[0, 1, 0], [0, 0, 1], [-810728, 1403580, 0]]),
        (state[3:], _M2, [[0, 1, 0], [0, 0, 1], [-1370589, 0, 527612]]),
    ):
        a = np.array(rows, dtype=object)
        for _ in range(power):
            a = a.dot(a) % m
        out += [int(x) % m for x in a.dot(np.array(half, dtype=object))]
    return out


def test_each_draw_is_the_first_of_the_next_stream() -> None:
    ctl = np.zeros(Ctl.WIDTH, dtype=np.int64)
    ctl[Ctl.STREAM : Ctl.STREAM + 6] = stream_state(1, 2)
    want = _advance([1] * 6, 127)
    for _ in range(2):
        want = _advance(want, 76)
    for _ in range(3):
        p1 = (1403580 * want[1] - 810728 * want[0]) % _M1
        p2 = (527612 * want[5] - 1370589 * want[3]) % _M2
        assert ns3_uniform(ctl) == ((p1 - p2) % _M1 or _M1) * 2.328306549295727688e-10
        want = _advance(want, 127)


def test_streams_before_the_first_draw() -> None:
    assert first_stream(22) == 134
    assert stream_state(0, 0).tolist() == [1] * 6
