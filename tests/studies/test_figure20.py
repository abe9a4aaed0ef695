"""The study of figure 20: percentiles by hand, one short campaign, the page in the documents."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from precog_net.job import Outcome
from precog_studies.figure20 import laws, measure
from precog_studies.figure20.__main__ import main

_RECORD = Path(__file__).parents[2] / "docs/evidence/data/figure20.json"


def _outcome(slowdown: list[float], scale: float = 1.0) -> Outcome:
    """Flows of 1 KB, 2 KB, ... and one of an incast."""
    n = len(slowdown)
    flows = {
        "bytes": np.array([1000 * (k + 1) for k in range(n)] + [500_000]),
        "slowdown": np.array([scale * value for value in slowdown] + [7.0]),
        "class": ["hadoop"] * n + ["incast"],
    }
    return Outcome(flows, {"pauses": 2, "drops": 0, "cpu_s": 0.5})


def test_parts_have_equal_numbers_of_ordinary_flows() -> None:
    assert measure.bounds([_outcome([1.0] * 40)]) == [2000 * k for k in range(1, 21)]
    assert measure.bounds([_outcome([1.0])]) == [1000]


def test_percentiles_have_intervals_over_the_seeds() -> None:
    runs = [_outcome([1.0, 3.0], scale) for scale in (1.0, 2.0)]
    found = measure.figures(runs, [1000, 2000])
    assert found["p95"]["parts"] == [
        {"mean": 1.5, "half_width": pytest.approx(12.706 / 2, rel=1e-3)},
        {"mean": 4.5, "half_width": pytest.approx(12.706 * 1.5, rel=1e-3)},
    ]
    assert found["p99"]["incast"] == {"mean": 7.0, "half_width": 0.0}
    assert (found["flows"], found["unfinished"], found["pauses"]) == (4, 0, 4)


def test_flows_that_do_not_finish_are_the_slowest() -> None:
    found = measure.figures([_outcome([1.0, math.nan])] * 2, [1000, 2000])
    assert found["unfinished"] == 2
    assert [part is None for part in found["p95"]["parts"]] == [False, True]
    assert found["p95"]["all"] is None


def test_the_thesis_sentences_hold_differ_or_are_open() -> None:
    fast, slow = [_outcome([1.0] * 10)] * 3, [_outcome([2.0] * 10)] * 3
    doubtful = [_outcome([1.0] * 10, scale) for scale in (0.5, 1.0, 2.0)]
    found = measure.claims({"predpid": fast, "timely": slow, "dcqcn": doubtful})
    by_text = {one["text"]: one for one in found}
    small = by_text["PREDPID / TIMELY, up to 336 KB"]
    assert (small["ratio"]["mean"], small["holds"]) == (0.5, True)
    assert by_text["PREDPID / DCQCN, up to 336 KB"]["holds"] is None
    assert by_text["PREDPID / TIMELY, larger"]["ratio"] is None  # no such flow
    swapped = measure.claims({"predpid": slow, "timely": fast})
    assert swapped[0]["holds"] is False
    assert len(swapped) == 2


def test_the_thesis_three_differ_as_the_thesis_has_them() -> None:
    plain, adjusted, windowed = laws.predpid(), laws.predpid_rttch(), laws.predpid_rttch_win()
    assert [law.params.adjuster for law in (plain, adjusted, windowed)] == [
        "off",
        "thesis",
        "thesis",
    ]
    assert [law.window for law in (plain, adjusted, windowed)] == ["none", "none", "bdp"]
    assert plain.params.target_us == 5.0
    assert plain.start_gbps == 10.0


def test_a_short_campaign_is_recorded_drawn_and_paged(tmp_path: Path) -> None:
    words = ["--seeds", "2", "--duration-ms", "0.05", "--law", "dctcp", "--law", "hpcc"]
    words += ["--topology", "leafspine:leaves=2,spines=2,hosts=4", "--jobs", "1"]
    words += ["--workload", "hadoop:0.5+incast:4x20k:0.1", "--runs", str(tmp_path / "runs")]
    assert main([*words, "--out", str(tmp_path), "--page", str(tmp_path / "page.md")]) == 0
    said = json.loads((tmp_path / "figure20.json").read_text())
    assert set(said["laws"]) == {"dctcp", "hpcc"}
    assert said["laws"]["hpcc"]["unfinished"] == 0
    assert said["laws"]["hpcc"]["p95"]["all"]["mean"] >= 1
    assert "HPCC" in (tmp_path / "page.md").read_text()
    svg = (tmp_path / "figure20.svg").read_text()
    assert "Slowdown, 95th percentile" in svg
    assert len(list((tmp_path / "runs").glob("*.parquet"))) == 4


def test_the_record_in_the_documents_has_all() -> None:
    said = json.loads(_RECORD.read_text())
    assert set(said["laws"]) == set(laws.LAWS)
    assert said["seeds"] >= 3
