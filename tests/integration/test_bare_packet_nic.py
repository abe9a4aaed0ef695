"""A NIC with packets and as little beside them as can be: the RTL and the golden device agree."""

import random
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv6Address

import pytest

from precog_models.packet.card import Card, CardConfig
from precog_spec.config import PRESETS
from precog_spec.frames.cps import Mode

from ..models.packet.frames import A_ADDRESS, A_QP, B_ADDRESS, B_QP, mutate, packet, synthetic
from .packet_bench import TICK_PS, Pair, check_registers, open_pair, same_numbers

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("packet_nic_bare")]

#: For the smallest FPGA: four lanes, a small processor for the core, no laws.
BARE = replace(PRESETS["ecp5-25"], dsp="generic")
PEER = str(IPv6Address(B_ADDRESS).ipv4_mapped)


@pytest.fixture
def pair() -> Iterator[Pair]:
    with open_pair(BARE) as both:
        yield both


def arm(pair: Pair) -> None:
    """Two connections to one peer, one in each mode."""
    for device, path in zip((pair.rtl, pair.golden), pair.paths(), strict=True):
        path.bind(1, PEER, remote_qp=B_QP, local_qp=A_QP, score=37)
        path.bind(2, PEER, remote_qp=B_QP + 1, local_qp=A_QP + 1, mode=Mode.R, score=80, mtu=4096)
        device.apply_preset("thesis")
        for slot in (1, 2):
            device.qp(slot).configure(preset="thesis", enable=True, algorithm="pid")


def test_a_conversation(pair: Pair, seed: int) -> None:
    """Samples and decisions as ever; marks and wrong ICRCs have no consequence."""
    rng = random.Random(seed)
    arm(pair)
    peer = Card(4, CardConfig(tick_ps=TICK_PS))
    peer.add(0, A_ADDRESS, A_QP, B_QP, score=64)
    for n in range(40):
        psn = (n - 20) % (1 << 24)
        frame = packet(bytes(rng.randrange(300)), psn=psn, bth={"ackreq": 1})
        assert peer.receive(pair.transmit(frame), n, n).received.frame == frame
        ack = packet(opcode=0x11, psn=psn, back=True, aeth={"syndrome": 0x1F, "msn": n})
        assert pair.receive(peer.transmit(ack, n, n).frame) == ack
        marked = bytearray(packet(bytes(100), psn=n, back=True, ip={"tos": 3}))
        marked[-1] ^= n & 1  # its ICRC
        assert pair.receive(bytes(marked)) == marked
    events = same_numbers(pair)["events"]
    assert events["rtt_samples"] == 40
    assert not [name for name in events if name.startswith(("cnp_", "icrc_"))]
    assert pair.rtl.counters()["decisions"] == 40
    assert pair.rtl.qp(1).status() == pair.golden.qp(1).status()
    assert pair.rtl.interrupt.state() == pair.golden.interrupt.state()


def test_every_kind_of_packet_and_mutations(pair: Pair, seed: int, volume: int) -> None:
    rng = random.Random(seed)
    arm(pair)
    for path in pair.paths():
        path.set_parameters(max_frame=1200, drop_malformed=1, timeout=5000)
        # The other end, so that what leaves comes back as somebody's.
        four = IPv6Address(A_ADDRESS).ipv4_mapped
        assert four is not None
        path.bind(3, four, remote_qp=A_QP, local_qp=B_QP, mode=Mode.R, score=9)
    pool = list(synthetic(rng).values())
    for frame in [*pool, *(mutate(rng, rng.choice(pool)) or b"\0" for _ in range(100 * volume))]:
        out = pair.transmit(frame, error=rng.random() < 0.1)
        if rng.random() < 0.5 and len(out) > 14:
            out = mutate(rng, out) or b"\0"
        pair.receive(out, error=rng.random() < 0.1)
    for device in (pair.rtl, pair.golden):
        device.reset.reset(["rtt"])
    counters = pair.paths()[0].counters()
    assert counters["tx"]["destination_disabled"] == 0
    assert counters["tx"]["inserted"] > 0
    assert counters["rx"] == pair.paths()[1].counters()["rx"]
    assert counters["tx"] == pair.paths()[1].counters()["tx"]


def test_register_suite(seed: int) -> None:
    """Generated from the map, on the RTL; no register of another part answers or changes."""
    check_registers(BARE, TICK_PS, seed)
