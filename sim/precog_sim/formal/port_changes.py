"""What a packet and a reset make of their row of the port's queue, and which bytes they tell of.

The block is as ``port.sums`` has it. A packet is followed to its row, 3 cycles from when it came:
for ever, by induction, as nothing is longer on its way.
"""

from amaranth.hdl import Assert, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring

from precog_spec.frames.opcodes import ANNOUNCES

from .engine import Mode, Proof
from .mutate import Mutant
from .pace_wheel_parts import Rows
from .packets import late
from .port import SOURCE, short_port
from .ports import any_inputs

__all__ = ["MUTANTS", "PROOFS"]


class ChangesHarness(wiring.Component):
    """`PortQueue`, any packets, resets, time, registers and consumer."""

    def __init__(self) -> None:
        self._dut, self._inner, self._rows, _ = short_port(claims=False)
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dut, inner, rows = self._dut, self._inner, self._rows
        m.submodules.dut = inner.fragment
        any_inputs(m, dut)
        counts, forgets = Signal(), dut.i_reset.valid & dut.i_reset.ready
        m.d.sync += counts.eq(dut.enable & ~dut.first_reset)
        sends = dut.heard & counts & (dut.payload != 0)
        m.d.comb += Assert(~(sends & forgets), "a reset waits for a cycle without a packet")

        def delayed(value: Value, name: str, cycles: int = Rows.CYCLES) -> Value:
            return late(m, value, cycles, name)

        packet, slot = delayed(sends, "packet"), delayed(dut.slot, "slot")
        announces = delayed(dut.opcode.matches(*ANNOUNCES), "announces")
        payload, length = delayed(dut.payload, "payload"), delayed(dut.dma_length, "length")
        most = delayed(dut.most, "most", 1)
        old = rows.old.left
        expired = (inner["tag"] - rows.old.tag)[1]
        rest, left, unannounced = Signal.like(old), Signal.like(old), Signal.like(dut.payload)
        m.d.comb += rest.eq(Mux(expired, 0, old))
        with m.If(announces):
            m.d.comb += rest.eq(Mux(length < most, length, most))
        with m.If(payload > rest):
            m.d.comb += unannounced.eq(payload - rest)
        with m.Else():
            m.d.comb += left.eq(rest - payload)
        came, went = Signal.like(inner["arrives"]), Signal.like(inner["departs"])
        was_packet = delayed(packet, "row", 1)
        m.d.sync += [
            came.eq(Mux(announces, rest, 0) + unannounced),
            went.eq(Mux(announces | expired, old, 0) + payload),
        ]
        written = Rows.CYCLES + 1
        forgot = delayed(forgets, "forgot", written)
        which = delayed(dut.i_reset.payload, "which", written)
        m.d.comb += [
            Assert(~packet | (rows.stb & (rows.row == slot)), "each packet has its row"),
            Assert(~packet | (rows.new.left == left), "what is left to come"),
            Assert(~packet | (rows.new.tag == inner["tag"]), "data came in this epoch"),
            Assert(~was_packet | (inner["arrives"] == came), "announced, or more than that"),
            Assert(~was_packet | (inner["departs"] == went), "withdrawn, or came"),
            Assert(~forgot | (rows.rows[which].left == 0), "a slot that is reset has no rest"),
            Cover(packet & announces & (left != 0) & (old != 0)),
            Cover(packet & (unannounced != 0)),
        ]
        return m


PROOFS = (
    Proof(
        "port.changes",
        ChangesHarness,
        Mode.INDUCTION,
        6,
        "2 slots, for ever, any packets, resets, time and registers: a packet leaves of its queue "
        "pair's rest what it should, tells of all its bytes and of those that it withdraws; a slot "
        "that is reset has no rest",
    ),
    Proof(
        "port.changes-cover",
        ChangesHarness,
        Mode.COVER,
        20,
        "an announcement replaces another, and bytes come that were not announced",
        quick=False,
    ),
)
MUTANTS = (
    Mutant(
        "port.changes",
        SOURCE,
        "withdraws = announces | (late.kind == _Kind.RESET) | age[1]",
        "withdraws = announces | age[1]",
        "a reset leaves a rest",
        quick=True,
        step=True,
    ),
    Mutant(
        "port.changes",
        SOURCE,
        "m.d.sync += late.length.eq(self.most)",
        "pass",
        "a sender is believed whatever it says",
        step=True,
    ),
    Mutant(
        "port.changes",
        SOURCE,
        "Mux(longer, 0, beyond)",
        "0",
        "bytes that were not announced do not arrive",
        step=True,
    ),
    Mutant(
        "port.changes",
        SOURCE,
        "new.tag.eq(Mux(packet, tag, old.tag))",
        "new.tag.eq(old.tag)",
        "a queue pair that sends counts as silent",
        step=True,
    ),
)
