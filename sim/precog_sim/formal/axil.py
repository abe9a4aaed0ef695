"""The AXI4-Lite slave: the protocol's rules, one answer per request, no wedge, refusals.

The bank behind the front end is abstracted to what it promises: it acknowledges every access within
`BANK_CYCLES`, at an arbitrary moment, with an arbitrary answer. The master is arbitrary but for the
protocol's rule that a request holds until it is taken.
"""

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .engine import Mode, Proof
from .mutate import Mutant
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

ADDRESS_BITS = 5
OKAY, SLVERR = 0b00, 0b10  # AXI, table A3-4
CHECKING, WAITING = 1, 2  # states of the front end
BANK_CYCLES = 4
#: An access takes check, strobe, the bank's cycles and the response; one of the other direction may
#: be in front of it.
ANSWER_CYCLES = 2 * (BANK_CYCLES + 3)


class AxilHarness(wiring.Component):
    """`AxiLiteFrontEnd` between a free master and an abstract bank."""

    awaddr: In(ADDRESS_BITS)
    awvalid: In(1)
    wdata: In(32)
    wstrb: In(4)
    wvalid: In(1)
    bready: In(1)
    araddr: In(ADDRESS_BITS)
    arvalid: In(1)
    rready: In(1)
    ack: In(1)
    err: In(1)
    rdata: In(32)

    def elaborate(self, platform: object) -> Module:
        from precog_hw.csr.axil import AxiLiteFrontEnd

        m = Module()
        dut = AxiLiteFrontEnd(ADDRESS_BITS)
        inner = Opened(dut)
        m.submodules.dut = inner.fragment
        axil, bus = dut.axil, dut.bus
        bresp, rresp = Value.cast(axil.bresp), Value.cast(axil.rresp)
        for name in (
            *("awaddr", "awvalid", "wdata", "wstrb", "wvalid", "bready"),
            *("araddr", "arvalid", "rready"),
        ):
            m.d.comb += getattr(axil, name).eq(getattr(self, name))
        m.d.comb += [bus.ack.eq(self.ack), bus.err.eq(self.err), bus.rdata.eq(self.rdata)]
        past = Past(m)

        # The bank: an acknowledge answers a strobe of an earlier cycle, and comes in time.
        pending = Signal()
        waited = Signal(range(BANK_CYCLES + 1))
        with m.If(bus.stb):
            m.d.sync += [pending.eq(1), waited.eq(0)]
        with m.Elif(bus.ack):
            m.d.sync += pending.eq(0)
        with m.Elif(pending):
            m.d.sync += waited.eq(waited + 1)
        m.d.comb += [
            Assume(~self.ack | pending),
            Assume(~pending | self.ack | (waited < BANK_CYCLES - 1)),
            Assert(waited < BANK_CYCLES, "the abstract bank keeps its promise"),
            Assert(~(bus.stb & pending), "one access at a time"),
        ]

        # The master holds a request until it is taken.
        for valid, ready, payload in (
            ("awvalid", axil.awready, ("awaddr",)),
            ("wvalid", axil.wready, ("wdata", "wstrb")),
            ("arvalid", axil.arready, ("araddr",)),
        ):
            was = past(getattr(self, valid) & ~ready, valid)
            m.d.comb += Assume(~(past.known & was) | getattr(self, valid))
            for name in payload:
                value = getattr(self, name)
                m.d.comb += Assume(~(past.known & was) | (value == past(value, name)))

        # A response holds until it is taken, unchanged.
        responses: tuple[tuple[Signal, Signal, dict[str, Value]], ...] = (
            (axil.bvalid, axil.bready, {"bresp": bresp}),
            (axil.rvalid, axil.rready, {"rresp": rresp, "rdata": axil.rdata}),
        )
        for valid, ready, held in responses:
            tag = next(iter(held))
            stalled = past.known & past(valid & ~ready, f"stalled_{tag}")
            m.d.comb += Assert(~stalled | valid, f"{tag[0]}valid holds until it is taken")
            for name, value in held.items():
                m.d.comb += Assert(~stalled | (value == past(value, name)), f"{name} holds")

        # One answer per request: what was taken and not answered, and what it was.
        aw, w, ar = Signal(), Signal(), Signal()
        aw_addr, ar_addr = Signal(ADDRESS_BITS), Signal(ADDRESS_BITS)
        w_data, w_strb = Signal(32), Signal(4)
        with m.If(axil.awvalid & axil.awready):
            m.d.sync += [aw.eq(1), aw_addr.eq(axil.awaddr)]
            m.d.comb += Assert(~aw, "no second write before the first is answered")
        with m.If(axil.wvalid & axil.wready):
            m.d.sync += [w.eq(1), w_data.eq(axil.wdata), w_strb.eq(axil.wstrb)]
            m.d.comb += Assert(~w, "no second write data before the first is answered")
        with m.If(axil.arvalid & axil.arready):
            m.d.sync += [ar.eq(1), ar_addr.eq(axil.araddr)]
            m.d.comb += Assert(~ar, "no second read before the first is answered")
        with m.If(axil.bvalid & axil.bready):
            m.d.sync += [aw.eq(0), w.eq(0)]
        with m.If(axil.rvalid & axil.rready):
            m.d.sync += ar.eq(0)
        m.d.comb += [
            Assert(~axil.bvalid | (aw & w), "a write's response has its request"),
            Assert(~axil.rvalid | ar, "a read's response has its request"),
        ]

        # Invariants for the induction: the block's registers hold what was taken.
        m.d.comb += [
            Assert(aw == inner["aw_full"]),
            Assert(w == inner["w_full"]),
            Assert(ar == inner["ar_full"]),
            Assert(~aw | (aw_addr == inner["awaddr"])),
            Assert(~ar | (ar_addr == inner["araddr"])),
            Assert(~w | ((w_data == bus.data) & (w_strb == inner["strobes"]))),
            Assert(pending == (inner["access_state"] == WAITING)),
        ]

        # What reaches the bank is what was asked, once; a malformed access reaches it never.
        write_sent, read_sent = Signal(), Signal()
        write_bad = aw_addr[:2].any() | ~w_strb.all()
        read_bad = ar_addr[:2].any()
        with m.If(bus.stb & bus.write):
            m.d.sync += write_sent.eq(1)
            m.d.comb += [
                Assert(aw & w & ~write_sent & ~axil.bvalid, "a write is executed once"),
                Assert(bus.addr == aw_addr[2:], "at its address"),
                Assert(bus.data == w_data, "with its data"),
                Assert(~write_bad, "and only if it is well formed"),
            ]
        with m.If(bus.stb & ~bus.write):
            m.d.sync += read_sent.eq(1)
            m.d.comb += [
                Assert(ar & ~read_sent & ~axil.rvalid, "a read is executed once"),
                Assert(bus.addr == ar_addr[2:], "at its address"),
                Assert(~read_bad, "and only if it is well formed"),
            ]
        with m.If(axil.bvalid & axil.bready):
            m.d.sync += write_sent.eq(0)
        with m.If(axil.rvalid & axil.rready):
            m.d.sync += read_sent.eq(0)

        # The response says what the bank said; a refused access says SLVERR and shows no data.
        answer_err, answer_data = Signal(2), Signal(32)
        write_flag = past(bus.write, "write")
        with m.If(self.ack):
            m.d.sync += answer_err.bit_select(bus.write, 1).eq(self.err)
            with m.If(~bus.write):
                m.d.sync += answer_data.eq(Mux(self.err, 0, self.rdata))
        m.d.comb += [
            Assert(write_sent == ((pending & bus.write) | (axil.bvalid & ~write_bad))),
            Assert(read_sent == ((pending & ~bus.write) | (axil.rvalid & ~read_bad))),
            Assert(~(pending & bus.write) | (aw & w & ~axil.bvalid & ~write_bad)),
            Assert(~(pending & ~bus.write) | (ar & ~axil.rvalid & ~read_bad)),
            Assert((inner["access_state"] != CHECKING) | ~bus.write | (aw & w & ~axil.bvalid)),
            Assert((inner["access_state"] != CHECKING) | bus.write | (ar & ~axil.rvalid)),
            Assert(inner["access_state"] <= WAITING),
        ]
        m.d.comb += [
            Assert(~pending | (bus.write == write_flag), "the direction holds during an access"),
            Assert(~axil.bvalid | (write_sent == ~write_bad), "a good write reached the bank"),
            Assert(~axil.rvalid | (read_sent == ~read_bad), "a good read reached the bank"),
            Assert(
                ~axil.bvalid | (bresp == Mux(write_bad | answer_err[1], SLVERR, OKAY)),
                "a write's response is the bank's, or SLVERR",
            ),
            Assert(
                ~axil.rvalid | (rresp == Mux(read_bad | answer_err[0], SLVERR, OKAY)),
                "a read's response is the bank's, or SLVERR",
            ),
            Assert(
                ~axil.rvalid | (axil.rdata == Mux(read_bad, 0, answer_data)),
                "a read's data is the bank's, or zero",
            ),
        ]
        self._no_wedge(m, (aw & w & ~axil.bvalid, "write"), (ar & ~axil.rvalid, "read"))
        m.d.comb += [
            Cover(axil.bvalid & (bresp == SLVERR) & axil.rvalid & (rresp == OKAY)),
            Cover(axil.bvalid & (bresp == OKAY) & answer_data.all()),
        ]
        return m

    def _no_wedge(self, m: Module, *waits: tuple[Value, str]) -> None:
        """Each wait ends within `ANSWER_CYCLES`, whatever the master does elsewhere."""
        for waiting, name in waits:
            age = Signal(range(ANSWER_CYCLES + 2), name=f"age_{name}")
            with m.If(~waiting):
                m.d.sync += age.eq(0)
            with m.Elif(age <= ANSWER_CYCLES):
                m.d.sync += age.eq(age + 1)
            m.d.comb += Assert(age < ANSWER_CYCLES, f"a {name} is answered in time")


PROOFS = (
    Proof(
        "axil.rules",
        AxilHarness,
        Mode.INDUCTION,
        24,
        "responses hold until taken, one answer per request and within "
        f"{ANSWER_CYCLES} cycles, malformed accesses are refused and reach no register",
    ),
    Proof(
        "axil.cover", AxilHarness, Mode.COVER, 14, "refusal and success side by side are reachable"
    ),
)
_AXIL = "precog_hw.csr.axil"
MUTANTS = (
    Mutant(
        "axil.rules",
        _AXIL,
        "write_waits = aw_full & w_full & ~axil.bvalid",
        "write_waits = aw_full & w_full",
        "a write is executed again while its response waits",
        quick=True,
    ),
    Mutant(
        "axil.rules",
        _AXIL,
        "with m.If(address[:2].any() | (bus.write & ~strobes.all())):",
        "with m.If(address[:2].any()):",
        "partial writes reach the bank",
    ),
    Mutant(
        "axil.rules",
        _AXIL,
        "with m.Elif(read_waits):",
        "with m.Elif(read_waits & ~write_waits):",
        "a read and a write that wait together block each other",
    ),
    Mutant(
        "axil.rules",
        _AXIL,
        "axil.bvalid.eq(0), aw_full.eq(0), w_full.eq(0)]",
        "axil.bvalid.eq(0), aw_full.eq(0)]",
        "write data is used twice",
    ),
)
