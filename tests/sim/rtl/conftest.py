"""Fixtures: `standin`, a top module with the NIC's ports that can be told to misbehave; `twins`;
`unbuilt`, a folder for builds.

The harness must notice a NIC that never ~wedge, ~wedge twice, or wedges its register bus; the
real one does none of it.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from amaranth.back import verilog
from amaranth.hdl import Cat, ClockDomain, Const, Module, Mux, Signal

# No public name exists for a port's direction in Amaranth 0.5.
from amaranth.hdl._ir import PortDirection
from amaranth.lib import fifo
from tests.sim.rtl.law_twins import CONFIG, FOUR_CORES, Twins

from precog_sim.rtl.build import TOP, verilog_library
from precog_sim.rtl.library import NicLibrary
from precog_sim.rtl.verilate import BUILD_ROOT
from precog_spec.contract import DECISION_FIELDS, SAMPLE_FIELDS

SAMPLE_BITS = sum(bits for _, bits in SAMPLE_FIELDS)
DECISION_BITS = sum(bits for _, bits in DECISION_FIELDS)


def port(table: dict[str, Signal], name: str, width: int = 1) -> Signal:
    """A new port of the stand-in."""
    table[name] = Signal(width, name=name)
    return table[name]


def add_registers(
    m: Module,
    inputs: dict[str, Signal],
    outputs: dict[str, Signal],
    registers: Signal,
    wedge: Signal,
) -> None:
    """The stand-in's register bus: four words, SLVERR beyond them, no responses with `wedge`."""
    awaddr = port(inputs, "s_axil_awaddr", 16)
    awvalid = port(inputs, "s_axil_awvalid")
    awready = port(outputs, "s_axil_awready")
    wdata = port(inputs, "s_axil_wdata", 32)
    port(inputs, "s_axil_wstrb", 4)
    wvalid = port(inputs, "s_axil_wvalid")
    wready = port(outputs, "s_axil_wready")
    bresp = port(outputs, "s_axil_bresp", 2)
    bvalid = port(outputs, "s_axil_bvalid")
    bready = port(inputs, "s_axil_bready")
    araddr = port(inputs, "s_axil_araddr", 16)
    arvalid = port(inputs, "s_axil_arvalid")
    arready = port(outputs, "s_axil_arready")
    rdata = port(outputs, "s_axil_rdata", 32)
    rresp = port(outputs, "s_axil_rresp", 2)
    rvalid = port(outputs, "s_axil_rvalid")
    rready = port(inputs, "s_axil_rready")
    accept = awvalid & wvalid & ~bvalid & ~wedge
    m.d.comb += [awready.eq(accept), wready.eq(accept), arready.eq(~rvalid & ~wedge)]
    with m.If(accept):
        m.d.sync += [bvalid.eq(1), bresp.eq(Mux(awaddr[4:].any(), 2, 0))]
        with m.If(~awaddr[4:].any()):
            m.d.sync += registers.word_select(awaddr[2:4], 32).eq(wdata)
    with m.Elif(bready):
        m.d.sync += bvalid.eq(0)
    with m.If(arvalid & arready):
        m.d.sync += [
            rvalid.eq(1),
            rresp.eq(Mux(araddr[4:].any(), 2, 0)),
            rdata.eq(registers.word_select(araddr[2:4], 32)),
        ]
    with m.Elif(rready):
        m.d.sync += rvalid.eq(0)


def standin_verilog(name: str, *, delay: int = 3) -> str:
    """Verilog of the stand-in.

    Parameters
    ----------
    name : str
        Name of the module.
    delay : int
        Cycles from a sample to its decision, at least.

    Notes
    -----
    A decision echoes the sample: rate = rtt + 1, window = low bits of t, the QP's number twice.
    Registers: four words; an address beyond them is answered with SLVERR. The low bits of the last
    word are faults: no decisions (1), each decision twice (2), no bus responses (4).
    """
    m = Module()
    registers = Signal(128)
    mute, double, wedge = registers[96], registers[97], registers[98]
    inputs: dict[str, Signal] = {}
    outputs: dict[str, Signal] = {}

    m.domains.sync = cd = ClockDomain()
    cd.clk = port(inputs, "clk")
    cd.rst = port(inputs, "rst")
    sample_data = port(inputs, "s_sample_tdata", SAMPLE_BITS)
    sample_valid = port(inputs, "s_sample_tvalid")
    sample_ready = port(outputs, "s_sample_tready")
    decision_data = port(outputs, "m_decision_tdata", DECISION_BITS)
    decision_valid = port(outputs, "m_decision_tvalid")
    decision_ready = port(inputs, "m_decision_tready")

    # Samples wait in a FIFO; one is worked on at a time.
    m.submodules.queue = queue = fifo.SyncFIFOBuffered(width=SAMPLE_BITS, depth=4)
    m.d.comb += [
        queue.w_data.eq(sample_data),
        queue.w_en.eq(sample_valid & sample_ready),
        sample_ready.eq(queue.w_rdy),
    ]
    fields, lsb = {}, 0
    for field, bits in SAMPLE_FIELDS:
        fields[field] = queue.r_data[lsb : lsb + bits]
        lsb += bits
    values = {"qp": fields["qp"], "rate": fields["rtt"] + 1, "window": fields["t"][:32]}
    packed = Cat(
        (values[field] | Const(0, bits))[:bits] if field in values else Const(0, bits)
        for field, bits in DECISION_FIELDS
    )
    left = Signal(range(delay + 1), init=delay)
    again = Signal()
    with m.If(decision_valid & decision_ready):
        m.d.sync += [decision_valid.eq(again), again.eq(0)]
    with m.Elif(queue.r_rdy & ~decision_valid):
        m.d.sync += left.eq(Mux(left == 0, delay, left - 1))
        with m.If(left == 0):
            m.d.comb += queue.r_en.eq(1)
            m.d.sync += [
                decision_data.eq(packed),
                decision_valid.eq(~mute),
                again.eq(double),
            ]

    add_registers(m, inputs, outputs, registers, wedge)
    ports = {n: (s, PortDirection.Input) for n, s in inputs.items()}
    ports |= {n: (s, PortDirection.Output) for n, s in outputs.items()}
    return str(verilog.convert(m, name=name, ports=ports, emit_src=False))


@pytest.fixture
def unbuilt(tmp_path: Path) -> Path:
    """A folder without libraries; what all of them share, ten seconds of work, is other tests'."""
    verilog_library(standin_verilog(TOP), label="stand-in", quiet=True)
    for folder in BUILD_ROOT.glob("runtime-*"):
        (tmp_path / folder.name).symlink_to(folder.resolve())
    return tmp_path


@pytest.fixture
def standin() -> Iterator[Callable[..., NicLibrary]]:
    """Open the stand-in: ``standin(fault=1)``; closed when the test ends."""
    opened: list[NicLibrary] = []

    def open_standin(
        *, fault: int = 0, watchdog_cycles: int = 500, plain: bool = False
    ) -> NicLibrary:
        path: Path = verilog_library(
            standin_verilog(TOP), label="stand-in", plain=plain, quiet=True
        )
        opened.append(NicLibrary(path, watchdog_cycles=watchdog_cycles))
        opened[-1].axil_write(12, fault)
        return opened[-1]

    yield open_standin
    for library in opened:
        library.close()


@pytest.fixture
def twins(request: pytest.FixtureRequest, volume: int) -> Iterator[Twins]:
    """A NIC with a law engine, in RTL and in the emulator; of four cores with --volume.

    A test may give the configuration as the fixture's parameter.
    """
    made = Twins(getattr(request, "param", CONFIG if volume == 1 else FOUR_CORES))
    yield made
    made.close()
