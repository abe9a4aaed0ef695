"""CPS extraction: what becomes of a packet from the wire, and the score that it brings.

The gateware of `precog_models.packet.cps_rx`.
"""

from amaranth.hdl import Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.stream.delay import DelayLine
from precog_spec.frames.cps import (
    CNP_MARK,
    RESV6_MAX,
    SCORE_MAX,
    SCORE_NONE,
    SHIM,
    TIME_BITS,
    Mode,
    ShimFault,
    ShimType,
)
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.headers import ROCE_PORT
from precog_spec.frames.opcodes import CNP

from .checksum import LATENCY as UPDATE_LATENCY
from .checksum import HeaderUpdate
from .cps_slots import DESTINATIONS, SCORE, CpsSlots, rx_row_layout
from .cps_tx import reserved_bits
from .layouts import CPS_CONFIG, DESCRIPTOR, EDIT, HEADERS, PARSED, Edit
from .qp_lookup import KEY, QpLookup
from .shim import SHIM_FIELDS, ShimDecode

__all__ = ["CpsReceive", "received_layout"]

_FAULT_BITS = max(ShimFault).bit_length()
#: Headers of the packet that are looked at or changed after the QP lookup.
_LATE = ("ip_length", "ip_checksum", "udp_length", "udp_checksum", "shim", "resv", "cnp")


#: What a slot's row decides.
_JUDGED = data.StructLayout(
    {
        "end": PARSED["end"].shape,
        **dict.fromkeys(("shim", "known", "dropped", "extracted"), unsigned(1)),
        "turnaround_valid": unsigned(1),
        "fault": unsigned(_FAULT_BITS),
        "own_score": SCORE,
        "destination": unsigned((DESTINATIONS - 1).bit_length()),
        "resv6_read": unsigned(1),
        "resv6_fault": unsigned(1),
        "score": SCORE,
        "clamped": unsigned(2),
    }
)


def received_layout(slots: int) -> data.StructLayout:
    """What was found in one packet."""
    return data.StructLayout(
        {
            "reason": DESCRIPTOR["reason"].shape,  # why the packet is not RoCE, or none
            "shim": unsigned(1),  # it goes on to the shim's port
            "end": PARSED["end"].shape,  # as it goes on: without the shim that was taken out
            "known": unsigned(1),  # `slot` is the packet's
            "slot": unsigned((slots - 1).bit_length()),
            "fault": unsigned(_FAULT_BITS),  # `ShimFault`: to the shim's port, and stays as it is
            "extracted": unsigned(1),
            "dropped": unsigned(1),
            "score": SCORE,
            "own_score": SCORE,  # the slot's, to be sent
            "destination": unsigned((DESTINATIONS - 1).bit_length()),  # the slot's
            "turnaround": unsigned(TIME_BITS),  # T2 - T1, ns
            "turnaround_valid": unsigned(1),
            "resv6_read": unsigned(1),
            "resv6_fault": unsigned(1),
            "clamped": unsigned(2),  # scores and echoes that were 101..254
            "senders": SHIM_FIELDS["senders"].shape,  # with `extracted`: the shim's level
        }
    )


def _waiting_layout(slots: int) -> data.StructLayout:
    """What is found in a packet, and of the packet what decides or changes meanwhile."""
    return data.StructLayout(
        {
            "received": received_layout(slots),
            **{name: DESCRIPTOR[name].shape for name in ("ipv6", "tags", "opcode")},
            "headers": data.StructLayout({name: HEADERS[name].shape for name in _LATE}),
        }
    )


class CpsReceive(wiring.Component):
    """Decides on one packet per cycle, from its headers alone; touches no byte itself.

    ::

        parsed ─► [shim] ─► key ─► [lookup] ─► slot ─► [slots] ─► mode ─► [update] ─► edit
          └─────────────────── [delay lines] ──────────────────────┴──────────────────┘

    Latency: `LATENCY` cycles from `parsed_stb` to `edit_stb`. Throughput: one packet per cycle.
    Cost: three delay lines of some 260 bits, the header update, one CRC-8.

    Parameters
    ----------
    slots : int
        QP slots.
    relaxed : bool
        One packet at a time: `parsed` stays until the next packet's `parsed_stb`, and so do `edit`
        and `received`. No delay lines, and a cycle less.
    senders : bool
        Whether shims' levels are read.

    Members
    -------
    config : In(CPS_CONFIG)
    parsed, parsed_stb : In
    key, key_stb : Out(KEY), Out(1)
        To `QpLookup`; `found` and `slot` answer after its latency.
    found_stb : In(1)
        With `relaxed`: `found` and `slot` answer now, as `QpTurns` does.
    row_slot : Out
        To `CpsSlots`; `row` answers after its latency.
    edit, edit_stb : Out(EDIT), Out(1)
    received : Out(received_layout(slots))
        With `edit_stb`. What it brings counts only if the frame ends without an error.
    """

    LATENCY = 1 + QpLookup.LATENCY + CpsSlots.RX_LATENCY + 1 + UPDATE_LATENCY

    def __init__(self, slots: int, *, relaxed: bool = False, senders: bool = False) -> None:
        self._slots, self._relaxed, self._senders = slots, relaxed, senders
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
                "row_slot": Out(range(slots)),
                "row": In(rx_row_layout(DESTINATIONS)),
                "edit": Out(EDIT),
                "edit_stb": Out(1),
                "received": Out(received_layout(slots)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        read, strobe = self._read_shim(m)
        stays = self._relaxed
        passing = m.d.comb if stays else m.d.sync
        m.submodules.asked = asked = DelayLine(read.shape(), QpLookup.LATENCY, stays=stays)
        m.submodules.answered = answered = DelayLine(read.shape(), CpsSlots.RX_LATENCY, stays=stays)
        passing += [
            self.key.remote.eq(self.parsed.descriptor.remote),
            self.key.qpn.eq(self.parsed.descriptor.dest_qp),
        ]
        m.d.comb += [
            asked.i.eq(read),
            self.key_stb.eq(strobe),
            self.key.direction.eq(Direction.RX),
            self.row_slot.eq(self.slot),
            answered.i.eq(asked.o),
        ]
        known, slot = asked.o.received.known & self.found, self.slot
        answers: Value = Const(1)
        if stays:
            m.submodules.answered_stb = answered_stb = DelayLine(1, CpsSlots.RX_LATENCY)
            kept_known, kept_slot = Signal(), Signal.like(slot)
            m.d.comb += answered_stb.i.eq(self.found_stb)
            with m.If(self.found_stb):
                m.d.sync += [kept_known.eq(known), kept_slot.eq(slot)]
            known, slot, answers = kept_known, kept_slot, answered_stb.o
        m.d.comb += [answered.i.received.known.eq(known), answered.i.received.slot.eq(slot)]
        found, writes = self._judge(m, answered.o, answers)
        self._edit(m, found, writes, answers)
        return m

    def _read_shim(self, m: Module) -> tuple[data.View, Signal]:
        """Cycle 1: what the shim says.

        `known` means here that the table is to be asked, and `extracted` that the shim is right:
        `_judge` says whether it is trusted.
        """
        m.submodules.decode = decode = ShimDecode()
        parsed, descriptor = self.parsed, self.parsed.descriptor
        waiting, strobe = Signal(_waiting_layout(self._slots)), Signal()
        read = waiting.received
        roce, ours = descriptor.reason == Reason.NONE, Signal()
        # A packet that stays is not answered in the cycle of its strobe.
        decoded = Signal.like(decode.fault)
        judging = m.d.sync if self._relaxed else m.d.comb
        judging += decoded.eq(decode.fault)
        fault = Mux(roce, decoded, ShimFault.LENGTH)
        answer = decode.o.type == ShimType.ACKNOWLEDGE
        m.d.comb += [
            decode.i.eq(parsed.headers.shim),
            ours.eq(descriptor.shim & roce & (decoded == ShimFault.NONE)),
        ]
        passing = m.d.comb if self._relaxed else m.d.sync
        passing += [
            strobe.eq(self.parsed_stb),
            *(waiting[name].eq(descriptor[name]) for name in ("ipv6", "tags", "opcode")),
            *(waiting.headers[name].eq(parsed.headers[name]) for name in _LATE),
            read.reason.eq(descriptor.reason),
            read.shim.eq(descriptor.shim & ~ours),
            read.end.eq(parsed.end),
            read.known.eq(roce & (ours | ~descriptor.shim)),
            read.fault.eq(Mux(descriptor.shim, fault, ShimFault.NONE)),
            read.extracted.eq(ours),
            read.dropped.eq(descriptor.shim & ~ours & self.config.drop_malformed),
            read.score.value.eq(decode.o.score),
            read.score.valid.eq(ours & decode.o.score_valid),
            read.turnaround.eq(decode.o.time),
            read.turnaround_valid.eq(ours & answer & decode.o.time_valid),
            read.clamped.eq(Mux(ours, decode.clamped, 0)),
            read.senders.eq(decode.o.senders if self._senders else 0),
        ]
        return waiting, strobe

    def _judge(self, m: Module, waiting: data.View, answers: Value) -> tuple[data.View, Signal]:
        """Registered: whether the shim goes, and the score of modes R and C where none brought one.

        Nothing is taken out, nor any score heard, of packets to and from a destination that is not
        enabled, and no shim but of a queue pair in mode S.
        """
        passed, scored = (
            Signal(_waiting_layout(self._slots), name=n) for n in ("passed", "scored")
        )
        found, writes = Signal(_JUDGED), Signal()
        before = waiting.received
        bits = reserved_bits(waiting.headers.resv)
        enabled = before.known & self.row.enable
        taken = before.extracted & enabled & (self.row.mode == Mode.S)
        refused = before.extracted & ~taken
        mode_r = enabled & ~before.extracted & (self.row.mode == Mode.R)
        in_range = (bits != 0) & (bits <= RESV6_MAX)
        reads = mode_r & in_range
        brought = (taken & before.score.valid) | reads
        mark, byte = waiting.headers.cnp[8:], waiting.headers.cnp[:8]
        is_cnp = waiting.opcode == CNP
        carries = (mark == CNP_MARK) & (byte != SCORE_NONE)
        marked = enabled & ~refused & is_cnp & ~brought & carries
        wild = byte > SCORE_MAX
        clamped = Mux(taken, before.clamped, 0)
        passing = m.d.comb if self._relaxed else m.d.sync
        passing += passed.eq(waiting)
        m.d.comb += [
            scored.eq(passed),
            *(scored.received[name].eq(found[name]) for name in dict(_JUDGED)),
        ]
        with m.If(answers):
            m.d.sync += [
                found.own_score.eq(self.row.score),
                found.destination.eq(self.row.destination),
                writes.eq(reads),
                found.resv6_read.eq(reads),
                found.resv6_fault.eq(mode_r & (bits != 0) & ~in_range),
                found.score.valid.eq(brought | marked),
                found.score.value.eq(before.score.value),
                found.clamped.eq(clamped),
                found.end.eq(Mux(taken, before.end - SHIM.size, before.end)),
                found.shim.eq(before.shim | refused),
                found.dropped.eq(before.dropped),
                found.known.eq(before.known & ~refused),
                found.extracted.eq(taken),
                found.turnaround_valid.eq(taken & before.turnaround_valid),
                found.fault.eq(Mux(refused, ShimFault.UNTRUSTED, before.fault)),
            ]
            with m.If(reads):
                m.d.sync += found.score.value.eq((bits - 1) << 1)
            with m.Elif(marked):
                m.d.sync += [
                    found.score.value.eq(Mux(wild, SCORE_MAX, byte)),
                    found.clamped.eq(clamped + wild),
                ]
        return scored, writes

    def _edit(self, m: Module, found: data.View, writes: Value, answers: Value) -> None:
        """From the decision to the edit."""
        stays = self._relaxed
        m.submodules.update = update = HeaderUpdate(stays=stays)
        m.submodules.late = late = DelayLine(found.shape(), UPDATE_LATENCY, stays=stays)
        m.submodules.wrote = wrote = DelayLine(1, UPDATE_LATENCY, stays=stays)
        m.submodules.strobe = strobe = DelayLine(
            1, 1 + UPDATE_LATENCY if stays else self.LATENCY, registers=True
        )
        headers, was = found.headers, late.o.received
        cleared = Signal(16)
        m.d.comb += [
            cleared.eq(headers.resv),
            reserved_bits(cleared).eq(0),
            update.i.edit.eq(Mux(found.received.extracted, Edit.REMOVE, Edit.KEEP)),
            *(
                update.i[name].eq(headers[name])
                for name in ("ip_length", "ip_checksum", "udp_length", "udp_checksum", "shim")
            ),
            update.i.port_old.eq(self.config.shim_port),
            update.i.port_new.eq(ROCE_PORT),
            update.i.resv_old.eq(headers.resv),
            update.i.resv_new.eq(cleared),
            late.i.eq(found),
            wrote.i.eq(writes),
            strobe.i.eq(answers if stays else self.parsed_stb),
            self.edit_stb.eq(strobe.o),
            self.received.eq(was),
        ]
        edit, resv = self.edit, late.o.headers.resv
        kept = Mux(was.dropped, Edit.DROP, Edit.KEEP)
        m.d.comb += [
            edit.edit.eq(Mux(was.extracted, Edit.REMOVE, kept)),
            edit.ipv6.eq(late.o.ipv6),
            edit.tags.eq(late.o.tags),
            edit.lengths.eq(was.extracted),
            edit.checksum.eq(was.extracted | wrote.o),
            edit.reserved.eq(wrote.o),
            edit.resv.eq(resv),
            reserved_bits(edit.resv).eq(0),
            edit.udp_port.eq(ROCE_PORT),
            *(
                edit[name].eq(update.o[name])
                for name in ("ip_length", "ip_checksum", "udp_length", "udp_checksum")
            ),
        ]
