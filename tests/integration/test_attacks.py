"""Attacks with real frames: what forged control packets do at worst, on the RTL and on the golden.

Volume goes through the golden device; the whole NIC in RTL sees some of each, and must not differ.
"""

import random
from collections.abc import Iterator
from itertools import count

import numpy as np
import pytest

from precog_host.device import Device
from precog_host.driver.packet import PacketDriver
from precog_host.emulator.device import Emulator
from precog_models.jit import njit
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import load
from precog_models.measure.rtt_collector import COLLECTOR_STATE, NO_TURNAROUND, answered, sent
from precog_models.packet.parser import parse
from precog_models.packet.shim import Shim, encode, insert
from precog_sim.rtl.packet_block import Wire
from precog_spec.config import NicConfig
from precog_spec.contract import Outcome
from precog_spec.frames.cps import ShimType
from precog_spec.frames.descriptor import Direction

from ..models.packet.frames import A_QP, B4, B_QP, packet
from .attack_bounds import (
    DAMAGED_EFFECTS,
    FLOOD_CNPS_PER_MS,
    FLOOD_US_TO_FLOOR,
    LYING_RTT_LEAST_TICKS,
    PSNS,
    PSNS_BESIDE_FLIGHT,
    REPLAYED_ACK_SAMPLES,
)
from .packet_bench import Pair, arm, open_pair, same_numbers

SHIM_PORT = 54791
_REFUSED = int(Outcome.REFUSED_PSN)
SLOT, GBPS = 1, 40.0
CNP = packet(opcode=0x81, back=True, payload=bytes(16))


def damaged(frame: bytes) -> bytes:
    """The frame with a wrong ICRC; it has no padding."""
    return frame[:-1] + bytes([frame[-1] ^ 1])


def ack(psn: int, syndrome: int = 0x1F) -> bytes:
    return packet(
        bytes(8), opcode=0x11, psn=psn % PSNS, back=True, aeth={"syndrome": syndrome, "msn": 0}
    )


def request(psn: int) -> bytes:
    return packet(bytes(64), psn=psn % PSNS, bth={"ackreq": 1})


def carries(frame: bytes, shim: Shim) -> bytes:
    return insert(frame, parse(frame, Direction.TX), encode(shim), SHIM_PORT)


class Victim:
    """A golden device with one queue pair, at 40 Gb/s; `dcqcn`: the preset of its program."""

    def __init__(
        self, algorithm: str = "dcqcn", *, psched: bool = False, dcqcn: str = "vendor"
    ) -> None:
        self.emulator = Emulator(NicConfig(width=64, qps=4, law_cores=1), tick_ps=1000)
        self.device = Device(self.emulator)
        assert self.device.packet is not None
        assert self.device.law is not None
        made = compile_law(load("dcqcn"))
        self.device.law.load(made.program, made.law.integers(dcqcn, 1000), slot=0)
        assert self.emulator.packets is not None
        self.path: PacketDriver = self.device.packet
        self.packets = self.emulator.packets
        self.path.bind(SLOT, B4, remote_qp=B_QP, local_qp=A_QP)
        self.device.qp(SLOT).configure(
            preset="precog", enable=True, algorithm=algorithm, init_gbps=GBPS, psched=psched
        )

    def rate(self) -> int:
        return self.emulator.rate(SLOT)

    def events(self) -> dict[str, int]:
        return self.path.counters()["events"]


@pytest.mark.parametrize("preset", FLOOD_US_TO_FLOOR)
def test_damaged_cnps_cut_nothing(preset: str) -> None:
    """Before there was a gate, 6 (paper) or 25 (vendor) brought the rate to its floor."""
    victim = Victim(dcqcn=preset)
    before = victim.rate()
    for n in range(3000):
        victim.packets.receive(damaged(CNP), 1000 + 60_000 * n)
    assert (victim.rate() != before) == DAMAGED_EFFECTS
    assert (victim.events()["refused_icrc"], victim.events()["refused_cnp"]) == (3000, 0)
    victim.path.set_parameters(icrc_gate=0)
    for n in range(30):
        victim.packets.receive(damaged(CNP), 1000 + 60_000 * (3000 + n))
    assert victim.rate() < before  # without the gate it fails


def test_damaged_packets_make_no_cnp_no_score_and_no_echo() -> None:
    victim = Victim("fixed", psched=True)
    victim.device.set_parameters(psched="precog", psched_skill=0)
    victim.path.set_parameters(enabled=1, interval_ticks=1)
    before = victim.rate()
    marked = packet(bytes(64), back=True, ip={"tos": 3})
    scored = carries(packet(bytes(64), back=True), Shim(ShimType.DATA, 100))
    effects = 0
    for n in range(1000):
        effects += victim.packets.receive(damaged(marked), 5000 * n).cnp is not None
        victim.packets.receive(damaged(scored), 5000 * n + 9)
    effects += victim.rate() != before
    effects += victim.packets.card.cps.slots[SLOT].echo is not None
    assert effects == DAMAGED_EFFECTS
    assert victim.events()["refused_icrc"] == 2000
    assert victim.packets.receive(marked, 1 << 30).cnp is not None
    victim.packets.receive(scored, 1 << 30)
    assert victim.rate() < before


@njit
def _effects(state: np.ndarray, answer: int, t: int) -> tuple[int, int]:
    """Of all PSNs: those of answers that are not refused, and those that end the sample."""
    plausible = ended = 0
    for psn in range(PSNS):
        copy = state.copy()
        outcome, _ = answered(copy, psn, answer, t, NO_TURNAROUND, 0, 0)
        plausible += outcome & _REFUSED == 0
        ended += copy[2] == 0
    return plausible, ended


@pytest.mark.parametrize("nak", [0, 1])
def test_a_guessed_psn_is_right_as_seldom_as_can_be(nak: int, seed: int) -> None:
    """All 2**24 of them, as ACK and as NAK; before, half of all NAKs ended the sample."""
    rng = random.Random(seed)
    first, flying = rng.randrange(PSNS), rng.randrange(2, 64)
    state = np.zeros(len(COLLECTOR_STATE), dtype=np.int64)
    for n in range(flying):
        sent(state, (first + n) % PSNS, 1, True, n, 0)
    plausible, ended = _effects(state, nak, 5000)
    assert plausible == flying + PSNS_BESIDE_FLIGHT
    assert ended <= plausible


def test_a_lying_turnaround_makes_no_rtt_impossible() -> None:
    """Before, every T2 - T1 that was longer than the RTT made it 0."""
    victim, t, least = Victim("pid"), 0, PSNS
    for n, lie in enumerate([*range(0, 1500, 7), 966, 967, 968, 999, 1000, 1001, (1 << 24) - 1]):
        t += 5000
        victim.packets.transmit(request(n), t)
        shim = Shim(ShimType.ACKNOWLEDGE, None, None, lie)
        rtt = victim.packets.receive(carries(ack(n), shim), t + 1000).rtt
        assert rtt is not None
        least = min(least, rtt)
        assert rtt == (1000 - lie if 1000 - lie >= LYING_RTT_LEAST_TICKS else 1000)
    assert least == LYING_RTT_LEAST_TICKS
    assert victim.events()["rtt_refused_turnaround"] > 50


def test_replayed_acknowledges_do_nothing() -> None:
    victim, heard, samples = Victim("pid"), [], 0
    for n in range(200):
        victim.packets.transmit(request(n), 10_000 * n)
        heard.append(ack(n))
        assert victim.packets.receive(heard[-1], 10_000 * n + 4000).rtt == 4000
    victim.packets.transmit(request(200), 3_000_000)
    for n, frame in enumerate(heard * 5):
        samples += victim.packets.receive(frame, 3_000_001 + n).rtt is not None
    assert samples == REPLAYED_ACK_SAMPLES
    assert victim.events()["rtt_refused_psn"] == 5 * 199  # the last may have been sent twice
    assert victim.packets.receive(ack(200), 3_009_000).rtt == 9000


@pytest.mark.parametrize("preset", FLOOD_US_TO_FLOOR)
def test_a_flood_of_right_cnps_is_bounded_by_the_interval(preset: str) -> None:
    victim = Victim(dcqcn=preset)
    floor = victim.emulator.nic.configuration(SLOT)["min_rate"]
    acted, reached = 0, None
    for t in range(0, 1_000_000, 100):
        acted += victim.packets.receive(CNP, t).notified
        if reached is None and victim.rate() == floor:
            reached = t // 1000
    assert acted == FLOOD_CNPS_PER_MS
    assert reached == FLOOD_US_TO_FLOOR[preset]
    assert victim.events()["refused_cnp"] == 10_000 - FLOOD_CNPS_PER_MS


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with open_pair() as both:
        arm(both)
        yield both


@pytest.mark.cosim
@pytest.mark.xdist_group("packet_nic")
def test_the_rtl_refuses_what_the_golden_refuses(pair: Pair, seed: int) -> None:
    """Every attack on the whole NIC: each frame passes, none has an effect, all are counted."""
    rng, psns = random.Random(seed), count(PSNS - 3)
    samples = pair.rtl.counters()["samples"]
    for n in range(12):
        pair.receive(damaged(CNP))
        pair.receive(damaged(packet(bytes(64), back=True, ip={"tos": 3})))
        psn = next(psns)
        pair.transmit(request(psn))
        for _ in range(4):  # before it is acknowledged
            far = psn + rng.randrange(2, PSNS - 3)
            pair.receive(ack(far, rng.choice([0x1F, 0x60, 0x2E])))
        shim = Shim(ShimType.ACKNOWLEDGE, None, None, rng.choice([(1 << 24) - 1, 200_000]))
        shimmed = carries(ack(psn), shim)
        pair.receive(damaged(shimmed))
        assert pair.receive(shimmed) == ack(psn)
        pair.receive(ack(psn - 1 - n))  # older than the last one
    events = same_numbers(pair)["events"]
    assert pair.rtl.counters()["samples"] - samples == 12
    assert events["refused_icrc"] == 36
    assert events["rtt_refused_psn"] == 5 * 12
    assert events["rtt_refused_turnaround"] == 12
    assert (events["cnp_sent"], events["rtt_nak"], events["rtt_samples"]) == (0, 0, 12)


@pytest.mark.cosim
@pytest.mark.xdist_group("packet_nic")
def test_of_a_flood_the_rtl_hears_one_cnp(pair: Pair) -> None:
    """And of damaged ones none."""
    pair.rtl.qp(SLOT).configure(preset="precog", enable=True, algorithm="fixed", init_gbps=GBPS)
    before = pair.paths()[0].counters()["events"]
    pair.nic.run(rx=[Wire(damaged(CNP))] * 60)
    run = pair.nic.run(rx=[Wire(CNP)] * 60)
    assert len(run.sinks["m_axis_rx"].frames) == 60  # they all go on to the endpoint
    after = pair.paths()[0].counters()["events"]
    assert after["refused_icrc"] == before["refused_icrc"] + 60
    assert after["refused_cnp"] == before["refused_cnp"] + 59
