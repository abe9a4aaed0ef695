"""The arbiter of packets: each whole, in turn, nothing lost, and the output is not left idle.

`PacketArbiter` is the gateware as it is, between producers that keep the rules of packet streams
and an arbitrary consumer. By induction, hence for ever: as the card has it for CNPs and the host's
packets (2 inputs in turn, 64 bits), as wire mode has it (2 inputs, bursts), and with 3 inputs at
8 bits, where turns are more than to and fro.
"""

from functools import partial

from amaranth.hdl import Array, Assert, Cat, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .engine import Mode, Proof
from .mutate import Mutant
from .packets import assert_rules, assume_rules
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

_ARBITER = "precog_hw.stream.packet_arbiter"
DEPTH = 8  # cycles


class ArbiterHarness(wiring.Component):
    """The arbiter with free inputs.

    Parameters
    ----------
    width, inputs : int
    burst : int, optional
        As `PacketArbiter`.
    """

    def __init__(self, width: int, inputs: int, burst: int | None = None) -> None:
        from precog_hw.stream.packet import beat_layout

        self._width, self._inputs, self._burst = width, inputs, burst
        super().__init__(
            {
                "beats": In(beat_layout(width)).array(inputs),
                "valids": In(inputs),
                "ready": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        from precog_hw.stream.packet_arbiter import PacketArbiter

        m = Module()
        dut = PacketArbiter(self._width, self._inputs, burst=self._burst)
        inner = Opened(dut)
        m.submodules.dut = inner.fragment
        past = Past(m)
        m.d.comb += dut.o.ready.eq(self.ready)
        for n, port in enumerate(dut.i):
            m.d.comb += [port.payload.eq(self.beats[n]), port.valid.eq(self.valids[n])]
            assume_rules(m, past, port, f"i{n}")
        assert_rules(m, past, dut.o, "o")

        # A word that is taken leaves a cycle later.
        taken, came = Signal(self._inputs), Signal.like(Value.cast(dut.o.payload))
        free = ~dut.o.valid | self.ready
        m.d.comb += taken.eq(Cat(port.valid & port.ready for port in dut.i))
        for n, port in enumerate(dut.i):
            with m.If(taken[n]):
                m.d.comb += came.eq(Value.cast(port.payload))
        moved = past.known & past(taken.any(), "moved")
        stays = past.known & past(~free, "stays")
        m.d.comb += [
            Assert((taken & (taken - 1)) == 0, "one beat at a time"),
            Assert(~taken.any() | free, "a beat that has not left is not replaced"),
            Assert(dut.o.valid == (moved | stays), "a beat out for each that was taken"),
            Assert(~moved | (Value.cast(dut.o.payload) == past(came, "came")), "unchanged"),
        ]

        # A packet that has begun, and whose it is.
        last = Cat(beat.last for beat in self.beats)
        inside, owner = Signal(), Signal(self._inputs)
        with m.If(taken.any()):
            m.d.sync += [inside.eq((taken & ~last).any()), owner.eq(taken)]
        own = owner & inside.replicate(self._inputs)
        m.d.comb += [
            Assert(~inside | ((taken & ~owner) == 0), "a packet's beats have one origin"),
            Assert(
                ~free | taken.any() | ~Mux(inside, self.valids & owner, self.valids).any(),
                "an offer is taken, unless a packet under way pauses",
            ),
            # For the induction.
            Assert(inner["inside"] == inside),
            Assert(~inside | (owner == (1 << inner["owner"]))),
        ]
        self._turns(m, inner, self.valids & ~own, taken & ~own)
        return m

    def _turns(self, m: Module, inner: Opened, offers: Value, starts: Value) -> None:
        """No input is passed by more packets than is said; `starts`: whose packet begins."""
        count, burst = self._inputs, self._burst
        passes = [
            [Signal(8, name=f"packets_of_{j}_before_{n}") for j in range(count)]
            for n in range(count)
        ]
        for n, row in enumerate(passes):
            for j, number in enumerate(row):
                with m.If(offers[n] & ~starts[n]):
                    m.d.sync += number.eq(number + starts[j])
                with m.Else():
                    m.d.sync += number.eq(0)

        # Those that take turns: who comes sooner has not been passed by who comes later.
        group = range(0 if burst is None else 1, count)
        turn = inner["turn"]
        ahead = {n: Array((n - t - 1) % len(group) for t in range(count)) for n in group}
        m.d.comb += Assert((turn >= group.start) & (turn < count))
        for n in group:
            for j in group:
                number = passes[n][j]
                m.d.comb += [
                    Assert(number <= (n != j), f"one packet of {j} before one of {n}"),
                    Assert((number == 0) | (ahead[n][turn] < ahead[j][turn])),
                ]
        turns = [Cover(starts[n] & (passes[n][n - 1] != 0)) for n in group[1:]]
        m.d.comb += turns
        if burst is None:
            return

        # Packets of input 0 that others had to wait for, one after another.
        run = Signal(range(burst + 2))
        others = offers[1:].any()
        with m.If(starts[0]):
            m.d.sync += run.eq(Mux(others, run + 1, 0))
        with m.Elif(starts.any()):
            m.d.sync += run.eq(0)
        before = sum(passes[0][1:], start=Signal(8, name="none"))
        m.d.comb += [
            Assert(run <= burst, "no more in a row"),
            Assert(~offers[0] | ~starts[1:].any() | (run == burst), "it gives way after a burst"),
            Assert(before <= 1, "and then to one packet"),
            Assert(inner["passed"] == run),
            Assert((before == 0) | (run == 0)),
            Cover((before == 1) & starts[0]),
        ]
        for n in group:
            first, *rest = passes[n]
            m.d.comb += [
                Assert(first <= burst * (count - 1), f"bounded bursts before {n}"),
                Assert(first <= run + burst * sum(rest)),
            ]


_CLAIM = "stream rules, packets whole and unchanged, none lost; none is passed more than it says"


def _bursts() -> ArbiterHarness:
    from precog_hw.pace.wire_path import BURST

    return ArbiterHarness(64, 2, BURST)


_TURNS, _THREE = partial(ArbiterHarness, 64, 2), partial(ArbiterHarness, 8, 3)
_BURST = partial(ArbiterHarness, 8, 3, 2)
PROOFS = (
    *(
        Proof(f"arbiter.{name}", make, Mode.INDUCTION, DEPTH, f"for ever, {words}: {_CLAIM}")
        for name, make, words in (
            ("turns.64", _TURNS, "2 inputs in turn"),
            ("turns.8", _THREE, "3 inputs in turn"),
            ("burst.64", _bursts, "wire mode's 2 inputs, bursts"),
            ("burst.8", _BURST, "3 inputs, bursts of 2"),
        )
    ),
    Proof("arbiter.turns.cover", _THREE, Mode.COVER, DEPTH, "inputs let others go first"),
    Proof("arbiter.burst.cover", _BURST, Mode.COVER, DEPTH, "input 0 lets another one go first"),
)
MUTANTS = (
    Mutant(
        "arbiter.turns.64",
        _ARBITER,
        "chosen.eq(Mux(inside, owner, choice))",
        "chosen.eq(choice)",
        "a beat of another packet comes between",
        quick=True,
    ),
    Mutant(
        "arbiter.turns.64",
        _ARBITER,
        "inside.eq(~beat.last)",
        "inside.eq(1)",
        "the output stays with the first input",
    ),
    Mutant(
        "arbiter.turns.64",
        _ARBITER,
        "load.eq(self.o.ready | ~self.o.valid)",
        "load.eq(1)",
        "a beat that was refused is replaced",
    ),
    Mutant(
        "arbiter.turns.64",
        _ARBITER,
        "load.eq(self.o.ready | ~self.o.valid)",
        "load.eq(self.o.ready)",
        "an empty register waits for the consumer",
    ),
    Mutant(
        "arbiter.turns.64",
        _ARBITER,
        "port.ready.eq(load & (chosen == n))",
        "port.ready.eq(load)",
        "a beat is taken of each input, and one is lost",
    ),
    Mutant(
        "arbiter.turns.8",
        _ARBITER,
        "m.d.sync += turn.eq(chosen)",
        "m.d.sync += turn.eq(count - 1)",
        "the first input always comes first",
    ),
    Mutant(
        "arbiter.burst.8",
        _ARBITER,
        "m.d.sync += [passed.eq(0), turn.eq(choice)]",
        "m.d.sync += [passed.eq(0), turn.eq(1)]",
        "of those that come second one has no turn",
    ),
    Mutant(
        "arbiter.burst.8",
        _ARBITER,
        "~(others & (passed == burst))",
        "~(others & (passed > burst))",
        "bursts have no end",
    ),
    Mutant(
        "arbiter.burst.8",
        _ARBITER,
        "passed.eq(Mux(others, passed + 1, 0))",
        "passed.eq(passed + 1)",
        "a burst that none waited for counts",
    ),
    Mutant(
        "arbiter.burst.64",
        _ARBITER,
        "starts = moves & ~inside",
        "starts = moves",
        "a burst's beats count as packets",
        quick=True,
    ),
)
