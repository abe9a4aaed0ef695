"""The study of rivals: one case by hand, and the page that stands in the documents."""

import json
from pathlib import Path

import numpy as np
import pytest

from precog_net.job import Outcome
from precog_studies.rivals.__main__ import main
from precog_studies.rivals.cases import CASES, LAWS, jain
from precog_studies.rivals.fabric import FABRICS, job, slowdowns

_RECORD = Path(__file__).parents[2] / "docs/evidence/data/rivals.json"


def test_jain_s_index() -> None:
    assert jain(np.array([3.0, 3.0])) == 1
    assert jain(np.array([1.0, 0.0, 0.0, 0.0])) == 0.25


def test_a_case_is_measured_and_paged(tmp_path: Path) -> None:
    arguments = ["--seeds", "2", "--law", "hpcc", "--case", "two", "--out", str(tmp_path)]
    assert main([*arguments, "--page", str(tmp_path / "page.md")]) == 0
    said = json.loads((tmp_path / "rivals.json").read_text())
    (row,) = said["rows"]
    assert (row["law"], row["case"], row["finish_ms"]) == ("hpcc", "two", None)
    assert 4.1 < row["rtt_mean_us"]["mean"] < row["rtt_p99_us"]["mean"]
    assert 0.9 < row["utilisation"]["mean"] < 1
    assert (tmp_path / "page.md").read_text().count("| hpcc |") == 1
    arguments[3] = "dctcp"
    assert main([*arguments, "--page", str(tmp_path / "page.md")]) == 0
    said = json.loads((tmp_path / "rivals.json").read_text())
    assert [row["law"] for row in said["rows"]] == ["hpcc", "dctcp"]  # rows of before stay
    with pytest.raises(SystemExit):
        main(["--seeds", "1"])


def test_flows_that_do_not_end_are_the_slowest() -> None:
    flows = {
        "slowdown": np.array([1.0] * 19 + [np.nan, 3.0]),
        "class": ["hadoop"] * 20 + ["incast"],
    }
    counts = {"queue_p99": 2000.0, "queue_max": 4000.0, "pauses": 0.0}
    found = slowdowns(Outcome(flows, counts))
    assert (found.p50, found.p95) == (1.0, None)
    assert (found.incast_p95, found.unfinished, found.queue_p99_kb) == (3.0, 1.0, 2.0)
    assert job("hpcc", "fabric-hadoop", 2).workload.startswith("hadoop:0.3+incast")


def test_the_record_in_the_documents_has_all() -> None:
    said = json.loads(_RECORD.read_text())
    assert {(row["law"], row["case"]) for row in said["rows"]} == {
        (law, case) for law in LAWS for case in (*CASES, *FABRICS)
    }
    assert all(row["seeds"] >= 3 for row in said["rows"])
