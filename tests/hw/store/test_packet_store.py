# amaranth: UnusedElaboratable=no
"""The packet store against its golden model in the exported order, byte for byte."""

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from precog_hw.store.layouts import StoreConfig, row_layout
from precog_hw.store.ledger import Ledger
from precog_hw.store.packet_store import EVENTS
from precog_models.store.packet_store import Outcome
from precog_sim.rtl.packet_block import PacketBlock, Run, Wire, packet_library

from .bench import OPEN, Replay, StoreBench, frames, packed

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("store")]

SMALL = StoreConfig(qps=8, width=64, cells=32, cell_bytes=32, longest=384)
#: Other shapes: a byte per beat, two beats per cell, more queues than cells. For `make soak`.
OTHERS = (
    StoreConfig(qps=4, width=8, cells=64, cell_bytes=16, longest=128),
    StoreConfig(qps=64, width=512, cells=32, cell_bytes=128, longest=1536),
)
LONG = 4000  # cycles within which something leaves, however seldom grants come


@cache
def library(config: StoreConfig, relaxed: bool) -> Path:
    bench = StoreBench(config, relaxed=relaxed)
    return packet_library(bench, label=f"packet store, {config.width} bits")


class Bench:
    """The store and the golden one behind its log."""

    def __init__(self, config: StoreConfig, *, relaxed: bool) -> None:
        self.config, self.relaxed = config, relaxed
        self.block = PacketBlock(library(config, relaxed))
        self.replay = Replay(config)
        self.counts = dict.fromkeys(EVENTS, 0)
        self.block.poke(**OPEN, quota=config.cells)

    def run(self, sent: list[Wire], *, seed: int = 1, idle: float = 0, stall: float = 0) -> Run:
        """All of `sent` in, all that is stored out; every event, byte and count as it must be."""
        replay, before = self.replay, len(self.replay.left)
        replay.came.extend(sent)
        monitors = {"log_stb": ["log", "free", "shared"], **{name: [] for name in EVENTS}}
        del monitors["held"]
        run = self.block.run(
            {"s_axis": sent}, ["m_axis"], monitors=monitors, seed=seed, idle=idle, stall=stall,
            settle=LONG,
        )  # fmt: skip
        for _, (word, free, _) in run.events["log_stb"]:
            replay(word)
            # What is stored, and what comes and leaves just now, is not free.
            used = sum(row.own + row.borrowed for row in replay.golden.rows)
            assert free + used <= self.config.cells
        assert run.sinks["m_axis"].frames == replay.left[before:]
        assert not replay.came
        assert not any(replay.queues)
        assert self.block.peek("free") == self.config.cells, "a cell is lost"
        assert self.block.peek("shared") == 0
        for name in monitors.keys() - {"log_stb"}:
            self.counts[name] += len(run.events[name])
        seen = replay.seen
        drops = {f"dropped_{kind.name.lower()}": seen[kind.name] for kind in list(Outcome)[2:]}
        expected = {"stored": seen["STORED"], "sent": seen["POP"], **drops}
        assert {name: self.counts[name] for name in expected} == expected
        return run


@pytest.fixture(
    params=[(SMALL, False), (SMALL, True), *((config, False) for config in OTHERS)],
    ids=lambda form: f"{form[0].width}-bits{'-relaxed' * form[1]}",
)
def bench(request: pytest.FixtureRequest, volume: int) -> Iterator[Bench]:
    config, relaxed = request.param
    if config is not SMALL and volume == 1:
        pytest.skip("only with --volume")
    made = Bench(config, relaxed=relaxed)
    yield made
    made.block.close()


def test_exact_whatever_comes(bench: Bench, seed: int, volume: int) -> None:
    """Idles, back-pressure, both policies, quotas that change, cells that run out, re-requests."""
    rng, config, block = random.Random(seed), bench.config, bench.block
    settings = [(pause, scarce) for pause in (0, 1) for scarce in (0, 1, 2)]
    for piece in range(12 * volume):
        pause, scarce = settings[piece % len(settings)]
        # Enough for all; quotas that are overrun; memory that is.
        quota = config.cells if scarce != 1 else rng.choice([config.most, config.most // 2, 2])
        block.poke(
            quota=quota,
            limit=0 if scarce != 1 else rng.choice([0, 2, config.most]),
            pause=pause,
            chance=rng.choice([6, 60, 256]),
            again_stb=rng.randrange(2),
        )
        for qp in range(config.qps):
            own = rng.choice([0, 0, 1, config.most, config.cells]) if scarce == 1 else 0
            block.pulse("quota_stb", quota_qp=qp, quota_of=own)
        sent = frames(rng, config, 100, few=rng.random() < 0.5)
        idle, stall = rng.choice([0, 0.5]), rng.choice([0, 0, 0.6])
        bench.run(sent, seed=seed + piece, idle=idle, stall=stall)
    print(dict(bench.replay.seen), "most cells in queues:", bench.replay.most_used)


def test_over_its_quota_a_queue_drops_and_the_others_do_not(bench: Bench, seed: int) -> None:
    """Nothing is granted until all has come: exactly what is within the quotas is stored."""
    rng, config, block = random.Random(seed), bench.config, bench.block
    block.poke(quota=4, limit=3, chance=0)
    cell = config.cell_bytes
    sent = [Wire(rng.randbytes(cell), False, 1) for _ in range(12)]
    sent += [Wire(rng.randbytes(4 * cell), False, 2), Wire(rng.randbytes(1), False, 2)]
    bench.replay.came.extend(sent)
    run = block.run({"s_axis": sent}, ["m_axis"], monitors={"log_stb": ["log"]})
    for _, (word,) in run.events["log_stb"]:
        bench.replay(word)
    assert not run.sinks["m_axis"].frames
    rows = bench.replay.golden.rows
    assert [len(row.packets) for row in rows[:3]] == [0, 7, 1]
    assert [row.drops for row in rows[:3]] == [0, 5, 1]
    assert block.peek("free") == config.cells - 11
    assert block.peek("shared") == 3
    for qp in range(3):
        assert looked(block, config, qp) == packed(config, rows[qp])
    block.poke(chance=256)
    left = block.run({}, ["m_axis"], settle=LONG).sinks["m_axis"].frames
    assert [f for f in left if f.time == 1] == sent[:7]
    assert [f for f in left if f.time == 2] == [sent[12]]


def looked(block: PacketBlock, config: StoreConfig, qp: int) -> int:
    """The row of a queue as the host sees it; nothing else happens to the store."""
    block.pulse("look_go", look_qp=qp)
    for _ in range(Ledger.LATENCY):
        if block.peek("look_stb"):
            row = block.peek("look")
            block.tick()  # relaxed, the next event is taken after it
            return row & ((1 << row_layout(config).size) - 1)
        block.tick()
    pytest.fail(f"the row of queue {qp} is not shown")


def test_waiting_holds_everything_and_drops_nothing_that_fits(bench: Bench, seed: int) -> None:
    rng, config, block = random.Random(seed), bench.config, bench.block
    block.poke(quota=2, limit=0, pause=1, chance=40)
    sent = [
        Wire(rng.randbytes(rng.randrange(1, 2 * config.cell_bytes + 1)), False, n % 3)
        for n in range(60)
    ]
    sent.insert(30, Wire(rng.randbytes(2 * config.cell_bytes + 1), False, 0))  # never fits
    bench.run(sent)
    assert bench.replay.seen["STORED"] == 60
    assert bench.replay.seen["QUOTA"] == 1


def test_a_beat_in_every_cycle_and_the_latency(bench: Bench, seed: int) -> None:
    """Packets of many queues, each asked for and granted at once."""
    rng, config = random.Random(seed), bench.config
    size = max(8 * config.width // 8, config.cell_bytes) + 1
    beats = -(-size * 8 // config.width)
    one = bench.run([Wire(rng.randbytes(size), True, 3)])
    entered, left = one.sources["s_axis"].last[0], one.sinks["m_axis"].first[0]
    # To the request, in the bench, from the grant.
    assert left - entered == (11 + 1 + 16 if bench.relaxed else 12 + 1 + 17)
    sent = [Wire(rng.randbytes(size), False, n % config.qps) for n in range(100)]
    times = bench.run(sent).sinks["m_axis"]
    took = times.last[-1] - times.first[20]
    if bench.relaxed:  # two events of a packet, one after the other
        assert took <= 80 * 16
    else:
        assert took == 80 * beats - 1


def test_a_reset_leaves_nothing_behind(bench: Bench, seed: int) -> None:
    rng, config, block = random.Random(seed), bench.config, bench.block
    block.poke(chance=0)
    block.pulse("quota_stb", quota_qp=1, quota_of=1)
    block.run({"s_axis": frames(rng, config, 20, few=False)}, ["m_axis"], idle=0.5)
    block.poke(rst=1)
    block.tick(2)
    block.poke(rst=0, **OPEN, quota=config.cells)
    bench.replay, bench.counts = Replay(config), dict.fromkeys(EVENTS, 0)
    sent = frames(rng, config, 100, few=True)
    bench.run(sent)


def test_configuration_errors() -> None:
    for changes, message in (
        ({"qps": 12}, "qps must be a power of two, 2 or more, not 12"),
        ({"width": 32}, r"width must be one of .*, not 32"),
        ({"cell_bytes": 8}, "cell_bytes must be a power of two, 16 or more, not 8"),
        ({"cells": 100}, "cells must be a power of two, 2 or more, not 100"),
        ({"cells": 64}, "cells must be 80 or more for packets of 4608 bytes, not 64"),
        ({"longest": 1000}, r"longest must be a multiple of cell_bytes \(128\) up to 8191"),
        ({"longest": 8192}, r"up to 8191, not 8192"),
    ):
        with pytest.raises(ValueError, match=message):
            StoreConfig(**changes)
