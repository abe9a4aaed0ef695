"""Packets by scapy, which shares no code with the models, and a card on either side of the wire."""

import random
from typing import Any

from scapy.all import ARP, IP, UDP, Dot1AD, Dot1Q, Ether, IPOption_NOP, IPv6, Raw, raw
from scapy.contrib.roce import AETH, BTH, cnp

from precog_models.packet.cps_state import CpsConfig, CpsState
from precog_models.packet.qp_table import QpTable
from precog_spec.frames.cps import Mode
from precog_spec.frames.headers import MIN_FRAME
from precog_spec.frames.qp_key import IPV4_MAPPED

A_MAC, B_MAC = "02:00:00:00:00:0a", "02:00:00:00:00:0b"
A4, B4 = "10.1.2.3", "10.1.200.77"
A6, B6 = "fd00::1:a", "fd00::2:b"
A_QP, B_QP = 0x000111, 0xABC123
A_ADDRESS = IPV4_MAPPED | 0x0A010203
B_ADDRESS = IPV4_MAPPED | 0x0A01C84D
A6_ADDRESS = 0xFD00_0000_0000_0000_0000_0000_0001_000A
B6_ADDRESS = 0xFD00_0000_0000_0000_0000_0000_0002_000B
SLOT4, SLOT6 = 3, 5  # unequal on purpose


def packet(
    payload: bytes = b"",
    *,
    opcode: int = 0x04,
    psn: int = 1,
    back: bool = False,
    ipv6: bool = False,
    tags: int = 0,
    ip: dict[str, Any] | None = None,
    udp: dict[str, Any] | None = None,
    bth: dict[str, Any] | None = None,
    aeth: dict[str, int] | None = None,
    transport: Any = None,
) -> bytes:
    """A frame from A to B, or back, without FCS and padded to 60 bytes."""
    names = (A6, B6) if ipv6 else (A4, B4)
    source, destination = reversed(names) if back else names
    ether = Ether(src=B_MAC, dst=A_MAC) if back else Ether(src=A_MAC, dst=B_MAC)
    layers = ether
    for n in range(tags):
        layers = layers / (Dot1AD(vlan=7, prio=2) if tags == 2 and n == 0 else Dot1Q(vlan=42 + n))
    layers = layers / (IPv6 if ipv6 else IP)(src=source, dst=destination, **(ip or {}))
    layers = layers / UDP(**{"sport": 51234, "dport": 4791, "chksum": 0, **(udp or {})})
    if transport is None:
        peer = A_QP if back else B_QP
        transport = BTH(**{"opcode": opcode, "dqpn": peer, "psn": psn, **(bth or {})})
        if aeth is not None:
            transport = transport / AETH(**aeth)
        if payload:
            transport = transport / Raw(payload)
    return raw(layers / transport).ljust(MIN_FRAME, b"\0")


def synthetic(rng: random.Random) -> dict[str, bytes]:
    """Packets to the wire that carry a shim in mode S."""
    big = rng.randbytes
    return {
        "send only": packet(big(1024)),
        "padded to 60 bytes": packet(opcode=0x11, aeth={"syndrome": 0x1F, "msn": 7}),
        "nothing behind the BTH": packet(opcode=0x01),
        "4096-byte MTU": packet(big(4096), opcode=0x07, bth={"ackreq": 1}),
        "jumbo": packet(big(9000)),
        "odd payload, pad count": packet(big(8), bth={"padcount": 3}),
        "IPv6": packet(big(256), ipv6=True),
        "IPv6, CE": packet(big(256), ipv6=True, ip={"tc": 3}),
        "VLAN": packet(big(64), tags=1),
        "QinQ": packet(big(64), tags=2),
        "QinQ, IPv6": packet(big(64), tags=2, ipv6=True),
        "CE": packet(big(512), ip={"tos": 3}),
        "NAK": packet(opcode=0x11, aeth={"syndrome": 0x60, "msn": 1}),
        "RNR": packet(opcode=0x11, aeth={"syndrome": 0x2E, "msn": 1}),
        "READ request": packet(big(8) + big(4) + (4096).to_bytes(4, "big"), opcode=0x0C),
        "READ response": packet(big(1024), opcode=0x10, aeth={"syndrome": 0x1F, "msn": 2}),
        "ATOMIC acknowledge": packet(big(8), opcode=0x12, aeth={"syndrome": 0x1F, "msn": 2}),
        "UDP checksum": packet(big(333), udp={"chksum": None}),
        "IPv6, UDP checksum": packet(big(1000), ipv6=True, udp={"chksum": None}),
        "wrong UDP checksum": packet(big(40), udp={"chksum": 0x1234}),
        "wrong IPv4 checksum": packet(big(40), ip={"chksum": 0x4321}),
        "CNP": packet(transport=cnp(B_QP)),
        "unknown opcode": packet(big(100), opcode=0xE7),
        "bits that a NIC sets in byte 4": packet(big(68), bth={"resv6": 0x10}),
        "bits that a NIC sets in byte 8": packet(big(68), bth={"resv7": 0x40}),
    }


def passing(rng: random.Random) -> dict[str, bytes]:
    """Packets that go to the wire as they are, by why."""
    big = rng.randbytes
    options = {"options": [IPOption_NOP()] * 4}
    return {
        "IP options": packet(big(64), ip=options),
        "first fragment": packet(big(64), ip={"flags": "MF"}),
        "last fragment": packet(big(64), ip={"frag": 3}),
        "IPv6 fragment": packet(big(64), ipv6=True, ip={"nh": 44}),
        "IPv6 hop-by-hop options": packet(big(64), ipv6=True, ip={"nh": 0}),
        "three tags": packet(big(64), tags=3),
        "TCP": packet(big(64), ip={"proto": 6}),
        "another port": packet(big(64), udp={"dport": 4792}),
        "UDP length": packet(big(64), udp={"len": 40}),
        "unknown QP": packet(big(64), bth={"dqpn": 0x777}),
        "ARP": raw(Ether(src=A_MAC, dst=B_MAC) / ARP(psrc=A4, pdst=B4)).ljust(MIN_FRAME, b"\0"),
        "cut in the BTH": packet(big(64))[:50],
        "a byte": b"\x02",
    }


def card(
    local: str, *, mode: Mode = Mode.S, score: int | None = 37, config: CpsConfig | None = None
) -> CpsState:
    """The card of host "A" or "B", with both connections to the other."""
    table = QpTable(8)
    own, peer = (A_QP, B_QP) if local == "A" else (B_QP, A_QP)
    addresses = (B_ADDRESS, B6_ADDRESS) if local == "A" else (A_ADDRESS, A6_ADDRESS)
    state = CpsState(table, config or CpsConfig())
    for slot, address in zip((SLOT4, SLOT6), addresses, strict=True):
        table.add(slot, address, peer, own)
        state.slots[slot].mode = mode
        state.slots[slot].score = score
    return state


def mutate(rng: random.Random, frame: bytes) -> bytes:
    """Up to eight bytes behind the addresses, if there are some, changed; one frame of ten cut."""
    out = bytearray(frame)
    for _ in range(rng.choice((0, 1, 1, 2, 3, 8)) if len(out) > 12 else 0):
        at = rng.randrange(12, min(len(out), 90))
        out[at] = rng.choice((0, 255, rng.randrange(256)))
    return bytes(out[: rng.randrange(len(out) + 1)] if rng.random() < 0.1 else out)
