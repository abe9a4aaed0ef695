"""The study of predictions: what is believed, how it is judged, one case whose runs are kept."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from precog_models.forecast.starts import ENOUGH
from precog_models.packet.senders import level_of
from precog_net.workloads import Traffic
from precog_sim.network import incast
from precog_studies.prediction import guesses
from precog_studies.prediction.__main__ import main
from precog_studies.prediction.arms import (
    ARMS,
    BULK,
    BULK_LEVEL,
    FALSE,
    OFF,
    WITHOUT_MODEL,
)
from precog_studies.prediction.cases import CASES, closed_loop, known_levels
from precog_studies.prediction.judged import GOALS, judged, ratios
from precog_studies.prediction.page import against, modelled
from precog_studies.prediction.runs import measure
from precog_studies.prediction.told import with_arm
from precog_studies.prediction.trials import skill

_US = 1_000_000


def _traffic(rows: list[tuple[int, int, int]], kinds: tuple[str, ...]) -> Traffic:
    start, dst, size = np.array(rows, dtype=np.int64).T
    return Traffic(start, np.arange(10, 10 + len(rows)), dst, size, kinds)


def test_a_level_is_the_binary_logarithm_rounded_up() -> None:
    assert [level_of(n) for n in (0, 1, 2, 3, 4, 5, 8, 9, 60)] == [0, 0, 1, 2, 2, 3, 3, 4, 6]


def test_the_oracle_counts_who_shares_the_link_soon() -> None:
    """130 KB take 8 us beyond those that do not count: alone; two at once take 16 us."""
    rows = [(0, 0, 130_000), (4 * _US, 1, 130_000), (4 * _US, 1, 130_000), (13 * _US, 0, 130_000)]
    rows += [(15 * _US, 1, 20_000), (30 * _US, 1, 130_000)]
    kinds = ("a", "b", "b", "a", "c", "b")
    found = guesses.truth(_traffic(rows, kinds))
    assert found == (0, 1, 1, 0, 1, 0)
    assert guesses.inverted(found).tolist() == [6, 5, 5, 6, 5, 6]
    assert guesses.prior([_traffic(rows, kinds)] * 2) == {"a": 0, "b": 1}
    assert guesses.tagged(_traffic(rows, kinds), {"b": 3}) == (0, 3, 3, 0, 0, 3)
    drawn = guesses.scrambled(found * 100, 1)
    assert drawn == guesses.scrambled(found * 100, 1)
    assert set(drawn) == set(range(7))


def test_a_prior_knows_incasts_by_their_class() -> None:
    known = known_levels("incast")
    assert known["incast"] == 6
    assert known["websearch"] < 2


def test_a_source_of_guesses_is_heeded_only_after_its_trial() -> None:
    assert skill("rounds", ARMS["prior"]) > 0.8
    assert abs(skill("rounds", FALSE["guess_random"])) < 0.1
    assert skill("rounds", FALSE["guess_inverted"]) < -0.9
    assert skill("background", ARMS["lstm"]) < 0
    shown = {}
    for arm in ("guess_inverted", "guess_turned", "echo"):
        figures = measure("rounds", arm, 0)
        shown[arm] = figures.pop("skill"), figures["background"]["middle"]
    assert shown["guess_inverted"][0] <= ENOUGH
    assert shown["guess_inverted"][1] == shown["echo"][1]
    assert shown["guess_turned"][0] is shown["echo"][0] is None
    assert shown["guess_turned"][1] > shown["echo"][1]


def test_long_messages_have_a_law_and_a_belief_of_their_own() -> None:
    result, traffic, _ = closed_loop("background", ARMS["bulk"], 0)
    long = traffic.size > BULK
    assert 0 < long.sum() < len(traffic) / 4
    assert result.scenario.hints.guesses == tuple(np.where(long, BULK_LEVEL, 0).tolist())
    assert result.law == "lockstep_hints+lockstep_hints"
    alone, off = (closed_loop("background", ARMS[arm], 0)[0] for arm in ("bulk_alone", OFF))
    assert not alone.scenario.hints.echo
    assert (alone.fct_us != off.fct_us)[long].all()
    prior, bulk = (measure("background", arm, 0) for arm in ("prior", "bulk"))
    assert prior["skill"] <= ENOUGH
    assert prior["background"] == bulk["background"]


def _run(queue: float, small: list[float]) -> dict[str, Any]:
    parts = {"small": small, "middle": [2.0], "large": [2.0]}
    return {"queue_max_kb": queue, "background": parts}


def test_ratios_are_paired_and_percentiles_pooled() -> None:
    before = [_run(100.0, [1.0] * 99 + [11.0]), _run(300.0, [1.0] * 100)]
    after = [_run(50.0, [1.0] * 100), _run(150.0, [1.0] * 100)]
    found = ratios(before, after)
    assert (found["queue_max"].before, found["queue_max"].after) == (200.0, 100.0)
    assert (found["queue_max"].low, found["queue_max"].high) == (0.5, 0.5)
    assert found["small"].before == pytest.approx(1.05)
    assert found["middle"].ratio == 1.0
    assert "job" not in found
    with pytest.raises(ValueError, match="runs must be two or more"):
        ratios(before[:1], after[:1])


def test_false_predictions_are_judged_by_the_interval_s_end() -> None:
    before = [_run(100.0, [1.0]), _run(100.0, [1.0])]
    worse = [_run(100.0, [1.0]), _run(120.0, [1.0])]
    found = ratios(before, worse)
    assert found["queue_max"].ratio == pytest.approx(1.1)
    assert judged("lie_most", "background", found) == {
        "queue_max": False,
        "small_p99": True,
        "small": True,
        "middle": True,
        "large": True,
    }
    assert set(judged("echo", "background", found)) == {one.figure for one in GOALS["background"]}
    assert judged(OFF, "background", found) == {}


def test_the_lstm_is_held_against_its_rivals() -> None:
    one = {"before": 2.0, "after": 1.0, "ratio": 0.5}
    figures = {goal.figure: {**one, "low": 0.4, "high": 0.6} for goal in GOALS["services"]}
    worse = figures | {"middle": {**one, "ratio": 1.5, "low": 1.2, "high": 1.8}}
    cases = {"n5": {"against": {}}, "services": {"against": {"off": figures, "tree": worse}}}
    text = "\n".join(against(cases))
    assert "better than `off` in 4, worse in 0" in text
    assert "better than `tree` in 3, worse in 1" in text
    assert text.count("**1.50 (1.20–1.80)**") == 1
    assert against({"n5": {"against": {}}}) == []


def test_hosts_with_a_model_are_held_against_those_without() -> None:
    one = {"before": 2.0, "after": 1.0, "ratio": 0.5, "low": 0.4, "high": 0.6}
    worse = {**one, "ratio": 1.2, "low": 1.1, "high": 1.3}
    told = {"tree_warm": {"queue_max": one, "incast_mean": one}}
    false = {"random_warm": {"queue_max": worse, "incast_mean": one}}
    cases = {"n5": {}, "ring": {"model": {}}, "rounds": {"model": told}}
    text = "\n".join(modelled({**cases, "services": {"model": told | false}})).splitlines()
    assert [row for row in text if row.startswith("| ") and "KB" in row] == [
        "| rounds | largest queue, KB | 0.50 (0.40–0.60) |  |",
        "| services | largest queue, KB | 0.50 (0.40–0.60) | **1.20 (1.10–1.30)** |",
    ]
    assert "| case | figure | `tree_warm` | `random_warm` |" in text
    assert not any("incast mean" in row for row in text)  # shown, and not judged
    assert modelled(cases | {"rounds": {}}) == []


def test_a_record_has_hosts_with_a_model_over_those_without(tmp_path: Path) -> None:
    asked = ["--case", "rounds", "--arm", "tree_cold", "--seeds", "2", "--jobs", "1"]
    for more, has in ([], False), (["--arm", WITHOUT_MODEL], True):
        assert main([*asked, *more, "--out", str(tmp_path)]) == 0
        case = json.loads((tmp_path / "prediction.json").read_text())["cases"]["rounds"]
        assert list(case["model"]) == (["tree_cold"] if has else [])
    ratio = case["model"]["tree_cold"]["queue_max"]
    assert ratio["before"] == case["arms"][WITHOUT_MODEL]["figures"]["queue_max"]["after"]


def test_every_case_has_goals() -> None:
    assert set(GOALS) == set(CASES)


def test_a_study_is_recorded_and_paged(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    asked = ["--case", "n5", "--arm", "echo", "--seeds", "2", "--jobs", "1"]
    asked += ["--out", str(tmp_path), "--page", str(page)]
    assert main(asked) == 0
    said = json.loads((tmp_path / "prediction.json").read_text())
    assert list(said["cases"]["n5"]["arms"]) == [OFF, "echo"]
    figures = said["cases"]["n5"]["arms"]["echo"]["figures"]
    assert 0.9 < figures["incast_last"]["low"] <= figures["incast_last"]["high"] < 1.1
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
    assert len(kept) == 4
    assert main(asked) == 0
    assert kept == {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
    text = page.read_text()
    assert f"| `{OFF}` | {ARMS[OFF].title} |" in text
    assert text.count("| n5 |") == len(GOALS["n5"])
    assert not any(f"`{arm}`" in text.split("## Incast")[1] for arm in FALSE)
    with pytest.raises(SystemExit):
        main(["--seeds", "1", "--out", str(tmp_path)])


def test_a_later_arm_joins_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, page = tmp_path / "prediction.json", tmp_path / "page.md"
    asked = ["--case", "n5", "--seeds", "2", "--jobs", "1", "--out", str(tmp_path)]
    into = ["--into", str(record), "--page", str(page)]
    assert main([*asked, "--arm", "oracle"]) == 0
    first = json.loads(record.read_text())
    assert main([*asked, "--arm", "echo", *into]) == 0
    said = json.loads(record.read_text())
    assert list(said["cases"]["n5"]["arms"]) == [OFF, "echo", "oracle"]
    assert said["cases"]["n5"]["arms"]["oracle"] == first["cases"]["n5"]["arms"]["oracle"]
    (more,) = said["more"]
    assert (more["arms"], more["commit"]) == (["echo"], first["commit"])
    assert f"Arms of `{more['command']}` from commit {more['commit']}: `echo`." in page.read_text()
    kept = record.read_bytes()
    first["cases"]["n5"]["arms"][OFF]["unfinished"] += 1
    other = tmp_path / "other.json"
    for arguments, message in (
        ([*asked, "--arm", "echo", *into], "arm must be one that the record lacks"),
        ([*asked, "--seeds", "3", "--arm", "bulk", *into], "seeds must be the record's 2, not 3"),
        ([*asked, "--case", "n20", "--arm", "echo", *into], "one of the record's n5, not 'n20'"),
        ([*asked, "--arm", "echo", "--into", str(other)], "arm off of n5 must have the figures"),
        ([*asked, "--into", str(tmp_path / "none")], "into must be a record of this study, not"),
    ):
        other.write_text(json.dumps(first))
        with pytest.raises(SystemExit):
            main(arguments)
        assert message in capsys.readouterr().err
    assert record.read_bytes() == kept


def test_an_arm_of_any_scenario() -> None:
    scenario = incast("hundredth", senders=5, sizes=[100_000] * 5)
    assert with_arm(scenario, OFF) == scenario
    echo = with_arm(scenario, "echo").hints
    assert (echo.echo, echo.guesses) == (True, ())
    oracle = with_arm(scenario, "oracle").hints
    assert (oracle.echo, oracle.guesses) == (True, (3,) * 5)
    assert with_arm(scenario, "guess_inverted").hints.guesses == (3,) * 5
    for name in ("lstm", "prior", "start10", "nobody"):
        with pytest.raises(ValueError, match=f"arm must be one of off, echo, .*, not '{name}'"):
            with_arm(scenario, name)
