# amaranth: UnusedElaboratable=no
"""The whole predictor: exact for every mix of models, resets and back-pressure, and in time."""

import random
from dataclasses import replace

import numpy as np
import pytest
from amaranth.sim import Simulator
from tests.differing import same
from tests.models.predict import exact_lstm
from tests.models.predict.weights import random_weights

from precog_hw.predict.engine import LstmEngine
from precog_hw.predict.image_checks import LoadStatus
from precog_hw.predict.unit import Predictor
from precog_models.predict.lstm import pack
from precog_spec.config import NicConfig
from precog_spec.secded import guarded_pairs

from .bench import PredictorBench, Sample, expected, load, predictor_library

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("predictor")]

#: As small as its parts allow; 8 queue pairs, so that the intervals can be measured, too.
TINY = NicConfig(qps=8, sets=2, lanes=16, columns=1, steps=3)
_FEW_LANES = 16  # up to which a library is built: wider ones take longer to build than to simulate


def library(config):
    return predictor_library(config) if config.lanes <= _FEW_LANES else None


def inputs(rng: random.Random) -> list[int]:
    if rng.random() < 0.2:
        return [rng.choice((-32768, 32767, 0)) for _ in range(8)]
    return [max(-32768, min(32767, round(rng.gauss(0, 3000)))) for _ in range(8)]


def check(bench: PredictorBench) -> None:
    bench.run()
    wanted = expected(bench.samples, bench.models)
    for n, ((live, out), (golden_live, golden_out)) in enumerate(
        zip(bench.answers, wanted, strict=True)
    ):
        inputs = [(one.qp, one.slot, one.x) for one in bench.samples[: n + 1]]
        same("predict.o_rsp.live", live, golden_live, at=f"answer {n}", inputs=inputs)
        same("predict.o_rsp.out", out, golden_out, at=f"answer {n}", inputs=inputs)


@pytest.mark.parametrize(
    ("lanes", "count", "idle", "stall"),
    [
        (16, 24, 0.0, 0.0),
        (16, 24, 0.9, 0.0),
        (16, 24, 0.0, 0.95),
        (8, 6, 0.9, 0.0),
        (4, 6, 0.0, 0.95),
    ],
)
def test_models_resets_and_back_pressure(lanes, count, idle, stall, seed):
    rng, weights = random.Random(seed), np.random.default_rng(seed)
    models = {
        0: random_weights(weights, inputs=2, steps=3, outputs=3),
        1: random_weights(weights, inputs=1, steps=2, outputs=1, saturating=True),
    }
    samples = []
    for n in range(count):
        slot = None if rng.random() < 0.15 else int(rng.random() < 0.3)
        sample = Sample(rng.randrange(4), slot, inputs(rng), reset=rng.random() < 0.1)
        if n and rng.random() < 0.1:
            # Slot 0 changes its meaning between two samples.
            sample.commands.append((0, rng.choice((0, 1, None))))
        samples.append(sample)
    config = replace(TINY, lanes=lanes)
    how = {"seed": seed, "idle": idle, "stall": stall, "library": library(config)}
    check(PredictorBench(config, models, samples, **how))


@pytest.mark.parametrize(("lanes", "columns"), [(4, 1), (16, 1), (64, 4)])
def test_outputs_are_those_of_exact_arithmetic(lanes, columns, seed):
    """The reference is rational, not the golden model: a rounding wrong in both would show."""
    rng, weights = random.Random(seed), np.random.default_rng(seed)
    model = random_weights(weights, inputs=2, steps=3, outputs=16)
    config = replace(TINY, lanes=lanes, columns=columns)
    samples = [Sample(2, 1, inputs(rng)) for _ in range(3)]
    bench = PredictorBench(config, {1: model}, samples, library=library(config))
    bench.run()
    past = [[0] * 8] * 2 + [sample.x for sample in bench.samples]
    wanted = [exact_lstm.forward(model, past[n : n + 3]) for n in range(len(bench.samples))]
    assert bench.answers == [(1, outputs) for outputs in wanted]


@pytest.mark.parametrize(
    ("lanes", "columns", "latency", "interval"),
    [(4, 1, 140, 512), (8, 1, 140, 386), (16, 1, 32, 128), (64, 4, 21, 32), (128, 2, 28, 26)],
)
def test_latency_and_interval(lanes, columns, latency, interval, seed, volume):
    """I = 1, T = 3, O = 1 over several QPs: the figures that the report quotes."""
    if lanes == 128 and volume == 1:
        pytest.skip("only with --volume: 128 lanes take long to elaborate and to compile")
    config = replace(TINY, lanes=lanes, columns=columns)
    rng, weights = random.Random(seed), np.random.default_rng(seed)
    models = {1: random_weights(weights)}
    warm = [Sample(qp, 1, inputs(rng)) for qp in (5, 2, 7)]
    stream = [Sample(qp, 1, inputs(rng)) for _ in range(3) for qp in (2, 7, 5)]
    bench = PredictorBench(config, models, warm + stream, library=library(config))
    assert bench.dut.latency == latency
    check(bench)
    spacing = np.diff(bench.response_at[-5:])
    assert (spacing <= interval).all(), spacing
    assert bench.response_at[-1] - bench.input_at[-1] == latency - bench.dut.x_lead

    # Alone in the engine, the request does not wait either.
    alone = PredictorBench(config, models, [Sample(5, None, inputs(rng))], library=library(config))
    check(alone)
    assert alone.response_at[0] - alone.request_at[0] == latency


def test_widest_model(seed):
    """I = 8, T = 8, O = 16 at 64 lanes, unequal QPs, from an empty context."""
    config = NicConfig(qps=2, sets=2, lanes=64, columns=4, steps=8, ecc=False)
    rng, weights = random.Random(seed), np.random.default_rng(seed)
    models = {0: random_weights(weights, inputs=8, steps=8, outputs=16)}
    check(PredictorBench(config, models, [Sample(1, 0, inputs(rng)), Sample(1, 0, inputs(rng))]))


def test_a_set_is_not_begun_while_an_inference_uses_it(seed):
    """Unmapped is not enough: the response and the run-ahead must be done too."""
    model = random_weights(np.random.default_rng(seed), steps=3)
    dut = Predictor(TINY)
    seen = []

    async def begin(ctx):
        ctx.set(dut.begin_set, 1)
        ctx.set(dut.begin_stb, 1)
        await ctx.tick()
        ctx.set(dut.begin_stb, 0)
        await ctx.tick().repeat(12)
        seen.append(LoadStatus(ctx.get(dut.status)).name)

    async def bench(ctx):
        assert await load(ctx, dut, 1, pack(model)) == LoadStatus.OK
        for enable in (1, 0):
            ctx.set(dut.map_slot, 0)
            ctx.set(dut.map_set, 1)
            ctx.set(dut.map_enable, enable)
            ctx.set(dut.map_stb, 1)
            await ctx.tick()
            ctx.set(dut.map_stb, 0)
            await ctx.tick().repeat(2)
            if enable:
                ctx.set(dut.i_x.valid, 1)
                ctx.set(dut.i_req.payload, {"qp": 3, "slot": 0, "enable": 1})
                ctx.set(dut.i_req.valid, 1)
                await ctx.tick().until(dut.i_req.ready)
                ctx.set(dut.i_req.valid, 0)
        await begin(ctx)  # runs
        await ctx.tick().until(dut.o_rsp.valid)
        await begin(ctx)  # its response waits
        ctx.set(dut.o_rsp.ready, 1)
        await ctx.tick().repeat(2)
        await begin(ctx)  # it runs ahead
        await ctx.tick().repeat(400)
        await begin(ctx)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
    assert seen == ["SET_IN_USE", "SET_IN_USE", "SET_IN_USE", "LOADING"]


@pytest.mark.parametrize(("lanes", "columns"), [(4, 1), (8, 1), (64, 4), (128, 2)])
def test_stored_words_are_read_for_the_scrubber(lanes, columns, seed):
    """Each once, from the copy that is asked for, wherever the lane count has put it."""
    rng = random.Random(seed)
    places = [(second, row, 2 * pair + rng.randrange(2)) for second, row, pair in guarded_pairs()]
    chosen = rng.sample([place for place in places if not place[0]], 14)
    chosen += rng.sample([place for place in places if place[0]], 3)
    chosen += [(1 - second, row, word) for second, row, word in chosen if 24 <= row < 27]
    words = {place: rng.getrandbits(36) for place in chosen}
    dut = LstmEngine(NicConfig(qps=2, sets=2, lanes=lanes, columns=columns, steps=3))
    read = {}

    async def run(ctx):
        for (second, row, word), value in words.items():
            data = list((value & 0xFFFF_FFFF).to_bytes(4, "little"))
            place = {"set": 1, "row": row, "word": word, "copies": 1 << second}
            ctx.set(dut.load, {"en": 1, **place, "data": data, "check": value >> 32})
            await ctx.tick()
        ctx.set(dut.load.en, 0)
        await ctx.tick().repeat(4)
        for second, row, word in words:
            place = {"set": 1, "row": row, "word": word, "second": second}
            ctx.set(dut.scrub, {"valid": 1, "place": place})
            answers = []
            for _ in range(24):
                if answers:
                    ctx.set(dut.scrub.valid, 0)
                *_, answer = await ctx.tick().sample(dut.scrubbed)
                if answer.valid:
                    answers.append(answer.word)
            (read[second, row, word],) = answers

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(run)
    sim.run()
    assert read == words
