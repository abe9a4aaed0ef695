# amaranth: UnusedElaboratable=no
"""Softmax, score table and the position of an RTT in RTL against their golden models."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from amaranth.lib import wiring

from precog_hw.predict.cps import KNOT_WRITE, POSITION, PREDICTION, RttPosition, ScoreTable
from precog_hw.predict.softmax import SOFTMAX_INPUT, SOFTMAX_OUTPUT, Softmax
from precog_models.predict.cps import identity_knots, rtt_positions, scores, tails
from precog_models.predict.softmax import distributions
from precog_sim.rtl.event_block import EventBlock, event_library, unpack
from precog_spec.contract import CALIBRATION_KNOTS, PROBABILITY, Fmt

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("forecast_blocks")]

ONE = PROBABILITY.one


@cache
def library(block: Callable[..., wiring.Component], **options: bool) -> Path:
    label = ", ".join([block.__name__, *(name for name, on in options.items() if on)])
    return event_library(block(**options), label=label)


def stalls(rng: np.random.Generator) -> dict[str, float]:
    idle, stall = rng.choice([0.0, 0.0, 0.5], 2)
    return {"seed": int(rng.integers(1 << 32)), "idle": float(idle), "stall": float(stall)}


def logits(rng: np.random.Generator, count: int) -> np.ndarray:
    """Every row with its own spread, from flat to saturated; ties, and rows at the ends."""
    spread = 2.0 ** rng.uniform(-2, 17, (count, 1))
    z = rng.normal(0, 1, (count, 16)) * spread + rng.integers(-(1 << 15), 1 << 15, (count, 1))
    z = np.clip(z, Fmt.OUT.min, Fmt.OUT.max).astype(np.int64)
    z = np.where(rng.random((count, 16)) < 0.1, z[:, :1], z)
    ends = rng.choice([Fmt.OUT.min, -1, 0, Fmt.OUT.max], (count, 16))
    return np.where(rng.random((count, 1)) < 0.05, ends, z)


@pytest.mark.parametrize("relaxed", [False, True])
def test_softmax(relaxed: bool, seed: int, volume: int) -> None:
    """50,000 distributions, each number of bins; a million with ``--volume 20``."""
    rng = np.random.default_rng(seed)
    dut = EventBlock(library(Softmax, relaxed=relaxed))
    batch = 5000
    for n in range(10 * volume):
        outputs, threshold = 1 + (n + rng.integers(0, 16, batch)) % 16, int(rng.integers(0, 16))
        dut.poke(threshold=threshold)
        z = logits(rng, batch)
        run = dut.events(SOFTMAX_INPUT, np.c_[z, outputs - 1], **stalls(rng))
        got = unpack(SOFTMAX_OUTPUT, run.ports["o_payload"])
        assert (got[:, :16].sum(axis=1) == ONE).all()
        for bins in range(1, 17):
            rows = outputs == bins
            want = distributions(z[rows], bins)
            assert (got[rows, :16] == want).all(), (z[rows], bins)
            assert (got[rows, 16] == tails(want, threshold)).all()
        assert (run.latency == Softmax.LATENCY).all()
    dut.close()


def put(dut: EventBlock, table: int, knots: np.ndarray) -> None:
    for knot, value in enumerate(knots.tolist()):
        fields = {"en": 1, "table": table, "knot": knot, "value": value}
        dut.poke_struct("put", KNOT_WRITE, fields)
        dut.tick()
    dut.poke(put=0)
    dut.tick(3)


def query(dut: EventBlock, table: int) -> list[int]:
    values = []
    for knot in range(CALIBRATION_KNOTS):
        dut.poke(query_table=table, query_knot=knot)
        dut.tick(3)
        values.append(dut.peek("query"))
    return values


def knots(rng: np.random.Generator) -> np.ndarray:
    values = np.sort(rng.integers(0, ONE + 1, CALIBRATION_KNOTS))
    values = np.where(rng.random() < 0.5, values, values >> 11 << 11)
    return np.clip(values, 0, ONE)


def test_score_table(seed: int, volume: int) -> None:
    rng = np.random.default_rng(seed)
    dut = EventBlock(library(ScoreTable))
    tables = [identity_knots(), identity_knots()]
    every = np.arange(ONE + 1)
    for n in range(4 * volume):
        table = n % 2
        positions = rng.permutation(every)
        rows = np.c_[np.full(len(every), table), positions]
        run = dut.events(POSITION, rows, **stalls(rng))
        got = run.ports["o_payload"][:, 0]
        assert (got == scores(tables[table], positions)).all()
        assert (run.latency == ScoreTable.LATENCY).all()
        which = int(rng.integers(0, 2))
        tables[which] = knots(rng)
        put(dut, which, tables[which])
        assert [query(dut, k) for k in (0, 1)] == [t.tolist() for t in tables]
    dut.close()


def test_knots_above_one_count_as_one() -> None:
    dut = EventBlock(library(ScoreTable))
    put(dut, 0, np.full(CALIBRATION_KNOTS, 65535))
    assert query(dut, 0) == [ONE] * CALIBRATION_KNOTS
    assert query(dut, 1) == identity_knots().tolist()
    dut.close()


def test_rtt_position(seed: int, volume: int) -> None:
    rng = np.random.default_rng(seed)
    dut = EventBlock(library(RttPosition))
    batch = 3000
    budgets = [1, 2, 3, Fmt.RTT.max, Fmt.RTT.max - 1, 1 << 15, 2000]
    budgets += (rng.integers(1, 1 << 24, 3 * volume) >> rng.integers(0, 23, 3 * volume)).tolist()
    for budget in (max(int(b), 1) for b in budgets):
        dut.poke(budget=budget)
        base = rng.integers(0, 1 << 24, batch) >> rng.integers(0, 24, batch)
        delay = rng.integers(-3, 3 * (budget << 8), batch)
        exact = (rng.integers(0, 3, batch) * (budget << 8)) + rng.integers(-1, 2, batch)
        predicted = (base << 8) + np.where(rng.random(batch) < 0.2, exact, delay)
        anywhere = rng.integers(0, 1 << 32, batch)
        predicted = np.where(rng.random(batch) < 0.1, anywhere, predicted)
        predicted = np.clip(predicted, 0, Fmt.SRTT.max)
        run = dut.events(PREDICTION, np.c_[predicted, base], **stalls(rng))
        got = run.ports["o_payload"].view(np.uint16)[:, 0]
        assert (got == rtt_positions(predicted, base, budget)).all()
        assert (run.latency == RttPosition.LATENCY).all()
    dut.poke(budget=0)
    run = dut.events(PREDICTION, np.array([[1, 0], [512, 0]]))
    assert run.ports["o_payload"].view(np.uint16)[:, 0].tolist() == [64, ONE]
    dut.close()
