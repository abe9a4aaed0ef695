"""Loading, commit, refusals, and the map: the live model stays live."""

import dataclasses
import zlib

import numpy as np
import pytest
from amaranth.sim import Simulator
from tests.models.predict.weights import random_weights

from precog_hw.predict.image_checks import LoadStatus
from precog_hw.predict.model_store import ModelStore
from precog_models.predict.lstm import pack
from precog_spec.config import NicConfig
from precog_spec.contract import HEADER_OFFSET
from precog_spec.registers.model_sets import LOAD_STATUS

from .bench import load, words

CONFIG = NicConfig(qps=4, sets=4, lanes=16, columns=1, steps=5)


def image(seed: int, **shape: int) -> bytes:
    rng = np.random.default_rng(seed)
    return pack(dataclasses.replace(random_weights(rng, **shape), version=seed))


def simulate(bench):
    dut = ModelStore(CONFIG)
    sim = Simulator(dut)
    sim.add_clock(1e-8)
    writes, errors = [], {"load": 0, "map": 0}

    async def watch(ctx):
        async for *_, at in ctx.tick().sample(dut.load):
            if at.en:
                data = int.from_bytes(bytes(at.data), "little")
                writes.append((at.set, at.row * 16 + at.word, data))
            errors["load"] += ctx.get(dut.load_error)
            errors["map"] += ctx.get(dut.map_error)

    async def run(ctx):
        await bench(ctx, dut)
        await ctx.tick().repeat(16)

    sim.add_testbench(watch, background=True)
    sim.add_testbench(run)
    sim.run()
    return writes, errors


async def map_slot(ctx, dut, slot, number, enable=1):
    ctx.set(dut.map_slot, slot)
    ctx.set(dut.map_set, number)
    ctx.set(dut.map_enable, enable)
    ctx.set(dut.map_stb, 1)
    await ctx.tick()
    ctx.set(dut.map_stb, 0)
    await ctx.tick().repeat(2)


def model(ctx, dut, slot):
    ctx.set(dut.slot, slot)
    return ctx.get(dut.model)


async def command(ctx, dut, name, **values):
    for key, value in values.items():
        ctx.set(getattr(dut, key), value)
    ctx.set(getattr(dut, f"{name}_stb"), 1)
    await ctx.tick()
    ctx.set(getattr(dut, f"{name}_stb"), 0)
    await ctx.tick().repeat(12)


def test_status_codes_are_the_register_map_s():
    assert tuple((code.name.lower(), code.value) for code in LoadStatus) == LOAD_STATUS


def test_load_map_and_replace():
    first, second = image(11, inputs=2, steps=3, outputs=4), image(12, inputs=1, steps=5, outputs=1)

    async def bench(ctx, dut):
        assert await load(ctx, dut, 2, first) == LoadStatus.OK
        assert ctx.get(dut.words) == 512
        ctx.set(dut.query_set, 2)
        assert ctx.get(dut.query_valid)
        assert ctx.get(dut.query_version) == 11
        assert not model(ctx, dut, 3).live
        await map_slot(ctx, dut, 3, 2)
        found = model(ctx, dut, 3)
        assert (found.live, found.set) == (1, 2)
        assert (found.inputs, found.steps, found.outputs) == (1, 2, 3)
        ctx.set(dut.query_slot, 3)
        assert (ctx.get(dut.query_slot_enable), ctx.get(dut.query_slot_set)) == (1, 2)
        epoch = found.epoch

        assert await load(ctx, dut, 1, second) == LoadStatus.OK
        await map_slot(ctx, dut, 3, 1)
        found = model(ctx, dut, 3)
        assert (found.set, found.steps) == (1, 4)
        assert found.epoch != epoch

        await map_slot(ctx, dut, 3, 1, enable=0)
        assert not model(ctx, dut, 3).live

    writes, errors = simulate(bench)
    expected = [(2, n, word) for n, word in enumerate(words(first))]
    expected += [(1, n, word) for n, word in enumerate(words(second))]
    assert writes == expected
    assert errors == {"load": 0, "map": 0}


def header(offset: int, value: int) -> bytes:
    good = image(5)
    at = HEADER_OFFSET + offset
    return good[:at] + bytes([value]) + good[at + 1 :]


@pytest.mark.parametrize(
    ("bad", "crc", "status"),
    [
        (image(5), 1, LoadStatus.BAD_CRC),
        (image(5)[:-4], None, LoadStatus.BAD_LENGTH),
        (image(5) + bytes(4), None, LoadStatus.BAD_LENGTH),
        (b"", None, LoadStatus.BAD_LENGTH),
        (header(8, image(5)[HEADER_OFFSET + 8] ^ 1), None, LoadStatus.BAD_CONTRACT),
        (header(0, 0), None, LoadStatus.BAD_HEADER),
        (header(0, 9), None, LoadStatus.BAD_HEADER),
        (header(1, 6), None, LoadStatus.BAD_HEADER),  # more steps than were built
        (header(2, 17), None, LoadStatus.BAD_HEADER),
        (header(3, 2), None, LoadStatus.BAD_HEADER),
    ],
)
def test_bad_images_are_refused(bad, crc, status):
    async def bench(ctx, dut):
        assert await load(ctx, dut, 1, bad, crc) == status
        ctx.set(dut.query_set, 1)
        assert not ctx.get(dut.query_valid)
        await map_slot(ctx, dut, 0, 1)
        assert not model(ctx, dut, 0).live

    writes, errors = simulate(bench)
    assert errors == {"load": 1, "map": 1}
    assert len(writes) == min(len(bad) // 4, 512)


def test_live_and_used_sets_are_not_touched():
    async def bench(ctx, dut):
        assert await load(ctx, dut, 1, image(7)) == LoadStatus.OK
        await map_slot(ctx, dut, 0, 1)
        live = model(ctx, dut, 0)
        assert await load(ctx, dut, 1, image(8)) == LoadStatus.NOT_BEGUN
        await command(ctx, dut, "begin", begin_set=1)
        assert ctx.get(dut.status) == LoadStatus.SET_IN_USE
        await map_slot(ctx, dut, 0, 3)  # not valid: refused, the old entry stays
        assert model(ctx, dut, 0) == live

        # No longer mapped, but an inference in flight still reads it.
        await map_slot(ctx, dut, 0, 1, enable=0)
        ctx.set(dut.in_use, 0b0010)
        await command(ctx, dut, "begin", begin_set=1)
        assert ctx.get(dut.status) == LoadStatus.SET_IN_USE
        ctx.set(dut.in_use, 0b1101)
        await command(ctx, dut, "begin", begin_set=1)
        assert ctx.get(dut.status) == LoadStatus.LOADING
        ctx.set(dut.query_set, 1)
        assert not ctx.get(dut.query_valid)

    writes, errors = simulate(bench)
    assert len(writes) == 512
    assert errors["map"] == 1


@pytest.mark.parametrize("why", ["mapped", "in use", None])
def test_a_begin_that_is_refused_takes_no_set_from_the_scrubber(why):
    """Its walk would pass over the rest of a live set; one that is begun is not valid any more."""

    async def bench(ctx, dut):
        assert await load(ctx, dut, 2, image(21)) == LoadStatus.OK
        if why == "mapped":
            await map_slot(ctx, dut, 3, 2)
        ctx.set(dut.in_use, 0b100 * (why == "in use"))
        await ctx.tick().repeat(4)
        ctx.set(dut.begin_set, 2)
        ctx.set(dut.begin_stb, 1)
        seen = []
        for _ in range(16):
            await ctx.tick()
            ctx.set(dut.begin_stb, 0)
            seen.append(ctx.get(dut.valid))
        assert ctx.get(dut.status) == (LoadStatus.SET_IN_USE if why else LoadStatus.LOADING)
        assert seen[8:] == [0b100 * bool(why)] * 8
        assert seen[:8] == [0b100] * 8 or not why

    simulate(bench)


def test_commands_without_begin():
    async def bench(ctx, dut):
        await command(ctx, dut, "word", word=1)
        assert ctx.get(dut.status) == LoadStatus.NOT_BEGUN
        await command(ctx, dut, "commit", commit_crc=zlib.crc32(b""))
        assert ctx.get(dut.status) == LoadStatus.NOT_BEGUN

    writes, errors = simulate(bench)
    assert writes == []
    assert errors["load"] == 2
