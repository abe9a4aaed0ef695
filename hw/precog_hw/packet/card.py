"""The packet path, both directions.

::

    i_tx ─► [arbiter] ─► [TxPath] ─────────────────────────────────────────────► o_tx
                 ▲          │ ▲ slot, row           T0 │
                 │       [QpLookup] [CpsSlots]    [RttCollector] ─► o_sample
                 │          │ ▼ slot, mode          T3 ▲
    o_rx ◄───────┼─────── [RxPath] ◄───────────────────┼──────────────────────── i_rx
                 │          └─► [Trust] ─► echo, arrival, CE mark ─► [Destinations] ◄─ outcomes
                 └── CNPs ── [NotificationPoint] ◄─────────────┘

Destinations, notification point with arbiter, and the path's ICRC check can be left out. With
`senders` the level of those who send to the card goes from what `Trust` lets act to `TxPath`.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from precog_hw.csr.layouts import SAMPLE
from precog_hw.measure.destinations import DESTINATION, Destinations, destination_read_layout
from precog_hw.measure.layouts import answer_layout
from precog_hw.measure.rtt_collector import RttCollector
from precog_hw.measure.rtt_events import commit_layout
from precog_hw.rows import RowMemory
from precog_hw.stream.delay import DelayLine
from precog_hw.stream.packet import packet_signature
from precog_hw.stream.packet_arbiter import PacketArbiter
from precog_spec.contract import Fmt, Outcome
from precog_spec.frames.cps import NS_BITS, SCORE_NONE, TICKS_FACTOR_BITS, ticks_factor
from precog_spec.frames.headers import PSN_BITS, Ecn
from precog_spec.frames.opcodes import CNP, RELIABLE_REQUESTS, SOLICITED_ALWAYS

from .cnp_limiter import remote_qp_layout
from .cps_rx import CpsReceive, received_layout
from .cps_slots import DESTINATIONS, SCORE, CpsSlots, slot_config_layout
from .cps_tx import sent_layout
from .layouts import CARD_CONFIG, LENGTH_BITS
from .notification import NotificationPoint
from .qp_lookup import cell_layout, table_access_layout
from .qp_turns import qp_lookup
from .rx_path import RxPath
from .senders import LEVEL, Senders
from .senders_told import SendersTold, told_layout
from .stage import Stage
from .trust import Trust
from .tx_path import TxPath

__all__ = ["MIN_TICK_PS", "Card"]

_ANSWERED = ("cnp_sent", "cnp_limited", "cnp_unknown", "cnp_busy")
_REFUSED = ("refused_icrc", "refused_cnp")
_ACKED = ("acked_stb", "acked_slot", "acked_psn")
_BECN = 14  # of the two bytes of the BTH that hold it
MIN_TICK_PS = 4  # 24 bits of ns in 32 bits of ticks


class Card(wiring.Component):
    """Gateware of `precog_models.packet.card.Card`: the same frames, samples and CNPs.

    The golden model takes one packet after the other. Here both directions run at once, and what
    one leaves for the other (an echo, an arrival, a CNP) is seen by packets whose row is read a few
    cycles after the end of the packet that brought it.

    Latency: that of `TxPath` and, with `cnps`, a cycle for the arbiter; that of `RxPath`.
    Throughput: a beat per cycle in each direction. Cost: the sum of its parts.

    Parameters
    ----------
    width : int
        Bits in a beat.
    slots : int
        QP slots, a power of two, 2 or more.
    tick_ps : int
        Length of a tick, picoseconds, 4 or more.
    predicted : bool
        Whether queue pairs may carry predicted scores.
    relaxed, ipv6 : bool
        As `Parser`.
    destinations, cnps, icrc : bool
        With enables and numbers of destinations; with the notification point; with the ICRC check.
    senders : bool
        With the count of queue pairs that send to the card.
    acks : bool
        `commit` has the facts of acknowledgements, `ACK_COMMIT`.

    Members
    -------
    i_tx, o_tx : packet streams
        From the transport, to the MAC.
    i_rx, o_rx : packet streams
        From the MAC, to the transport.
    o_sample : Out(stream.Signature(SAMPLE))
        RTT samples.
    registers : In(CARD_CONFIG)
    now, now_ns : In(40)
        The card's time in ticks and in nanoseconds.
    i_table : In(stream.Signature(table_access_layout(slots)))
        Host: cells of the QP table.
    table_stb, table_cell : Out(1), Out(cell_layout(slots))
        What an access to the table reads.
    row_stb, row_slot, row_config : In
        Host: a slot's configuration.
    predicted_stb, predicted_slot, predicted : In
        With `predicted`: `CpsSlots`'.
    enable_stb, enable_destination, enable : In
        With `destinations`, host: a destination's enable.
    remote_stb, remote : In
        With `cnps`, host: where a slot's CNPs go.
    mtu_stb, mtu_slot, mtu_log2 : In
        Host: a slot's path MTU.
    i_reset : In(stream.Signature(range(slots)))
        Host: forget a slot's echo, arrivals and timed packet.
    first_reset : In(1)
        With it: of before power-up, so that nothing of it is counted.
    i_destination : In(stream.Signature(destination_read_layout(DESTINATIONS)))
        With `destinations`, host: read a destination's numbers.
    destination_done, destination_values : Out(1), Out(DESTINATION)
        With `destinations`.
    sent_stb, sent : Out
        What was decided of each packet to the wire.
    received_stb, received : Out
        What was found in each packet from the wire.
    tx_error, rx_error : Out(1)
        Strobes: a frame ended wrong.
    icrc_done, icrc_checked, icrc_ok : Out(1)
        With `icrc`.
    refused_icrc, refused_cnp : Out(1)
        Of `Trust`.
    cnp_sent, cnp_limited, cnp_unknown, cnp_busy : Out(1)
        With `cnps`.
    commit_stb, commit : Out
        The collector's order of events.
    frame_sent, frame_slot, frame_bytes : Out
        A whole packet of a known queue pair has left.
    cnp_heard, cnp_slot : Out
        A CNP has come that may have an effect.
    acked_stb, acked_slot, acked_psn : Out
        Of `RttCollector`.
    score_heard, score_slot, score : Out
        A packet has brought its sender's score, which the queue pair's law may follow.
    count, level, joined : Out
        With `senders`: of `Senders`.
    heeded, told_stb, risen, told : Out
        With `senders`: of `SendersTold`.

    Raises
    ------
    ValueError
        `width` is not one of `WIDTHS`, `slots` is not a power of two, or `tick_ps` is too small.
    """

    def __init__(
        self,
        width: int,
        slots: int,
        *,
        tick_ps: int = 1000,
        predicted: bool = False,
        relaxed: bool = False,
        ipv6: bool = True,
        destinations: bool = True,
        cnps: bool = True,
        icrc: bool = True,
        senders: bool = False,
        acks: bool = False,
    ) -> None:
        if tick_ps < MIN_TICK_PS:
            raise ValueError(f"tick_ps must be {MIN_TICK_PS} or more, not {tick_ps!r}")
        self._width = width
        self._slots = slots
        self._tick_ps = tick_ps
        self._predicted = predicted
        self._relaxed, self._ipv6 = relaxed, ipv6
        self._measured, self._notifies, self._checks = destinations, cnps, icrc
        self._senders, self._acks = senders, acks
        packets = packet_signature(width)
        scores = {
            "predicted_stb": In(1),
            "predicted_slot": In(range(slots)),
            "predicted": In(SCORE),
        }
        enables = {
            "enable_stb": In(1),
            "enable_destination": In(range(DESTINATIONS)),
            "enable": In(1),
        }
        numbers = {
            "i_destination": In(stream.Signature(destination_read_layout(DESTINATIONS))),
            "destination_done": Out(1),
            "destination_values": Out(DESTINATION),
        }
        counted = {
            "count": Out(range(slots + 1)),
            "level": Out(LEVEL),
            "joined": Out(1),
            "heeded": Out(1),
            "told_stb": Out(1),
            "risen": Out(1),
            "told": Out(told_layout(slots)),
        }
        remotes = {"remote_stb": In(1), "remote": In(remote_qp_layout(slots))}
        super().__init__(
            {
                "i_tx": In(packets),
                "o_tx": Out(packets),
                "i_rx": In(packets),
                "o_rx": Out(packets),
                "o_sample": Out(stream.Signature(SAMPLE)),
                "registers": In(CARD_CONFIG),
                "now": In(Fmt.TIME.width),
                "now_ns": In(NS_BITS),
                "i_table": In(stream.Signature(table_access_layout(slots))),
                "row_stb": In(1),
                "row_slot": In(range(slots)),
                "row_config": In(slot_config_layout(DESTINATIONS, predicted=predicted)),
                **(scores if predicted else {}),
                **(enables if destinations else {}),
                **(remotes if cnps else {}),
                "mtu_stb": In(1),
                "mtu_slot": In(range(slots)),
                "mtu_log2": In(4),
                "i_reset": In(stream.Signature(range(slots))),
                "first_reset": In(1),
                "table_stb": Out(1),
                "table_cell": Out(cell_layout(slots)),
                **(numbers if destinations else {}),
                "tx_error": Out(1),
                "rx_error": Out(1),
                "sent_stb": Out(1),
                "sent": Out(sent_layout(slots)),
                "received_stb": Out(1),
                "received": Out(received_layout(slots)),
                **(dict.fromkeys(RxPath.CHECKED, Out(1)) if icrc else {}),
                **dict.fromkeys(_REFUSED, Out(1)),
                **(dict.fromkeys(_ANSWERED, Out(1)) if cnps else {}),
                "frame_sent": Out(1),
                "frame_slot": Out(range(slots)),
                "frame_bytes": Out(LENGTH_BITS),
                "cnp_heard": Out(1),
                "cnp_slot": Out(range(slots)),
                "acked_stb": Out(1),
                "acked_slot": Out(range(slots)),
                "acked_psn": Out(PSN_BITS),
                "score_heard": Out(1),
                "score_slot": Out(range(slots)),
                "score": Out(8),
                "commit_stb": Out(1),
                "commit": Out(commit_layout(slots, senders=senders, acks=acks)),
                **(counted if senders else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.tx = tx = TxPath(
            self._width, self._slots, relaxed=self._relaxed, ipv6=self._ipv6, acks=self._acks
        )
        m.submodules.rx = rx = RxPath(
            self._width,
            self._slots,
            relaxed=self._relaxed,
            ipv6=self._ipv6,
            icrc=self._checks,
            senders=self._senders,
        )
        m.submodules.lookup = lookup = qp_lookup(
            self._slots, relaxed=self._relaxed, ipv6=self._ipv6
        )
        m.submodules.slots = slots = CpsSlots(
            self._slots,
            DESTINATIONS,
            predicted=self._predicted,
            relaxed=self._relaxed,
            enables=self._measured,
        )
        m.submodules.collector = collector = RttCollector(
            self._slots, relaxed=self._relaxed, senders=self._senders, acks=self._acks
        )
        trust = self._trust(m, rx)
        connect(m, tx.o, flipped(self.o_tx))
        connect(m, flipped(self.i_rx), rx.i)
        connect(m, rx.o, flipped(self.o_rx))
        connect(m, collector.o, flipped(self.o_sample))
        connect(m, flipped(self.i_table), lookup.i_access)
        self._registers(m, tx, rx, slots, collector)
        resets = [slots.i_reset, collector.i_reset, trust.i_reset]
        tx.ask(m, lookup, slots)
        rx.ask(m, lookup, slots)
        self._sent(m, tx, collector)
        taken = self._received(m, trust, slots, collector)
        if self._notifies:
            self._notify(m, tx, trust, taken)
        else:
            connect(m, flipped(self.i_tx), tx.i)
        if self._measured:
            self._destinations(m, trust, taken, collector, slots)
        if self._senders:
            resets += self._count(m, tx, trust, taken, collector)
        self._reset(m, resets)
        m.d.comb += [
            self.table_stb.eq(lookup.read_stb),
            self.table_cell.eq(lookup.read_cell),
            self.sent_stb.eq(tx.decided_stb),
            self.sent.eq(tx.decided),
            self.received_stb.eq(rx.decided_stb),
            self.received.eq(rx.decided),
            *(getattr(self, n).eq(getattr(rx, n)) for n in RxPath.CHECKED if self._checks),
            *(getattr(self, n).eq(getattr(trust, n)) for n in _REFUSED),
            *(getattr(self, n).eq(getattr(collector, n)) for n in _ACKED),
            self.commit_stb.eq(collector.commit_stb),
            self.commit.eq(collector.commit),
        ]
        return m

    def _trust(self, m: Module, rx: RxPath) -> Trust:
        """Records of packets that came wait for their ICRCs."""
        # As many as wait in `Finish`; relaxed, one there and one copied.
        packets = 1 if self._relaxed else Stage.packets_of(self._width, CpsReceive.LATENCY)
        m.submodules.trust = trust = Trust(
            self._slots, 2 * packets if self._checks else 0, relaxed=self._relaxed
        )
        connect(m, rx.o_received, trust.i)
        m.d.comb += trust.config.eq(self.registers.trust)
        if self._checks:
            m.d.comb += [
                trust.verdict_stb.eq(rx.icrc_done),
                trust.verdict.eq(rx.icrc_ok),
            ]
        return trust

    def _notify(self, m: Module, tx: TxPath, trust: Trust, taken: Signal) -> None:
        """CE marks of packets become CNPs, which take turns with those of the transport."""
        m.submodules.notification = point = NotificationPoint(
            self._width, self._slots, relaxed=self._relaxed, ipv6=self._ipv6
        )
        m.submodules.arbiter = arbiter = PacketArbiter(self._width, 2)
        connect(m, point.o, arbiter.i[0])
        connect(m, flipped(self.i_tx), arbiter.i[1])
        connect(m, arbiter.o, tx.i)
        received = trust.o.payload
        got, request = received.decided, point.i_request
        m.d.comb += [
            point.i_remote.valid.eq(self.remote_stb),
            point.i_remote.payload.eq(self.remote),
            point.config.eq(self.registers.cnp),
            point.now.eq(self.now),
            request.valid.eq(taken & ~got.dropped & received.right),
            request.payload.parsed.eq(received.parsed),
            request.payload.error.eq(received.error),
            request.payload.found.eq(got.known),
            request.payload.slot.eq(got.slot),
            request.payload.score.eq(Mux(got.own_score.valid, got.own_score.value, SCORE_NONE)),
            *(getattr(self, n).eq(getattr(point, n.removeprefix("cnp_"))) for n in _ANSWERED),
        ]

    def _registers(
        self,
        m: Module,
        tx: TxPath,
        rx: RxPath,
        slots: CpsSlots,
        collector: RttCollector,
    ) -> None:
        """What the host and the clock say."""
        for path in (tx, rx):
            m.d.comb += [
                path.config.eq(self.registers.cps),
                path.now.eq(self.now),
                path.now_ns.eq(self.now_ns),
            ]
        m.d.comb += [
            slots.config_stb.eq(self.row_stb),
            slots.config_slot.eq(self.row_slot),
            slots.config.eq(self.row_config),
            *(
                getattr(slots, n).eq(getattr(self, n))
                for n in ("predicted_stb", "predicted_slot", "predicted")
                if self._predicted
            ),
            collector.now.eq(self.now),
            collector.timeout.eq(self.registers.timeout),
            collector.any_packet.eq(self.registers.any_packet),
            collector.floor.eq(self.registers.rtt_floor),
            collector.first.eq(self.first_reset),
            collector.mtu_stb.eq(self.mtu_stb),
            collector.mtu_slot.eq(self.mtu_slot),
            collector.mtu_log2.eq(self.mtu_log2),
        ]

    def _count(
        self, m: Module, tx: TxPath, trust: Trust, taken: Signal, collector: RttCollector
    ) -> list[stream.Interface]:
        """Who sends to the card, and what shims say of those who send to their senders.

        Returns where resets go.
        """
        m.submodules.senders = senders = Senders(self._slots)
        m.submodules.senders_told = told = SendersTold(self._slots)
        received, registers = trust.o.payload, self.registers.senders
        brought = collector.commit.senders
        packet = received.parsed.descriptor
        m.d.comb += [
            senders.now.eq(self.now),
            senders.epoch.eq(registers.epoch),
            senders.least.eq(registers.least),
            senders.heard.eq(taken & received.acts),
            senders.slot.eq(received.decided.slot),
            *(getattr(senders, n).eq(packet[n]) for n in ("opcode", "payload", "dma_length")),
            senders.first_reset.eq(self.first_reset),
            tx.senders.eq(Mux(registers.say, senders.level, 0)),
            told.heed.eq(registers.heed),
            told.hold.eq(registers.hold),
            told.heard_stb.eq(brought.valid),
            told.heard.slot.eq(collector.commit.slot),
            told.heard.level.eq(brought.value),
            told.heard.t.eq(collector.commit.t),
            *(getattr(self, n).eq(getattr(senders, n)) for n in ("count", "level", "joined")),
            *(
                getattr(self, n).eq(getattr(told, n))
                for n in ("heeded", "told_stb", "risen", "told")
            ),
        ]
        return [senders.i_reset, told.i_reset]

    def _reset(self, m: Module, parts: list[stream.Interface]) -> None:
        """One command for several blocks, which take it when they can."""
        done = Signal(len(parts))
        taken = [done[n] | part.ready for n, part in enumerate(parts)]
        m.d.comb += self.i_reset.ready.eq(Cat(taken).all())
        for n, part in enumerate(parts):
            m.d.comb += [
                part.valid.eq(self.i_reset.valid & ~done[n]),
                part.payload.eq(self.i_reset.payload),
            ]
            m.d.sync += done[n].eq(self.i_reset.valid & taken[n] & ~self.i_reset.ready)

    def _sent(self, m: Module, tx: TxPath, collector: RttCollector) -> None:
        """A whole packet of a known queue pair left: the collector's T0."""
        sent = tx.o_sent.payload.decided
        counts = sent.known & ~tx.o_sent.payload.error
        m.d.comb += [
            collector.i_tx.valid.eq(tx.o_sent.valid & counts),
            tx.o_sent.ready.eq(collector.i_tx.ready | ~counts),
            self.tx_error.eq(tx.o_sent.valid & tx.o_sent.ready & tx.o_sent.payload.error),
            *(
                collector.i_tx.payload[name].eq(sent[name])
                for name in ("slot", "opcode", "psn", "ack_req", "dma_length")
            ),
            collector.i_tx.payload.t.eq(sent.time),
            self.frame_sent.eq(collector.i_tx.valid & collector.i_tx.ready),
            self.frame_slot.eq(sent.slot),
            self.frame_bytes.eq(sent.end),
        ]

    def _received(
        self,
        m: Module,
        trust: Trust,
        slots: CpsSlots,
        collector: RttCollector,
    ) -> Signal:
        """A packet arrived: echo, T1, T3 and the mark. T2 - T1 becomes ticks in one more cycle.

        Returns the cycle in which it is taken.
        """
        received = trust.o.payload
        got, error, parsed = received.decided, received.error, received.parsed
        descriptor = parsed.descriptor
        answer = Signal(answer_layout(self._slots, senders=self._senders, acks=self._acks))
        answered = Signal()
        taken, counts = Signal(), Signal()
        factor = ticks_factor(self._tick_ps)
        asks = descriptor.opcode.matches(*SOLICITED_ALWAYS) | (
            descriptor.ack_req & descriptor.opcode.matches(*RELIABLE_REQUESTS)
        )
        m.d.comb += [
            trust.o.ready.eq(collector.i_rx.ready | ~answered),
            taken.eq(trust.o.valid & trust.o.ready),
            self.rx_error.eq(taken & error),
            counts.eq(taken & received.acts),
            self.cnp_heard.eq(counts & (descriptor.opcode == CNP)),
            self.cnp_slot.eq(got.slot),
            collector.i_rx.valid.eq(answered),
            collector.i_rx.payload.eq(answer),
            self.score_heard.eq(collector.commit.score.valid),
            self.score_slot.eq(collector.commit.slot),
            self.score.eq(collector.commit.score.value),
            slots.echo_stb.eq(counts & got.score.valid),
            slots.echo_slot.eq(got.slot),
            slots.echo.eq(got.score.value),
            *((slots.arriving.eq(trust.o.valid),) if self._relaxed else ()),
            slots.arrival_stb.eq(counts & asks),
            slots.arrival_slot.eq(got.slot),
            slots.arrival_psn.eq(descriptor.psn),
            slots.arrival_ns.eq(parsed.ns),
        ]
        with m.If(collector.i_rx.ready | ~answered):
            m.d.sync += [
                answered.eq(counts),
                answer.slot.eq(got.slot),
                *(answer[name].eq(descriptor[name]) for name in ("opcode", "psn", "syndrome")),
                answer.t.eq(parsed.time),
                answer.turnaround.eq((got.turnaround * factor) >> TICKS_FACTOR_BITS),
                answer.turnaround_valid.eq(got.turnaround_valid & self.registers.corrected),
                answer.score.eq(got.score),
            ]
            if self._acks:
                m.d.sync += answer.mark.eq(parsed.headers.resv[_BECN])
            if self._senders:
                m.d.sync += [
                    answer.senders.value.eq(got.senders),
                    answer.senders.valid.eq(got.extracted),
                ]
        return taken

    def _destinations(
        self, m: Module, trust: Trust, taken: Signal, collector: RttCollector, slots: CpsSlots
    ) -> None:
        """Statistics; the collector names the slot, the answer's path knows the destination."""
        m.submodules.destinations = destinations = Destinations(DESTINATIONS)
        cycles = RttCollector.RTT_CYCLES
        assert cycles == RowMemory.CYCLES
        leads = slot_config_layout(DESTINATIONS)["destination"].shape
        m.submodules.leads = rows = RowMemory(leads, self._slots)
        did = data.StructLayout({"rtt": 1, "loss": 1})
        m.submodules.did = late = DelayLine(did, cycles)
        outcome = dict(zip(Outcome, collector.commit.outcome, strict=True))
        got = trust.o.payload
        found, mark = got.decided, Signal()
        m.d.comb += [
            slots.enable_stb.eq(self.enable_stb),
            slots.enable_destination.eq(self.enable_destination),
            slots.enable.eq(self.enable),
            rows.write_stb.eq(self.row_stb),
            rows.write_row.eq(self.row_slot),
            rows.write_data.eq(self.row_config.destination),
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
            self.destination_done.eq(destinations.read_done),
            self.destination_values.eq(destinations.values),
        ]
        connect(m, flipped(self.i_destination), destinations.i_read)
