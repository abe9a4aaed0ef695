"""The register suite on Verilator, driven by an independent AXI4-Lite master (cocotbext-axi)."""

import json
from pathlib import Path

import pytest
from tests.hw.csr.bench import bank_verilog, hardware
from tests.hw.csr.maps import SMALL

from precog_sim.rtl.verilate import verilator_environment

pytestmark = pytest.mark.cosim


def test_register_suite(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    runners = pytest.importorskip("cocotb_tools.runner")
    for name, value in verilator_environment().items():
        monkeypatch.setenv(name, value)
    # The wheel's make rules leave the precompiled header's flag empty. Compiling costs more than
    # simulating here.
    monkeypatch.setenv(
        "MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"
    )
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3]))  # the runner hands sys.path on
    source = tmp_path / "bank.v"
    source.write_text(bank_verilog(SMALL, "bank"))
    runner = runners.get_runner("verilator")
    runner.build(
        sources=[source],
        hdl_toplevel="bank",
        build_dir=tmp_path / "build",
        build_args=["-Wno-fatal", "-Wno-lint"],
    )
    runner.test(
        hdl_toplevel="bank",
        test_module="tests.hw.csr.cocotb_registers",
        build_dir=tmp_path / "build",
        seed=seed,
        extra_env={"PRECOG_HARDWARE": json.dumps(hardware(SMALL))},
    )
