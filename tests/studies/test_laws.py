"""The study of laws: goals by hand, one case whose runs are kept."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from precog_sim.network import Hints
from precog_studies.laws.__main__ import LAWS, main
from precog_studies.laws.cases import CASES
from precog_studies.laws.goals import GOALS, judged

_RECORD = Path(__file__).parents[2] / "docs/evidence/data/laws.json"


def test_every_line_has_goals() -> None:
    assert {name for name, case in CASES.items() if not case.fabric} == set(GOALS)


def test_goals_are_judged_by_means() -> None:
    runs = {
        "mine": [{"rtt_p99_us": 4.4, "rtt_max_us": 6.0}, {"rtt_p99_us": 4.6, "rtt_max_us": 6.0}],
        "hpcc": [{"rtt_p99_us": 4.0, "rtt_max_us": 5.0}, {"rtt_p99_us": 5.0, "rtt_max_us": 5.0}],
    }
    p99, longest = judged("n5", runs, "mine")
    assert (p99.found, p99.bound, p99.against) == (4.5, pytest.approx(1.02 * 4.5), "hpcc")
    # Seeds drawn again are the first twice, both, or the second twice.
    assert (p99.low, p99.high) == pytest.approx((4.6 / 5.1, 4.4 / 4.08))
    assert (p99.met, p99.sure) == (True, False)
    assert (longest.low, longest.high) == pytest.approx((6 / 5.1, 6 / 5.1))
    assert (longest.met, longest.sure) == (False, True)
    (even,) = judged("two", {"mine": [{"jain": 0.98}, {"jain": 0.94}], "hpcc": []}, "mine")
    assert (even.met, even.bound, even.against) == (False, 0.98, "")
    half = 12.706 * 0.02  # Student's t of two values times their standard error
    assert (even.low, even.high) == pytest.approx(
        ((0.96 - half) / 0.98, (0.96 + half) / 0.98), rel=1e-4
    )
    assert not even.sure


def _flows(size: int, count: int, slowdown: float) -> dict[str, Sequence[Any]]:
    return {
        "bytes": [size] * count,
        "class": ["websearch"] * count,
        "slowdown": [slowdown + k / count for k in range(count)],
    }


def test_tails_of_a_fat_tree_are_judged_by_bins() -> None:
    """99 flows of a size are too few; the p99 of others may be a tenth longer than HPCC's."""
    mine = [_flows(2_000, 60, 2.0), _flows(2_000, 60, 2.0)]
    small = [_flows(500, 49, 2.0), _flows(500, 50, 2.0)]
    joined: list[Mapping[str, Any]] = [
        {key: [*one[key], *other[key]] for key in one}
        for one, other in zip(mine, small, strict=True)
    ]
    theirs = [{**run, "slowdown": [x - 0.2 for x in run["slowdown"]]} for run in joined]
    rows = judged("websearch", {"mine": joined, "hpcc": theirs, "card:swift": theirs}, "mine")
    told = {(row.against, row.figure): row for row in rows}
    assert [figure for against, figure in told if against == "hpcc"] == [
        "p95 all",
        "p99 all",
        "p95 1–3 KB",
        "p99 1–3 KB",
    ]
    p95, p99 = told["hpcc", "p95 1–3 KB"], told["hpcc", "p99 1–3 KB"]
    assert p95.found == pytest.approx(2 + 57 / 60)
    assert p95.bound == pytest.approx(1.8 + 57 / 60)
    assert (p95.met, p99.met) == (False, True)
    assert p95.low == p95.high == pytest.approx(p95.found / p95.bound)  # both seeds are the same
    assert p95.sure
    assert not told["card:swift", "p99 1–3 KB"].met


def test_a_case_is_kept_and_paged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["--seeds", "2", "--case", "two", "--jobs", "1", "--out", str(tmp_path)]
    assert main(arguments) == 0
    said = json.loads((tmp_path / "laws.json").read_text())
    case = said["cases"]["two"]
    assert list(case["figures"]) == list(LAWS)
    assert 0.9 < case["figures"]["hpcc"]["utilisation"]["mean"] < 1
    assert len(list((tmp_path / "runs").iterdir())) == 2 * len(LAWS)

    def never(law: str, seed: int, hints: Hints) -> Mapping[str, Any]:
        raise AssertionError(f"{law} {seed} is there already")

    monkeypatch.setitem(CASES, "two", replace(CASES["two"], measure=never))
    assert main([*arguments, "--page", str(tmp_path / "page.md")]) == 0
    text = (tmp_path / "page.md").read_text()
    assert "| Two long flows, from 7:3 | jain |" in text
    assert f"**{sum(row['met'] for row in case['goals'])} of 1 goals are met**" in text


def test_an_interval_needs_two_seeds(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["--seeds", "1", "--out", str(tmp_path)])


def test_the_record_in_the_documents_has_all() -> None:
    said = json.loads(_RECORD.read_text())
    assert said["laws"] == list(LAWS)
    assert list(said["cases"]) == list(CASES)
