"""A capture through the packet path: the sender's card inserts, the receiver's extracts.

    capture ─► sender's card: insertion ─► wire ─► receiver's card: extraction ─► the same bytes
                                                └─► RTT collector of the local card

Every host of the capture gets a card, since one QPN may serve two hosts. A capture sees both ends
of the path at one point, so T2 - T1 would be the whole round trip there: RTTs are T3 - T0.

A frame that the capture cut is driven at its length on the wire, zeros in the place of what is
missing, so that it counts as whole; as many bytes as were captured are compared and given out.
"""

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from precog_models.packet.card import TIMEOUT_MAX, Card, CardConfig
from precog_models.packet.cps_rx import Received
from precog_models.packet.cps_state import CpsConfig
from precog_models.packet.cps_tx import Sent
from precog_models.packet.icrc import icrc_ok
from precog_models.packet.parser import Parsed, parse
from precog_models.packet.trust import TrustConfig
from precog_spec.contract import Fmt
from precog_spec.frames.cps import Mode
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.headers import BTH, PATH_MTUS
from precog_spec.frames.opcodes import NAMES, extension_bytes
from precog_spec.frames.qp_key import MAX_SLOTS, QPN_BITS, address_of

from ..capture import Frame
from ..rtl.card_pair import CardPair
from .connections import Connection, Flow, Seen, connections, path_mtus

__all__ = ["Replay", "replay"]


_TIME_MASK = Fmt.TIME.max
_MIN_SLOTS = 16  # of a card
_SWEEP_TICKS = 1 << (Fmt.TIME.width - 3)  # a time-out is found within half of the clock's circle
_PROGRESS_PACKETS = 16  # between two reports


@dataclass
class Replay:
    """What a replay found; `wire` are the frames between the cards, `out` those behind them."""

    packets: int = 0
    rocev2: int = 0
    inserted: int = 0
    identical_after_extract: int = 0
    cut: int = 0  # by the capture: fewer bytes than on the wire
    icrc_ok_in: int = 0  # of packets that were captured to their ends, as below
    icrc_ok_out: int = 0
    bypassed: Counter[str] = field(default_factory=Counter)
    opcodes: Counter[str] = field(default_factory=Counter)
    connections: int = 0  # with both directions known
    rtt_ns: list[int] = field(default_factory=list)
    wire: list[Frame] = field(default_factory=list)
    out: list[Frame] = field(default_factory=list)
    rtl_packets: int = 0  # passages through an RTL card
    differences: list[str] = field(default_factory=list)  # between RTL and golden
    stripped: int = 0  # came with a shim, which extraction removed

    def count(self, frame: Frame, driven: bytes, before: Parsed, sent: Sent, got: Received) -> None:
        """Take one frame, the bytes that were driven for it, and what both cards made of them."""

        def shown(data: bytes) -> Frame:
            grown = len(data) - len(driven)
            return Frame(frame.time_ns, data[: len(frame.data) + grown], frame.wire_length + grown)

        self.packets += 1
        self.cut += frame.wire_length > len(frame.data)
        self.wire.append(shown(sent.frame))
        out = None if got.frame is None else shown(got.frame)
        if out is not None:
            self.out.append(out)
        if before.descriptor.reason is Reason.NONE:
            self.rocev2 += 1
            opcode = before.descriptor.opcode
            self.opcodes[NAMES.get(opcode, f"opcode {opcode:#04x}")] += 1
        if sent.reason is Reason.NONE:
            self.inserted += 1
        else:
            self.bypassed[sent.reason.name.lower()] += 1
            self.stripped += got.shim is not None
        self.identical_after_extract += out == frame
        self.icrc_ok_in += icrc_ok(frame.data, before)
        self.icrc_ok_out += out is not None and icrc_ok(out.data, got.parsed)

    def as_dict(self) -> dict[str, Any]:
        """For machines: counts, and RTTs in microseconds."""
        found: dict[str, Any] = {
            "packets": self.packets,
            "rocev2": self.rocev2,
            "inserted": self.inserted,
            "identical_after_extract": self.identical_after_extract,
            "cut": self.cut,
            "icrc_ok_in": self.icrc_ok_in,
            "icrc_ok_out": self.icrc_ok_out,
            "bypassed": dict(self.bypassed),
            "opcodes": dict(self.opcodes),
            "connections": self.connections,
            "rtt_us": _summary(self.rtt_ns),
        }
        if self.rtl_packets:
            mismatches = len(self.differences)
            found["rtl_vs_golden"] = {"packets": self.rtl_packets, "mismatches": mismatches}
        return found


def _connect(
    card: Card | CardPair, score: int, pairs: Sequence[tuple[Connection, int]], own: int
) -> None:
    """Fill one host's card with the host's connections and their path MTUs."""
    # Where a capture shows one direction only, a number that it does not use stands in.
    used = {flow.qpn for pair, _ in pairs for flow in pair if flow is not None}
    spare = iter(n for n in range((1 << QPN_BITS) - 2, 0, -1) if n not in used)
    for slot, ((there, back), mtu) in enumerate(pairs):
        sends, gets = (there, back) if there.source == own else (back, there)
        remote = there.destination if there.source == own else there.source
        numbers = [next(spare) if flow is None else flow.qpn for flow in (sends, gets)]
        card.add(slot, remote, *numbers, mode=Mode.S, score=score, mtu=mtu)


def replay(
    frames: Sequence[Frame],
    *,
    local: int | None = None,
    score: int = 50,
    timeout_ns: int = 10**9,
    config: CpsConfig | None = None,
    width: int | None = None,
    mtu: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Run a capture through.

    Parameters
    ----------
    frames : sequence of Frame
        The capture.
    local : int, optional
        Address whose RTTs are taken, IPv4 as ::ffff:a.b.c.d; without it, the sender of the first
        RoCEv2 packet.
    score : int
        What all cards insert.
    timeout_ns : int
        RTT collector's time-out, 32 bits; 0: the longest, since the clock's 40 bits come around.
    config : CpsConfig, optional
        Of all cards.
    width : int, optional
        Bits of the Verilated packet path that the packets go through, checked against the golden
        model packet by packet; without it the golden model alone.
    mtu : int, optional
        Path MTU of all connections in bytes; without it each one's is learnt (`path_mtus`).
    progress : function of (int, int), optional
        Told now and then how many packets are done, and of how many.

    Raises
    ------
    ValueError
        The capture has RoCEv2, but none from or to `local`; it has more connections than a card's
        table has slots; or `mtu` is no path MTU of InfiniBand.
    """
    if mtu is not None and mtu not in PATH_MTUS:
        raise ValueError(f"mtu must be one of {', '.join(map(str, PATH_MTUS))} bytes, not {mtu}")
    cps = config or CpsConfig()
    driven = [_extended(frame) for frame in frames]
    parsed = [parse(data, Direction.TX, shim_port=cps.shim_port) for data in driven]
    seen = [
        Seen(flow, p.descriptor, f.time_ns)
        for f, data, p in zip(frames, driven, parsed, strict=True)
        if (flow := _flow(data, p, cps.shim_port)) is not None
    ]
    pairs = connections(seen)
    mtus = path_mtus(seen, pairs) if mtu is None else [mtu] * len(pairs)
    local, hosts = _hosts(seen, local)
    # A capture shows both ends of the path at one point: T2 - T1 would be all of the RTT.
    # What the capture cut has no ICRC any more.
    card_config = CardConfig(
        cps,
        trust=TrustConfig(icrc_gate=False, cnp_gap=0),
        timeout=timeout_ns or TIMEOUT_MAX,
        corrected=False,
    )
    slots = _slots(len(pairs))  # one size: one library
    cards: dict[int, Card | CardPair] = {}
    for number, host in enumerate(hosts):
        if width is None:
            cards[host] = Card(slots, card_config)
        else:
            cards[host] = CardPair.build(width, slots, card_config, seed=number)
        own = [
            (pair, size)
            for pair, size in zip(pairs, mtus, strict=True)
            if host in (pair.there.source, pair.there.destination)
        ]
        _connect(cards[host], score, own, host)
    result = Replay(connections=sum(pair.back is not None for pair in pairs))
    sweeper = _Sweeper(cards, slots, frames[0].time_ns if frames else 0)
    for number, (frame, data, before) in enumerate(zip(frames, driven, parsed, strict=True)):
        if progress is not None and number % _PROGRESS_PACKETS == 0:
            progress(number, len(frames))
        sweeper.sweep(frame.time_ns)
        flow = _flow(data, before, cps.shim_port)
        source = local if flow is None else flow.source
        destination = local if flow is None else flow.destination
        now = frame.time_ns & _TIME_MASK
        sent = cards[source].transmit(data, now, now)
        got = cards[destination].receive(sent.frame, now, now)
        result.count(frame, data, before, sent, got.received)
        if destination == local and got.rtt is not None:
            result.rtt_ns.append(got.rtt)
    for card in cards.values():
        if isinstance(card, CardPair):
            card.close()  # it compares once more
            result.rtl_packets += card.packets
            result.differences += card.differences
    return result


def _hosts(seen: Sequence[Seen], local: int | None) -> tuple[int, list[int]]:
    """The local host, and all of a capture, in the order of their packets.

    Raises
    ------
    ValueError
        The capture has RoCEv2, but none from or to `local`.
    """
    hosts = {host: None for s in seen for host in (s.flow.source, s.flow.destination)}
    if local is None:
        local = next(iter(hosts), 0)
    elif hosts and local not in hosts:
        known = ", ".join(str(address_of(host)) for host in hosts)
        raise ValueError(
            f"local address must be one of the capture's, {known}, not {address_of(local)}"
        )
    hosts.setdefault(local)  # takes what is not RoCEv2
    return local, list(hosts)


class _Sweeper:
    """What the hardware does all the time: give up what has been timed for too long.

    Parameters
    ----------
    cards : dict of int to (Card or CardPair)
    slots : int
        Of each card.
    start_ns : int
        Time of the first packet.
    """

    def __init__(self, cards: dict[int, Card | CardPair], slots: int, start_ns: int) -> None:
        self._cards, self._slots = cards, slots
        self._swept = self._before_ns = start_ns

    def sweep(self, now_ns: int) -> None:
        """Sweep all cards if a packet at `now_ns` is far from the last sweep."""
        if abs(now_ns - self._swept) > _SWEEP_TICKS:
            t = min(now_ns, self._before_ns + _SWEEP_TICKS) & _TIME_MASK
            for card in self._cards.values():
                if isinstance(card, CardPair):
                    card.sweep(t)
                else:
                    for slot in range(self._slots):
                        card.sweep(slot, t)
            self._swept = now_ns
        self._before_ns = now_ns


def _slots(connections: int) -> int:
    """Slots of a table that is at most half full."""
    if connections > MAX_SLOTS:
        raise ValueError(f"capture must have up to {MAX_SLOTS} connections, not {connections}")
    return min(MAX_SLOTS, max(_MIN_SLOTS, 1 << (2 * connections - 1).bit_length()))


def _extended(frame: Frame) -> bytes:
    """A cut frame at its length on the wire; as it is if headers are missing, too."""
    missing = frame.wire_length - len(frame.data)
    if missing <= 0:
        return frame.data
    found = parse(frame.data, Direction.TX)
    opcode = found.descriptor.opcode
    headers = found.bth + BTH.size + extension_bytes(opcode)
    whole = found.descriptor.reason is Reason.NONE and len(frame.data) >= headers
    return frame.data + bytes(missing) if whole else frame.data


def _flow(data: bytes, parsed: Parsed, shim_port: int) -> Flow | None:
    """Flow of a RoCEv2 packet, with a shim or without, None of any other."""
    found = parsed.descriptor
    if found.reason is not Reason.NONE:
        return None
    source = parse(data, Direction.RX, shim_port=shim_port).descriptor.remote
    return Flow(source, found.remote, found.dest_qp)


def _summary(rtt_ns: list[int]) -> dict[str, float | None]:
    """Count and quantiles in microseconds, None if there are none."""
    if not rtt_ns:
        return {"n": 0} | dict.fromkeys(("min", "median", "p99", "max"))
    ordered = sorted(rtt_ns)
    return {
        "n": len(ordered),
        "min": ordered[0] / 1000,
        "median": statistics.median(ordered) / 1000,
        "p99": ordered[-(-99 * len(ordered) // 100) - 1] / 1000,
        "max": ordered[-1] / 1000,
    }
