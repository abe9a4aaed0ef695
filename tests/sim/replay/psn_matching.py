"""RTTs of a capture by an independent way: offline, with `struct` and lists, over all packets.

Nothing of the package is used. A capture becomes requests and answers of each connection; then
every measurement is looked for: it begins with the first new request, after the last one ended,
that asks for an answer, and ends with the first later packet that decides it.
"""

import struct
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

_ROCE = 4791
_READ, _ANSWERS = 0x0C, range(0x0D, 0x13)
_ACK = 0x11
_ATOMICS = {0x13, 0x14}
# Bytes between BTH and payload of what is not the last packet of a message, and of READ responses.
_UNFINISHED = {0x00: 0, 0x01: 0, 0x06: 16, 0x07: 0, 0x0D: 4, 0x0E: 0}
_HEADERS = _UNFINISHED | {0x0F: 4, 0x10: 4, 0x02: 0, 0x04: 0, 0x08: 0, 0x0A: 16}


class Packet(NamedTuple):
    """What matters of one RoCEv2 packet."""

    time: int
    source: bytes
    destination: bytes
    qpn: int
    opcode: int
    psn: int
    asks: bool
    syndrome: int
    length: int  # that a READ asks for
    payload: int  # bytes and padding, 0 where it does not matter


def dissect(time: int, frame: bytes) -> Packet | None:
    """A RoCEv2 packet of the plainest form, None of any other."""
    at = 12
    while len(frame) >= at + 2 and frame[at : at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    kind, at = frame[at : at + 2], at + 2
    if kind == b"\x08\x00" and frame[at : at + 1] == b"\x45" and frame[at + 9 : at + 10] == b"\x11":
        source, destination, at = frame[at + 12 : at + 16], frame[at + 16 : at + 20], at + 20
    elif kind == b"\x86\xdd" and frame[at + 6 : at + 7] == b"\x11":
        source, destination, at = frame[at + 8 : at + 24], frame[at + 24 : at + 40], at + 40
    else:
        return None
    if len(frame) < at + 20 or struct.unpack_from(">H", frame, at + 2)[0] != _ROCE:
        return None
    opcode, qpn, last = struct.unpack_from(">BxxxII", frame, at + 8)
    behind = frame[at + 20 :]
    low = opcode & 0x1F
    syndrome = behind[0] if low == _ACK and behind else 0
    length = struct.unpack_from(">I", behind, 12)[0] if low == _READ and len(behind) > 15 else 0
    asks = bool(last >> 31) or low == _READ or low in _ATOMICS
    (datagram,) = struct.unpack_from(">H", frame, at + 4)
    headers = _HEADERS.get(low)
    payload = 0 if headers is None else datagram - 8 - 12 - 4 - headers
    return Packet(
        time,
        source,
        destination,
        qpn & 0xFFFFFF,
        opcode,
        last & 0xFFFFFF,
        asks,
        syndrome,
        length,
        payload,
    )


def _ahead(a: int, b: int) -> int:
    """How far PSN `a` is ahead of `b` on the circle, negative if behind."""
    return ((a - b + (1 << 23)) & 0xFFFFFF) - (1 << 23)


def _is_answer(packet: Packet) -> bool:
    return packet.opcode & 0x1F in _ANSWERS


def _pairs(packets: list[Packet]) -> dict[tuple[bytes, bytes, int], int]:
    """For each flow of requests (source, destination, QPN): the QPN that its answers go to."""
    asked: dict[tuple[bytes, bytes, int], dict[int, int]] = defaultdict(dict)
    votes: dict[tuple[tuple[bytes, bytes, int], int], list[int]] = defaultdict(list)
    for p in packets:
        if not _is_answer(p):
            if p.asks:
                asked[p.source, p.destination, p.qpn][p.psn] = p.time
            continue
        for flow, sent in asked.items():
            if flow[:2] == (p.destination, p.source) and p.psn in sent:
                votes[flow, p.qpn].append(p.time - sent[p.psn])
    best: dict[tuple[bytes, bytes, int], int] = {}
    taken: set[tuple[bytes, int]] = set()
    for flow, qpn in sorted(votes, key=lambda pair: (-len(votes[pair]), sum(votes[pair]))):
        if flow not in best and (flow[0], qpn) not in taken:
            best[flow] = qpn
            taken.add((flow[0], qpn))
    return best


def _mtu(payloads: dict[bool, set[int]]) -> int:
    """What messages are cut into: the payload of packets that more follow (key True).

    Without one, a connection may have any MTU that what it carries fits in.
    """
    if payloads[True]:
        return max(payloads[True])
    mtu = 1024
    while mtu < max(payloads[False], default=0):
        mtu *= 2
    return mtu


def match(capture: Iterable[tuple[int, bytes]], local: bytes) -> list[int]:
    """RTTs that `local` measures, nanoseconds, in the order of the answers.

    Parameters
    ----------
    capture : iterable of (int, bytes)
        Time in ns and frame.
    local : bytes
        Address, 4 or 16 bytes.
    """
    packets = [p for time, frame in capture if (p := dissect(time, frame)) is not None]
    packets = [p for p in packets if p.opcode >> 5 in {0, 5}]  # RC and XRC acknowledge
    found: list[tuple[int, int]] = []
    for (source, destination, qpn), back in _pairs(packets).items():
        if source != local:
            continue
        story = [
            p
            for p in packets
            if (
                not _is_answer(p) and (p.source, p.destination, p.qpn) == (source, destination, qpn)
            )
            or (_is_answer(p) and (p.source, p.destination, p.qpn) == (destination, source, back))
        ]
        payloads: dict[bool, set[int]] = defaultdict(set)
        for p in packets:
            ways = {(source, destination, qpn), (destination, source, back)}
            if (p.source, p.destination, p.qpn) in ways:
                payloads[p.opcode & 0x1F in _UNFINISHED].add(p.payload)
        found += _measure(story, _mtu(payloads))
    return [rtt for _, rtt in sorted(found)]


def _behind(request: Packet, mtu: int) -> int:
    """The PSN behind those that a request occupies."""
    span = max(1, -(-request.length // mtu)) if request.opcode & 0x1F == _READ else 1
    return (request.psn + span) & 0xFFFFFF


def _believed(story: list[Packet], mtu: int) -> list[Packet]:
    """Without answers to PSNs that are not in flight: older than the last answer, or never sent."""
    kept: list[Packet] = []
    oldest: int | None = None  # that may be acknowledged
    following = 0
    for p in story:
        if not _is_answer(p):
            if oldest is None:
                oldest, following = (p.psn - 1) & 0xFFFFFF, p.psn
            if _ahead(p.psn, following) >= 0:
                following = _behind(p, mtu)
            kept.append(p)
            continue
        through = _acknowledged(p)
        if through is None or oldest is None:
            continue
        if _ahead(through, oldest) >= 0 and _ahead(following, through) > 0:
            oldest = through
            kept.append(p)
    return kept


def _measure(story: list[Packet], mtu: int) -> list[tuple[int, int]]:
    """(time, RTT) of each measurement of one connection."""
    story = _believed(story, mtu)
    news: list[bool] = []  # request: never sent before
    nexts: list[int] = []  # next PSN, behind each packet
    following: int | None = None
    for p in story:
        fresh = not _is_answer(p) and (following is None or _ahead(p.psn, following) >= 0)
        if fresh:
            following = _behind(p, mtu)
        news.append(fresh)
        nexts.append(-1 if following is None else following)
    made, at = [], 0
    while at < len(story):
        start = story[at]
        if not (news[at] and start.asks):
            at += 1
            continue
        end = next((n for n in range(at + 1, len(story)) if _ends(story, news, nexts, at, n)), None)
        if end is None:
            break
        last = story[end]
        if _is_answer(last) and _covers(last, start):
            made.append((last.time, last.time - start.time))
        at = end + 1
    return made


def _acknowledged(answer: Packet) -> int | None:
    """The last PSN that an answer acknowledges; None if it says nothing of PSNs."""
    if answer.opcode & 0x1F != _ACK:
        return answer.psn
    kind = answer.syndrome >> 5 & 3
    return {0: answer.psn, 1: answer.psn - 1 & 0xFFFFFF, 3: answer.psn - 1 & 0xFFFFFF}.get(kind)


def _covers(answer: Packet, start: Packet) -> bool:
    through = _acknowledged(answer)
    return through is not None and _ahead(through, start.psn) >= 0


def _ends(story: list[Packet], news: list[bool], nexts: list[int], at: int, n: int) -> bool:
    """Packet `n` decides the measurement that packet `at` began."""
    packet, start = story[n], story[at]
    if not _is_answer(packet):
        return not news[n]  # something is sent again: Karn
    through = _acknowledged(packet)
    if through is None:
        return False
    if _ahead(through, start.psn) >= 0:
        return _ahead(nexts[n] - 1 & 0xFFFFFF, through) >= 0  # of what was sent
    return packet.opcode & 0x1F == _ACK and packet.syndrome >> 5 & 3 in {1, 3}
