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
`senders` the level of the card's senders goes from what `Trust` lets act to `TxPath`, and the
card's own flows are counted by what has left.
"""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import connect, flipped

from precog_hw.measure.rtt_collector import RttCollector

from .card_arrivals import attach_arrivals
from .card_options import REFUSED
from .card_parts import attach_destinations, attach_notification, attach_port, attach_senders
from .card_ports import CardPorts
from .cps_rx import CpsReceive
from .cps_slots import DESTINATIONS, CpsSlots
from .qp_turns import qp_lookup
from .rx_path import RxPath
from .stage import Stage
from .trust import Trust
from .tx_path import TxPath

__all__ = ["Card"]

_ACKED = ("acked_stb", "acked_slot", "acked_psn")


class Card(CardPorts):
    """Gateware of `precog_models.packet.card.Card`: the same frames, samples and CNPs.

    The golden model takes one packet after the other. Here both directions run at once, and what
    one leaves for the other (an echo, an arrival, a mark, a CNP) is seen by packets whose row is
    read a few cycles after the end of the packet that brought it.

    Latency: that of `TxPath` and, with `cnps`, a cycle for the arbiter; that of `RxPath`.
    Throughput: a beat per cycle in each direction. Cost: the sum of its parts.

    Parameters
    ----------
    options : CardOptions
        Sizes, and which parts there are.

    The members are those of `CardPorts`.

    Raises
    ------
    ValueError
        `width` is not one of `WIDTHS`, `slots` is not a power of two, or `tick_ps` is too small.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        options = self.options
        m.submodules.tx = tx = TxPath(
            options.width,
            options.slots,
            relaxed=options.relaxed,
            ipv6=options.ipv6,
            acks=options.acks or options.senders,
            announced=options.senders,
            echoes=options.cnps,
            ack_dscp=options.cnps,
        )
        m.submodules.rx = rx = RxPath(
            options.width,
            options.slots,
            relaxed=options.relaxed,
            ipv6=options.ipv6,
            icrc=options.icrc,
            senders=options.senders,
        )
        m.submodules.lookup = lookup = qp_lookup(
            options.slots, relaxed=options.relaxed, ipv6=options.ipv6
        )
        m.submodules.slots = slots = CpsSlots(
            options.slots,
            DESTINATIONS,
            predicted=options.predicted,
            port=options.port,
            relaxed=options.relaxed,
            enables=options.destinations,
            marks=options.cnps,
        )
        m.submodules.collector = collector = RttCollector(
            options.slots, relaxed=options.relaxed, senders=options.senders, acks=options.acks
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
        taken = attach_arrivals(m, self, trust, slots, collector)
        if options.cnps:
            attach_notification(m, self, tx, trust, taken, slots)
        else:
            connect(m, flipped(self.i_tx), tx.i)
        if options.destinations:
            attach_destinations(m, self, trust, taken, collector, slots)
        if options.senders:
            resets += attach_senders(m, self, tx, trust, taken, collector)
        if options.port:
            resets.append(attach_port(m, self, trust, taken))
        self._reset(m, resets)
        m.d.comb += [
            self.table_stb.eq(lookup.read_stb),
            self.table_cell.eq(lookup.read_cell),
            self.sent_stb.eq(tx.decided_stb),
            self.sent.eq(tx.decided),
            self.received_stb.eq(rx.decided_stb),
            self.received.eq(rx.decided),
            *(getattr(self, n).eq(getattr(rx, n)) for n in RxPath.CHECKED if options.icrc),
            *(getattr(self, n).eq(getattr(trust, n)) for n in REFUSED),
            *(getattr(self, n).eq(getattr(collector, n)) for n in _ACKED),
            self.commit_stb.eq(collector.commit_stb),
            self.commit.eq(collector.commit),
        ]
        return m

    def _trust(self, m: Module, rx: RxPath) -> Trust:
        """Records of packets that came wait for their ICRCs."""
        options = self.options
        # As many as wait in `Finish`; relaxed, one there and one copied.
        packets = 1 if options.relaxed else Stage.packets_of(options.width, CpsReceive.LATENCY)
        m.submodules.trust = trust = Trust(
            options.slots, 2 * packets if options.icrc else 0, relaxed=options.relaxed
        )
        connect(m, rx.o_received, trust.i)
        m.d.comb += trust.config.eq(self.registers.trust)
        if options.icrc:
            m.d.comb += [
                trust.verdict_stb.eq(rx.icrc_done),
                trust.verdict.eq(rx.icrc_ok),
            ]
        return trust

    def _registers(
        self, m: Module, tx: TxPath, rx: RxPath, slots: CpsSlots, collector: RttCollector
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
                if self.options.predicted
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
