"""A capture through the packet path: the sender's card inserts, the receiver's extracts.

    capture ─► sender's card: insertion ─► wire ─► receiver's card: extraction ─► the same bytes
                                                └─► RTT collector of the local card

Every host of the capture gets a card, since one QPN may serve two hosts. A capture sees both ends
of the path at one point, so T2 - T1 would be the whole round trip there: RTTs are T3 - T0.
"""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from precog_models.contract import Fmt
from precog_models.packet.card import Card, CardConfig
from precog_models.packet.cps_rx import Received
from precog_models.packet.cps_state import CpsConfig
from precog_models.packet.cps_tx import Sent
from precog_models.packet.icrc import icrc_ok
from precog_models.packet.parser import Parsed, parse
from precog_models.packet.wire.cps import Mode
from precog_models.packet.wire.descriptor import Direction, Reason
from precog_models.packet.wire.opcodes import NAMES
from precog_models.packet.wire.qp_key import QPN_BITS

from ..capture import Frame
from ..rtl.card_pair import CardPair
from .connections import Connection, Flow, Seen, connections

__all__ = ["Replay", "replay"]


_TIME_MASK = Fmt.TIME.max
_MIN_SLOTS = 15  # of a card, less one


@dataclass
class Replay:
    """What a replay found; `wire` are the frames between the cards, `out` those behind them."""

    packets: int = 0
    rocev2: int = 0
    inserted: int = 0
    identical_after_extract: int = 0
    icrc_ok_in: int = 0
    icrc_ok_out: int = 0
    bypassed: Counter[str] = field(default_factory=Counter)
    opcodes: Counter[str] = field(default_factory=Counter)
    connections: int = 0  # with both directions known
    rtt_ns: list[int] = field(default_factory=list)
    wire: list[Frame] = field(default_factory=list)
    out: list[Frame] = field(default_factory=list)
    rtl_packets: int = 0  # passages through an RTL card
    differences: list[str] = field(default_factory=list)  # between RTL and golden

    def count(self, frame: Frame, before: Parsed, sent: Sent, got: Received) -> None:
        """Take one frame and what both cards made of it."""
        grown = len(sent.frame) - len(frame.data)
        self.packets += 1
        self.wire.append(Frame(frame.time_ns, sent.frame, frame.wire_length + grown))
        if got.frame is not None:
            grown = len(got.frame) - len(frame.data)
            self.out.append(Frame(frame.time_ns, got.frame, frame.wire_length + grown))
        if before.descriptor.reason is Reason.NONE:
            self.rocev2 += 1
            opcode = before.descriptor.opcode
            self.opcodes[NAMES.get(opcode, f"opcode {opcode:#04x}")] += 1
        if sent.reason is Reason.NONE:
            self.inserted += 1
        else:
            self.bypassed[sent.reason.name.lower()] += 1
        self.identical_after_extract += got.frame == frame.data
        self.icrc_ok_in += icrc_ok(frame.data, before)
        self.icrc_ok_out += got.frame is not None and icrc_ok(got.frame, got.parsed)

    def as_dict(self) -> dict[str, Any]:
        """For machines: counts, and RTTs in microseconds."""
        found: dict[str, Any] = {
            "packets": self.packets,
            "rocev2": self.rocev2,
            "inserted": self.inserted,
            "identical_after_extract": self.identical_after_extract,
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


def _connect(card: Card | CardPair, score: int, both: Sequence[Connection], own: int) -> None:
    """Fill one host's card with the host's connections."""
    # Where a capture shows one direction only, a number that it does not use stands in.
    used = {flow.qpn for pair in both for flow in pair if flow is not None}
    spare = iter(n for n in range((1 << QPN_BITS) - 2, 0, -1) if n not in used)
    for slot, (there, back) in enumerate(both):
        sends, gets = (there, back) if there.source == own else (back, there)
        remote = there.destination if there.source == own else there.source
        numbers = [next(spare) if flow is None else flow.qpn for flow in (sends, gets)]
        card.add(slot, remote, *numbers, mode=Mode.S, score=score)


def replay(
    frames: Sequence[Frame],
    *,
    local: int | None = None,
    score: int = 50,
    timeout_ns: int = 10**9,
    config: CpsConfig | None = None,
    width: int | None = None,
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
        RTT collector's time-out.
    config : CpsConfig, optional
        Of all cards.
    width : int, optional
        Bits of the Verilated packet path that the packets go through, checked against the golden
        model packet by packet; without it the golden model alone.

    Raises
    ------
    ValueError
        The capture has RoCEv2, but none from or to `local`.
    """
    cps = config or CpsConfig()
    parsed = [parse(f.data, Direction.TX, shim_port=cps.shim_port) for f in frames]
    seen = [
        Seen(flow, p.descriptor, f.time_ns)
        for f, p in zip(frames, parsed, strict=True)
        if (flow := _flow(f, p)) is not None
    ]
    pairs = connections(seen)
    hosts = {host: None for s in seen for host in (s.flow.source, s.flow.destination)}
    if local is None:
        local = next(iter(hosts), 0)
    elif hosts and local not in hosts:
        known = ", ".join(f"{host:#x}" for host in hosts)
        raise ValueError(f"local address must be one of the capture's, {known}, not {local:#x}")
    hosts.setdefault(local)  # takes what is not RoCEv2
    # A capture shows both ends of the path at one point: T2 - T1 would be all of the RTT.
    card_config = CardConfig(cps, timeout=timeout_ns, corrected=False)
    most = 1 << max(_MIN_SLOTS, len(pairs) - 1).bit_length()  # one size: one library
    cards: dict[int, Card | CardPair] = {}
    for number, host in enumerate(hosts):
        if width is None:
            cards[host] = Card(most, card_config)
        else:
            cards[host] = CardPair.build(width, most, card_config, seed=number)
        own = [p for p in pairs if host in (p.there.source, p.there.destination)]
        _connect(cards[host], score, own, host)
    result = Replay(connections=sum(pair.back is not None for pair in pairs))
    for frame, before in zip(frames, parsed, strict=True):
        flow = _flow(frame, before)
        source = local if flow is None else flow.source
        destination = local if flow is None else flow.destination
        now = frame.time_ns & _TIME_MASK
        sent = cards[source].transmit(frame.data, now, now)
        got = cards[destination].receive(sent.frame, now, now)
        result.count(frame, before, sent, got.received)
        if destination == local and got.rtt is not None:
            result.rtt_ns.append(got.rtt)
    for card in cards.values():
        if isinstance(card, CardPair):
            card.close()  # it compares once more
            result.rtl_packets += card.packets
            result.differences += card.differences
    return result


def _flow(frame: Frame, parsed: Parsed) -> Flow | None:
    """Flow of a RoCEv2 packet, None of any other."""
    found = parsed.descriptor
    if found.reason is not Reason.NONE or found.shim:
        return None
    source = parse(frame.data, Direction.RX).descriptor.remote
    return Flow(source, found.remote, found.dest_qp)


def _summary(rtt_ns: list[int]) -> dict[str, float]:
    """Count and quantiles in microseconds; only the count if there are none."""
    if not rtt_ns:
        return {"n": 0}
    ordered = sorted(rtt_ns)
    return {
        "n": len(ordered),
        "min": ordered[0] / 1000,
        "median": statistics.median(ordered) / 1000,
        "p99": ordered[-(-99 * len(ordered) // 100) - 1] / 1000,
        "max": ordered[-1] / 1000,
    }
