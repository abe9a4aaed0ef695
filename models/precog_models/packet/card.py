"""A card's packet path, both directions: what every stage does to one packet, in order.

    transmit:  insertion ─► wire             + T0 to the RTT collector
    receive:   extraction ─► host            + what `trust` lets act: T3 to the RTT collector, CE
                                               marks to the notification point, whose CNPs wait to
                                               be transmitted, and to the next acknowledgement,
                                               CNPs, scores and levels to the laws

The golden twin of the gateware's packet path. An event that needs the whole frame to be right (an
RTT, a CNP, an echo) is made at the frame's end; frames are taken in the order of their ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from precog_spec.contract import Outcome
from precog_spec.frames.cps import TICKS_FACTOR_BITS, Mode, ShimType, ticks_factor
from precog_spec.frames.descriptor import Reason
from precog_spec.frames.headers import BTH, Ecn
from precog_spec.frames.opcodes import (
    CNP,
    NO_DATA,
    PLAIN_ACKNOWLEDGES,
    SYNDROME_RESERVED,
    syndrome_kind,
)

from ..measure.ack_ring import Ack
from ..measure.destinations import DestinationEvent, Destinations
from ..measure.rtt_collector import NO_TURNAROUND, RttCollector
from .cnp import CnpConfig, NotificationPoint
from .cps_rx import Received, receive, remember
from .cps_state import CpsConfig, CpsState
from .cps_tx import Sent, transmit
from .icrc import icrc_ok
from .parser import Descriptor
from .port import PortQueue
from .qp_table import QpTable
from .senders import Senders
from .trust import Trust, TrustConfig
from .turnaround import Turnaround

__all__ = ["TIMEOUT_MAX", "Arrived", "Card", "CardConfig", "ticks_from_ns"]

TIMEOUT_MAX = 0xFFFFFFFF  # ticks
FLOOR_MAX = 0xFFFF  # ticks
_LOSSES = Outcome.DROPPED_RETRANSMISSION | Outcome.DROPPED_NAK | Outcome.DROPPED_TIMEOUT


def ticks_from_ns(ns: int, tick_ps: int) -> int:
    """Ticks of `tick_ps` in `ns` nanoseconds, by one multiplication with a rounded reciprocal.

    Exact where a tick is a nanosecond; otherwise within ``ns / 2**17 + 1`` ticks of the quotient.
    """
    return (ns * ticks_factor(tick_ps)) >> TICKS_FACTOR_BITS


@dataclass(frozen=True)
class CardConfig:
    """What a card is built with and its registers.

    Raises
    ------
    ValueError
        The tick is not positive, the time-out or the floor does not fit its register, or CNPs,
        `ack_enabled` or `echo_enabled` are on without `cnps`.
    """

    cps: CpsConfig = field(default_factory=CpsConfig)
    cnp: CnpConfig = field(default_factory=lambda: CnpConfig(enabled=False))
    trust: TrustConfig = field(default_factory=TrustConfig)
    tick_ps: int = 1000
    timeout: int = 0  # ticks after which the RTT collector gives a packet up; 0: never
    any_packet: bool = False  # time packets that do not ask for an answer
    corrected: bool = True  # take T2 - T1 off, where the peer tells it
    rtt_floor: int = 32  # ticks; a T2 - T1 that leaves no more of an RTT is refused
    ipv6: bool = True  # IPv6 packets are understood
    destinations: bool = True  # enables and numbers of destinations
    cnps: bool = True  # CNPs, and a DSCP and BECN for acknowledgements
    icrc: bool = True  # the ICRC check; without it all ICRCs count as right
    senders: bool = False  # the count of queue pairs that send to the card
    port: bool = False  # the queue before the card's own port
    places: int = 0  # packets in flight that are timed for programs, of each queue pair

    def __post_init__(self) -> None:
        if self.tick_ps <= 0:
            raise ValueError(f"tick_ps must be positive, not {self.tick_ps!r}")
        if not 0 <= self.timeout <= TIMEOUT_MAX:
            raise ValueError(f"timeout must be 0..{TIMEOUT_MAX} ticks, not {self.timeout!r}")
        if not 0 <= self.rtt_floor <= FLOOR_MAX:
            raise ValueError(f"rtt_floor must be 0..{FLOOR_MAX} ticks, not {self.rtt_floor!r}")
        if self.cnp.enabled and not self.cnps:
            raise ValueError("cnps must be True with CNPs enabled, not False")
        for name in ("ack_enabled", "echo_enabled"):
            if getattr(self.cps, name) and not self.cnps:
                raise ValueError(f"cnps must be True with {name}, not False")


class Arrived(NamedTuple):
    """One packet from the wire, and what came of it."""

    received: Received
    icrc_ok: bool  # of the packet as it goes on
    icrc_checked: bool  # it is RoCEv2 and there to its end, and the card checks
    rtt: int | None  # ticks
    cnp: bytes | None  # for the wire
    notified: bool  # a CNP that may cut the queue pair's rate
    score: int | None  # that its law may follow
    senders: int | None  # level of its receiver that has changed
    ack: Ack | None  # what programs hear
    lost: bool = False  # programs hear of a loss


class Card:
    """State of a card.

    Parameters
    ----------
    slots : int
        Queue pairs, a power of two.
    config : CardConfig
    mtu : sequence of int, optional
        Path MTU of each slot, bytes.
    """

    def __init__(self, slots: int, config: CardConfig, *, mtu: Sequence[int] | None = None) -> None:
        self.config = config
        self.cps = CpsState(QpTable(slots), config.cps, ipv6=config.ipv6)
        self.collector = RttCollector(
            slots,
            config.timeout,
            any_packet=config.any_packet,
            floor=config.rtt_floor,
            mtu=mtu,
            places=config.places,
        )
        self.notification = NotificationPoint(self.cps.table, config.cnp)
        self.trust = Trust(slots, config.trust)
        self.senders = Senders(slots) if config.senders else None
        self.port = PortQueue(slots) if config.port else None
        self.destinations = Destinations(len(self.cps.destination_enable))

    def add(
        self,
        slot: int,
        remote: int,
        remote_qp: int,
        local_qp: int,
        *,
        mode: Mode = Mode.S,
        score: int | None = None,
        destination: int = 0,
        mtu: int | None = None,
    ) -> None:
        """Give a slot its two keys (`QpTable.add`) and its configuration; `mtu` in bytes."""
        self.cps.table.add(slot, remote, remote_qp, local_qp)
        row = self.cps.slots[slot]
        row.mode, row.score, row.destination = mode, score, destination
        if mtu is not None:
            self.collector.mtu[slot] = mtu

    def transmit(
        self, frame: bytes | bytearray, t: int, now_ns: int, *, error: bool = False
    ) -> Sent:
        """A packet to the wire; `t` in ticks, `now_ns` in ns: when its first beat came."""
        level = self.senders.level(t) if self.senders is not None else 0
        sent = transmit(self.cps, frame, now_ns, error=error, senders=level)
        if sent.slot is not None:
            self.collector.sent(sent.slot, sent.descriptor, t)
            self._account(sent.slot, DestinationEvent())
            if self.senders is not None and not sent.descriptor.error:
                self.senders.sent(sent.slot, sent.descriptor, t)
            sent = sent._replace(lost=self.collector.lost)
        return sent

    def receive(
        self, frame: bytes | bytearray, t: int, now_ns: int, *, error: bool = False
    ) -> Arrived:
        """A packet from the wire; times as for `transmit`."""
        got = receive(self.cps, frame, error=error)
        checked = self.config.icrc and _has_icrc(got)
        right = checked and got.frame is not None and icrc_ok(got.frame, got.parsed)
        unlooked = not self.config.icrc or not self.trust.config.icrc_gate
        believed = got.frame is not None and (right or unlooked)
        acts = self.trust.acts(got, t, right=believed)
        rtt = cnp = score = ack = senders = None
        if acts:
            assert got.slot is not None
            remember(self.cps, got, now_ns)
            turnaround = NO_TURNAROUND
            shim = got.shim
            if (
                self.config.corrected
                and shim is not None
                and shim.type is ShimType.ACKNOWLEDGE
                and shim.time is not None
            ):
                turnaround = ticks_from_ns(shim.time, self.config.tick_ps)
            rtt = self.collector.received(
                got.slot, got.descriptor, t, turnaround, marked=_echoes(got)
            )
            ack = self.collector.ack
            mark = got.descriptor.ecn == Ecn.CE
            if mark and self.cps.config.echo_enabled and got.descriptor.opcode not in NO_DATA:
                self.cps.slots[got.slot].marked = True
                self.cps.counters.marks_heard += 1
            self._account(got.slot, DestinationEvent(rtt, mark=mark, score=got.score))
            refused = Outcome.REFUSED_PSN in self.collector.outcome or _reserved(got.descriptor)
            score = None if refused else got.score
            if self.port is not None:
                self.port.heard(got.slot, got.descriptor, t)
            if self.senders is not None:
                self.senders.arrived(got.slot, got.descriptor, t)
                if shim is not None and not refused:
                    senders = self.senders.told(got.slot, shim.senders, t)
        if believed and got.frame is not None:
            own = None if got.slot is None else self.cps.slots[got.slot].carried
            cnp = self.notification.notify(got.frame, got.parsed, got.slot, t, own)
        notified = acts and got.descriptor.opcode == CNP
        lost = acts and self.collector.lost
        return Arrived(got, right, checked, rtt, cnp, notified, score, senders, ack, lost)

    def sweep(self, slot: int, t: int) -> None:
        """The collector's look at a queue pair that may have no packets any more."""
        self.collector.sweep(slot, t)
        self._account(slot, DestinationEvent())

    def reset(self, slot: int) -> None:
        """Forget a slot's echo, arrivals, mark, timed packet, last CNP, and that it sent."""
        row = self.cps.slots[slot]
        row.echo, row.turnaround, row.marked = None, Turnaround(), False
        self.collector.reset(slot)
        self.trust.reset(slot)
        if self.senders is not None:
            self.senders.reset(slot)
        if self.port is not None:
            self.port.reset(slot)

    def _account(self, slot: int, event: DestinationEvent) -> None:
        """Count an event, with what the collector just said, for the slot's destination."""
        if not self.config.destinations:
            return
        loss = bool(self.collector.outcome & _LOSSES)
        self.destinations.add(self.cps.slots[slot].destination, replace(event, loss=loss))


def _reserved(packet: Descriptor) -> bool:
    """Whether it is an acknowledge with a syndrome that there is not: it says nothing at all."""
    kind = syndrome_kind(packet.syndrome)
    return packet.opcode in PLAIN_ACKNOWLEDGES and kind == SYNDROME_RESERVED


def _echoes(got: Received) -> bool:
    """Whether its BECN says that a packet of ours was marked on its way."""
    return got.frame is not None and bool(BTH.get(got.frame, got.parsed.bth, "becn"))


def _has_icrc(got: Received) -> bool:
    """Whether the packet that goes on has an ICRC to check."""
    found = got.descriptor
    return (
        got.frame is not None
        and found.reason is Reason.NONE
        and not found.shim
        and len(got.frame) >= got.parsed.end
    )
