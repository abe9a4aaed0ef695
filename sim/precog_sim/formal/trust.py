"""What may have an effect: no packet with a wrong ICRC, and one CNP per interval and queue pair.

The block is the gateware as it is, with two slots, but for its queue of verdicts: a FIFO of plain
registers stands for `Queue`, which ``queue.rules`` and ``queue.bounded`` in `streams` are about.
Records, verdicts, resets and the consumer are free in every cycle; the registers are free, but
constant. Times need not grow. Of the records only their order is assumed to be that of the
verdicts, which `path` proves: each packet has one record, in order.

By induction, hence for ever. The claim about CNPs is made of one slot that is free, but constant.
"""

from functools import partial
from typing import Any

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.frames.opcodes import CNP

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .packets import assert_stream, assume_stream
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

_TRUST = "precog_hw.packet.trust"
SLOTS, VERDICTS = 2, 2


class Listed(wiring.Component):
    """As `Queue` of one bit: `depth` + 1 of them, the first at `bits[0]`."""

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: Any, depth: int) -> None:
        self.bits, self.count = Signal(depth + 1), Signal(range(depth + 2))
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pops, pushes = self.o.valid & self.o.ready, self.i.valid & self.i.ready
        left = (self.count - pops)[: len(self.count)]
        kept = Mux(pops, self.bits >> 1, self.bits) & ((1 << left) - 1)
        m.d.comb += [
            self.i.ready.eq(self.count != len(self.bits)),
            self.o.valid.eq(self.count != 0),
            self.o.payload.eq(self.bits[0]),
        ]
        m.d.sync += [
            self.count.eq(left + pushes),
            self.bits.eq(kept | ((self.i.payload & pushes) << left)),
        ]
        return m


class TrustHarness(wiring.Component):
    """`Trust`, any records, verdicts and resets.

    Parameters
    ----------
    relaxed : bool
        As `Trust`.
    """

    def __init__(self, *, relaxed: bool = False) -> None:
        from precog_hw.packet.cps_rx import received_layout
        from precog_hw.packet.finish import finished_layout
        from precog_hw.packet.layouts import PARSED, TRUST_CONFIG

        self._relaxed = relaxed
        super().__init__(
            {
                "record": In(finished_layout(received_layout(SLOTS), PARSED)),
                "offers": In(1),
                "verdict": In(1),
                "tells": In(1),
                "resets": In(1),
                "reset": In(range(SLOTS)),
                "ready": In(1),
                "config": In(TRUST_CONFIG),
                "slot": In(range(SLOTS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        queues: list[Listed] = []
        memories: list[Any] = []

        def listed(shape: Any, depth: int) -> Listed:
            queues.append(Listed(shape, depth))
            return queues[-1]

        module: Any
        with reimported(_TRUST) as module:
            made = module.plain_memory

            def opened(*arguments: Any) -> Any:
                """The rows with two more ports, through which the proof sees them."""
                memory = made(*arguments)
                ports = (memory.read_port(domain="comb") for _ in range(2))
                memories.extend([memory, *ports])
                return memory

            module.Queue, module.plain_memory = listed, opened
            dut = module.Trust(SLOTS, VERDICTS, relaxed=self._relaxed)
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        past = Past(m)
        config = Value.cast(self.config)
        m.d.comb += [
            dut.i.payload.eq(self.record),
            dut.i.valid.eq(self.offers),
            dut.verdict.eq(self.verdict),
            dut.verdict_stb.eq(self.tells),
            dut.i_reset.payload.eq(self.reset),
            dut.i_reset.valid.eq(self.resets),
            dut.o.ready.eq(self.ready),
            dut.config.eq(self.config),
            Assume(~past.known | (config == past(config, "config"))),
            Assume(~past.known | (self.slot == past(self.slot, "slot"))),
            # A record that is dropped is of no queue pair: `decide` has it so.
            Assume(~(self.record.decided.dropped & self.record.decided.known)),
            Assume(~self.tells | queues[0].i.ready),
        ]
        assume_stream(m, past, dut.i, "i")
        assume_stream(m, past, dut.i_reset, "reset")
        assert_stream(m, past, dut.o, "o")

        out = dut.o.payload
        taken = dut.o.valid & dut.o.ready
        is_cnp = out.parsed.descriptor.opcode == CNP
        self._verdicts(m, out, taken, queues[0])
        self._interval(m, past, dut, inner, out, taken & out.acts & is_cnp, memories)
        m.d.comb += [
            Assert(~taken | ~out.acts | (out.decided.known & ~out.error)),
            Assert(dut.refused_icrc + dut.refused_cnp + (taken & out.acts) <= 1),
            Assert(
                ~taken
                | ~(out.decided.known & ~out.error)
                | dut.refused_icrc
                | dut.refused_cnp
                | out.acts,
                "a refusal is counted",
            ),
            Cover(dut.refused_icrc & is_cnp),
        ]
        return m

    def _verdicts(self, m: Module, out: Any, taken: Value, queue: Listed) -> None:
        """The verdicts that have come and whose records have not left, in order."""
        waiting, count = Signal.like(queue.bits), Signal.like(queue.count)
        pops = taken & ~out.decided.dropped
        left = (count - pops)[: len(count)]
        kept = Mux(pops, waiting >> 1, waiting) & ((1 << left) - 1)
        m.d.sync += [
            count.eq(left + self.tells),
            waiting.eq(kept | ((self.verdict & self.tells) << left)),
        ]
        believed = (count != 0) & (waiting[0] | ~self.config.icrc_gate)
        m.d.comb += [
            Assert(~(taken & out.acts) | believed, "what acts has a right ICRC"),
            Assert(~pops | (count != 0), "no record leaves before its verdict"),
            Assert((count == queue.count) & (waiting == queue.bits)),
        ]

    def _interval(
        self,
        m: Module,
        past: Past,
        dut: Any,
        inner: Opened,
        out: Any,
        acts: Value,
        memories: list[Any],
    ) -> None:
        """CNPs of `slot` that act, since its last reset."""
        memory, row, asked = memories
        some, last, gap = Signal(), Signal(40), Signal(40)
        t, slot = out.parsed.time, out.decided.slot
        mine = slot == self.slot
        resets = self.resets & dut.i_reset.ready & (self.reset == self.slot)
        m.d.comb += [gap.eq(t - last), row.addr.eq(self.slot), asked.addr.eq(slot)]
        with m.If(acts & mine):
            m.d.sync += [some.eq(1), last.eq(t)]
            m.d.comb += Assert(
                ~some | (gap >= self.config.cnp_gap), "one CNP per interval and queue pair"
            )
        with m.Elif(resets):
            m.d.sync += some.eq(0)

        # For the induction: the block's own memory of it, and how far its look at a row is.
        step, read, kept = inner["step"], memory.read_ports[-1].data, inner["row"]
        held = Value.cast(asked.data)
        m.d.comb += [
            Assert(row.data.valid == some),
            Assert(~some | (row.data.t == last)),
            Assert(step <= dut.CNP_CYCLES),
            Assert((step < 1) | (Value.cast(read) == held)),
            Assert((step < 2) | (Value.cast(kept) == held)),
            Assert((step < 3) | (inner["since"] == (t - asked.data.t)[:40])),
            Assert(
                (step < 4)
                | (inner["due"] == (~asked.data.valid | (inner["since"] >= self.config.cnp_gap)))
            ),
        ]
        m.d.comb += Cover(
            acts & mine & some & (self.config.cnp_gap > 5) & (t < last) & past(dut.o.valid, "held")
        )


_CLAIM = (
    "for ever, any records, verdicts and resets: nothing acts whose ICRC is wrong, one CNP per "
    "interval and queue pair, every refusal is counted"
)
PROOFS = (
    Proof("trust.acts", TrustHarness, Mode.INDUCTION, 3, _CLAIM, fresh=True),
    Proof(
        "trust.relaxed",
        partial(TrustHarness, relaxed=True),
        Mode.INDUCTION,
        3,
        f"{_CLAIM}, where records are copied",
        fresh=True,
    ),
    Proof(
        "trust.cover",
        TrustHarness,
        Mode.COVER,
        20,
        "a CNP with a wrong ICRC is refused; a second one acts after time has wrapped",
        quick=False,
    ),
)
MUTANTS = (
    Mutant(
        "trust.acts",
        _TRUST,
        "right = ~got.dropped & (verdicts.o.payload | ~self.config.icrc_gate)",
        "right = ~got.dropped",
        "no ICRC is looked at",
        quick=True,
    ),
    Mutant(
        "trust.acts",
        _TRUST,
        "verdicts.o.ready.eq(taken & ~got.dropped)",
        "verdicts.o.ready.eq(taken)",
        "a packet that is dropped takes the next one's verdict",
    ),
    Mutant(
        "trust.acts",
        _TRUST,
        "return verdicts.o.valid | got.dropped, right",
        "return Const(1), right",
        "a record leaves before its verdict",
    ),
    Mutant(
        "trust.acts",
        _TRUST,
        "since >= self.config.cnp_gap",
        "since + 1 >= self.config.cnp_gap",
        "a CNP acts a tick too soon",
        step=True,
    ),
    Mutant(
        "trust.acts",
        _TRUST,
        "keeps.eq(taken & asks & due)",
        "keeps.eq(taken & asks)",
        "a CNP that is refused begins the interval anew",
        step=True,
    ),
    Mutant(
        "trust.acts",
        _TRUST,
        "judged.eq(step == self.CNP_CYCLES)",
        "judged.eq(step == self.CNP_CYCLES - 1)",
        "a CNP is judged by the one before",
        step=True,
        quick=True,
    ),
    Mutant(
        "trust.relaxed",
        _TRUST,
        "self.i.ready.eq(~copy.valid & (stays == 0))",
        "self.i.ready.eq(1)",
        "a record is overwritten by the next",
    ),
)
