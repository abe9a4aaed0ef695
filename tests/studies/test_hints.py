"""The study of receivers that say N: figures by hand, one case whose runs are kept."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from precog_net.workloads import Traffic
from precog_studies.hints.__main__ import ARMS_OF, main
from precog_studies.hints.judged import compared
from precog_studies.prediction.arms import ARMS, OFF

_NONE = np.zeros(0, dtype=np.int64)


def test_receivers_say_what_they_say_in_the_study_of_predictions() -> None:
    traffic = Traffic(_NONE, _NONE, _NONE, _NONE, ())
    assert [hints for _, hints in ARMS_OF] == [
        ARMS[name].hints(traffic, {}, 0) for name in (OFF, "echo")
    ]


def test_a_figure_may_be_two_percent_worse() -> None:
    before = [{"rtt_p99_us": 4.0, "jain": 1.0}, {"rtt_p99_us": 6.0, "jain": 1.0}]
    after = [{"rtt_p99_us": 4.0, "jain": 0.97}, {"rtt_p99_us": 6.3, "jain": 0.97}]
    longer, fair = compared("two", before, after)
    assert longer.figure == "rtt_p99_us"
    assert longer.ratio.ratio == pytest.approx(1.03)
    # Seeds drawn again are the first twice, both, or the second twice.
    assert (longer.ratio.low, longer.ratio.high) == pytest.approx((1.0, 1.05))
    assert (longer.met, longer.sure) == (False, False)
    assert (fair.met, fair.sure) == (False, True)
    shorter, fairer = compared("two", after, before)
    assert shorter.met
    assert (fairer.met, fairer.sure) == (True, True)


def test_tails_of_a_fat_tree_are_over_lockstep() -> None:
    def run(slowdown: float) -> dict[str, Any]:
        return {"bytes": [2000] * 60, "class": ["websearch"] * 60, "slowdown": [slowdown] * 60}

    rows = compared("websearch", [run(2.0)] * 2, [run(2.5)] * 2)
    assert [row.figure for row in rows] == [
        *("p95 all", "p99 all"),
        *("p95 1–3 KB", "p99 1–3 KB"),
    ]
    assert {(row.ratio.ratio, row.met, row.sure) for row in rows} == {(1.25, False, True)}


@pytest.mark.parametrize("case", ["long32", "parking_lot"])
def test_a_case_is_kept_and_paged(case: str, tmp_path: Path) -> None:
    """In a parking lot each receiver has one flow, so that the law hears no crowd."""
    arguments = ["--seeds", "2", "--case", case, "--jobs", "1", "--out", str(tmp_path)]
    assert main([*arguments, "--page", str(tmp_path / "page.md")]) == 0
    rows = json.loads((tmp_path / "hints.json").read_text())["cases"][case]["rows"]
    assert len(list((tmp_path / "runs").iterdir())) == 4
    same = {row["figure"] for row in rows if row["before"] == row["after"]}
    assert (same == {row["figure"] for row in rows}) == (case == "parking_lot")
    text = (tmp_path / "page.md").read_text()
    assert (
        f"**{sum(row['met'] for row in rows)} of {len(rows)} figures are no more than 2 %" in text
    )


@pytest.mark.parametrize("option", ["--seeds", "--fabric-seeds"])
def test_an_interval_needs_two_seeds(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([option, "1", "--out", str(tmp_path)])
    assert "must be at least 2, not 1: a ratio has an interval" in capsys.readouterr().err
