"""Options of fabrics on the command line: what they change, and what they refuse."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import ran

Run = Callable[..., Any]
SMALL = ("--topology", "leafspine:leaves=2,spines=2,hosts=3", "--workload")
SMALL += ("rpc:0.1+incast:3x20k:0.1", "--duration-ms", "0.05", "--law", "dctcp", "--jobs", "1")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    def go(*arguments: str, status: int = 0) -> Any:
        done = ran(capsys, "sim", "fabric", "-o", str(tmp_path), "-j", *SMALL, *arguments)
        assert done.status == status, done.err
        return done.err if status else json.loads(done.out)

    return go


def test_all_at_once(run: Run) -> None:
    """Everything still arrives, and the result says under which options."""
    data = run(
        *("--spray", "turns", "--recovery", "selective", "--reorder", "32", "--ack-every", "4"),
        *("--pfc", "off", "--drop", "dynamic", "--loss", "0.01", "--timeout-us", "200"),
        *("--drop-alpha", "0.5", "--recovery-window", "64", "--link-loss", "0-6:0.05"),
        *("--ecn", "100k-400k:0.2,20k", "--acks-first"),
        *("--fail", "6-8:10:30", "--detect-us", "5"),
        *("--classes", "incast,rpc", "--schedule", "drr", "--weights", "1,3"),
    )
    found = data["results"]["dctcp"]
    assert found["finished"] == found["flows"] > 0
    assert found["retransmitted"] > 0
    assert data["features"]["fail"] == ["6-8:10:30"]
    plain = run()
    assert plain["results"]["dctcp"]["retransmitted"] == 0


def test_a_lossy_link_loses_for_its_host_alone(run: Run) -> None:
    found = run("--link-loss", "0-6:0.2", "--recovery", "selective", "--timeout-us", "100")
    (seed,) = found["results"]["dctcp"]["seeds"]
    assert seed["finished"] == seed["flows"]
    assert seed["retransmitted"] > 0


def test_marks_start_where_ecn_says(run: Run) -> None:
    marks = [run("--ecn", ecn)["results"]["dctcp"]["marks"] for ecn in ("2k", "1M")]
    assert marks[0] > 0 == marks[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--spray", "all"), "spray must be one of none, random, turns, not 'all'"),
        (("--recovery", "x"), "recovery must be one of go-back-n, selective, not 'x'"),
        (("--loss", "1"), "link loss must be in [0, 1), not 1.0"),
        (("--fail", "6:1"), "fail must be A-B:DOWN_US or A-B:DOWN_US:UP_US, not '6:1'"),
        (("--fail", "0-1:5"), "fail must name two nodes with a link between them, not 0-1"),
        (("--classes", "rpc"), "class 'incast' must be one of --classes rpc"),
        (("--classes", "rpc,rpc"), "classes must be given once each, not 'rpc,rpc'"),
        (
            ("--classes", "rpc,incast", "--schedule", "drr", "--weights", "1,0"),
            "weight must be above 0 and finite, not 0.0",
        ),
        (("--weights", "a", "--schedule", "drr"), "weights must be numbers with commas, not 'a'"),
        (("--recovery", "selective", "--recovery-window", "0"), "window must be in 1..65536"),
        (("--drop-alpha", "0"), "drop_alpha must be positive and finite, not 0.0"),
        (("--link-loss", "0-6"), "link-loss must be A-B:SHARE, not '0-6'"),
        (("--link-loss", "0-1:0.1"), "link-loss must name two nodes with a link between them"),
        (("--link-loss", "0-6:0.1", "--link-loss", "6-0:0.2"), "link-loss of 6-0 must be given on"),
        (("--link-loss", "0-6:1"), "link loss must be in [0, 1), not 1.0"),
        (("--ecn", "x"), "ecn MIN must be a number above 0 such as 8, 500k or 1.5M, not 'x'"),
        (("--ecn", "1:2:3"), "ecn must be MIN, MIN-MAX or MIN-MAX:SHARE, not '1:2:3'"),
        (("--ecn", "2k-1k"), "ECN thresholds must satisfy 0 <= min <= max, not 2000, 1000"),
        (("--ecn", "2k,1k"), "markings must be as many as the 1 priorities, not 2"),
    ],
)
def test_refusals(run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in " ".join(run(*arguments, status=2).split())
    assert not (tmp_path / "runs").exists()
