"""Records of `precog model evaluate` that a release must have."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from precog_fleet.errors import FleetError
from precog_fleet.record import check_record
from precog_models.judged import sealed

IMAGE = "5a" * 32
Change = Callable[[dict[str, Any]], object]


def harmless(
    image: str, *, seeds: int = 5, scenarios: tuple[str, ...] = (), change: Change = lambda _: None
) -> dict[str, Any]:
    """A record in which every prediction is as good as none."""
    same = {"slowdown_p99": {"mean": 1.0, "low": 0.99, "high": 1.01}}
    rows = [
        {"network": network, "law": law, "alone": same, "live": same, "inverted": same}
        for network in scenarios or ("messages", "duplex")
        for law in ("timely", "dcqcn")
    ]
    told = {
        "image": image,
        "commit": "0123abcd",
        "command": "precog model evaluate",
        "kind": "queue",
        "bound": 1.05,
        "offline": [],
        "closed_loop": {"seeds": seeds, "results": json.loads(json.dumps(rows))},
    }
    change(told)
    return sealed(told)


def row(told: dict[str, Any]) -> dict[str, Any]:
    """The first scenario."""
    found: dict[str, Any] = told["closed_loop"]["results"][0]
    return found


def record(folder: Path, image: str, change: Change = lambda _: None) -> Path:
    """The file of a harmless record that was changed before it was sealed."""
    path = folder / "record.json"
    path.write_text(json.dumps(harmless(image, change=change)))
    return path


def check(path: Path) -> dict[str, Any]:
    return check_record(path, IMAGE, bound=1.05, seeds=5)


def test_a_record_that_passed_says_where_it_is_from(tmp_path: Path) -> None:
    assert check(record(tmp_path, IMAGE)) == {
        "evaluated": "0123abcd",
        "loop_seeds": 5,
        "scenarios": "messages, duplex",
    }


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda r: r.update(image="00"),
            ValueError,
            "must be of the image with SHA-256 5a5a.*, not of 00: make",
        ),
        (lambda r: r.pop("commit"), ValueError, "model evaluate, but it must have commit: make"),
        (lambda r: r.update(kind="x"), ValueError, "but it must have a known kind and results"),
        (lambda r: r.update(commit=7), ValueError, "but commit must be text, not 7"),
        (lambda r: r.update(bound=10**400), ValueError, "but bound must be a number, not 1000"),
        (lambda r: r.update(bound=None), ValueError, "but bound must be a number, not None"),
        (lambda r: r.update(offline=[1]), ValueError, "but offline must be a list of objects"),
        (
            lambda r: r["closed_loop"].update(seeds="20"),
            ValueError,
            "but seeds must be a number of runs, not '20'",
        ),
        (
            lambda r: r["closed_loop"].update(results=[1]),
            ValueError,
            "but results must be objects, not 1",
        ),
        (lambda r: row(r).update(network=[]), ValueError, r"but network must be text, not \[\]"),
        # Without a measure nothing is above a bound.
        (
            lambda r: row(r).update(alone={}, live={}, inverted={}),
            ValueError,
            "but results must have measures",
        ),
        (lambda r: row(r).update(inverted={}), ValueError, "inverted must have the measures slow"),
        (lambda r: row(r).update(persistence=1), ValueError, "persistence must have the measures"),
        (
            lambda r: row(r)["live"]["slowdown_p99"].pop("mean"),
            ValueError,
            "live's slowdown_p99 must have a mean and the ends of its interval",
        ),
        (
            lambda r: row(r)["alone"]["slowdown_p99"].update(high="1"),
            ValueError,
            "alone's slowdown_p99 must have a mean and the ends of its interval",
        ),
        (lambda r: r.update(closed_loop=[]), ValueError, "must be a record of precog model"),
        (
            lambda r: r["closed_loop"]["results"][1].pop("inverted"),
            ValueError,
            "must be a record of precog model evaluate, but 'inverted'",
        ),
        (
            lambda r: r["closed_loop"]["results"].__delitem__(slice(2, None)),
            FleetError,
            "scenario duplex must be in the record: evaluate without --scenario",
        ),
        (lambda r: r["closed_loop"].update(seeds=4), FleetError, "seeds must be at least 5, not 4"),
        (
            lambda r: r["closed_loop"]["results"][3]["alone"]["slowdown_p99"].update(high=1.06),
            FleetError,
            "did not pass: slowdown_p99 under dcqcn in duplex must be at most 1.05 .* not 1.060",
        ),
        (
            lambda r: r["closed_loop"]["results"][3]["alone"]["slowdown_p99"].update(high=None),
            FleetError,
            "times that of alone, not none",
        ),
        (
            lambda r: r["closed_loop"]["results"][2]["live"]["slowdown_p99"].update(high=1.06),
            FleetError,
            "slowdown_p99 under timely in duplex .* times that of live, not 1.060",
        ),
        (
            lambda r: r["closed_loop"]["results"][0].update(
                random={"slowdown_p99": {"mean": 1.15, "low": 1.1, "high": 1.2}}
            ),
            FleetError,
            "slowdown_p99 under timely in messages .* not 1.200, if predictions are random",
        ),
    ],
)
def test_refused(tmp_path: Path, change: Change, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        check(record(tmp_path, IMAGE, change))


def test_an_edited_record_is_refused(tmp_path: Path) -> None:
    """Even where the edit hides nothing that counts."""
    path = record(tmp_path, IMAGE)
    path.write_text(path.read_text().replace("0123abcd", "0123abce"))
    with pytest.raises(ValueError, match=r"its text has [0-9a-f]{64}: it was edited; make one"):
        check(path)


def test_no_record(tmp_path: Path) -> None:
    for path in (Path(), tmp_path / "nobody.json"):
        with pytest.raises(ValueError, match=r"record .* of image 5a5a.* must be a file: make one"):
            check(path)
    (tmp_path / "text").write_text("nothing")
    with pytest.raises(ValueError, match="must be a record of precog model evaluate"):
        check(tmp_path / "text")
    (tmp_path / "long").write_text(" " * (1 << 20) + "{}")
    with pytest.raises(ValueError, match="must have at most 1048576 bytes"):
        check(tmp_path / "long")
