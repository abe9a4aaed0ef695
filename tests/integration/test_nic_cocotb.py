"""The exported NIC on Verilator under cocotb: an independent AXI4-Lite master and its timing."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from tests.cocotb_bench import LARGE, run_cocotb

from precog_hw.export import nic_verilog
from precog_spec.config import PRESETS

pytestmark = pytest.mark.cosim


def test_the_nic_boots_and_decides(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(PRESETS["tiny"], profile=True, ecc=False)
    run_cocotb(
        monkeypatch,
        tmp_path,
        nic_verilog(config),
        top="precog_nic",
        module="tests.integration.cocotb_nic",
        seed=seed,
        env={"PRECOG_CONFIG": json.dumps(asdict(config))},
        make_flags=LARGE,
        build_args=["--no-assert"],
    )
