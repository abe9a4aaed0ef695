"""Cycles between predictions, at the pins of the Verilated gateware."""

import json
from pathlib import Path

import pytest

from precog_sim.synth import interval


def test_a_full_pipeline_is_as_fast_as_its_mac_array(tmp_path: Path) -> None:
    """Two vectors of a sample go through 16 lanes, 1,024 products each: 128 cycles and more."""
    assert interval.main(["--preset", "tiny", "--mhz", "100", "--out", str(tmp_path)]) == 0
    line = json.loads((tmp_path / "interval-tiny.json").read_text())
    assert (line["interval_cycles"], line["decision_cycles"]) == (128.223, 127)
    assert line["decisions_per_s"] // 1000 == 779


def test_a_clock_that_none_has_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        interval.main(["--mhz", "0", "--out", str(tmp_path)])
    assert "--mhz must be in 1..2000, not 0" in capsys.readouterr().err
