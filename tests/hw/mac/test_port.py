"""The MAC behind RGMII on Verilator under cocotb: an independent PHY model (cocotbext-eth)."""

from pathlib import Path

import pytest
from amaranth.back import verilog
from amaranth.hdl import ClockDomain, Elaboratable, Module, Signal
from tests.cocotb_bench import run_cocotb
from tests.hw.mac.port_loop import CELLS, PortLoop

from precog_hw.export import port_map

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
    top = _Clocked()
    ports = port_map(top.loop)
    from amaranth.hdl._ir import PortDirection  # public only in Amaranth 0.6

    for name, domain in top.domains.items():
        ports[f"{name}_clk"] = domain.clk, PortDirection.Input
        ports[f"{name}_rst"] = domain.rst, PortDirection.Input
    # Where the PHY looks: no part of the design, but cocotb needs a signal to drive.
    ports["sample_clk"] = Signal(name="sample_clk"), PortDirection.Input
    run_cocotb(
        monkeypatch,
        tmp_path,
        CELLS + verilog.convert(top, name="port_loop", ports=ports),
        top="port_loop",
        module="tests.hw.mac.cocotb_port",
        seed=seed,
        env={"PRECOG_VOLUME": str(volume)},
        build_args=["--timescale", "1ps/1ps"],
    )
