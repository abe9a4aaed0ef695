"""The counters of a whole NIC in RTL: one snapshot of all parts, whatever is in flight."""

import pytest

from precog_sim.backtoback.instant import provoke
from precog_sim.backtoback.node import Ends
from precog_sim.backtoback.rtl_node import RtlNode
from precog_sim.backtoback.run import HOSTS, QPS

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("packet_nic")]


def test_a_snapshot_is_of_one_instant_under_traffic(seed: int, volume: int) -> None:
    """Counters of two kinds, in two tables, that count each frame in one cycle are equal in every
    snapshot. No decision is missing in one of an idle device; others fall between an event and its
    decision."""
    found = provoke(RtlNode(Ends(HOSTS[1], QPS[0], QPS[1])), 60 * volume, seed)
    assert found.differences == []
    assert found.in_flight > 5
    assert found.frames > 30
