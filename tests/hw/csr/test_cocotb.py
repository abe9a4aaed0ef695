"""The register suite on Verilator, driven by an independent AXI4-Lite master (cocotbext-axi)."""

import json
from pathlib import Path

import pytest
from tests.cocotb_bench import run_cocotb
from tests.hw.csr.bench import bank_verilog, hardware
from tests.hw.csr.maps import SMALL

pytestmark = pytest.mark.cosim


def test_register_suite(
    tmp_path: Path, seed: int, volume: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if volume == 1:
        pytest.skip("only with --volume: test_nic_cocotb.py has this master, too")
    run_cocotb(
        monkeypatch,
        tmp_path,
        bank_verilog(SMALL, "bank"),
        top="bank",
        module="tests.hw.csr.cocotb_registers",
        seed=seed,
        env={"PRECOG_HARDWARE": json.dumps(hardware(SMALL))},
    )
