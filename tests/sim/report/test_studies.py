"""The studies' files become lines and a part of the page; damage is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from precog_sim.report.data import DemoResult
from precog_sim.report.figures import Picture, draw_studies
from precog_sim.report.page import compose
from precog_sim.report.series import Series
from precog_sim.report.studies import LAW_NAMES, SOURCE_NAMES, Interval, Studies

pytestmark = pytest.mark.xdist_group("report")

_DOCS = Path(__file__).parents[3] / "docs/evidence/data"
_ONE = {"mean": 1.0, "low": 0.9375, "high": 1.03125}


def _scored(high: float = 1.03125) -> dict[str, Any]:
    names = ("slowdown_p50", "slowdown_p99", "queue_p99_kb", "jain")
    return {
        "seeds": 23,
        "limit": 1.05,
        "results": [
            {
                "network": "incast",
                "law": "timely",
                "source": source,
                "echo": False,
                "skill": True,
                "receiver": False,
                "model": "lstm",
                "figures": {"followed": 0.625},
                "ratios": {name: _ONE | {"high": high} for name in names},
            }
            for source in ("alone", *SOURCE_NAMES)
        ],
    }


def _figure20() -> dict[str, Any]:
    told = {"mean": 2.0, "half_width": 0.25}
    claims = [
        {"text": f"claim {holds}", "below_one": True, "ratio": told, "holds": holds}
        for holds in (True, False, None)
    ]
    return {
        "seeds": 19,
        "duration_ms": 2.0,
        "sizes": [500, 2000],
        "laws": {"hpcc": {"label": "HPCC", "p95": {"parts": [told, None]}}},
        "claims": [*claims, claims[0] | {"ratio": None, "holds": None}],
    }


def _docs(folder: Path, scored: dict[str, Any]) -> Studies:
    (folder / "figure20.json").write_text(json.dumps(_figure20()), encoding="utf-8")
    (folder / "scored.json").write_text(json.dumps(scored), encoding="utf-8")
    fairness = (_DOCS / "fairness.json").read_text(encoding="utf-8")
    (folder / "fairness.json").write_text(fairness, encoding="utf-8")
    return Studies.read(folder)


def test_what_is_tracked_can_be_read() -> None:
    studies = Studies.read(_DOCS)
    assert studies.sharing is not None
    assert {line.law for line in studies.sharing.lines} == set(LAW_NAMES)
    assert studies.sharing.mismatches == 0


def test_figure20_has_intervals_and_sentences(tmp_path: Path) -> None:
    study = _docs(tmp_path, _scored()).figure20
    assert study is not None
    assert study.curves[0].p95 == (Interval(2.0, 1.75, 2.25), None)
    assert [claim.holds for claim in study.claims] == [True, False, None, None]
    (tmp_path / "figure20.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="must be what `precog study figure20` writes"):
        Studies.read(tmp_path)


def test_studies_become_sections(
    tmp_path: Path, result: DemoResult, series: Series, pictures: dict[str, Picture]
) -> None:
    studies = _docs(tmp_path, _scored())
    drawn = draw_studies(studies)
    page = compose(result, series, pictures | drawn, studies)
    for wanted in (
        *('id="sharing"', 'id="scores"', 'id="figure20"', "1.031", "23", "19 seeds", "1 of 4"),
        *LAW_NAMES.values(),
    ):
        assert wanted in page, wanted
    assert all(
        page.count(f'aria-label="{one.alt}"'.replace("'", "&#x27;")) == 2 for one in drawn.values()
    )
    assert page.count('href="#sharing"') == page.count('href="#scores"') == 1
    assert "the aim is missed" not in page
    worse = _docs(tmp_path, _scored(high=1.0625))
    assert "the aim is missed" in compose(result, series, pictures | drawn, worse)


def test_without_studies_there_are_no_sections(
    tmp_path: Path, result: DemoResult, series: Series, pictures: dict[str, Picture]
) -> None:
    assert Studies.read(tmp_path) == Studies()
    page = compose(result, series, pictures)
    assert "#sharing" not in page
    assert "#scores" not in page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": None}, r"scored\.json must be what `precog study scores` writes"),
        ({"results": [{"source": "model"}]}, r"scored\.json must be what"),
    ],
)
def test_damage_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _docs(tmp_path, _scored() | change)
