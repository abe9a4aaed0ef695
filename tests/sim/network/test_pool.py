"""Records of packets: none is lost or had twice, however they gather."""

import numpy as np
from tests.sim.network.blank import blank, called

from precog_sim.network.control import Cfg, Ctl, Err
from precog_sim.network.net import Net
from precog_sim.network.pool import Stock, allocate, free, give_back, stock_words

_FIRST, _PACKETS = 40, 10_000


@called
def _allocate(net: Net) -> int:
    return allocate(net)


@called
def _free(net: Net, row: int) -> None:
    free(net, row)
    give_back(net)


def test_what_one_gathers_others_get() -> None:
    rows = _FIRST + _PACKETS
    shared = {
        "rec": np.zeros((rows, 8), dtype=np.int64),
        "stock": np.zeros(stock_words(_PACKETS), dtype=np.int64),
        "cfg": np.zeros(Cfg.WIDTH, dtype=np.int64),
    }
    shared["stock"][Stock.FRESH] = _FIRST
    shared["cfg"][Cfg.ROWS] = rows
    parts = [blank(ctl=np.zeros(Ctl.WIDTH, dtype=np.int64), **shared) for _ in range(2)]
    for part in parts:
        part.ctl[Ctl.FREE] = -1
    for _ in range(3):  # all go from one partition to the other
        had = [_allocate(parts[0]) for _ in range(_PACKETS - 4096)]
        assert len(set(had)) == len(had)
        assert min(had) >= _FIRST
        assert max(had) < rows
        for row in had:
            _free(parts[1], row)
    had = []
    while (row := _allocate(parts[0])) >= 0:
        had.append(row)
    assert parts[0].ctl[Ctl.ERROR] == Err.POOL
    while (row := _allocate(parts[1])) >= 0:
        had.append(row)
    assert sorted(had) == list(range(_FIRST, rows))
