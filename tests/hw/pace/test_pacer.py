# amaranth: UnusedElaboratable=no
"""Pacer against its golden model in the exported order, in volume; and that it never stops."""

import pytest

from precog_hw.pace.layouts import CONFIG, EventKind
from precog_hw.pace.pacer import Pacer
from precog_models.pace.pacer import State
from precog_sim.rtl.stream_block import Link, StreamBlock, stream_library

from .backlog import backlogged
from .traffic import OVERHEAD, Bench

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("pacer")]

QPS, SLOTS = 64, 16
PIECE = 2000  # cycles
SETTLE = 20_000


def small(*, relaxed: bool = False) -> StreamBlock:
    """A short wheel, so that its second level and what lies beyond it are needed all the time."""
    pacer = Pacer(QPS, slots=SLOTS, relaxed=relaxed)
    label = f"pacer, {QPS} QPs{', relaxed' * relaxed}"
    return StreamBlock(stream_library(pacer, label=label))


@pytest.mark.parametrize("relaxed", [False, True])
def test_exact_in_the_exported_order_and_everybody_is_served(
    relaxed: bool, seed: int, volume: int
) -> None:
    block = small(relaxed=relaxed)
    bench = Bench(block, QPS, seed, start=(1 << 40) - 30_000, slow=3 * relaxed)
    rng, golden = bench.rng, bench.replay.golden
    for qp in range(QPS):
        bench.set_rate(0, qp, bench.some_rate())
    for piece in range(60 * volume):
        block.poke(pause=rng.choice([0, 0, rng.getrandbits(8)]))
        bench.chance(PIECE)
        stall = rng.choice([0.5, 0.95, 0.98, 0.99] if relaxed else [0.0, 0.0, 0.5, 0.95])
        bench.run(PIECE, Link(stall=stall), seed=seed + piece)

    block.poke(pause=0)
    bench.run(SETTLE)
    # Gaps of thousands of ticks, and slower rates within them.
    for divisor in (1, 2, 4, 8):
        for qp in range(16):
            bench.set_rate(block.cycles, qp, (1 << 24) // (100 * divisor))
            bench.offer(EventKind.WINDOW, block.cycles, qp, 0)
            bench.offer(EventKind.REQUEST, block.cycles, qp, 10_000)
        bench.run(2 * PIECE)

    # No pause, no window, a high rate, some bytes: they all come, and then nothing does.
    for qp in range(QPS):
        bench.set_rate(block.cycles, qp, (1 << 32) - 1)
        bench.offer(EventKind.WINDOW, block.cycles, qp, 0)
        config = CONFIG.const({"mtu": 4, "priority": rng.randrange(8)})
        bench.offer(EventKind.CONFIG, block.cycles, qp, int(config.as_bits()))
    bench.run(SETTLE)
    for qp in range(QPS):
        bench.offer(EventKind.REQUEST, block.cycles, qp, 10_000)
    last = bench.grants(bench.run(SETTLE))
    assert {qp for _, qp, *_ in last} == {*range(QPS)}
    assert not any([*bench.pending.values(), *bench.replay.asked.values()])
    assert not any([bench.replay.rates, bench.replay.grants])
    assert {(row.state, row.backlog) for row in golden.rows} == {(State.PARKED, 0)}

    seen = bench.replay.seen
    wanted = {kind.name for kind in EventKind} - {"EXPIRE"}  # of wire mode
    wanted |= {"retime", "sooner", "later", "again", "due", "refused"}
    wanted |= {"SENDING-READY", "SENDING-WAITING", "WAITING-PARKED"}
    if not relaxed:  # there a grant's gap comes before all else, and rates are seldom late
        wanted |= {"rate refused", "SENDING-SENDING", "retime late"}
    assert wanted <= set(seen), wanted - set(seen)
    assert sum(credit.checks for credit in bench.replay.credits) > 1000
    print({name: seen[name] for name in sorted(wanted)})
    block.close()


def test_latency_and_the_loop_of_one_queue_pair() -> None:
    """A queue pair without a rate: 256 bytes per tick, faster than the loop."""
    block = small()
    bench = Bench(block, QPS, 1)
    bench.run(100)
    bench.offer(EventKind.REQUEST, 100, 5, 1000)
    run = bench.run(200)
    assert run.taken["i_request"].tolist() == [101]
    assert [at for at, *_ in bench.grants(run)] == [122, 149, 176, 203]
    bench.set_rate(300, 5, 1 << 24)
    assert bench.run(100).events[-1][0] == 333
    block.close()


def test_latency_of_the_relaxed_form() -> None:
    block = small(relaxed=True)
    bench = Bench(block, QPS, 1)
    bench.run(100)
    bench.offer(EventKind.REQUEST, 100, 5, 1000)
    run = bench.run(200)
    assert run.taken["i_request"].tolist() == [101]
    assert [at for at, *_ in bench.grants(run)] == [113, 131, 149, 167]
    bench.set_rate(300, 5, 1 << 24)
    assert bench.run(100).events[-1][0] == 328 + 7  # leading zeros
    block.close()


def test_a_rate_in_every_part_of_a_gap() -> None:
    """Of the relaxed form: a gap of 200 ticks, made anew, or over before it is."""
    block = small(relaxed=True)
    bench = Bench(block, QPS, 1)
    size = 1000 + OVERHEAD
    bench.run(100)
    bench.offer(EventKind.CONFIG, block.cycles, 5, int(CONFIG.const({"mtu": 4}).as_bits()))
    for n in range(0, 240, 8):
        bench.set_rate(block.cycles, 5, (size << 24) // 200)
        bench.run(500)
        bench.offer(EventKind.REQUEST, block.cycles, 5, 1000)
        bench.set_rate(block.cycles + n, 5, (size << 24) // bench.rng.choice([150, 250]))
        assert len(bench.grants(bench.run(500))) == 1
    seen = bench.replay.seen
    assert all(seen[name] > 3 for name in ("retime", "retime late", "sooner", "later")), seen
    block.close()


def test_the_relaxed_form_takes_a_full_line() -> None:
    """A packet in 42 cycles, the shortest frame at 1 Gb/s and 62.5 MHz, requested, acknowledged."""
    every, rounds = 42, 20
    count, size, gap = rounds * QPS, 256 + OVERHEAD, every * QPS
    block = StreamBlock(stream_library(Pacer(QPS, relaxed=True), label=f"pacer, {QPS} QPs"))
    bench = backlogged(block, QPS, 1, dict.fromkeys(range(QPS), size / gap), mtu=0, over=gap)
    bench.run(2 * gap)
    for n in range(count):
        for kind in (EventKind.REQUEST, EventKind.ACK):
            bench.offer(kind, block.cycles + every * n, n % QPS, 0)
    assert len(bench.grants(bench.run(every * count))) >= count - 1
    assert sum(len(kept) for kept in bench.pending.values()) <= 2
    block.close()


@pytest.mark.parametrize("relaxed", [False, True])
def test_requests_without_a_pause_leave_time_for_all_else(relaxed: bool) -> None:
    """More requests and acknowledgements than there is time for: grants and rates go on."""
    block = small(relaxed=relaxed)
    bench = Bench(block, QPS, 1)
    bench.run(200)
    for qp in range(QPS):
        bench.set_rate(block.cycles, qp, 1 << 26)
    bench.run(SETTLE)
    for n in range(30_000):
        for kind in (EventKind.REQUEST, EventKind.ACK):
            bench.offer(kind, block.cycles, n % QPS, 100 * (kind == EventKind.REQUEST))
    for qp in range(QPS):
        bench.set_rate(block.cycles, qp, 1 << 25)
    assert len(bench.grants(bench.run(SETTLE))) > 500
    assert bench.pending["i_request"]
    assert bench.pending["i_ack"]
    assert bench.replay.seen["RATE"] >= 2 * QPS
    block.close()


def test_configuration_errors() -> None:
    with pytest.raises(ValueError, match="qps must be a power of two, 2 or more, not 3"):
        Pacer(3)
    with pytest.raises(ValueError, match="slots must be a power of two, 4 or more, not 2"):
        Pacer(4, slots=2)
