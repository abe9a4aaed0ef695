"""The notification point: the packet against scapy's, who gets one, and how often."""

import pytest
from scapy.all import IP, UDP, Ether, IPv6, raw
from scapy.contrib.roce import BTH, cnp

from precog_models.packet.cnp import CnpConfig, NotificationPoint
from precog_models.packet.cps_rx import receive
from precog_models.packet.icrc import icrc_ok
from precog_models.packet.parser import parse
from precog_spec.contract import Fmt
from precog_spec.frames.cps import Mode
from precog_spec.frames.descriptor import Direction
from precog_spec.frames.opcodes import CNP

from .frames import A4, A6, A_MAC, A_QP, B4, B6, B_MAC, SLOT4, card, packet

N = 50_000


def marked(**options) -> bytes:
    key = "tc" if options.get("ipv6") else "tos"
    return packet(bytes(256), ip={key: 3}, **options)


def point(config: CnpConfig | None = None) -> tuple[NotificationPoint, object]:
    state = card("B", mode=Mode.OFF)
    return NotificationPoint(state.table, config or CnpConfig()), state


def feed(np, state, frame: bytes, t: int, *, error: bool = False, score=None) -> bytes | None:
    got = receive(state, frame, error=error)
    return np.notify(got.frame, got.parsed, got.slot, t, score)


def test_ipv4_packet_is_scapys() -> None:
    made = feed(*point(), marked(), 0)
    expected = (
        Ether(src=B_MAC, dst=A_MAC)
        / IP(src=B4, dst=A4, tos=48 << 2 | 2, id=0, flags="DF", ttl=64)
        / UDP(sport=51234, dport=4791, chksum=0)
        / cnp(A_QP)
    )
    assert made == raw(expected)
    assert made is not None
    assert len(made) == 74


def test_ipv6_packet_is_scapys_and_tags_are_kept() -> None:
    made = feed(*point(CnpConfig(dscp=5, ecn=0, ttl=9)), marked(ipv6=True, tags=2), 0)
    assert made is not None
    assert made[12:20] == marked(ipv6=True, tags=2)[12:20]
    expected = (
        IPv6(src=B6, dst=A6, tc=5 << 2, hlim=9) / UDP(sport=51234, dport=4791, chksum=0) / cnp(A_QP)
    )
    assert made[22:] == raw(expected)
    assert icrc_ok(made, parse(made, Direction.TX))


def test_at_most_one_per_flow_in_n_ticks() -> None:
    np, state = point()
    times = [0, 1, N - 1, N, N + 1, 3 * N - 1, 3 * N]
    made = [feed(np, state, marked(), t) is not None for t in times]
    assert made == [True, False, False, True, False, True, False]
    assert feed(np, state, marked(ipv6=True), 1) is not None  # another flow
    assert (np.sent, np.limited) == (4, 4)


def test_time_wraps() -> None:
    np, state = point()
    assert feed(np, state, marked(), Fmt.TIME.max - 5) is not None
    assert feed(np, state, marked(), N - 7) is None
    assert feed(np, state, marked(), N - 6) is not None


def test_who_gets_none() -> None:
    np, state = point()
    ack = packet(opcode=0x11, ip={"tos": 3}, aeth={"syndrome": 0x1F, "msn": 1})
    own = packet(ip={"tos": 3}, transport=cnp(0xABC123))
    for frame in (packet(bytes(8)), packet(bytes(8), ip={"tos": 2}), ack, own):
        assert feed(np, state, frame, 0) is None
    assert feed(np, state, marked(), 0, error=True) is None
    assert feed(np, state, marked(bth={"dqpn": 1}), 0) is None
    assert (np.sent, np.limited, np.unknown) == (0, 0, 1)
    off, state = point(CnpConfig(enabled=False))
    assert feed(off, state, marked(), 0) is None
    read = packet(bytes(64), opcode=0x10, ip={"tos": 3}, aeth={"syndrome": 0x1F, "msn": 1})
    assert feed(*point(), read, 0) is not None  # a READ response is data


@pytest.mark.parametrize(("sent", "got"), [(0, 0), (77, 77), (None, None)])
def test_mode_c(sent: int | None, got: int | None) -> None:
    made = feed(*point(CnpConfig(mode_c=True)), marked(), 0, score=sent)
    assert made is not None
    assert Ether(made)[BTH].opcode == CNP
    sender = card("A", mode=Mode.OFF)
    received = receive(sender, made)
    assert icrc_ok(made, received.parsed)
    assert (received.frame, received.score, received.slot) == (made, got, SLOT4)


def test_a_cnp_without_room_is_asked_for_again() -> None:
    np, state = point()
    got = receive(state, marked())
    assert np.notify(got.frame, got.parsed, got.slot, 0, room=False) is None
    assert np.notify(got.frame, got.parsed, got.slot, 1) is not None
    assert np.notify(got.frame, got.parsed, got.slot, 2, room=False) is None
    assert (np.sent, np.limited, np.busy) == (1, 1, 1)


def test_configuration_errors() -> None:
    with pytest.raises(ValueError, match=r"dscp must be 0\.\.63, not 64"):
        CnpConfig(dscp=64)
    with pytest.raises(ValueError, match=r"interval_ticks must be 0\.\.4294967295, not -1"):
        CnpConfig(interval_ticks=-1)
