"""Scores in the closed loop: what they are, how they come, what the monitor makes of them."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from precog_models.predict.cps import rtt_position, score
from precog_sim.loop import LoopSetup, compare
from precog_sim.network import Loop, Result, Scores, incast, ramp, run
from precog_sim.scored import settings
from precog_sim.scored.measure import Figures, by_chance, measure, of_means, ratios
from precog_sim.scored.networks import scenario
from precog_sim.scored.settings import Case
from precog_spec.contract import DECISION_FIELDS, SAMPLE_FIELDS, Flag
from precog_studies.scores import __main__ as command

_SCALE = 0.05
_NAMES = [name for name, _ in (*SAMPLE_FIELDS, *DECISION_FIELDS)]
_FLAGS = _NAMES.index("flags")


def _run(case: Case, seed: int = 0) -> Result:
    return command.run_case(case, "emu:", seed=seed, scale=_SCALE)


def _events(result: Result) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return result.log[(result.log[:, _FLAGS] >> Flag.EVENT & 1) == 1]


@pytest.mark.parametrize("source", ["oracle", "inverted", "persistence", "model", "garbage"])
def test_each_sample_makes_a_score_that_acts_at_once(source: str) -> None:
    result = _run(Case("incast", "timely", source, skill=False))
    events = (result.log[:, _FLAGS] >> Flag.EVENT & 1) == 1
    assert events[1::2].all()  # sample, score, sample, score
    assert not events[::2].any()
    samples, scores = result.log[::2], result.log[1::2]
    np.testing.assert_array_equal(samples[: len(scores), 0], scores[:, 0])
    told = scores[:, 1]
    assert set(told) <= set(range(101))
    knots = np.array(ramp(0.5, 1.5))
    if source in ("persistence", "model"):
        rtts = (
            samples[:, 1] << 8 if source == "persistence" else samples[:, _NAMES.index("rtt_pred")]
        )
        base = samples[:, _NAMES.index("base")]
        expected = [
            score(knots, rtt_position(int(r), int(b), 4000))
            for r, b in zip(rtts, base, strict=True)
        ]
        assert told.tolist() == expected[: len(told)]
    if source == "garbage":
        assert len(set(told)) > 20


def test_inverted_is_100_minus_the_oracle() -> None:
    """In the same network, and that is only until the first score is followed: here never."""
    told = [_events(_run(Case("incast", "timely", one)))[:15, 1] for one in ("oracle", "inverted")]
    assert (told[0] + told[1] == 100).all()


def test_echoes_come_back_later() -> None:
    """What was made with one sample is heard with a later one; at first there is none."""
    case = Case("incast", "timely", "oracle")
    result = _run(dataclasses.replace(case, echo=True))
    heard = _events(result)
    for flow in range(3):
        mine = heard[heard[:, 0] == flow, 1]
        assert mine[0] == 255  # the packet left before there was a score
        assert (mine[1:] <= 100).any()
    with_home = _run(case)
    assert len(_events(with_home)) <= len(heard)


@pytest.mark.parametrize("law", ["timely", "dcqcn"])
def test_what_is_inverted_leaves_the_law_as_it_is_alone(law: str) -> None:
    alone = _run(Case("incast", law))
    scored = _run(Case("incast", law, "inverted"))
    np.testing.assert_array_equal(alone.fct_us, scored.fct_us)
    assert not (scored.log[:, _FLAGS] >> Flag.SCORED & 1).any()


def test_a_run_repeats_itself() -> None:
    case = Case("leaves", "dcqcn", "garbage", echo=True)
    found = compare(_run(case), _run(case))
    assert (found.mismatches, found.first) == (0, "")
    assert found.events > 100


def test_ratios_of_known_figures() -> None:
    one = Figures(2.0, 4.0, 100.0, 0, 1.0, 0, 0.0)
    half = dataclasses.replace(one, slowdown_p50=1.0, queue_p99_kb=150.0)
    found = ratios([half] * 5, [one] * 5)
    assert found["slowdown_p50"] == dataclasses.replace(found["jain"], mean=0.5, low=0.5, high=0.5)
    assert (found["queue_p99_kb"].mean, found["pauses"].mean) == (1.5, 1.0)
    paused = dataclasses.replace(one, pauses=3)
    assert ratios([paused], [one])["pauses"].mean is None
    mixed = ratios([one, half], [one, one])["slowdown_p50"]
    assert mixed.low is not None
    assert mixed.high is not None
    assert mixed.low == 0.5 < 0.75 < mixed.high == 1.0
    with pytest.raises(ValueError, match="runs must be as many as those alone, not 1, 2"):
        ratios([one], [one, one])


def test_ratios_of_means_are_not_above_one_by_chance() -> None:
    base = Figures(2.0, 4.0, 100.0, 0, 1.0, 0, 0.0)
    rng = np.random.default_rng(1)
    ours, alone = (
        [dataclasses.replace(base, queue_p99_kb=float(kb)) for kb in rng.lognormal(5, 0.6, 2000)]
        for _ in range(2)
    )
    found = of_means(ours, alone)["queue_p99_kb"]
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1.0 < found.high < 1.1
    biased = ratios(ours, alone)["queue_p99_kb"].low
    alike = by_chance(alone)["queue_p99_kb"].low
    assert biased is not None
    assert alike is not None
    assert min(biased, alike) > 1.2  # exp(0.6^2) = 1.43 is what they estimate
    assert of_means(ours, alone)["slowdown_p50"].mean == 1.0


def test_an_unfinished_flow_counts_as_if_it_had_ended() -> None:
    result = _run(Case("incast", "timely"))
    cut = dataclasses.replace(result, fct_us=np.append(np.nan, result.fct_us[1:]))
    figures = measure(cut)
    assert figures.unfinished == 1
    assert figures.slowdown_p99 > measure(result).slowdown_p99
    with pytest.raises(ValueError, match="must have a log and probes"):
        measure(dataclasses.replace(result, log=result.log[:0]))


def test_the_command_writes_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "SOURCES", settings.SOURCES[:1])
    arguments = ["--out", str(tmp_path), "--seeds", "2", "--scale", "0.02", "--networks", "leaves"]
    assert command.main(arguments) == 0
    written = json.loads((tmp_path / "scored.json").read_text(encoding="utf-8"))
    assert [(row["law"], row["source"]) for row in written["results"]] == [
        ("timely", "alone"), ("timely", "oracle"), ("dcqcn", "alone"), ("dcqcn", "oracle"),
    ]  # fmt: skip
    assert written["results"][0]["ratios"]["jain"] == {"mean": 1.0, "low": 1.0, "high": 1.0}


def test_nonsense_that_harms_is_named() -> None:
    bad = {"mean": 1.04, "low": 1.0, "high": 1.06}
    good = bad | {"high": 1.05}
    row = {"network": "incast", "law": "dcqcn", "echo": False, "skill": True}
    row |= {"receiver": False, "model": "lstm"}
    rows = {"slowdown_p50": good, "slowdown_p99": good, "queue_p99_kb": bad}
    written = {"results": [row | {"source": s, "of_means": rows} for s in ("garbage", "oracle")]}
    assert command._broken(written) == ["incast, dcqcn, garbage: queue_p99_kb 1.040 [1.000, 1.060]"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": "oracl"}, "score source must be one of oracle, inverted, .*, not 'oracl'"),
        ({"budget_us": 0.0}, "score budget_us must be in 0.001"),
        ({"table": (1, 2)}, "knots must be 65 numbers"),
    ],
)
def test_bad_scores_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Scores(**({"source": "oracle"} | arguments))  # type: ignore[arg-type]


def test_other_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="ramp must satisfy"):
        ramp(1.5, 0.5)
    with pytest.raises(ValueError, match="bytes, time or scores are told, not 0"):
        run(incast("hundredth", senders=2), Loop(function=1, scores=Scores("oracle")))
    with pytest.raises(ValueError, match=r"network must be one of incast, leaves, .*, not 'ring'"):
        scenario("ring")
    with pytest.raises(ValueError, match=r"delay must be in 0\.\.1000 us, not 0\.0"):
        scenario("messages", delay_us=0.0)
    assert LoopSetup().scores is None
