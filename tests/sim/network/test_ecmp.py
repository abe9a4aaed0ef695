"""ns-3's choice among equal paths: the hash against one written from its definition, and routes."""

import random
import struct

import numpy as np
import pytest
from tests.sim.network.blank import blank, called

from precog_sim.network import Fixed, Flow, Record, Scenario, fat_tree, run
from precog_sim.network.control import Cfg
from precog_sim.network.ecmp import ns3_hash, route
from precog_sim.network.net import Net
from precog_sim.network.tables import flow_table, route_tables, udp_ports

_M = 0xFFFFFFFF


@called
def _route(net: Net, node: int, f: int, answer: bool) -> int:
    return route(net, node, f, answer)


def _rotated(x: int, r: int) -> int:
    return (x << r | x >> (32 - r)) & _M


def _murmur3(data: bytes, seed: int) -> int:
    """MurmurHash3_x86_32 of whole words."""
    h = seed
    for (k,) in struct.iter_unpack("<I", data):
        k = _rotated(k * 0xCC9E2D51 & _M, 15) * 0x1B873593 & _M
        h = (_rotated(h ^ k, 13) * 5 + 0xE6546B64) & _M
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & _M
    h = (h ^ h >> 13) * 0xC2B2AE35 & _M
    return h ^ h >> 16


def _ns3(switch: int, src: int, dst: int, sport: int, dport: int) -> int:
    address = [0x0B000001 + n // 256 * 0x10000 + n % 256 * 0x100 for n in (src, dst)]
    return _murmur3(struct.pack("<IIHH", *address, sport, dport), switch)


def test_the_other_hash_gives_the_published_values() -> None:
    assert _murmur3(b"\x21\x43\x65\x87", 0) == 0xF55B516B
    assert _murmur3(b"\x21\x43\x65\x87", 0x5082EDEE) == 0x2362F9DE
    assert _murmur3(b"abcd", 0x9747B28C) == 0xF0478627


def test_hash_of_random_packets(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(1000):
        switch, src, dst = (rng.randrange(4096) for _ in range(3))
        sport, dport = rng.randrange(65536), rng.randrange(65536)
        ours = ns3_hash(switch, src, dst, sport | dport << 16)
        assert ours == _ns3(switch, src, dst, sport, dport)


def _traffic() -> Scenario:
    """Flows between pods: 3 starts before 0, on the same hosts; 1 goes to another port."""
    flows = (
        Flow(0, 64, 1000, start_ps=9_000_000),
        Flow(1, 300, 1000, dst_port=200),
        Flow(300, 1, 1000),
        Flow(0, 64, 1000),
    )
    return Scenario("paths", fat_tree(), flows)


def test_ports_count_up_by_start_between_two_hosts() -> None:
    scenario = _traffic()
    ports = udp_ports(scenario, scenario.starts_ps(0, whole_ns=True)).tolist()
    assert [(p & 0xFFFF, p >> 16) for p in ports] == [
        (10_001, 100),
        (10_000, 200),
        (10_000, 100),
        (10_000, 100),
    ]


def test_routes_follow_the_hash_both_ways() -> None:
    scenario = _traffic()
    routes = scenario.topology.routes
    table = flow_table(scenario, scenario.starts_ps(0, whole_ns=True), 0)
    cfg = np.zeros(Cfg.WIDTH, dtype=np.int64)
    cfg[[Cfg.NS3_ECMP, Cfg.HOSTS]] = 1, 320
    net = blank(
        cfg=cfg,
        flow=table,
        **route_tables(scenario.topology, routes),
    )
    ports = [(10_001, 100), (10_000, 200), (10_000, 100), (10_000, 100)]
    several = 0
    for f, flow in enumerate(scenario.flows):
        for answer in (False, True):
            ends = (flow.dst, flow.src) if answer else (flow.src, flow.dst)
            numbers = ports[f][::-1] if answer else ports[f]
            for node in range(320, 376):
                n = int(routes.count[node, ends[1]])
                first = int(routes.start[node, ends[1]])
                nexts = routes.ports[first : first + n].tolist()
                ours = _route(net, node, f, answer)
                number = _ns3(node, *ends, *numbers) if n > 1 else 0
                assert ours == nexts[n - 1 - number % n]
                several += n > 1
    assert several > 100


def test_ns3_s_hash_moves_flows_and_needs_its_timing() -> None:
    flows = tuple(Flow(h, 64 + h, 100_000) for h in range(64))
    scenario = Scenario("pods", fat_tree(), flows)
    quiet = Record(packets=False, probe_us=0)
    own = run(scenario, Fixed(), timing="ns3", record=quiet)
    ns3 = run(scenario, Fixed(), timing="ns3", record=quiet, ecmp="ns3")
    assert own.finished
    assert ns3.finished
    assert ns3.nacks == ns3.retransmitted == 0  # no flow changes its path
    assert (own.fct_us != ns3.fct_us).any()
    with pytest.raises(ValueError, match="ecmp ns3 must have timing ns3, not 'exact'"):
        run(scenario, Fixed(), ecmp="ns3")
    with pytest.raises(ValueError, match="ecmp must be own or ns3, not 'murmur'"):
        run(scenario, Fixed(), timing="ns3", ecmp="murmur")
