"""Options of fabrics on the command line: what they change, and what they refuse."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from precog_host import cli

Run = Callable[..., Any]
SMALL = ("--topology", "leafspine:leaves=2,spines=2,hosts=3", "--workload")
SMALL += ("rpc:0.1+incast:3x20k:0.1", "--duration-ms", "0.05", "--law", "dctcp", "--jobs", "1")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    def go(*arguments: str, status: int = 0) -> Any:
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            cli.main(["sim", "fabric", "-o", str(tmp_path), "-j", *SMALL, *arguments])
        said = capsys.readouterr()
        assert int(caught.value.code or 0) == status, said.err
        return said.err if status else json.loads(said.out)

    return go


def test_all_at_once(run: Run) -> None:
    """Everything still arrives, and the result says under which options."""
    data = run(
        *("--spray", "turns", "--recovery", "selective", "--reorder", "32", "--ack-every", "4"),
        *("--pfc", "off", "--drop", "dynamic", "--loss", "0.01", "--timeout-us", "200"),
        *("--fail", "6-8:10:30", "--detect-us", "5"),
        *("--classes", "incast,rpc", "--schedule", "drr", "--weights", "1,3"),
    )
    found = data["results"]["dctcp"]
    assert found["finished"] == found["flows"] > 0
    assert found["retransmitted"] > 0
    assert data["features"]["fail"] == ["6-8:10:30"]
    plain = run()
    assert plain["results"]["dctcp"]["retransmitted"] == 0


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
    ],
)
def test_refusals(run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in " ".join(run(*arguments, status=2).split())
    assert not (tmp_path / "runs").exists()
