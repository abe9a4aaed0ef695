"""The fleet's page says what the demo's file says, and loads nothing."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from precog_host import cli
from precog_sim.report.figures.fleet import role_of
from precog_sim.report.fleet import Fleet
from precog_sim.report.fleet_page import render_fleet

pytestmark = pytest.mark.xdist_group("report")

_T0 = 1_795_592_140_000
_MARKS = (
    ("first job", 4.0),
    ("first release", 12.0),
    ("drift", 16.0),
    ("second job", 20.0),
    ("second release", 30.0),
    ("end of figures", 34.0),
    ("bad release", 35.0),
    ("rollback", 39.0),
)


def _at(s: float) -> int:
    return _T0 + round(1000 * s)


def _gain(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.03, "high": value + 0.04}


def recorded() -> dict[str, Any]:
    """A file of two agents, with the fields and units of `precog_fleet.demo`."""
    runs = [(0, "host0", 0), (0.5, "host1", 0), (8, "host1", 1), (11, "host0", 1)]
    runs += [(18, "host0", 0), (26, "host0", 2), (29, "host1", 2)]
    rollouts = [
        (7, 1, 500, "started", "previous 0"),
        (10, 1, 1000, "advanced", "median skill changed by +0.0456"),
        (25, 2, 1000, "done", "median skill changed by +0.1745"),
        (35, 3, 500, "started", "previous 2"),
        (39, 3, 0, "rolled back", "median skill fell by 2.5494"),
    ]
    spots = [(s, f"10.0.0.{n}", 9.0 + n + s / 10) for s in range(1, 40, 2) for n in (1, 2)]
    return {
        "agents": 2,
        "failed": [],
        "skill": {
            "before": _gain(0.4),
            "after": _gain(0.5),
            "gain": _gain(0.123),
            "course": [{"at": _at(1 + 2 * k), "skill": 0.5 - 0.02 * k} for k in range(18)],
        },
        "drift": {"fallen": _gain(0.01), "after": _gain(0.3), "gain": _gain(0.385)},
        "runs": [{"at": _at(s), "agent": a, "release": r} for s, a, r in runs],
        "hotspots": [
            {"at": _at(s), "destination": name, "rtt_us": rtt, "rtt_p99_us": 2 * rtt}
            for s, name, rtt in spots
        ],
        "rollouts": [
            {"at": _at(s), "release": r, "share": share, "what": what, "why": why}
            for s, r, share, what, why in rollouts
        ],
        "marks": {name: _at(s) for name, s in _MARKS},
        "converge_s": {"p50": 1.75, "max": 6.5, "reports": 2231},
        "bytes_per_agent_s": 5516.0,
        "lost_records": 0,
        "forged": {"sent": 20, "refused": 20, "accepted": 0},
        "rollback_s": 10.4,
        "bad_release_ran": False,
        "events": [{"at": _at(7), "what": "job 1 released: release <1>"}],
    }


def _written(folder: Path, data: Any) -> Path:
    path = folder / "demo.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def test_the_page(tmp_path: Path) -> None:
    page = render_fleet(_written(tmp_path, recorded()))
    assert page == tmp_path / "fleet.html"
    text = page.read_text(encoding="utf-8")
    for figure in ("12.3", "38.5", "10.4", "2,231", "5.5\u00a0KB", "39.0", "+0.1745"):
        assert figure in text, figure
    assert "release &lt;1&gt;" in text
    assert text.count("<svg") == 8  # four pictures at two widths
    assert 'data-tip="host0: release 2, 26 to 39 s"' in text
    assert 'data-tip="10.0.0.2, 39 s: RTT 14.9 us, 99\u00a0% 29.8 us"' in text
    assert not re.search(r'(?:src|href)="(?:https?:)?//', text)
    assert "did not hold" not in text
    assert 'class="failed"' not in text


def test_a_run_that_failed_says_so(tmp_path: Path) -> None:
    data = recorded() | {"failed": ["lost records must be 0, not 2"], "bad_release_ran": True}
    data["skill"]["gain"]["low"] = -0.01
    text = render_fleet(_written(tmp_path, data)).read_text(encoding="utf-8")
    assert "This run did not hold: lost records must be 0, not 2." in text
    assert text.count('class="failed"') == 2


def test_who_runs_what(tmp_path: Path) -> None:
    fleet = Fleet.read(_written(tmp_path, recorded()))
    assert fleet.releases == [0, 1, 2]
    assert [fleet.running(1, s) for s in (7, 9, 12, 19, 35)] == [0, 1, 2, 1, 0]
    assert [role_of(fleet, n) for n in (0, 1, 2, 3)] == ["muted", "predpid", "hpcc", "bad"]
    assert [spot.name for spot in fleet.spots] == ["10.0.0.1", "10.0.0.2"]
    assert fleet.marks["drift"] == 16.0


@pytest.mark.parametrize("name", ["skill", "runs", "hotspots", "marks", "failed"])
def test_other_files_are_named(tmp_path: Path, name: str) -> None:
    data = copy.deepcopy(recorded())
    del data[name]
    path = _written(tmp_path, data)
    with pytest.raises(ValueError, match=f"{path} must be what `precog fleet demo -o` writes"):
        Fleet.read(path)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _written(tmp_path, recorded())
    with pytest.raises(SystemExit) as done:
        cli.main(["report", "--fleet", str(path)])
    assert done.value.code == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "fleet.html")
    with pytest.raises(SystemExit) as failed:
        cli.main(["report", "--fleet", str(_written(tmp_path, "[]"))])
    assert failed.value.code
    assert "must be what `precog fleet demo -o` writes" in " ".join(capsys.readouterr().err.split())
