"""``precog sim compare``: differences over paired seeds."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import ran

Run = Callable[..., Any]


def seed(number: int, p95: float | None, queue: int = 0) -> dict[str, Any]:
    figures = {"mean": 1.0, "p50": 1.0, "p95": p95, "p99": 2.0, "p999": 2.0}
    whole = {"pause_share": 0.0, "utilisation": 0.5, "drops": 0}
    return {
        "seed": number,
        "flows": 9,
        "finished": 9,
        "classes": {"normal": figures},
        "jct_ms": {},
        "queue": {"p50": 0, "p99": 0, "max": queue},
        **whole,
    }


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Differences of p95 that are 1, 2 and 3: mean 2, deviation 1."""
    base = [seed(n, 10.0 + n) for n in range(3)]
    more = [seed(n, 11.0 + 2 * n, queue=5) for n in range(3)]
    shape = {"workload": "rpc:0.1", "flows": None, "duration_ms": 1.0}
    shape |= {"stop_ms": 50.0, "timing": "exact", "ecmp": "own"}
    left = [{**run, "finished": 3} for run in base]
    results = {"x": {"seeds": base}, "y": {"seeds": more}}
    (tmp_path / "both.json").write_text(json.dumps({**shape, "results": results}))
    for name, other in (
        ("one", {**shape, "results": {"x": {"seeds": base[:1]}}}),
        ("other", {**shape, "workload": "rpc:0.2", "results": {"x": {"seeds": base}}}),
        ("gap", {**shape, "results": {"x": {"seeds": [seed(n, None) for n in range(3)]}}}),
        ("left", {**shape, "results": {"x": {"seeds": left}}}),
        ("later", {**shape, "stop_ms": 60.0, "results": {"x": {"seeds": base}}}),
        *(
            (name, {**shape, "results": {"x": {"seeds": [seed(n, p95) for n in range(3)]}}})
            for name, p95 in (("huge", 10**400), ("nan", math.nan), ("endless", math.inf))
        ),
        ("list", []),
        ("bare", {**shape, "results": {"x": {}}}),
        ("odd", {**shape, "results": [1]}),
        ("none", {**shape, "results": {}}),
        ("lost", {"results": {}}),
        ("line", {**shape, "results": {"x": {"seeds": [{**base[0], "queue": 7}]}}}),
        ("few", {**shape, "results": {"x": {"seeds": [{"seed": 0}]}}}),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(other))
    (tmp_path / "cut.json").write_text('{"results": ')
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], files: Path) -> Run:
    def go(*names: str, status: int = 0) -> Any:
        done = ran(capsys, "sim", "compare", *(str(files / name) for name in names), "-j")
        assert done.status == status, done.err
        return done.err if status else json.loads(done.out)

    return go


def test_differences_have_student_s_interval(run: Run) -> None:
    found = run("both.json:x", "both.json:y")["classes"]
    change = found["normal"]["p95"]
    assert (change["before"], change["after"], change["mean"]) == (11.0, 13.0, 2.0)
    assert change["half_width"] == pytest.approx(4.303 / math.sqrt(3))
    assert change["sure"] is False
    assert found["network"]["queue_max"] == {
        **{"before": 0.0, "after": 5.0, "mean": 5.0, "half_width": 0.0},
        "sure": True,
    }
    assert found["normal"]["p50"]["sure"] is False


def test_what_did_not_finish_is_left_out(run: Run) -> None:
    assert "p95" not in run("both.json:x", "gap.json")["classes"]["normal"]


def test_refusals(run: Run) -> None:
    for names, message in (
        (("both.json", "one.json"), "has the laws x, y: say which, as"),
        (("both.json:z", "one.json"), "law must be one of x, y in"),
        (("both.json:x", "one.json"), "seeds must be the same in both, not [0, 1, 2] and [0]"),
        (("one.json", "one.json"), "seeds must be at least 2, not 1"),
        (("both.json:x", "other.json"), "workload must be the same in both"),
        (("both.json:x", "list.json"), "it must be an object, not []"),
        (("both.json:x", "later.json"), "stop_ms must be the same in both, not 50.0 and 60.0"),
        (("both.json:x", "left.json"), "law x must have finished all flows, not all but 18"),
        (("both.json:x", "bare.json"), "results.x.seeds must be a list of runs, not None"),
        (("both.json:x", "odd.json"), "results must be an object, not [1]"),
        (("both.json:x", "few.json"), "results.x.seeds[0] must have flows, finished"),
        (("both.json:x", "huge.json"), "x.seeds[0].classes.normal.p95 must be a number within ±"),
        (("both.json:x", "nan.json"), "p95 must be a number within ±1e+18, not nan"),
        (("both.json:x", "endless.json"), "p95 must be a number within ±1e+18, not inf"),
        (("both.json:x", "line.json"), "results.x.seeds[0].queue must be an object, not 7"),
        (("both.json:x", "none.json"), "results must have a law at least"),
        (
            ("both.json:x", "lost.json"),
            "it must have workload, flows, duration_ms, stop_ms, timing",
        ),
        (
            ("both.json:x", "cut.json"),
            "cut.json must be a result of precog sim fabric, but Expecting",
        ),
        (("both.json:x", "nobody.json"), "nobody.json: No such file"),
    ):
        assert message in run(*names, status=2)
