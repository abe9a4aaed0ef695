# amaranth: UnusedElaboratable=no
"""Queue profiler against its golden model, in the exported order: cycle by cycle, and in volume."""

import random
from collections import deque
from typing import Any

import pytest

from precog_hw.measure.profiler import Profiler
from precog_hw.measure.profiler_serial import profiler
from precog_hw.measure.queue_layouts import CENTERS, GAINS, profile_layout, queue_event_layout
from precog_sim.rtl.stream_block import Link, StreamBlock, StreamRun, stream_library
from precog_spec.contract import QUEUE_VALUE_FIELDS, QueueEvent

from ..pace.traffic import Words
from ..packet.bench import run
from .queue_bench import Replay, some_event, some_parameters

READ_LATENCY, SAMPLE_LATENCY = 7, 25
IGNORED = QueueEvent.READ  # from outside
NAMES = [name for name, _ in QUEUE_VALUE_FIELDS]


def set_parameters(ctx: Any, dut: Profiler, parameters: dict[str, Any]) -> None:
    for name in ("period", "every"):
        ctx.set(getattr(dut, name), parameters[name])
    for n in range(4):
        ctx.set(dut.centers[n], parameters["centers"][n])
        ctx.set(dut.gains[n], parameters["gains"][n])


async def commits(ctx: Any, dut: Profiler, replay: Replay) -> None:
    if ctx.get(dut.commit_stb):
        made = ctx.get(dut.commit)
        replay.commit(made.qp, made.kind, made.size, made.t)


@pytest.mark.parametrize(("qps", "cycles"), [(2, 1500), (16, 1500)])
def test_exact_with_latency(qps: int, cycles: int, seed: int) -> None:
    """Events in every cycle and of one queue pair; reads and visits between; `o` often stalls."""
    rng = random.Random(seed)
    dut, replay = Profiler(qps), Replay(qps)
    parameters = some_parameters(rng) | {"every": 3, "period": 7 * qps}
    replay.set_parameters(parameters)
    due: deque[tuple[int, dict[str, int]]] = deque()
    sampled = merged = reads = 0

    async def bench(ctx: Any) -> None:
        nonlocal sampled, merged, reads
        set_parameters(ctx, dut, parameters)
        busy, asking, stall, now, used, free_at = 0.0, 0.0, 0.0, 1 << 39, [0], 0
        for cycle in range(cycles + 40 * qps + 100):
            if cycle % 60 == 0:
                busy, asking = rng.choice([0.1, 0.6, 1.0]), rng.choice([0.02, 0.5])
                stall, used = rng.choice([0.0, 0.9]), rng.sample(range(qps), 2)
            if cycle >= cycles:
                busy, asking, stall = 1.0, 0.0, 0.0
            offers, asks, takes = (rng.random() < p for p in (busy, asking, 1 - stall))
            kind, size, t = some_event(rng, now)
            kind = kind if cycle < cycles else IGNORED  # and there is no cycle for a visit
            now += 1
            ctx.set(dut.now, now)
            event = {"qp": rng.choice(used), "kind": kind, "size": size, "t": t}
            ctx.set(dut.i.payload, event)
            ctx.set(dut.i.valid, offers)
            ctx.set(dut.i_read.payload, {"qp": rng.choice(used), "clear": rng.random() < 0.3})
            ctx.set(dut.i_read.valid, asks)
            ctx.set(dut.o.ready, takes)
            assert ctx.get(dut.i.ready) == (cycle >= qps)
            assert ctx.get(dut.i_read.ready) == (cycle >= max(qps, free_at) and not offers)
            read = asks and ctx.get(dut.i_read.ready)
            await commits(ctx, dut, replay)
            if replay.values is not None:
                due.append((cycle + READ_LATENCY - 1, replay.values))
                replay.values = None
            reads += read
            if read:
                free_at = cycle + READ_LATENCY + 1
            ready = bool(due) and due[0][0] == cycle
            assert ctx.get(dut.read_done) == ready
            if ready:
                values = ctx.get(dut.values)
                assert {name: values[name] for name in NAMES} == due.popleft()[1]
            if ctx.get(dut.o.valid) and takes:
                out = ctx.get(dut.o.payload)
                replay.sample(out.qp, out.t, *(out.x[n] for n in range(4)))
            sampled += ctx.get(dut.sampled)
            merged += ctx.get(dut.merged)
            await ctx.tick()

    run(dut, bench, cycles=cycles + 40 * qps + 200)
    replay.drained()
    seen = replay.seen
    assert reads == seen["READ"] + seen["CLEAR"]
    assert not due
    assert (sampled, sampled - merged) == (replay.sampled, seen["out"])


def test_latency() -> None:
    dut = Profiler(4)
    at: list[int] = []

    async def bench(ctx: Any) -> None:
        ctx.set(dut.every, 1)
        ctx.set(dut.o.ready, 1)
        await ctx.tick().repeat(10)
        ctx.set(dut.i.payload, {"qp": 3, "kind": 0, "size": 10, "t": 5})
        ctx.set(dut.i.valid, 1)
        for cycle in range(40):
            if ctx.get(dut.o.valid):
                at.append(cycle)
            await ctx.tick()
            ctx.set(dut.i.valid, 0)

    run(dut, bench, cycles=100)
    assert at == [SAMPLE_LATENCY]


QPS = 64


class Bench:
    """The Verilated block and its replay."""

    def __init__(self, seed: int, *, relaxed: bool = False) -> None:
        self.rng = random.Random(seed)
        # Until all that waits has left the queue of the relaxed form; and until each queue pair's
        # sample has.
        self.quiet, self.last = (8000, 260 * QPS) if relaxed else (16, 20 * QPS)
        label = f"profiler, {QPS} QPs{relaxed * ', relaxed'}"
        self.block = StreamBlock(stream_library(profiler(QPS, relaxed=relaxed), label=label))
        self.replay = Replay(QPS)
        self.pending: dict[str, list[tuple[int, int]]] = {"i": [], "i_read": []}
        self._event = queue_event_layout(QPS)
        self._commit, self._sample = Words(self._event), Words(profile_layout(QPS))
        self.block.poke(now=self.rng.getrandbits(40))

    def parameters(self) -> None:
        """New ones, when all is quiet."""
        made: dict[str, Any] = some_parameters(self.rng)
        self.replay.set_parameters(made)
        arrays = {
            name: int(layout.const(made[name]).as_bits())
            for name, layout in (("centers", CENTERS), ("gains", GAINS))
        }
        self.block.poke(period=made["period"], every=made["every"], **arrays)

    def offer(self, at: int, qp: int, kind: int, size: int, t: int) -> None:
        word = self._event.const({"qp": qp, "kind": kind, "size": size, "t": t})
        self.pending["i"].append((at, int(word.as_bits())))

    def read(self, at: int, qp: int, *, clear: bool) -> None:
        self.pending["i_read"].append((at, qp | clear << (QPS - 1).bit_length()))

    def run(self, cycles: int, stall: float, seed: int) -> StreamRun:
        run = self.block.run(
            cycles, self.pending, sink="o", monitor="commit", clock=("now", 40),
            link=Link(stall=stall), seed=seed,
        )  # fmt: skip
        for name, words in self.pending.items():
            del words[: len(run.taken[name])]
        for _, word in run.events:
            self.replay.commit(*self._commit(word, "qp", "kind", "size", "t"))
        for _, word in run.words:
            qp, t, x = self._sample(word, "qp", "t", "x")
            signed = [(x >> 16 * n & 0xFFFF ^ 0x8000) - 0x8000 for n in range(4)]
            self.replay.sample(qp, t, *signed)
        return run

    def drain(self) -> None:
        """No visit comes between events, so none is on its way when there is no period."""
        for n in range(2 * self.quiet):
            self.offer(self.block.cycles + n, 0, IGNORED, 0, 0)
        self.run(self.quiet, 0.0, 1)
        self.block.poke(period=0)
        self.run(self.quiet + self.last, 0.0, 1)
        assert not any(self.pending.values())
        self.replay.drained()

    def values(self) -> dict[str, int]:
        """What the block shows."""
        shown, word = {}, self.block.peek("values")
        for name, bits in QUEUE_VALUE_FIELDS:
            shown[name] = word & ((1 << bits) - 1)
            word >>= bits
        return shown


@pytest.mark.cosim
@pytest.mark.xdist_group("profiler")
@pytest.mark.parametrize("relaxed", [False, True])
def test_exact_in_volume(relaxed: bool, seed: int, volume: int) -> None:
    """From rare events to one in every cycle; the last sample of each queue pair always comes."""
    bench = Bench(seed, relaxed=relaxed)
    rng, t, piece = bench.rng, 0, 2500
    bench.run(QPS + 10, 0.0, 1)
    for n in range(12 * volume):
        bench.parameters()
        start, gap = bench.block.cycles, rng.choice([20, 40, 150] if relaxed else [1, 1, 3, 40])
        used = rng.sample(range(QPS), rng.choice([1, 2, QPS]))
        for cycle in range(0, piece, gap):
            kind, size, t = some_event(rng, t)
            bench.offer(start + cycle, rng.choice(used), kind, size, t)
            if rng.random() < 0.05:
                bench.read(start + cycle, rng.choice(used), clear=rng.random() < 0.3)
        bench.run(piece, rng.choice([0.0, 0.5, 0.97]), seed + n)
        bench.drain()
        assert bench.replay.values in (None, bench.values())
    for qp in range(QPS):
        bench.read(bench.block.cycles, qp, clear=False)
        bench.run(40 if relaxed else 20, 0.0, seed)
        assert bench.values() == bench.replay.values
    print(dict(bench.replay.seen))
    bench.block.close()


@pytest.mark.cosim
@pytest.mark.xdist_group("profiler")
def test_nothing_is_merged_in_time(seed: int) -> None:
    """A sample in 20 cycles, and a taker that waits for none: all of them come out."""
    bench = Bench(seed)
    bench.run(QPS + 10, 0.0, 1)
    bench.parameters()
    bench.replay.golden.period, bench.replay.golden.every = 0, 1
    bench.block.poke(period=0, every=1)
    start = bench.block.cycles
    for n in range(300):
        bench.offer(start + 20 * n, bench.rng.randrange(QPS), n % 2, 1500, 20 * n)
    run = bench.run(300 * 20 + 100, 0.0, 1)
    bench.replay.drained()
    assert len(run.words) == bench.replay.sampled == 300
    bench.block.close()


@pytest.mark.parametrize("qps", [0, 1, 100])
def test_configuration_error(qps: int) -> None:
    with pytest.raises(ValueError, match=f"qps must be a power of two, 2 or more, not {qps}"):
        Profiler(qps)
