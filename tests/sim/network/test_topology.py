"""Topologies as data: routes, base RTTs, the fat tree, refusals."""

import pytest

from precog_sim.network import Link, Topology, fat_tree, star


def test_star_routes_through_the_switch() -> None:
    topology = star(4)
    assert [link.b for link in topology.path(0, 3)] == [4, 4]
    assert topology.base_rtt_ps(0, 3, 1000) == 4_160_000  # the ns-3 codes' T for the incast


def test_fat_tree_of_320_hosts() -> None:
    topology = fat_tree()
    assert (topology.hosts, topology.switches) == (320, 56)
    hops = topology.routes.hops
    assert topology.host_gbps == 100.0
    assert hops[0, 1] == 2  # one rack
    assert hops[0, 16] == 4  # one pod
    assert hops[0, 64] == 6  # another pod
    rack = topology.hosts
    assert topology.routes.count[rack, 1] == 1
    assert topology.routes.count[rack, 64] == 4
    assert topology.base_rtt_ps(0, 64, 1000) == 12_000_000 + 2 * 80_000 + 4 * 20_000


def test_no_route_through_a_host() -> None:
    # two switches joined only through host 1's... nothing: host 0 cannot reach host 1
    topology = Topology(2, 2, (Link(0, 2), Link(1, 3)))
    with pytest.raises(ValueError, match="there is no path from 0 to 1"):
        topology.path(0, 1)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ((Link(0, 2), Link(0, 2), Link(1, 2)), "host 0 must have exactly one link, not 2"),
        ((Link(0, 2), Link(1, 9)), r"link end must be a node in 0\.\.2, not 9"),
    ],
)
def test_bad_links(links: tuple[Link, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Topology(2, 1, links)


def test_bad_numbers() -> None:
    for gbps in (0, 1e6, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=r"link rate must be above 0 and below 1e\+06 Gb/s"):
            Link(0, 1, gbps=gbps)
    with pytest.raises(ValueError, match="link delay must be >= 0 ps, not -1"):
        Link(0, 1, delay_ps=-1)
    with pytest.raises(ValueError, match="cores must be a multiple of aggs = 4, not 6"):
        fat_tree(cores=6)
