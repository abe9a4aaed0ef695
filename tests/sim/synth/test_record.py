"""The tables that `make synth` writes, and those in this repository."""

import json
from pathlib import Path
from typing import Any

import pytest

from precog_sim.synth.page import page
from precog_sim.synth.place import Netlist, Placed
from precog_sim.synth.record import SIZES, name_of, recorded, update
from precog_sim.synth.subject import Subject
from precog_sim.synth.target import ECP5_85
from precog_sim.synth.wrap import WrapCost

EVIDENCE = Path(__file__).parents[3] / "docs/evidence"


def test_lines_are_replaced_by_name_and_others_stay(tmp_path: Path) -> None:
    def core(lanes: int, fmax_mhz: int) -> dict[str, Any]:
        return {"block": "core", "lanes": lanes, "fmax_mhz": fmax_mhz}

    path = tmp_path / "sub" / "summary.json"
    update(path, [core(64, 1), core(16, 2)])
    update(path, [{"block": "cps-tx", "width": 512, "fmax_mhz": 3}])
    update(path, [{"block": "cps-tx", "width": 64, "fmax_mhz": 4}])
    update(path, [core(64, 5)])
    assert json.loads(path.read_text()) == [
        core(16, 2),
        core(64, 5),
        {"block": "cps-tx", "width": 64, "fmax_mhz": 4},
        {"block": "cps-tx", "width": 512, "fmax_mhz": 3},
    ]


@pytest.mark.parametrize("text", ["{", '{"core": []}', '[{"lanes": 16}]', '[{"block": "x"}]'])
def test_what_is_no_record_is_refused_and_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "summary.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="must be a list of lines"):
        recorded(path)
    with pytest.raises(ValueError, match="must be a list of lines"):
        update(path, [{"block": "core", "lanes": 16}])
    assert path.read_text() == text


def test_a_line_is_the_best_seed_without_the_chains() -> None:
    def timed(fmax_mhz: float) -> dict[str, Any]:
        return {"gbps": fmax_mhz / 10}

    netlist = Netlist(Path("nowhere"), "abc", {})
    cost = WrapCost(ff=30, lut4=10)
    subject = Subject(netlist, ECP5_85, cost, {"block": "cps-tx"}, timed)
    used = {"TRELLIS_COMB": 110, "TRELLIS_FF": 230, "DP16KD": 4}
    seeds = [Placed(2, 150.04, used, []), Placed(3, None, {}, []), Placed(1, 120.0, used, [])]
    line = subject.row(seeds, "commit")
    assert line["fmax_mhz"] == 150.0
    assert line["gbps"] == 15.004
    assert list(line["fmax_seeds"].items()) == [("1", 120.0), ("2", 150.0), ("3", None)]
    assert (line["lut4"], line["ff"], line["dsp"], line["bram"]) == (100, 200, 0, 4)
    assert line["chains"] == {"ff": 30, "lut4": 10}
    with pytest.raises(ValueError, match=r"one seed of \[3\] must have been routed"):
        subject.row(seeds[1:2], "commit")


def test_the_page_is_the_record_s() -> None:
    assert (EVIDENCE / "blocks.md").read_text() == page(recorded(EVIDENCE / "data/synth.json"))


def test_the_recorded_rates_follow_from_the_clocks() -> None:
    record = json.loads((EVIDENCE / "data/synth.json").read_text())
    assert record == sorted(record, key=name_of)
    assert {next(size for size in SIZES if size in line) for line in record} == set(SIZES)
    for line in record:
        assert line["fmax_mhz"] == max(mhz or 0.0 for mhz in line["fmax_seeds"].values())
        if "width" in line:
            assert abs(line["gbps"] - line["fmax_mhz"] * line["width"] / 1000) < 0.1
