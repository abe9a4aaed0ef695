# amaranth: UnusedElaboratable=no
"""The core with forecasts against the golden NIC, Verilated with a small engine."""

from collections import deque
from collections.abc import Iterator

import numpy as np
import pytest
from tests.models.predict.trees import broken_images, random_tree

from precog_hw.core import Core
from precog_hw.predict.forecast import PROFILE
from precog_models.predict.cps import rtt_position, score
from precog_models.predict.rtt_head import rtt_pred
from precog_models.predict.tree_model import pack_tree
from precog_spec.contract import NO_SCORE, PROGRAM_ALGORITHM, Flag, HeadKind, ScoreSource
from precog_spec.law_fields import LEVEL_ALONE, SENDERS_AT, EventKind
from precog_spec.registers.model_sets import LOAD_STATUS

from .forecast_bench import (
    CONFIG,
    LIMITS,
    MICRO,
    OF_PROGRAMS,
    OF_TREES,
    QUEUE,
    RTT,
    ForecastBench,
)

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("core_forecast")]

LONG = 3000  # cycles in which all that is under way ends


@pytest.fixture(params=[CONFIG, OF_TREES, MICRO], ids=["lstm", "tree", "micro"])
def bench(request: pytest.FixtureRequest, seed: int) -> Iterator[ForecastBench]:
    made = ForecastBench(seed, request.param)
    yield made
    made.dut.close()


def test_forecasts_one_at_a_time(bench: ForecastBench, volume: int) -> None:
    """Data, drops, commands, remaps, heads of the wrong kind; decisions between as ever."""
    rng, golden = bench.rng, bench.golden
    # Every outcome once for certain: both models, no model, a wrong head, no such queue pair.
    forced = deque([(0, 1, QUEUE + 1), (1, 1, QUEUE), (2, 0, QUEUE), (3, 1, RTT), (4, 1, QUEUE)])
    seen = {"live": 0, "none": 0, "dropped": 0, "wrong": 0}
    for n in range(100 * volume):
        profile = bench.profile(1000 * n)
        if forced:
            qp, enable, slot = forced.popleft()
            profile[0] = qp
            if qp < CONFIG.qps:
                bench.forecast_config(qp, 0, queue_enable=enable, queue_slot=slot)
        elif rng.random() < 0.2:
            changes = {"queue_enable": rng.randrange(2), "queue_slot": rng.randrange(4)}
            bench.forecast_config(rng.randrange(CONFIG.qps), 0, **changes)
        if rng.random() < 0.1:
            qp = rng.randrange(CONFIG.qps)
            config = bench.config(qp) | {"enable": rng.random() < 0.8}
            clear = rng.random() < 0.5
            bench.command(qp, config if not clear else rng.choice([None, config]), clear=clear)
        samples = []
        if rng.random() < 0.3:
            samples.append((rng.randrange(CONFIG.qps), rng.randrange(4000, 6500), 1000 * n))
        log = bench.run(LONG, [(0, s) for s in samples], [(rng.randrange(300), profile)])
        decided = [golden.decide(*sample) for sample in samples]
        assert [d for _, d in log.decisions] == [d for d in decided if d is not None]
        want = golden.forecast(profile[0], profile[1], profile[2:])
        assert [f for _, f in log.forecasts] == ([] if want is None else [want])
        assert [r for _, r in log.records] == (
            [] if want is None else [bench.record(want, profile)]
        )
        assert log.dropped == (want is None)
        assert log.no_model == (want is not None and want["cps"] == NO_SCORE)
        config = golden.forecast_configuration(profile[0] & 3)
        wrong = want is not None and config["queue_enable"] and config["queue_slot"] < QUEUE
        assert log.wrong_head == wrong
        seen["dropped"] += want is None
        seen["wrong"] += wrong
        seen["none"] += log.no_model
        seen["live"] += want is not None and not log.no_model
    assert all(seen.values()), seen


def test_every_score_that_packets_want_is_made(bench: ForecastBench) -> None:
    """Whoever is told: those of profiles, and, where packets or PSCHED want them, of decisions."""
    rng, golden = bench.rng, bench.golden
    wants = {
        0: (ScoreSource.NONE, False),
        1: (ScoreSource.RTT, False),
        2: (ScoreSource.QUEUE, True),
    }
    for qp, (source, carries) in wants.items():
        bench.forecast_config(qp, source)
        bench.carry(qp, carries)
    for n in range(40):
        qp = rng.randrange(3)
        if rng.random() < 0.2:
            bench.command(qp, bench.config(qp) | {"model_enable": rng.randrange(2)}, clear=False)
        sample, profile = (qp, rng.randrange(4000, 6500), 1000 * n), bench.profile(1000 * n, (qp,))
        decided = bench.run(LONG, [(0, sample)])
        assert [d for _, d in decided.decisions][:1] == [golden.decide(*sample)]
        made = qp != 0
        assert decided.scores == [(qp, 1, golden.rtt_score(qp))] * made
        for event in decided.events:
            golden.happen(*event)
        log = bench.run(LONG, [], [(0, profile)])
        answer = golden.forecast(profile[0], profile[1], profile[2:])
        assert answer is not None
        score = 0 if answer["cps"] == NO_SCORE else answer["cps"] + 1
        assert log.scores == [(qp, 0, score)]
        for event in log.events:
            golden.happen(*event)


def test_a_queue_model_is_no_model_of_rtts(bench: ForecastBench) -> None:
    bench.command(0, bench.config(0) | {"model_slot": QUEUE}, clear=True)
    log = bench.run(LONG, [(0, (0, 5000, 1))])
    assert [d for _, d in log.decisions] == [bench.golden.decide(0, 5000, 1)]
    assert log.decisions[0][1].flags >> Flag.NO_MODEL & 1
    assert log.wrong_head == 1


@pytest.mark.parametrize("bench", [OF_PROGRAMS], indirect=True, ids=["programs"])
def test_a_predicted_score_bears_the_level_that_was_heard_last(bench: ForecastBench) -> None:
    """Of a queue pair that runs a program, until it is cleared; each has its own."""
    programs = {"algorithm": PROGRAM_ALGORITHM}
    for qp in range(2):
        bench.forecast_config(qp, ScoreSource.QUEUE)
        bench.command(qp, bench.config(qp) | programs, clear=True)
    heard = [0, 0]
    for n in range(24):
        qp, level = bench.rng.randrange(2), bench.rng.choice((None, 0, 1, 3, 15))
        if n == 12:
            heard = [0, heard[1]]
            bench.command(0, None, clear=True)
        if level is not None:
            heard[qp] = level
            bench.happen(EventKind.SCORE, qp, 1000 * n, LEVEL_ALONE | level << SENDERS_AT)
        profile = bench.profile(1000 * n, (0, 1))
        ((kind, told, _, value),) = bench.run(LONG, [], [(0, profile)]).events
        assert (kind, told) == (EventKind.SCORE, profile[0])
        assert value >> SENDERS_AT == heard[told]
        assert value % (1 << SENDERS_AT) in {*range(101), NO_SCORE}


@pytest.mark.parametrize("bench", [CONFIG, OF_TREES], indirect=True, ids=["lstm", "tree"])
def test_samples_are_as_fast_as_without(bench: ForecastBench) -> None:
    """A forecast that nobody takes, and a profile behind it, hold nothing up."""
    core = Core(CONFIG)
    latencies = []
    for n in range(8):
        qp = 3  # without PSCHED, with a window
        profiles = [(0, bench.profile(n, (1,)))] if n == 5 else []
        at = 2000
        log = bench.run(LONG, [(at, (qp, 5000 + n, n))], profiles, stall=float(n >= 5))
        assert [d for _, d in log.decisions] == [bench.golden.decide(qp, 5000 + n, n)]
        assert not log.forecasts
        at_end, decision = log.decisions[0]
        # Two cycles more for an output that was limited.
        limited = decision.rtt_pred in (rtt_pred(decision.srtt, out) for out in (-32768, 32767))
        latencies.append(at_end - at - 2 * limited)
    assert set(latencies[3:]) == {core.latency + core.window_latency}
    bench.command(3, None, clear=True)  # neither do commands wait
    (log_forecast,) = bench.run(LONG).forecasts
    assert log_forecast[1]["qp"] == 1


@pytest.mark.parametrize(
    ("stalled", "stall"), [("o_forecast", 0.0), ("o_forecast", 0.98), ("m_decision", 0.9)]
)
def test_stream(stalled: str, stall: float, bench: ForecastBench, volume: int) -> None:
    """Samples, profiles and scores at once: forecasts and decisions are the golden ones.

    Decisions of scores are made in the order in which the laws took these, and each is one that the
    golden NIC has for that queue pair.
    """
    rng, golden = bench.rng, bench.golden
    count = 150 * volume
    for qp, source in enumerate((ScoreSource.QUEUE, ScoreSource.RTT, ScoreSource.MAX)):
        bench.forecast_config(qp, source)
    profiles = [bench.profile(1000 * n) for n in range(count)]
    samples = [
        (rng.randrange(CONFIG.qps), rng.randrange(4000, 6500), 700 * n) for n in range(count)
    ]
    apart = rng.choice([0, 300])
    log = bench.run(
        count * (3000 if bench.built.micro else 1500),
        [(n * apart, sample) for n, sample in enumerate(samples)],
        [(n * apart, profile) for n, profile in enumerate(profiles)],
        stalled=stalled,
        stall=stall,
    )
    wanted = [golden.forecast(p[0], p[1], p[2:]) for p in profiles]
    made = [answer for answer in wanted if answer is not None]
    assert len(log.forecasts) == len(made)
    # Each is recorded once, whenever it is taken.
    assert [record for _, record in log.records] == [
        bench.record(answer, profile)
        for answer, profile in zip(wanted, profiles, strict=True)
        if answer is not None
    ]
    for (_, got), want in zip(log.forecasts, made, strict=True):
        assert got == want
    assert log.dropped == len(wanted) - len(made)

    waiting, events = deque(samples), deque(log.events)
    may = [{NO_SCORE, *(a["cps"] for a in made if a["qp"] == qp)} for qp in range(CONFIG.qps)]
    for _, got in log.decisions:
        if got.flags >> Flag.EVENT & 1:
            kind, qp, t, value = events.popleft()
            assert (kind, qp < 3, value in may[qp]) == (EventKind.SCORE, True, True)
            assert got == golden.happen(kind, qp, t, value)
        else:
            assert got == golden.decide(*waiting.popleft())
            position = rtt_position(got.rtt_pred, got.base, LIMITS["rtt_budget"])
            may[got.qp].add(score(bench.knots[HeadKind.RTT], position))
    assert not waiting
    assert not events
    assert len(log.events) > 0


@pytest.fixture
def trees(seed: int) -> Iterator[ForecastBench]:
    made = ForecastBench(seed, OF_TREES)
    yield made
    made.dut.close()


def test_broken_trees_never_go_live(trees: ForecastBench) -> None:
    """Each has its status, and no slot may stand for its set; good ones load again."""
    bench, dut, number = trees, trees.dut, QUEUE + 1
    dut.pulse("map_stb", map_slot=number, map_set=number, map_enable=0)
    rng = np.random.default_rng(bench.rng.getrandbits(32))
    for name, (image, status) in broken_images(rng).items():
        assert bench.status(number, image) == dict(LOAD_STATUS)[status], name
        dut.poke(query_set=number, query_slot=number)
        dut.pulse("map_stb", map_slot=number, map_set=number, map_enable=1)
        dut.tick(5)
        assert (dut.peek("query_valid"), dut.peek("query_slot_enable")) == (0, 0), name
    profile = bench.profile(1, (1,))
    assert bench.run(LONG, [], [(0, profile)]).no_model == 1
    bench.golden.map_slot(number, number, enable=False)
    bench.golden.forecast(profile[0], profile[1], profile[2:])  # trees look back at it
    for depth in (1, 6):
        bench.dut.pulse("map_stb", map_slot=number, map_set=number, map_enable=0)
        dut.tick(5)
        bench.load(number, pack_tree(random_tree(rng, depth=depth, steps=3, version=depth)))
        bench.map_slot(number, number)
        _same_forecasts(bench, 1, 3)


def test_a_tree_that_is_being_read_is_not_loaded_over(trees: ForecastBench) -> None:
    """Its slot goes while it is asked: the answer is its own, and the next profile has none."""
    bench, dut, number = trees, trees.dut, QUEUE
    for _ in range(3):
        profile = bench.profile(5, (0,))
        word = PROFILE.const(dict(zip(PROFILE.members, profile, strict=True))).as_bits()
        dut.poke(i_profile_payload=int(word), i_profile_valid=1)
        dut.tick()
        dut.poke(i_profile_valid=0)
        dut.tick(4 + bench.rng.randrange(8))
        dut.pulse("map_stb", map_slot=number, map_set=number, map_enable=0)
        dut.tick(3)
        dut.pulse("begin_stb", begin_set=number)
        dut.tick(12)
        assert dut.peek("status") == dict(LOAD_STATUS)["set_in_use"]
        want = bench.golden.forecast(profile[0], profile[1], profile[2:])
        assert want is not None
        assert want["version"] != 0
        assert [forecast for _, forecast in bench.run(LONG).forecasts] == [want]
        profile = bench.profile(6, (0,))
        assert bench.run(LONG, [], [(0, profile)]).no_model == 1
        bench.golden.map_slot(number, number, enable=False)
        bench.golden.forecast(profile[0], profile[1], profile[2:])
        bench.map_slot(number, number)
        _same_forecasts(bench, 0, 1)


def test_flipped_bits_of_trees_are_corrected_or_disable_them(trees: ForecastBench) -> None:
    bench, rng, number = trees, trees.rng, QUEUE
    _same_forecasts(bench, 0, 3)
    for n in range(12):
        row, bit = (27 + n if n < 4 else rng.randrange(31)), rng.randrange(36)
        word = rng.randrange(16)
        last = bench.inject(number, row, word, (bit, bit))
        assert (last.place.row, last.place.word, last.place.tree) == (row, word, 1)
        assert (last.bit, last.uncorrectable) == (bit, 0)
        _same_forecasts(bench, 0, 1)
    last = bench.inject(number, 29, 7, (3, 33))
    assert (last.place.row, last.place.word, last.uncorrectable) == (29, 6, 1)
    bench.golden.invalidate_set(number)
    log = bench.run(LONG, [], [(0, bench.profile(1, (0,)))])
    assert log.no_model == 1
    _same_forecasts(bench, 1, 1)  # the other tree is as before


def _same_forecasts(bench: ForecastBench, qp: int, count: int) -> None:
    for n in range(count):
        profile = bench.profile(n, (qp,))
        log = bench.run(LONG, [], [(0, profile)])
        want = bench.golden.forecast(profile[0], profile[1], profile[2:])
        assert want is not None
        assert want["cps"] != NO_SCORE
        assert [forecast for _, forecast in log.forecasts] == [want]
