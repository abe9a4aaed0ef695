"""Reading the synthesis record."""

import json
from pathlib import Path

import pytest

from precog_sim.report.codec import encode
from precog_sim.report.data import DemoResult
from precog_sim.report.hardware import read_hardware


def test_no_record_is_no_hardware(tmp_path: Path) -> None:
    assert read_hardware(tmp_path / "synth.json") == ()


def test_other_keys_are_left_out(tmp_path: Path, result: DemoResult) -> None:
    path = tmp_path / "synth.json"
    lines = [encode(item) | {"ports": 3} for item in result.hardware]
    path.write_text(json.dumps([*lines, {"block": "cps-tx", "width": 64}]))
    assert read_hardware(path) == result.hardware


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"lanes": 16}]', r"\[0\]\.block must be present, not missing"),
        ('{"block": "nic"}', "must be a list of objects"),
        ("[3]", "must be a list of objects"),
        ("[", "Expecting value"),
    ],
)
def test_damaged_records_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "synth.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"synth\.json must list .*{message}.*run `make synth`"):
        read_hardware(path)


def test_the_recorded_table_can_be_read() -> None:
    """What `make synth` writes is what the report reads: the table in this repository."""
    rows = read_hardware(Path(__file__).parents[3] / "docs/evidence/data/synth.json")
    assert rows
    for row in rows:
        assert row.fmax_mhz == max(mhz or 0.0 for mhz in row.fmax_seeds.values())
        assert row.latency_ns == pytest.approx(1e3 * row.latency_cycles / row.fmax_mhz, rel=1e-3)
