"""Parts that a card can be built without: each adds its blocks to the card's module.

`taken` is the cycle in which `Trust` hands a record over.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import connect, flipped

from precog_hw.measure.destinations import Destinations
from precog_hw.measure.rtt_collector import RttCollector
from precog_hw.rows import RowMemory
from precog_hw.stream.delay import DelayLine
from precog_hw.stream.packet_arbiter import PacketArbiter
from precog_spec.contract import Outcome
from precog_spec.frames.cps import SCORE_NONE
from precog_spec.frames.headers import Ecn
from precog_spec.frames.opcodes import NO_DATA

from .card_options import ANSWERED
from .card_ports import CardPorts
from .cps_slots import DESTINATIONS, CpsSlots, slot_config_layout
from .notification import NotificationPoint
from .port import PortQueue
from .senders import Senders
from .senders_told import SendersTold
from .trust import Trust
from .tx_path import TxPath

__all__ = ["attach_destinations", "attach_notification", "attach_port", "attach_senders"]

_TOLD = ("heeded", "known_stb", "told_stb", "risen", "outnumbered", "told", "shown_stb", "shown")


def attach_notification(
    m: Module, card: CardPorts, tx: TxPath, trust: Trust, taken: Signal, slots: CpsSlots
) -> None:
    """CE marks become CNPs, which take turns with the transport's packets, or are echoed."""
    options = card.options
    m.submodules.notification = point = NotificationPoint(
        options.width, options.slots, relaxed=options.relaxed, ipv6=options.ipv6
    )
    m.submodules.arbiter = arbiter = PacketArbiter(options.width, 2)
    connect(m, point.o, arbiter.i[0])
    connect(m, flipped(card.i_tx), arbiter.i[1])
    connect(m, arbiter.o, tx.i)
    received = trust.o.payload
    got, request = received.decided, point.i_request
    packet = received.parsed.descriptor
    marked = (packet.ecn == Ecn.CE) & ~packet.opcode.matches(*NO_DATA)
    m.d.comb += [
        point.i_remote.valid.eq(card.remote_stb),
        point.i_remote.payload.eq(card.remote),
        point.config.eq(card.registers.cnp),
        point.now.eq(card.now),
        request.valid.eq(taken & ~got.dropped & received.right),
        request.payload.parsed.eq(received.parsed),
        request.payload.error.eq(received.error),
        request.payload.found.eq(got.known),
        request.payload.slot.eq(got.slot),
        request.payload.score.eq(Mux(got.own_score.valid, got.own_score.value, SCORE_NONE)),
        *(getattr(card, n).eq(getattr(point, n.removeprefix("cnp_"))) for n in ANSWERED),
        slots.mark_stb.eq(taken & received.acts & marked & card.registers.cps.echo_enabled),
        slots.mark_slot.eq(got.slot),
        card.mark_heard.eq(slots.mark_stb),
    ]


def attach_senders(
    m: Module, card: CardPorts, tx: TxPath, trust: Trust, taken: Signal, collector: RttCollector
) -> list[stream.Interface]:
    """Counts the card's senders and its own flows, and carries the receivers' counts out of shims.

    Returns where resets go.
    """
    options = card.options
    m.submodules.senders = senders = Senders(options.slots, relaxed=options.relaxed)
    m.submodules.own_flows = own = Senders(options.slots, relaxed=options.relaxed)
    m.submodules.senders_told = told = SendersTold(options.slots, relaxed=options.relaxed)
    received, registers = trust.o.payload, card.registers.senders
    brought = collector.commit.senders
    packet = received.parsed.descriptor
    left = tx.o_sent.payload.decided
    for count in (senders, own):
        m.d.comb += [
            count.now.eq(card.now),
            count.epoch.eq(registers.epoch),
            count.least.eq(registers.least),
            count.first_reset.eq(card.first_reset),
        ]
    m.d.comb += [
        own.heard.eq(card.frame_sent),
        own.slot.eq(card.frame_slot),
        own.opcode.eq(left.opcode),
        own.payload.eq(left.dma_length),  # of a READ request, which is no data, it is another
        own.dma_length.eq(left.announced),
        card.own_count.eq(own.count),
        card.own_level.eq(own.level),
        senders.heard.eq(taken & received.acts),
        senders.slot.eq(received.decided.slot),
        *(getattr(senders, n).eq(packet[n]) for n in ("opcode", "payload", "dma_length")),
        tx.senders.eq(Mux(registers.say, senders.level, 0)),
        told.heed.eq(registers.heed),
        told.hold.eq(registers.hold),
        told.i_look.payload.eq(card.i_look.payload),
        told.i_look.valid.eq(card.i_look.valid),
        card.i_look.ready.eq(told.i_look.ready),
        # A score has its queue pair's level with it, so that a belief has a cycle of its own.
        told.i_belief.payload.eq(card.i_belief.payload),
        told.i_belief.valid.eq(card.i_belief.valid & ~collector.commit.score.valid),
        card.i_belief.ready.eq(told.i_belief.ready & ~collector.commit.score.valid),
        told.i_show.payload.eq(card.i_show.payload),
        told.i_show.valid.eq(card.i_show.valid),
        card.i_show.ready.eq(told.i_show.ready),
        told.own.eq(Mux(registers.own, own.level, 0)),
        told.heard_stb.eq(brought.valid),
        told.asks.eq(collector.commit.score.valid),
        told.heard.slot.eq(collector.commit.slot),
        told.heard.level.eq(brought.value),
        told.heard.t.eq(collector.commit.t),
        *(getattr(card, n).eq(getattr(senders, n)) for n in ("count", "level", "joined")),
        *(getattr(card, n).eq(getattr(told, n)) for n in _TOLD),
    ]
    return [senders.i_reset, own.i_reset, told.i_reset]


def attach_port(m: Module, card: CardPorts, trust: Trust, taken: Signal) -> stream.Interface:
    """Announced bytes and payloads become events of the port's queue.

    Returns where resets go.
    """
    options = card.options
    m.submodules.port = port = PortQueue(options.slots, relaxed=options.relaxed)
    received = trust.o.payload
    packet = received.parsed.descriptor
    m.d.comb += [
        port.now.eq(card.now),
        *(getattr(port, n).eq(getattr(card, f"port_{n}")) for n in ("enable", "epoch", "most")),
        port.first_reset.eq(card.first_reset),
        port.heard.eq(taken & received.acts),
        port.slot.eq(received.decided.slot),
        *(getattr(port, n).eq(packet[n]) for n in ("opcode", "payload", "dma_length")),
        port.time.eq(received.parsed.time),
        card.announced.eq(port.announced),
    ]
    connect(m, port.o, flipped(card.o_port))
    return port.i_reset


def attach_destinations(
    m: Module,
    card: CardPorts,
    trust: Trust,
    taken: Signal,
    collector: RttCollector,
    slots: CpsSlots,
) -> None:
    """Statistics; the collector names the slot, the answer's path knows the destination."""
    options = card.options
    m.submodules.destinations = destinations = Destinations(DESTINATIONS)
    cycles = RttCollector.RTT_CYCLES
    assert cycles == RowMemory.CYCLES
    leads = slot_config_layout(DESTINATIONS)["destination"].shape
    m.submodules.leads = rows = RowMemory(leads, options.slots)
    did = data.StructLayout({"rtt": 1, "loss": 1})
    m.submodules.did = late = DelayLine(did, cycles)
    outcome = dict(zip(Outcome, collector.commit.outcome, strict=True))
    got = trust.o.payload
    found, mark = got.decided, Signal()
    m.d.comb += [
        slots.enable_stb.eq(card.enable_stb),
        slots.enable_destination.eq(card.enable_destination),
        slots.enable.eq(card.enable),
        rows.write_stb.eq(card.row_stb),
        rows.write_row.eq(card.row_slot),
        rows.write_data.eq(card.row_config.destination),
        rows.read_row.eq(collector.commit.slot),
        late.i.rtt.eq(outcome[Outcome.SAMPLE]),
        late.i.loss.eq(
            outcome[Outcome.DROPPED_RETRANSMISSION]
            | outcome[Outcome.DROPPED_NAK]
            | outcome[Outcome.DROPPED_TIMEOUT]
        ),
        destinations.timed_stb.eq(late.o.rtt | late.o.loss),
        destinations.timed.destination.eq(rows.read_data),
        destinations.timed.rtt.eq(collector.rtt),
        destinations.timed.rtt_valid.eq(late.o.rtt),
        destinations.timed.loss.eq(late.o.loss),
        mark.eq(got.parsed.descriptor.ecn == Ecn.CE),
        destinations.heard_stb.eq(taken & got.acts & (mark | found.score.valid)),
        destinations.heard.destination.eq(found.destination),
        destinations.heard.mark.eq(mark),
        destinations.heard.score.eq(found.score.value),
        destinations.heard.score_valid.eq(found.score.valid),
        card.destination_done.eq(destinations.read_done),
        card.destination_values.eq(destinations.values),
    ]
    connect(m, flipped(card.i_destination), destinations.i_read)
