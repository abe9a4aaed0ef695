"""The AXI4-Lite slave: the protocol's rules, one answer per request, no wedge, refusals.

The bank behind the front end is abstracted to what it promises: it acknowledges every access within
`BANK_CYCLES`, at an arbitrary moment, with an arbitrary answer. The master is arbitrary but for the
protocol's rule that a request holds until it is taken.
"""

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, PureInterface

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


class _Seen:
    """The block's ports, and what the harness has seen on them."""

    def __init__(self, m: Module, axil: PureInterface, bus: PureInterface, inner: Opened) -> None:
        self.axil, self.bus, self.inner = axil, bus, inner
        self.bresp, self.rresp = Value.cast(axil.bresp), Value.cast(axil.rresp)
        self.past = Past(m)
        self.pending = Signal()  # the bank owes an acknowledge
        # Requests that were taken and not answered.
        self.aw = Signal()
        self.w = Signal()
        self.ar = Signal()
        self.aw_addr = Signal(ADDRESS_BITS)
        self.ar_addr = Signal(ADDRESS_BITS)
        self.w_data = Signal(32)
        self.w_strb = Signal(4)
        # Requests that have reached the bank, and those that never may.
        self.write_sent = Signal()
        self.read_sent = Signal()
        self.write_bad = self.aw_addr[:2].any() | ~self.w_strb.all()
        self.read_bad = self.ar_addr[:2].any()


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
        at = _Seen(m, dut.axil, dut.bus, inner)
        for name in (
            *("awaddr", "awvalid", "wdata", "wstrb", "wvalid", "bready"),
            *("araddr", "arvalid", "rready"),
        ):
            m.d.comb += getattr(at.axil, name).eq(getattr(self, name))
        m.d.comb += [at.bus.ack.eq(self.ack), at.bus.err.eq(self.err), at.bus.rdata.eq(self.rdata)]
        self._bank(m, at)
        self._master(m, at)
        self._responses(m, at)
        self._requests(m, at)
        self._accesses(m, at)
        self._answers(m, at)
        self._no_wedge(
            m, (at.aw & at.w & ~at.axil.bvalid, "write"), (at.ar & ~at.axil.rvalid, "read")
        )
        return m

    def _bank(self, m: Module, at: _Seen) -> None:
        """The bank: an acknowledge answers a strobe of an earlier cycle, and comes in time."""
        bus, waited = at.bus, Signal(range(BANK_CYCLES + 1))
        with m.If(bus.stb):
            m.d.sync += [at.pending.eq(1), waited.eq(0)]
        with m.Elif(bus.ack):
            m.d.sync += at.pending.eq(0)
        with m.Elif(at.pending):
            m.d.sync += waited.eq(waited + 1)
        m.d.comb += [
            Assume(~self.ack | at.pending),
            Assume(~at.pending | self.ack | (waited < BANK_CYCLES - 1)),
            Assert(waited < BANK_CYCLES, "the abstract bank keeps its promise"),
            Assert(~(bus.stb & at.pending), "one access at a time"),
        ]

    def _master(self, m: Module, at: _Seen) -> None:
        """The master holds a request until it is taken."""
        axil, past = at.axil, at.past
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

    def _responses(self, m: Module, at: _Seen) -> None:
        """A response holds until it is taken, unchanged."""
        axil, past = at.axil, at.past
        responses: tuple[tuple[Signal, Signal, dict[str, Value]], ...] = (
            (axil.bvalid, axil.bready, {"bresp": at.bresp}),
            (axil.rvalid, axil.rready, {"rresp": at.rresp, "rdata": axil.rdata}),
        )
        for valid, ready, held in responses:
            tag = next(iter(held))
            stalled = past.known & past(valid & ~ready, f"stalled_{tag}")
            m.d.comb += Assert(~stalled | valid, f"{tag[0]}valid holds until it is taken")
            for name, value in held.items():
                m.d.comb += Assert(~stalled | (value == past(value, name)), f"{name} holds")

    def _requests(self, m: Module, at: _Seen) -> None:
        """One answer per request: what was taken and not answered, and what it was."""
        axil, bus, inner = at.axil, at.bus, at.inner
        with m.If(axil.awvalid & axil.awready):
            m.d.sync += [at.aw.eq(1), at.aw_addr.eq(axil.awaddr)]
            m.d.comb += Assert(~at.aw, "no second write before the first is answered")
        with m.If(axil.wvalid & axil.wready):
            m.d.sync += [at.w.eq(1), at.w_data.eq(axil.wdata), at.w_strb.eq(axil.wstrb)]
            m.d.comb += Assert(~at.w, "no second write data before the first is answered")
        with m.If(axil.arvalid & axil.arready):
            m.d.sync += [at.ar.eq(1), at.ar_addr.eq(axil.araddr)]
            m.d.comb += Assert(~at.ar, "no second read before the first is answered")
        with m.If(axil.bvalid & axil.bready):
            m.d.sync += [at.aw.eq(0), at.w.eq(0)]
        with m.If(axil.rvalid & axil.rready):
            m.d.sync += at.ar.eq(0)
        m.d.comb += [
            Assert(~axil.bvalid | (at.aw & at.w), "a write's response has its request"),
            Assert(~axil.rvalid | at.ar, "a read's response has its request"),
        ]
        # Invariants for the induction: the block's registers hold what was taken.
        m.d.comb += [
            Assert(at.aw == inner["aw_full"]),
            Assert(at.w == inner["w_full"]),
            Assert(at.ar == inner["ar_full"]),
            Assert(~at.aw | (at.aw_addr == inner["awaddr"])),
            Assert(~at.ar | (at.ar_addr == inner["araddr"])),
            Assert(~at.w | ((at.w_data == bus.data) & (at.w_strb == inner["strobes"]))),
            Assert(at.pending == (inner["access_state"] == WAITING)),
        ]

    def _accesses(self, m: Module, at: _Seen) -> None:
        """What reaches the bank is what was asked, once; a malformed access reaches it never."""
        axil, bus = at.axil, at.bus
        with m.If(bus.stb & bus.write):
            m.d.sync += at.write_sent.eq(1)
            m.d.comb += [
                Assert(at.aw & at.w & ~at.write_sent & ~axil.bvalid, "a write is executed once"),
                Assert(bus.addr == at.aw_addr[2:], "at its address"),
                Assert(bus.data == at.w_data, "with its data"),
                Assert(~at.write_bad, "and only if it is well formed"),
            ]
        with m.If(bus.stb & ~bus.write):
            m.d.sync += at.read_sent.eq(1)
            m.d.comb += [
                Assert(at.ar & ~at.read_sent & ~axil.rvalid, "a read is executed once"),
                Assert(bus.addr == at.ar_addr[2:], "at its address"),
                Assert(~at.read_bad, "and only if it is well formed"),
            ]
        with m.If(axil.bvalid & axil.bready):
            m.d.sync += at.write_sent.eq(0)
        with m.If(axil.rvalid & axil.rready):
            m.d.sync += at.read_sent.eq(0)

    def _answers(self, m: Module, at: _Seen) -> None:
        """The response says what the bank said; a refused access says SLVERR and shows no data."""
        axil, bus = at.axil, at.bus
        answer_err, answer_data = Signal(2), Signal(32)
        write_flag = at.past(bus.write, "write")
        with m.If(self.ack):
            m.d.sync += answer_err.bit_select(bus.write, 1).eq(self.err)
            with m.If(~bus.write):
                m.d.sync += answer_data.eq(Mux(self.err, 0, self.rdata))
        m.d.comb += [
            Assert(at.write_sent == ((at.pending & bus.write) | (axil.bvalid & ~at.write_bad))),
            Assert(at.read_sent == ((at.pending & ~bus.write) | (axil.rvalid & ~at.read_bad))),
            Assert(~(at.pending & bus.write) | (at.aw & at.w & ~axil.bvalid & ~at.write_bad)),
            Assert(~(at.pending & ~bus.write) | (at.ar & ~axil.rvalid & ~at.read_bad)),
            Assert(
                (at.inner["access_state"] != CHECKING) | ~bus.write | (at.aw & at.w & ~axil.bvalid)
            ),
            Assert((at.inner["access_state"] != CHECKING) | bus.write | (at.ar & ~axil.rvalid)),
            Assert(at.inner["access_state"] <= WAITING),
        ]
        m.d.comb += [
            Assert(~at.pending | (bus.write == write_flag), "the direction holds during an access"),
            Assert(
                ~axil.bvalid | (at.write_sent == ~at.write_bad), "a good write reached the bank"
            ),
            Assert(~axil.rvalid | (at.read_sent == ~at.read_bad), "a good read reached the bank"),
            Assert(
                ~axil.bvalid | (at.bresp == Mux(at.write_bad | answer_err[1], SLVERR, OKAY)),
                "a write's response is the bank's, or SLVERR",
            ),
            Assert(
                ~axil.rvalid | (at.rresp == Mux(at.read_bad | answer_err[0], SLVERR, OKAY)),
                "a read's response is the bank's, or SLVERR",
            ),
            Assert(
                ~axil.rvalid | (axil.rdata == Mux(at.read_bad, 0, answer_data)),
                "a read's data is the bank's, or zero",
            ),
        ]
        m.d.comb += [
            Cover(axil.bvalid & (at.bresp == SLVERR) & axil.rvalid & (at.rresp == OKAY)),
            Cover(axil.bvalid & (at.bresp == OKAY) & answer_data.all()),
        ]

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
