"""Records of `precog model evaluate` that a release must have."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from precog_fleet.errors import FleetError
from precog_fleet.evaluate import Limits
from precog_fleet.record import check_record

IMAGE = "5a" * 32
Change = Callable[[dict[str, Any]], object]


def record(folder: Path, image: str, change: Change = lambda _: None) -> Path:
    """A record in which every prediction is as good as none."""
    same = {"slowdown_p99": {"mean": 1.0, "low": 0.99, "high": 1.01}}
    rows = [
        {"network": network, "law": law, "alone": same, "inverted": same}
        for network in ("messages", "duplex")
        for law in ("timely", "dcqcn")
    ]
    loop = {"seeds": 5, "results": json.loads(json.dumps(rows))}
    told = {"image": image, "commit": "0123abcd", "kind": "queue", "closed_loop": loop}
    change(told)
    path = folder / "record.json"
    path.write_text(json.dumps(told))
    return path


def test_a_record_that_passed_says_where_it_is_from(tmp_path: Path) -> None:
    assert check_record(record(tmp_path, IMAGE), IMAGE, Limits()) == {
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
            "must be of the image 5a5a.*, not of 00: make",
        ),
        (lambda r: r.pop("commit"), ValueError, "must be a record of precog model evaluate"),
        (lambda r: r.update(kind="x"), ValueError, "must be a record of precog model evaluate"),
        (lambda r: r.update(closed_loop=[]), ValueError, "must be a record of precog model"),
        (
            lambda r: r["closed_loop"]["results"].__delitem__(slice(2, None)),
            ValueError,
            "must have scenario duplex: evaluate without --scenario",
        ),
        (lambda r: r["closed_loop"].update(seeds=4), FleetError, "seeds must be at least 5, not 4"),
        (
            lambda r: r["closed_loop"]["results"][3]["alone"]["slowdown_p99"].update(high=1.06),
            FleetError,
            "did not pass: slowdown_p99 under dcqcn in duplex must be at most 1.05 .* not 1.060",
        ),
        (
            lambda r: r["closed_loop"]["results"][0].update(random={"jain": {"high": 1.2}}),
            FleetError,
            "jain under timely in messages .* not 1.200, if predictions are random",
        ),
    ],
)
def test_refused(tmp_path: Path, change: Change, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        check_record(record(tmp_path, IMAGE, change), IMAGE, Limits())


def test_no_record(tmp_path: Path) -> None:
    for path in (Path(), tmp_path / "nobody.json"):
        with pytest.raises(ValueError, match=r"release must have a record of its base, 5a5a.*make"):
            check_record(path, IMAGE, Limits())
    (tmp_path / "text").write_text("nothing")
    with pytest.raises(ValueError, match="must be a record of precog model evaluate"):
        check_record(tmp_path / "text", IMAGE, Limits())
