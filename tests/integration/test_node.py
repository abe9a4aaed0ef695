"""A board's composition on Verilator under cocotb: MACs and NIC between GMII and a serial line."""

from pathlib import Path

import pytest
from amaranth.back import verilog
from tests.cocotb_bench import LARGE, run_cocotb
from tests.integration.node_bench import NodeTop

pytestmark = pytest.mark.cosim


@pytest.mark.parametrize("ports", [2, 1])
def test_node(
    ports: int, tmp_path: Path, seed: int, volume: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if volume == 1:
        pytest.skip("only with --volume: compiling it takes a minute or two")
    monkeypatch.setenv("PRECOG_CONFIG", "{}")
    top = NodeTop(ports)
    run_cocotb(
        monkeypatch,
        tmp_path,
        verilog.convert(top, name="node", ports=top.ports, emit_src=False),
        top="node",
        module="tests.integration.cocotb_node",
        seed=seed,
        env={"PRECOG_VOLUME": str(volume), "PRECOG_PORTS": str(ports)},
        make_flags=LARGE,
        build_args=["--no-assert", "--timescale", "1ps/1ps"],
    )
