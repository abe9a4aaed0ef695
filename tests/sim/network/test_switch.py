"""When a packet leaves a switch at once, without a place in its queue."""

import numpy as np
import pytest
from tests.sim.network.blank import blank, called

from precog_sim.network.control import Cfg
from precog_sim.network.layout import PortCol, PrioCol, SwitchCol
from precog_sim.network.net import Net
from precog_sim.network.switch import leaves_at_once

_IN, _OUT, _SIZE, _NOW = 0, 1, 1000, 5_000_000


@called
def _leaves(net: Net) -> bool:
    return leaves_at_once(net, _IN, 0, _OUT, _SIZE, _NOW)


def _idle() -> Net:
    """A switch of two ports, with nothing in it; what one packet may be is just enough."""
    cfg = np.zeros(Cfg.WIDTH, dtype=np.int64)
    cfg[[Cfg.PRIORITIES, Cfg.PFC, Cfg.RESERVE]] = 1, 1, _SIZE
    port = np.zeros((2, PortCol.WIDTH), dtype=np.int64)
    port[:, PortCol.BUSY_UNTIL] = _NOW
    port[:, PortCol.HIGH_HEAD] = -1
    port[:, PortCol.HEADROOM] = _SIZE
    prio = np.zeros((2, PrioCol.WIDTH), dtype=np.int64)
    prio[:, PrioCol.HEAD] = -1
    switch = np.zeros((1, SwitchCol.WIDTH), dtype=np.int64)
    switch[0, SwitchCol.FREE] = 1
    return blank(cfg=cfg, port=port, prio=prio, switch=switch)


def test_a_packet_that_finds_nothing_leaves_at_once() -> None:
    assert _leaves(_idle())


@pytest.mark.parametrize(
    ("table", "place", "value"),
    [
        ("port", (_OUT, PortCol.BUSY_UNTIL), _NOW + 1),
        ("port", (_OUT, PortCol.PENDING), 1),
        ("port", (_OUT, PortCol.HIGH_HEAD), 0),
        ("prio", (_OUT, PrioCol.HEAD), 0),
        ("prio", (_OUT, PrioCol.PAUSED), 1),
        ("prio", (_IN, PrioCol.INGRESS), 1),
        ("prio", (_IN, PrioCol.HEADROOM_USED), 1),
        ("prio", (_IN, PrioCol.PAUSING), 1),
        ("port", (_IN, PortCol.HEADROOM), _SIZE - 1),
        ("switch", (0, SwitchCol.SHARED), 1),
        ("cfg", (Cfg.PRIORITIES,), 2),
    ],
)
def test_anything_in_its_way_keeps_it(table: str, place: tuple[int, ...], value: int) -> None:
    net = _idle()
    getattr(net, table)[place] = value
    assert not _leaves(net)
