"""The transmit path: packets to the wire, the score in them."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from precog_hw.stream.packet import packet_signature
from precog_spec.contract import Fmt
from precog_spec.frames.cps import NS_BITS
from precog_spec.frames.descriptor import Direction
from precog_spec.frames.headers import PSN_BITS

from .cps_slots import CpsSlots, tx_row_layout
from .cps_tx import CpsTransmit, sent_layout
from .finish import Finish, finished_layout
from .layouts import CPS_CONFIG
from .qp_lookup import KEY, QpLookup
from .qp_turns import QpTurns
from .shim import SHIM_FIELDS
from .stage import Stage

__all__ = ["TxPath"]


class TxPath(wiring.Component):
    """Stage, decision, and the end of the frame.

    Latency: 144, 48, 41, 38 and 36 cycles at 8, 64, 128, 256 and 512 bits from a packet's first
    beat in to its first beat out: its headers, `Parser`, `CpsTransmit`, two registers for the
    command, and four of `Editor`. Less for a packet that ends before its headers could; more if
    those before it grew, by the beats that these added.
    Throughput: one beat per cycle but for the bytes put in.

    Parameters
    ----------
    width : int
        Bits in a beat.
    slots : int
        QP slots.
    relaxed, ipv6 : bool
        As `Parser`.
    acks, announced, echoes, ack_dscp : bool
        As `CpsTransmit`.

    Members
    -------
    i, o : packet streams
    config : In(CPS_CONFIG)
    now, now_ns : In(40)
    key, key_stb, found, slot, found_stb
        The table's TX side, see `CpsTransmit`.
    row_stb, row_slot, row_psn, row_ns, row_takes, row
        The slots' TX side, see `CpsTransmit`.
    senders : In
        The level that shims say.
    decided_stb, decided : Out
        One for each packet as soon as it is decided: counters.
    o_sent : Out(stream.Signature(finished_layout(sent)))
        One for each packet at its end; `sent` is a `sent_layout` with `announced` and `echoes`.
    """

    i: stream.Interface
    o: stream.Interface
    o_sent: stream.Interface

    def __init__(
        self,
        width: int,
        slots: int,
        *,
        relaxed: bool = False,
        ipv6: bool = True,
        acks: bool = False,
        announced: bool = False,
        echoes: bool = False,
        ack_dscp: bool = False,
    ) -> None:
        self._relaxed, self._ipv6, self._acks, self._announced = relaxed, ipv6, acks, announced
        self._echoes, self._ack_dscp = echoes, ack_dscp
        self._width = width
        self._slots = slots
        self._sent = sent = sent_layout(slots, announced=announced, echoes=echoes)
        super().__init__(
            {
                "i": In(packet_signature(width)),
                "o": Out(packet_signature(width)),
                "config": In(CPS_CONFIG),
                "now": In(Fmt.TIME.width),
                "now_ns": In(NS_BITS),
                "key": Out(KEY),
                "key_stb": Out(1),
                "found": In(1),
                "slot": In(range(slots)),
                **({"found_stb": In(1)} if relaxed else {}),
                "row_stb": Out(1),
                "row_slot": Out(range(slots)),
                "row_psn": Out(PSN_BITS),
                "row_ns": Out(NS_BITS),
                "row_takes": Out(1),
                "row": In(tx_row_layout()),
                "senders": In(SHIM_FIELDS["senders"].shape),
                "decided": Out(sent),
                "decided_stb": Out(1),
                "o_sent": Out(stream.Signature(finished_layout(sent))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.stage = stage = Stage(
            self._width,
            Direction.TX,
            CpsTransmit.LATENCY,
            relaxed=self._relaxed,
            ipv6=self._ipv6,
            dscp=self._ack_dscp,
        )
        m.submodules.decide = decide = CpsTransmit(
            self._slots,
            relaxed=self._relaxed,
            acks=self._acks,
            announced=self._announced,
            echoes=self._echoes,
            ack_dscp=self._ack_dscp,
        )
        m.submodules.finish = finish = Finish(self._sent, stage.packets, relaxed=self._relaxed)
        connect(m, flipped(self.i), stage.i)
        connect(m, stage.o, flipped(self.o))
        m.d.comb += (
            stage.finished.eq(finish.finished) if self._relaxed else stage.hold.eq(finish.hold)
        )
        connect(m, finish.o, flipped(self.o_sent))
        m.d.comb += [
            stage.now.eq(self.now),
            stage.now_ns.eq(self.now_ns),
            stage.shim_port.eq(self.config.shim_port),
            *(decide.config[n].eq(self.config[n]) for n in CPS_CONFIG.members if n != "shim_port"),
            decide.config.shim_port.eq(stage.port),
            decide.senders.eq(self.senders),
            decide.parsed.eq(stage.parsed),
            decide.parsed_stb.eq(stage.parsed_stb),
            *(getattr(self, n).eq(getattr(decide, n)) for n in ("key", "key_stb", "row_stb")),
            *(
                getattr(self, n).eq(getattr(decide, n))
                for n in ("row_slot", "row_psn", "row_ns", "row_takes")
            ),
            *(getattr(decide, n).eq(getattr(self, n)) for n in ("found", "slot", "row")),
            *([decide.found_stb.eq(self.found_stb)] if self._relaxed else []),
            stage.edit.eq(decide.edit),
            stage.edit_stb.eq(decide.edit_stb),
            self.decided.eq(decide.sent),
            self.decided_stb.eq(decide.edit_stb),
            finish.decided.eq(decide.sent),
            finish.decided_stb.eq(decide.edit_stb),
            finish.tail.eq(stage.tail),
            finish.tail_stb.eq(stage.tail_stb),
        ]
        return m

    def ask(self, m: Module, lookup: QpLookup | QpTurns, slots: CpsSlots) -> None:
        """Connect the path to the TX side of the table and of the slots."""
        m.d.comb += [
            lookup.tx_stb.eq(self.key_stb),
            lookup.tx_key.eq(self.key),
            self.found.eq(lookup.tx_found),
            self.slot.eq(lookup.tx_slot),
            *([self.found_stb.eq(lookup.tx_done)] if self._relaxed else []),
            slots.tx_stb.eq(self.row_stb),
            slots.tx_slot.eq(self.row_slot),
            slots.tx_psn.eq(self.row_psn),
            slots.tx_ns.eq(self.row_ns),
            self.row.eq(slots.tx_row),
        ]
        if slots.marks:
            m.d.comb += slots.tx_takes.eq(self.row_takes)
