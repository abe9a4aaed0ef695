"""Insertion and extraction as stages: identity, bypasses by reason, faults, echo, modes R and C."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precog_models.packet.checksum import words
from precog_models.packet.cps_rx import receive, remember
from precog_models.packet.cps_state import CpsConfig
from precog_models.packet.cps_tx import transmit
from precog_models.packet.icrc import icrc_ok
from precog_models.packet.parser import parse
from precog_models.packet.shim import Shim, encode, insert
from precog_spec.frames.cps import CNP_MARK, SHIM_PORT, Mode, ShimFault, ShimType
from precog_spec.frames.crc import crc8
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.headers import IPV4, IPV6
from precog_spec.frames.opcodes import CNP

from .frames import SLOT4, SLOT6, card, packet, passing, synthetic


def test_there_and_back_is_identity(seed: int) -> None:
    a, b = card("A"), card("B")
    for name, frame in synthetic(random.Random(seed)).items():
        sent = transmit(a, frame, 1000)
        assert sent.reason is Reason.NONE, name
        assert len(sent.frame) == len(frame) + 8, name
        got = receive(b, sent.frame)
        assert got.frame == frame, name
        assert got.score == 37
        assert got.slot == (SLOT6 if "IPv6" in name else SLOT4)
        assert icrc_ok(got.frame, got.parsed), name
    count = a.counters.inserted
    assert count == b.counters.extracted == len(synthetic(random.Random(0)))
    assert a.counters.passed_tx[Reason.NONE] == b.counters.passed_rx[Reason.NONE] == count
    assert sum(b.counters.faults.values()) == 0


@given(data=st.data())
def test_mutated_frames_come_back_or_pass(data: st.DataObject) -> None:
    """No input raises; what a known peer inserted comes back, cut frames too."""
    a, b = card("A"), card("B")
    frame = bytearray(packet(data.draw(st.binary(max_size=30)), ipv6=data.draw(st.booleans())))
    for _ in range(data.draw(st.integers(0, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(frame[: data.draw(st.integers(0, len(frame)))])
    sent = transmit(a, cut, 5)
    if sent.reason is Reason.NONE:
        got = receive(b, sent.frame)
        assert got.frame == (sent.frame if got.fault is ShimFault.UNTRUSTED else cut)
    else:
        assert sent.frame == cut
    receive(b, cut)


@given(data=st.data())
def test_mutated_shims_never_raise(data: st.DataObject) -> None:
    """Any change on the wire: the frame comes out with the shim or without, never otherwise."""
    a, b = card("A"), card("B")
    out = bytearray(transmit(a, packet(bytes(20)), 5).frame)
    for _ in range(data.draw(st.integers(1, 4))):
        out[data.draw(st.integers(12, 70))] = data.draw(st.integers(0, 255))
    got = receive(b, out)
    assert got.frame is not None
    assert len(got.frame) == len(out) - (8 if got.shim is not None else 0)
    if got.shim is None:
        assert got.frame == bytes(out)


BYPASSES = {
    "shim's port": (packet(bytes(64), udp={"dport": SHIM_PORT}), Reason.SHIM_PORT),
    "unknown QP": (packet(bytes(8), bth={"dqpn": 0x777}), Reason.UNKNOWN_QP),
    "own QPN of the other direction": (packet(bytes(8), bth={"dqpn": 0x111}), Reason.UNKNOWN_QP),
    "checksum 0xFFFF": (packet(bytes(8), ip={"chksum": 0xFFFF}), Reason.CHECKSUM_FORM),
    "no headroom": (packet(bytes(1450 + 1)), Reason.MAX_FRAME),
    "parser's reason": (packet(ip={"frag": 3}), Reason.FRAGMENT),
}


@pytest.mark.parametrize("name", BYPASSES)
def test_bypasses(name: str) -> None:
    frame, reason = BYPASSES[name]
    state = card("A", config=CpsConfig(max_frame=14 + 20 + 8 + 8 + 12 + 1450 + 4))
    sent = transmit(state, frame, 0)
    assert (sent.reason, sent.frame) == (reason, frame)
    assert state.counters.passed_tx[reason] == 1
    assert state.counters.inserted == 0


def test_headroom_counts_to_the_end_of_the_ip_packet() -> None:
    state = card("A", config=CpsConfig(max_frame=14 + 20 + 8 + 8 + 12 + 1450 + 4))
    assert transmit(state, packet(bytes(1450)), 0).reason is Reason.NONE
    assert transmit(state, packet(bytes(1450)) + bytes(9), 0).reason is Reason.NONE


def test_enables_by_queue_pair_and_by_destination() -> None:
    state = card("A")
    frame = packet(bytes(8))
    state.slots[SLOT4].mode = Mode.OFF
    assert transmit(state, frame, 0).reason is Reason.QP_DISABLED
    state.slots[SLOT4].mode = Mode.S
    state.slots[SLOT4].destination = 9
    state.destination_enable[9] = False
    assert transmit(state, frame, 0).reason is Reason.DESTINATION_DISABLED
    assert transmit(state, packet(bytes(8), ipv6=True), 0).reason is Reason.NONE


def shimmed(frame: bytes, score: int = 101) -> bytes:
    """A frame with a right shim, whose score has to be clamped."""
    shim = bytearray(encode(Shim(ShimType.DATA, 100)))
    shim[2] = score
    shim[7] = crc8(shim[:7])
    return insert(frame, parse(frame, Direction.TX), bytes(shim), SHIM_PORT)


@pytest.mark.parametrize("who", ["stranger", "another peer", "off", "mode R", "disabled"])
@pytest.mark.parametrize("opcode", [0x04, CNP])
def test_a_shim_that_is_not_trusted_stays(who: str, opcode: int) -> None:
    """Anybody's packet to the shim's port would become one to port 4791."""
    frame = packet(bytes(16), opcode=opcode, bth={"dqpn": 0x777} if who == "stranger" else {})
    if who == "another peer":
        frame = frame[:29] + bytes([frame[29] ^ 1]) + frame[30:]  # the IP source
    state = card("B", config=CpsConfig(drop_malformed=True))
    row = state.slots[SLOT4]
    row.mode = {"off": Mode.OFF, "mode R": Mode.R}.get(who, Mode.S)
    row.destination = 9
    state.destination_enable[9] = who != "disabled"
    got = receive(state, shimmed(frame))
    assert (got.frame, got.slot, got.score) == (shimmed(frame), None, None)
    assert got.fault is ShimFault.UNTRUSTED
    counted = {fault: n for fault, n in state.counters.faults.items() if n}
    assert counted == {ShimFault.UNTRUSTED: 1}
    assert not any(state.counters.passed_rx.values())
    assert (state.counters.extracted, state.counters.clamped, state.counters.dropped) == (0, 0, 0)
    assert all(row.echo is None for row in state.slots)


def test_a_destination_that_is_not_enabled_is_not_heard() -> None:
    """Neither mode R's bits nor a CNP's mark: they pass as they came."""
    state = card("B", mode=Mode.R)
    state.slots[SLOT4].destination = 9
    marked = packet(bytes([CNP_MARK, 80]) + bytes(14), opcode=CNP)
    frames = (packet(bytes(8), bth={"resv6": 41}), marked)
    for enabled, score in ((True, 80), (False, None)):
        state.destination_enable[9] = enabled
        for frame in frames:
            got = receive(state, frame)
            assert (got.slot, got.score) == (SLOT4, score)
            assert (got.frame == frame) == (not enabled or frame is frames[1])
    assert state.counters.resv6_read == 1


def damaged(byte: int, value: int) -> bytes:
    out = bytearray(transmit(card("A"), packet(bytes(64)), 0).frame)
    out[42 + byte] = value
    return bytes(out)


FAULTS = {
    ShimFault.VERSION: damaged(0, 0x21),
    ShimFault.TYPE: damaged(0, 0x13),
    ShimFault.CRC: damaged(2, 99),
    ShimFault.LENGTH: packet(b"", udp={"dport": SHIM_PORT}),
}


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_not_ours_passes_or_is_dropped(fault: ShimFault, drop: bool) -> None:
    state = card("B", config=CpsConfig(drop_malformed=drop))
    got = receive(state, FAULTS[fault])
    assert got.fault is fault
    assert got.frame == (None if drop else FAULTS[fault])
    assert {k: n for k, n in state.counters.faults.items() if n} == {fault: 1}
    assert (state.counters.dropped, state.counters.extracted) == (int(drop), 0)
    assert all(row.echo is None for row in state.slots)


def test_echo_and_turnaround_come_back() -> None:
    a, b = card("A", score=80), card("B", score=None)
    out = transmit(a, packet(bytes(8), bth={"ackreq": 1}), 100).frame
    bad = receive(b, out, error=True)
    assert bad.frame == packet(bytes(8), bth={"ackreq": 1})
    assert bad.descriptor.error
    got = receive(b, out)
    assert got.shim == Shim(ShimType.DATA, 80, None, 100)
    assert b.slots[SLOT4].echo is None
    remember(b, got, 5000)
    assert b.slots[SLOT4].echo == 80
    ack = packet(opcode=0x11, back=True, aeth={"syndrome": 0x1F, "msn": 1})
    answer = receive(a, transmit(b, ack, 5700).frame)
    assert answer.shim == Shim(ShimType.ACKNOWLEDGE, None, 80, 700)  # T2 - T1
    assert answer.score is None
    late = packet(opcode=0x11, psn=2, back=True, aeth={"syndrome": 0x1F, "msn": 1})
    assert receive(a, transmit(b, late, 5800).frame).shim == Shim(
        ShimType.ACKNOWLEDGE, None, 80, None
    )


def test_time_field_wraps() -> None:
    out = transmit(card("A"), packet(bytes(8)), (1 << 24) + 3).frame
    shim = receive(card("B"), out).shim
    assert shim is not None
    assert shim.time == 3


@pytest.mark.parametrize("score", [0, 1, 50, 99, 100])
def test_mode_r(score: int, seed: int) -> None:
    a, b = card("A", mode=Mode.R, score=score), card("B", mode=Mode.R)
    for name, frame in synthetic(random.Random(seed)).items():
        sent = transmit(a, frame, 0)
        if name == "bits that a NIC sets in byte 4":
            assert (sent.reason, sent.frame) == (Reason.RESV6_IN_USE, frame)
            continue
        assert sent.reason is Reason.NONE
        assert len(sent.frame) == len(frame)
        assert icrc_ok(sent.frame, parse(sent.frame, Direction.RX)), name
        got = receive(b, sent.frame)
        assert got.frame == frame, name
        assert got.score == score // 2 * 2


def test_mode_r_without_score_and_with_foreign_bits() -> None:
    assert transmit(card("A", mode=Mode.R, score=None), packet(), 0).reason is Reason.NO_SCORE
    state = card("B", mode=Mode.R)
    frame = packet(bytes(8), bth={"resv6": 52})
    got = receive(state, frame)
    assert (got.frame, got.score) == (frame, None)
    assert (state.counters.resv6_faults, state.counters.resv6_read) == (1, 0)
    assert receive(card("B"), packet(bytes(8), bth={"resv6": 7})).score is None  # mode S


ACK: dict[str, Any] = {"opcode": 0x11, "aeth": {"syndrome": 0x1F, "msn": 7}}


@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("tags", [0, 1, 2])
@pytest.mark.parametrize("mode", [Mode.S, Mode.R, Mode.OFF])
def test_an_acknowledgement_has_the_registers_dscp(
    ipv6: bool, tags: int, mode: Mode, seed: int
) -> None:
    """And nothing else of it changes; scapy makes the packet that it must be."""
    rng = random.Random(seed)
    ip = IPV6 if ipv6 else IPV4
    old, new, ecn = rng.randrange(64), rng.randrange(64), rng.randrange(4)
    opcode = rng.choice((0x11, 0x12, 0xB1, 0xB2))
    config = CpsConfig(ack_enabled=True, ack_dscp=new)

    def made(dscp: int) -> bytes:
        byte = {"tc" if ipv6 else "tos": dscp << 2 | ecn}
        label = {"fl": 0xFEDCB} if ipv6 else {}
        aeth = {"syndrome": rng.choice((0x1F, 0x2E, 0x60)), "msn": 5}
        original = rng.randbytes(8 if opcode & 0x1F == 0x12 else 0)
        return packet(original, opcode=opcode, aeth=aeth, ipv6=ipv6, tags=tags, ip=byte | label)

    state = rng.getstate()
    frame = made(old)
    rng.setstate(state)
    wanted = made(new)
    sent = transmit(card("A", mode=mode, config=config), frame, 5)
    assert sent.frame == transmit(card("A", mode=mode), wanted, 5).frame
    parsed = parse(sent.frame, Direction.TX)
    assert ip.get(sent.frame, parsed.l3, "dscp") == new
    assert ip.get(sent.frame, parsed.l3, "ecn") == ecn
    got = receive(card("B", mode=mode), sent.frame).frame
    assert got is not None
    assert icrc_ok(got, parse(got, Direction.RX))
    assert mode is Mode.R or got == wanted


def test_whose_dscp_stays(seed: int) -> None:
    """No acknowledgement, none that the parser understands, or with the bit off."""
    rng = random.Random(seed)
    on, off = (card("A", config=CpsConfig(ack_enabled=e, ack_dscp=46)) for e in (True, False))
    for name, frame in (synthetic(rng) | passing(rng)).items():
        answers = name in ("padded to 60 bytes", "NAK", "RNR", "ATOMIC acknowledge")
        assert (transmit(on, frame, 5).frame != transmit(off, frame, 5).frame) == answers, name
    assert on.counters == off.counters
    for changes in ({"udp": {"dport": SHIM_PORT}}, {"udp": {"len": 40}}, {"ip": {"frag": 3}}):
        frame = packet(**ACK, **changes)
        assert transmit(on, frame, 5).frame == frame


@pytest.mark.parametrize("checksum", [0, 0xFFFF, 0x1234])
def test_another_dscp_leaves_a_checksum_as_wrong_as_it_was(checksum: int) -> None:
    """Nothing hides damage; a frame that has the DSCP already stays, byte for byte."""
    state = card("A", mode=Mode.OFF, config=CpsConfig(ack_enabled=True, ack_dscp=46))
    frame = packet(**ACK, ip={"tos": 2, "chksum": checksum})
    out = transmit(state, frame, 5).frame
    total = [sum(words(f[14:34])) % 0xFFFF for f in (frame, out)]
    assert total[0] == total[1]
    assert out[15] == 46 << 2 | 2
    assert transmit(state, out, 5).frame == out


def test_an_acknowledgement_of_nobody_has_it_too() -> None:
    state = card("A", config=CpsConfig(ack_enabled=True, ack_dscp=46))
    sent = transmit(state, packet(**ACK, bth={"dqpn": 0x777}), 5)
    assert (sent.reason, sent.frame[15]) == (Reason.UNKNOWN_QP, 46 << 2)


def test_configuration_errors() -> None:
    with pytest.raises(ValueError, match=r"ack_dscp must be 0\.\.63, not 64"):
        CpsConfig(ack_dscp=64)
    with pytest.raises(ValueError, match=r"shim port must be 1\.\.65535 and not 4791, not 4791"):
        CpsConfig(shim_port=4791)
    with pytest.raises(ValueError, match=r"max frame must be 68\.\.65535 bytes, not 67"):
        CpsConfig(max_frame=67)
