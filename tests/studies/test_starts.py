"""Forecasts of N at a start: what a NIC knows, and what its predictors make of it."""

import dataclasses
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from precog_models.forecast.starts import (
    BINS,
    INPUTS,
    LEVEL,
    LEVEL_ONE,
    STEPS,
    Start,
    StartForecaster,
    quantile,
    window,
)
from precog_models.image import Image
from precog_models.quantize import dequantize
from precog_models.train.gru import Gru
from precog_models.train.queue import QueueRecipe, probabilities
from precog_models.tree_image import TreeImage
from precog_net.workloads import Traffic
from precog_sim.network import Result
from precog_spec.contract import PROBABILITY, Fmt
from precog_studies.prediction.arms import ARMS, FORECASTS
from precog_studies.prediction.cases import closed_loop
from precog_studies.prediction.services import ANSWER, MESSAGE, services
from precog_studies.prediction.starts import learn
from precog_studies.prediction.starts.gru import UNITS, levels_of, read_weights, write_weights
from precog_studies.prediction.starts.hosts import main, shares
from precog_studies.prediction.starts.predictors import MODELS, Predictor, predictors
from precog_studies.prediction.starts.windows import known, windows

_US = 1_000_000


def _pair() -> Traffic:
    """Three flows from 1 to 0, and one from 2."""
    start = np.array([0, 100, 228, 228]) * _US
    size = np.array([65536, 65536, 131072, 65536])
    return Traffic(start, np.array([1, 1, 1, 2]), np.zeros(4, dtype=np.int64), size, ("a",) * 4)


def test_a_nic_knows_what_its_own_flows_were_told_before() -> None:
    heard, heard_us = np.array([5, 3, 0, 0]), np.array([20.0, 300.0, 0.0, 0.0])
    assert known(_pair(), heard, heard_us).tolist() == [0, 5, 0, 0]


def test_a_window_has_times_sizes_and_levels() -> None:
    x = windows(_pair(), np.array([0, 5, 3, 0]))
    one = Fmt.X.one
    assert x.shape == (4, STEPS, 8)
    assert x[2, -1, :4].tolist() == [0, one // 2, 3 * LEVEL_ONE, one // 2]
    assert x[2, -2, LEVEL] == 5 * LEVEL_ONE
    assert x[0, -1, :4].tolist() == [7 * one // 2, 0, 0, 0]
    assert not x[0, :-1].any()
    assert (x[0] == x[3]).all()


def _reference(traffic: Traffic, told: np.ndarray) -> np.ndarray:
    """The formulas once more, in vectors and floating point, as the models were trained."""
    found = np.zeros((len(traffic), STEPS, 8), dtype=np.int64)
    order = np.argsort(traffic.start_ps, kind="stable")
    for src, dst in set(zip(traffic.src.tolist(), traffic.dst.tolist(), strict=True)):
        mine = [f for f in order if traffic.src[f] == src and traffic.dst[f] == dst]
        sizes = traffic.size[mine].astype(float)
        gaps = np.diff(traffic.start_ps[mine], prepend=traffic.start_ps[mine[0]] - (1 << 50)) * 1e-6
        ratios = sizes / np.concatenate([sizes[:1], sizes[:-1]])
        columns = [
            np.log2(np.clip(gaps, 1.0, 16384.0)) - 7.0,
            np.log2(sizes / 65536.0),
            told[mine].astype(float),
            np.log2(ratios),
        ]
        rows = np.floor(np.column_stack(columns) / 2 * 4096 + 0.5).clip(-32768, 32767)
        for place, f in enumerate(mine):
            steps = rows[max(place - 7, 0) : place + 1]
            found[f, STEPS - len(steps) :, :4] = steps
    return found


def test_a_host_that_sees_start_by_start_makes_the_same_of_them() -> None:
    """What hosts run, fed with one start after the other, is what the study's arms run."""
    rng = np.random.default_rng(7)
    count = 600
    traffic = Traffic(
        rng.integers(0, 50_000 * _US, count),
        rng.integers(1, 4, count),
        rng.integers(4, 7, count),
        (2.0 ** rng.uniform(0, 30, count)).astype(np.int64),
        ("a",) * count,
    )
    told = rng.integers(0, 16, count)
    x = windows(traffic, told)
    assert (x == _reference(traffic, told)).all()
    for name, image in (
        ("tree", TreeImage.load(MODELS / "tree.safetensors")),
        ("lstm", Image.load(MODELS / "lstm.safetensors")),
    ):
        model, seen = StartForecaster(image), defaultdict[tuple[int, int], list[Start]](list)
        levels = predictors()[name](x)
        for f in np.argsort(traffic.start_ps, kind="stable").tolist():
            mine = seen[int(traffic.src[f]), int(traffic.dst[f])]
            mine.append(Start(int(traffic.start_ps[f]), int(traffic.size[f]), int(told[f])))
            assert (window(mine) == x[f]).all()
            assert model.level(mine) == levels[f]
        assert len(set(levels.tolist())) > 3, name


def test_the_models_give_levels() -> None:
    traffic = _pair()
    x = windows(traffic, np.array([0, 5, 5, 0]))
    assert set(predictors()) == set(FORECASTS)
    for name, one in predictors().items():
        levels = one(x)
        assert levels.shape == (4,), name
        assert 0 <= levels.min() <= levels.max() < BINS, name
    assert predictors()["persistence"](x).tolist() == [0, 5, 5, 0]


def test_hosts_heed_a_source_once_it_has_shown_skill_to_them() -> None:
    """One NIC of two has eight crowded starts and eight others; the guesses are right."""
    told = np.array([4] * 9 + [0] * 9)
    start = np.arange(18) * 100 * _US
    src = np.full(18, 1)
    src[3] = 2  # another NIC's
    size = np.full(18, 50_000)
    traffic = Traffic(start, src, np.zeros(18, dtype=np.int64), size, ("a",) * 18)
    took = np.full(18, 10.0)
    heard = SimpleNamespace(heard=told, heard_us=start / _US, start_us=start / _US, fct_us=took)
    runs = cast(list[tuple[Result, Traffic]], [(heard, traffic)] * 2)
    first, second = shares(runs, lambda *_: told)
    assert first == (1, 0, 0, 0)
    assert second == (1, pytest.approx(8 / 9), 0, 0)  # the other NIC has no evidence
    assert list(shares(runs, lambda *_: 4 - told))[1] == (0, 0, 1, 0)
    assert list(shares(runs, lambda *_: told, 0))[1] == second
    assert list(shares(runs, lambda *_: told, 1))[1] == (0, 0, 0, 0)
    small = dataclasses.replace(traffic, size=np.full(18, 30_000))
    assert next(iter(shares([(runs[0][0], small)], lambda *_: told))) == (0, 0, 0, 0)


@pytest.mark.parametrize("words", [["nobody"], ["services", "0"], ["services", "many"]])
def test_the_program_refuses_what_is_not_there(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert "invalid" in capsys.readouterr().err


def test_the_program_prints_shares_by_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rounds", "1"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    false = ["coin", "inverted", "split:right", "split:inverted"]
    assert [line[:2] for line in lines] == [
        [name, "1"] for name in ("tree:prior", *predictors(), *false)
    ]
    assert all(0 <= float(value) <= 1 for line in lines for value in line[2:])
    hits, heeded, *_ = (float(value) for value in lines[1][2:])
    assert hits > 0.5
    assert heeded == 0  # no host has eight crowded starts to one receiver


def test_services_are_of_their_seed() -> None:
    answers, messages = services(1, 64, 1.0)
    again = services(1, 64, 1.0)[0]
    assert set(answers.kind) == {ANSWER}
    assert set(messages.kind) == {MESSAGE}
    assert (answers.start_ps == again.start_ps).all()
    assert services(2, 64, 1.0)[0].size.tolist() != answers.size.tolist()
    assert answers.size.min() >= 40_000
    assert answers.size.max() <= 120_000


def test_the_grus_levels_are_those_of_its_network(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(Fmt.X.min // 4, Fmt.X.max // 4, (200, STEPS, 8))
    network = Gru(inputs=INPUTS, outputs=BINS, steps=STEPS, seed=seed, units=UNITS)
    weights = {
        name: 4.0 * parameter[0].detach().double().numpy()
        for name, parameter in network.named_parameters()
    }
    network.load_state_dict({name: 4.0 * value for name, value in network.state_dict().items()})
    write_weights(weights, tmp_path / "gru")
    p = np.rint(probabilities(network, x, inputs=INPUTS) * PROBABILITY.one).astype(np.int64)
    levels = levels_of(read_weights(tmp_path / "gru"), x)
    assert levels.tolist() == quantile(p, 0.5).tolist()
    assert len(set(levels.tolist())) > 2


def test_the_gru_is_as_large_as_the_lstm() -> None:
    weights = Image.load(MODELS / "lstm.safetensors").weights
    lstm = sum(one.size for one in vars(dequantize(weights)).values() if hasattr(one, "size"))
    gru = sum(one.size for one in read_weights(MODELS / "gru.safetensors").values())
    assert (lstm, gru) == (1480, 1448)


def test_a_gru_is_learnt_and_kept(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Flows hear what those before had heard: persistence is right."""
    rng = np.random.default_rng(seed)
    x = np.zeros((400, STEPS, 8), dtype=np.int64)
    y = rng.integers(0, 3, 400)
    x[:, -1, LEVEL] = y * LEVEL_ONE
    asked: list[Predictor | None] = []

    def collected(predictor: Predictor | None) -> tuple[np.ndarray, np.ndarray]:
        asked.append(predictor)
        return x, y

    monkeypatch.setattr(learn, "collected", collected)
    monkeypatch.setattr(learn, "_RECIPE", QueueRecipe(updates=200, batch=64, rate=2e-2))
    monkeypatch.setattr(learn, "MODELS", tmp_path)
    assert learn.main(["gru"]) == 0
    kept = read_weights(tmp_path / "gru.safetensors")
    assert (levels_of(kept, x) == y).mean() > 0.95
    first, second = asked
    assert first is None
    assert second is not None
    assert (second(x) == y).mean() > 0.95  # its own first guesses
    assert "gru of 800 starts: loss" in capsys.readouterr().out


def test_a_predictor_in_the_loop_moves_no_more() -> None:
    result, traffic, moving = closed_loop("rounds", ARMS["lstm"], 0, predictors()["lstm"])
    guesses = np.array(result.scenario.hints.guesses)
    told = known(traffic, result.heard, result.heard_us)
    expected = predictors()["lstm"](windows(traffic, told))
    counts = traffic.size > 30_000
    assert int((expected[counts] != guesses[counts]).sum()) == moving
    assert not guesses[~counts].any()
    assert guesses.max() >= 4
