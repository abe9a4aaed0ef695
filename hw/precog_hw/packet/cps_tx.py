"""CPS insertion: what becomes of a packet to the wire.

The gateware of `precog_models.packet.cps_tx`: the same decisions, reasons in the same order.
"""

from amaranth.hdl import Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.stream.delay import DelayLine
from precog_spec.contract import Fmt
from precog_spec.frames.cps import NS_BITS, SCORE_MAX, TIME_BITS, Mode, ShimType
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.headers import BTH, PSN_BITS, ROCE_PORT
from precog_spec.frames.layout import Field
from precog_spec.frames.opcodes import ACKNOWLEDGES, PLAIN_ACKNOWLEDGES, READ_REQUEST

from .ack_dscp import REMARK, remark
from .checksum import LATENCY as UPDATE_LATENCY
from .checksum import HeaderUpdate
from .cps_slots import CpsSlots, tx_row_layout
from .layouts import BECN_AT, CPS_CONFIG, EDIT, HEADERS, LENGTH_BITS, PARSED, Edit
from .qp_lookup import KEY, QpLookup
from .shim import SHIM_FIELDS, ShimEncode

__all__ = ["CpsTransmit", "reserved_bits", "sent_layout"]

_UNUPDATABLE = 0xFFFF  # an IPv4 checksum that no sum of a header gives
_SHIM_BYTES = 8


def _waiting_layout(*, announced: bool, ack_dscp: bool) -> data.StructLayout:
    """Fields of a packet that wait for the tables' answers."""
    return data.StructLayout(
        {
            "eligible": unsigned(1),  # RoCEv2 without a shim
            "reason": unsigned(5),  # the parser's, or SHIM_PORT
            "ipv6": unsigned(1),
            "tags": unsigned(2),
            "opcode": unsigned(8),
            "psn": unsigned(PSN_BITS),
            "ack_req": unsigned(1),
            "dma_length": unsigned(32),
            **({"announced": unsigned(32)} if announced else {}),
            "end": unsigned(LENGTH_BITS),
            **({"ip_head": HEADERS["ip_head"].shape} if ack_dscp else {}),
            "ip_length": HEADERS["ip_length"].shape,
            "ip_checksum": HEADERS["ip_checksum"].shape,
            "udp_length": HEADERS["udp_length"].shape,
            "udp_checksum": HEADERS["udp_checksum"].shape,
            "resv": HEADERS["resv"].shape,
            "time": unsigned(Fmt.TIME.width),
            "ns": unsigned(NS_BITS),
        }
    )


def sent_layout(slots: int, *, announced: bool = False, echoes: bool = False) -> data.StructLayout:
    """What was decided of one packet.

    `announced`: with what its RETH says of its message; `echoes`: and whether it echoes a mark.
    """
    return data.StructLayout(
        {
            "known": unsigned(1),  # `slot` is the packet's
            "slot": unsigned((slots - 1).bit_length()),
            "reason": unsigned(5),  # `Reason`; NONE: the packet carries the score
            "mode_r": unsigned(1),  # in six bits
            "opcode": unsigned(8),
            "psn": unsigned(PSN_BITS),
            "ack_req": unsigned(1),
            "dma_length": unsigned(32),  # bytes, of a READ request; with `acks`, others' payload
            **({"announced": unsigned(32)} if announced else {}),  # bytes, where there is a RETH
            "end": unsigned(LENGTH_BITS),  # bytes of the frame, as the transport gave it
            "time": unsigned(Fmt.TIME.width),  # T0, ticks
            **({"echoed": unsigned(1)} if echoes else {}),  # the card set BECN
        }
    )


class CpsTransmit(wiring.Component):
    """Decides on one packet per cycle, from its headers alone; touches no byte itself.

    ::

        parsed ─► key ─► [lookup] ─► slot ─► [slots] ─► row ─► reason ─► shim ─► [update] ─► edit
          └────────────────────── [delay lines] ──────────────────┴────────┴──────────────────┘

    Latency: `LATENCY` cycles from `parsed_stb` to `edit_stb`. Throughput: one packet per cycle.
    Cost: three delay lines of some 300 bits, the header update, one CRC-8.

    Parameters
    ----------
    slots : int
        QP slots.
    relaxed : bool
        One packet at a time: `parsed` stays until the next packet's `parsed_stb`, and so do `edit`
        and `sent`. No delay lines, and a cycle less.
    acks : bool
        `sent` has the payload of what is no READ request.
    announced : bool
        As `sent_layout`, as is `echoes`.
    ack_dscp : bool
        With `config.ack_dscp` for acknowledgements.

    Members
    -------
    config : In(CPS_CONFIG)
    parsed, parsed_stb : In
    key, key_stb : Out(KEY), Out(1)
        To `QpLookup`; `found` and `slot` answer after its latency.
    found_stb : In(1)
        With `relaxed`: `found` and `slot` answer now, as `QpTurns` does.
    row_stb, row_slot, row_psn, row_ns, row_takes : Out
        To `CpsSlots`; `row` answers after its latency.
    senders : In
        The level that shims say.
    edit, edit_stb : Out(EDIT), Out(1)
    sent : Out(sent_layout(slots, announced=announced, echoes=echoes))
        With `edit_stb`.
    """

    LATENCY = QpLookup.LATENCY + CpsSlots.TX_LATENCY + 2 + UPDATE_LATENCY

    def __init__(
        self,
        slots: int,
        *,
        relaxed: bool = False,
        acks: bool = False,
        announced: bool = False,
        echoes: bool = False,
        ack_dscp: bool = False,
    ) -> None:
        self._slots, self._relaxed, self._acks, self._announced = slots, relaxed, acks, announced
        self._echoes, self._ack_dscp = echoes, ack_dscp
        self._waiting = _waiting_layout(announced=announced, ack_dscp=ack_dscp)
        self._sent = sent_layout(slots, announced=announced, echoes=echoes)
        super().__init__(
            {
                "config": In(CPS_CONFIG),
                "parsed": In(PARSED),
                "parsed_stb": In(1),
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
                "edit": Out(EDIT),
                "edit_stb": Out(1),
                "sent": Out(self._sent),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        waiting, known, slot, answered = self._ask(m)
        row = self.row

        # Why the packet leaves as it is: of several reasons the first.
        mode_r, resv6 = row.mode == Mode.R, reserved_bits(waiting.resv)
        reason = Signal(Reason)
        with m.If(~waiting.eligible):
            m.d.comb += reason.eq(waiting.reason)
        with m.Elif(~known):
            m.d.comb += reason.eq(Reason.UNKNOWN_QP)
        with m.Elif((row.mode != Mode.S) & ~mode_r):
            m.d.comb += reason.eq(Reason.QP_DISABLED)
        with m.Elif(~row.enable):
            m.d.comb += reason.eq(Reason.DESTINATION_DISABLED)
        with m.Elif(mode_r & (resv6 != 0)):
            m.d.comb += reason.eq(Reason.RESV6_IN_USE)
        with m.Elif(mode_r & ~row.score.valid):
            m.d.comb += reason.eq(Reason.NO_SCORE)
        with m.Elif(~mode_r & ~waiting.ipv6 & (waiting.ip_checksum == _UNUPDATABLE)):
            m.d.comb += reason.eq(Reason.CHECKSUM_FORM)
        with m.Elif(~mode_r & (waiting.end + _SHIM_BYTES > self.config.max_frame)):
            m.d.comb += reason.eq(Reason.MAX_FRAME)

        # Registered: the reason and the shim's fields; then the shim itself.
        m.submodules.encode = encode = ShimEncode()
        chosen = Signal(self._waiting, reset_less=True)
        found = Signal(self._sent)
        passed = Signal(data.StructLayout({"known": 1, "slot": slot.shape()}), reset_less=True)
        why = Signal(data.StructLayout({"reason": 5, "mode_r": 1}), reset_less=True)
        echoes = Signal(reset_less=True)  # BECN is set
        answers = waiting.opcode.matches(*ACKNOWLEDGES)
        passing = m.d.comb if self._relaxed else m.d.sync
        passing += [chosen.eq(waiting), passed.known.eq(known), passed.slot.eq(slot)]
        m.d.comb += [
            *(found[name].eq(passed[name]) for name in ("known", "slot")),
            *(found[name].eq(why[name]) for name in ("reason", "mode_r")),
            *([found.echoed.eq(echoes)] if self._echoes else []),
            *(
                found[name].eq(chosen[name])
                for name in ("opcode", "psn", "ack_req", "dma_length", "end", "time")
            ),
            *([found.announced.eq(chosen.announced)] if self._announced else []),
        ]
        with m.If(answered):
            m.d.sync += [
                why.reason.eq(reason),
                why.mode_r.eq(mode_r),
                echoes.eq(row.marked & self.config.echo_enabled & ~waiting.resv[BECN_AT]),
                encode.i.type.eq(Mux(answers, ShimType.ACKNOWLEDGE, ShimType.DATA)),
                encode.i.score.eq(row.score.value),
                encode.i.score_valid.eq(row.score.valid),
                encode.i.echo.eq(row.echo.value),
                encode.i.echo_valid.eq(row.echo.valid),
                encode.i.time.eq(Mux(answers, row.turnaround, waiting.ns[:TIME_BITS])),
                encode.i.time_valid.eq(~answers | row.turnaround_valid),
                encode.i.senders.eq(self.senders),
            ]
        remarked = Signal(REMARK, reset_less=True)
        if self._ack_dscp:
            values = remark(waiting, self.config)
            with m.If(answered):
                m.d.sync += [remarked[name].eq(value) for name, value in values.items()]
        self._edit(m, chosen, found, remarked, echoes, encode, answered)
        return m

    def _ask(self, m: Module) -> tuple[data.View, Value, Value, Value]:
        """The packet's own words, whether it has a slot, and which, when its row is there.

        And a strobe for that cycle; not `relaxed`, it is any cycle.
        """
        parsed, descriptor = self.parsed, self.parsed.descriptor
        roce = descriptor.reason == Reason.NONE
        length = descriptor.dma_length
        if self._acks:
            length = Mux(descriptor.opcode.matches(*READ_REQUEST), length, descriptor.payload)
        m.submodules.asked = asked = DelayLine(self._waiting, QpLookup.LATENCY, stays=self._relaxed)
        strobe = self.parsed_stb
        if self._relaxed:
            found_stb: Value = self.found_stb
            delays = []
        else:
            m.submodules.asked_stb = asked_stb = DelayLine(1, QpLookup.LATENCY, registers=True)
            found_stb = asked_stb.o
            delays = [asked_stb.i.eq(strobe)]
        known = asked.o.eligible & self.found
        m.d.comb += [
            asked.i.eligible.eq(roce & ~descriptor.shim),
            asked.i.reason.eq(Mux(roce, Reason.SHIM_PORT, descriptor.reason)),
            *(
                asked.i[name].eq(descriptor[name])
                for name in ("ipv6", "tags", "opcode", "psn", "ack_req")
            ),
            asked.i.dma_length.eq(length),
            *([asked.i.announced.eq(descriptor.dma_length)] if self._announced else []),
            *([asked.i.ip_head.eq(parsed.headers.ip_head)] if self._ack_dscp else []),
            *(
                asked.i[name].eq(parsed.headers[name])
                for name in ("ip_length", "ip_checksum", "udp_length", "udp_checksum", "resv")
            ),
            *(asked.i[name].eq(parsed[name]) for name in ("end", "time", "ns")),
            self.key_stb.eq(strobe),
            self.key.direction.eq(Direction.TX),
            self.key.remote.eq(descriptor.remote),
            self.key.qpn.eq(descriptor.dest_qp),
            *delays,
            self.row_stb.eq(found_stb),
            self.row_slot.eq(self.slot),
            self.row_psn.eq(asked.o.psn),
            self.row_ns.eq(asked.o.ns),
            self.row_takes.eq(known & asked.o.opcode.matches(*PLAIN_ACKNOWLEDGES)),
        ]
        if self._relaxed:
            m.submodules.answered_stb = answered_stb = DelayLine(
                1, CpsSlots.tx_latency_of(relaxed=True), registers=True
            )
            m.d.comb += answered_stb.i.eq(found_stb)
            kept_known, kept_slot = Signal(), Signal.like(self.slot)
            with m.If(found_stb):
                m.d.sync += [kept_known.eq(known), kept_slot.eq(self.slot)]
            return asked.o, kept_known, kept_slot, answered_stb.o
        answered_layout = data.StructLayout(
            {"waiting": self._waiting, "known": 1, "slot": self.slot.shape()}
        )
        m.submodules.answered = answered = DelayLine(answered_layout, CpsSlots.TX_LATENCY)
        m.d.comb += [
            answered.i.waiting.eq(asked.o),
            answered.i.known.eq(known),
            answered.i.slot.eq(self.slot),
        ]
        return answered.o.waiting, answered.o.known, answered.o.slot, Const(1)

    def _edit(
        self,
        m: Module,
        chosen: data.View,
        found: data.View,
        remarked: data.View,
        echoes: Value,
        encode: ShimEncode,
        answered: Value,
    ) -> None:
        """From the decision to the edit."""
        m.submodules.update = update = HeaderUpdate(stays=self._relaxed)
        score = Signal(range(SCORE_MAX + 1))
        m.d.comb += score.eq(encode.i.score)
        carries = found.reason == Reason.NONE
        inserts, writes = carries & ~found.mode_r, carries & found.mode_r
        # The checksum adds BECN itself, with the shim, too. What is not written may be anything.
        scored, resv = Signal(16), Signal(16)
        m.d.comb += scored.eq(chosen.resv)
        with m.If(writes | ~echoes):
            m.d.comb += reserved_bits(scored).eq((score >> 1) + 1)
        m.d.comb += [resv.eq(scored), resv[BECN_AT].eq(scored[BECN_AT] | echoes)]
        stub = data.StructLayout(
            {
                "inserts": 1,
                "writes": 1,
                "ipv6": 1,
                "tags": 2,
                "resv": 16,
                "dscp": 1,
                "ip_head": EDIT["ip_head"].shape,
                "shim": EDIT["shim"].shape,
                "sent": self._sent,
            }
        )
        m.submodules.stub = late = DelayLine(stub, UPDATE_LATENCY + 1, stays=self._relaxed)
        if self._relaxed:
            m.submodules.strobe = strobe = DelayLine(1, 1 + UPDATE_LATENCY, registers=True)
            m.d.comb += strobe.i.eq(answered)
        else:
            m.submodules.strobe = strobe = DelayLine(1, self.LATENCY, registers=True)
            m.d.comb += strobe.i.eq(self.parsed_stb)
        passing = m.d.comb if self._relaxed else m.d.sync
        passing += [
            update.i.edit.eq(Mux(inserts, Edit.INSERT, Edit.KEEP)),
            *(
                update.i[name].eq(chosen[name])
                for name in ("ip_length", "ip_checksum", "udp_length", "udp_checksum")
            ),
            update.i.dscp_step.eq(remarked.step),
            update.i.port_old.eq(ROCE_PORT),
            update.i.port_new.eq(self.config.shim_port),
            update.i.shim.eq(encode.o),
            update.i.resv_old.eq(chosen.resv),
            update.i.resv_new.eq(scored),
            update.i.becn.eq(echoes),
        ]
        edit, was = self.edit, late.o
        m.d.comb += [
            late.i.inserts.eq(inserts),
            late.i.writes.eq(writes | echoes),
            late.i.ipv6.eq(chosen.ipv6),
            late.i.tags.eq(chosen.tags),
            late.i.resv.eq(resv),
            late.i.dscp.eq(remarked.writes),
            late.i.ip_head.eq(remarked.ip_head),
            late.i.shim.eq(encode.o),
            late.i.sent.eq(found),
            self.edit_stb.eq(strobe.o),
            edit.edit.eq(Mux(was.inserts, Edit.INSERT, Edit.KEEP)),
            *(
                edit[name].eq(was[name])
                for name in ("ipv6", "tags", "resv", "dscp", "ip_head", "shim")
            ),
            edit.lengths.eq(was.inserts),
            edit.checksum.eq(was.inserts | was.writes),
            edit.reserved.eq(was.writes),
            edit.udp_port.eq(self.config.shim_port),
            *(
                edit[name].eq(update.o[name])
                for name in ("ip_length", "ip_checksum", "udp_length", "udp_checksum")
            ),
            self.sent.eq(was.sent),
        ]


def reserved_bits(word: Value) -> Value:
    """Mode R's six bits in the two bytes of the BTH that hold them."""
    field: Field = BTH["resv6"]
    low = 16 - (field.offset - 8 * field.byte) - field.bits
    return word[low : low + field.bits]
