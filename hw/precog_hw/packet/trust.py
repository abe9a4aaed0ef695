"""Whether a packet that came may have any effect: its ICRC, its queue pair, and the rate of CNPs.

The gateware of `precog_models.packet.trust`; IBTA annexes A17.9.2 (ICRC) and A17.9.3 (CNP), DCQCN
(004) for the interval.
"""

from amaranth.hdl import Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import plain_memory
from precog_hw.stream.queue import Queue
from precog_spec.contract import Fmt
from precog_spec.frames.opcodes import CNP

from .cps_rx import received_layout
from .finish import finished_layout
from .layouts import PARSED, TRUST_CONFIG

__all__ = ["Trust", "trusted_layout"]

_ROW = data.StructLayout(
    {
        "valid": unsigned(1),  # a CNP has had an effect
        "t": unsigned(Fmt.TIME.width),  # of the last one, ticks
    }
)


def trusted_layout(slots: int) -> data.StructLayout:
    """A packet at its end, and what it may do."""
    return data.StructLayout(
        {
            **finished_layout(received_layout(slots), PARSED).members,
            "right": unsigned(1),  # its ICRC is right, or is not checked
            "acts": unsigned(1),  # and it is of a queue pair, whole, and no CNP too soon
        }
    )


class Trust(wiring.Component):
    """Holds the record of a packet, never the packet, until the packet's ICRC is known.

    ::

        verdicts ─► [queue] ─┐
        i ───────────────────┴─► right? ─┬──────────────────────────────────────────┬─► o
                                         └─ CNP ─► [last CNP] ─► interval over? ────┘

    A record waits for the verdict on its own packet, which is known `IcrcCheck.LATENCY` cycles
    after the packet's last beat has left. One that is dropped has none, and acts on nothing.

    Latency: 0 cycles behind the later one of record and verdict; `CNP_CYCLES` = 4 more for a CNP,
    which asks when the last one came. Throughput: a record per cycle, a CNP in 5. `relaxed` and
    with verdicts, a record is copied, so that the next packet need not wait for this one's
    verdict: 1 cycle more, and a record in `STAYS` + 2 cycles. Cost at 1024 slots (ECP5): 3 DP16KD
    for the times of CNPs, 127 LUT4, 46 CCU2C, 195 flip-flops; the copy has up to 960 more.

    Parameters
    ----------
    slots : int
        QP slots.
    verdicts : int
        Records that may wait for `i` to be taken (a power of two); 0: no ICRC is checked, and every
        record is right.
    relaxed : bool
        What stays with `i` does not stay while it waits here; `o` stays for `STAYS` cycles after
        it was taken.

    Members
    -------
    i : In(stream.Signature(finished_layout(received_layout(slots), PARSED)))
        One record for each packet, at its end.
    verdict_stb, verdict : In(1)
        With `verdicts`: one for each packet that was not dropped, in the records' order, not before
        the record's decision. The packet's ICRC is right.
    config : In(TRUST_CONFIG)
        Registers.
    i_reset : In(stream.Signature(range(slots)))
        Host: forget the slot's last CNP. Waits while a CNP is judged; the next one waits for it.
    o : Out(stream.Signature(trusted_layout(slots)))
    refused_icrc, refused_cnp : Out(1)
        Strobes, with the transfer of `o`: a whole packet of a queue pair had no effect, because its
        ICRC is wrong; because it is a CNP that came too soon behind the last.
    """

    CNP_CYCLES = 4
    STAYS = 8

    i: stream.Interface
    i_reset: stream.Interface
    o: stream.Interface

    def __init__(self, slots: int, verdicts: int, *, relaxed: bool = False) -> None:
        self._slots, self._verdicts, self._relaxed = slots, verdicts, relaxed
        self._record = finished_layout(received_layout(slots), PARSED)
        super().__init__(
            {
                "i": In(stream.Signature(self._record)),
                **(dict.fromkeys(("verdict_stb", "verdict"), In(1)) if verdicts else {}),
                "config": In(TRUST_CONFIG),
                "i_reset": In(stream.Signature(range(slots))),
                "o": Out(stream.Signature(trusted_layout(slots))),
                "refused_icrc": Out(1),
                "refused_cnp": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        waits = self._copied(m) if self._relaxed and self._verdicts else self.i
        record, taken = waits.payload, Signal()
        got = record.decided
        ready, right = self._verdict(m, got, taken)
        whole, is_cnp = Signal(), Signal()
        due = Signal()
        judged = self._interval(m, got, record, is_cnp & waits.valid & ready, taken, due)
        m.d.comb += [
            whole.eq(got.known & ~record.error),
            is_cnp.eq(whole & right & (record.parsed.descriptor.opcode == CNP)),
            self.o.valid.eq(waits.valid & ready & (judged | ~is_cnp)),
            waits.ready.eq(self.o.valid & self.o.ready),
            taken.eq(waits.ready),
            *(self.o.payload[name].eq(record[name]) for name in self._record.members),
            self.o.payload.right.eq(right),
            self.o.payload.acts.eq(whole & right & (due | ~is_cnp)),
            self.refused_icrc.eq(taken & whole & ~right),
            self.refused_cnp.eq(taken & is_cnp & ~due),
        ]
        return m

    def _verdict(self, m: Module, got: data.View, taken: Signal) -> tuple[Value, Value]:
        """Whether it is known, and the ICRC right."""
        if not self._verdicts:
            return Const(1), Const(1)
        m.submodules.verdicts = verdicts = Queue(unsigned(1), self._verdicts)
        m.d.comb += [
            verdicts.i.valid.eq(self.verdict_stb),
            verdicts.i.payload.eq(self.verdict),
            verdicts.o.ready.eq(taken & ~got.dropped),
        ]
        right = ~got.dropped & (verdicts.o.payload | ~self.config.icrc_gate)
        return verdicts.o.valid | got.dropped, right

    def _interval(
        self,
        m: Module,
        got: data.View,
        record: data.View,
        asks: Value,
        taken: Signal,
        due: Signal,
    ) -> Signal:
        """Of a CNP: whether it is known if it is `due`, the interval since the last one over."""
        m.submodules.rows = rows = plain_memory(_ROW, self._slots)
        write, read = rows.write_port(), rows.read_port()
        # Step 1: the RAM has it; 2: its register; 3: the difference; 4: the comparison.
        step = Signal(range(self.CNP_CYCLES + 1))
        row = Signal(_ROW)
        since = Signal(Fmt.TIME.width)
        judged, keeps, resets = Signal(), Signal(), Signal()
        t = record.parsed.time
        m.d.comb += [
            read.addr.eq(got.slot),
            judged.eq(step == self.CNP_CYCLES),
            keeps.eq(taken & asks & due),
            self.i_reset.ready.eq(~asks | (step == 0)),
            resets.eq(self.i_reset.valid & self.i_reset.ready),
            write.en.eq(keeps | resets),
            write.addr.eq(Mux(keeps, got.slot, self.i_reset.payload)),
            write.data.valid.eq(keeps),
            write.data.t.eq(t),
        ]
        m.d.sync += [
            row.eq(read.data),
            since.eq(t - row.t),
            due.eq(~row.valid | (since >= self.config.cnp_gap)),
        ]
        with m.If(~asks | taken | resets):
            m.d.sync += step.eq(0)
        with m.Elif(~judged):
            m.d.sync += step.eq(step + 1)
        return judged

    def _copied(self, m: Module) -> stream.Interface:
        """A register for the record; it stays until its last reader is done."""
        copy = stream.Signature(self._record).create(path=("copy",))
        stays = Signal(range(self.STAYS + 1))
        m.d.comb += self.i.ready.eq(~copy.valid & (stays == 0))
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [copy.valid.eq(1), copy.payload.eq(self.i.payload)]
        with m.Elif(copy.ready):
            m.d.sync += [copy.valid.eq(0), stays.eq(self.STAYS)]
        with m.Elif(stays != 0):
            m.d.sync += stays.eq(stays - 1)
        return copy
