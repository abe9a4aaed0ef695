# amaranth: UnusedElaboratable=no
"""Pacer against its golden model in the exported order, in volume; and that it never stops."""

import pytest

from precog_hw.pace.layouts import CONFIG, EventKind
from precog_hw.pace.pacer import Pacer
from precog_models.pace.pacer import State
from precog_sim.rtl.stream_block import Link, StreamBlock, stream_library

from .traffic import Bench

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("pacer")]

QPS, SLOTS = 64, 16
PIECE = 2000  # cycles
SETTLE = 20_000


def small() -> StreamBlock:
    """A short wheel, so that its second level and what lies beyond it are needed all the time."""
    return StreamBlock(stream_library(Pacer(QPS, slots=SLOTS), label=f"pacer, {QPS} QPs"))


def test_exact_in_the_exported_order_and_everybody_is_served(seed: int, volume: int) -> None:
    block = small()
    bench = Bench(block, QPS, seed, start=(1 << 40) - 30_000)
    rng, golden = bench.rng, bench.replay.golden
    for qp in range(QPS):
        bench.set_rate(0, qp, bench.some_rate())
    for piece in range(60 * volume):
        block.poke(pause=rng.choice([0, 0, rng.getrandbits(8)]))
        bench.chance(PIECE)
        stall = rng.choice([0.0, 0.0, 0.5, 0.95])
        bench.run(PIECE, Link(stall=stall), seed=seed + piece)

    # No pause, no window, a high rate, some bytes: they all come, and then nothing does.
    block.poke(pause=0)
    bench.run(SETTLE)
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
    wanted |= {"retime", "retime late", "sooner", "later", "again", "due", "refused"}
    wanted |= {"rate refused", "SENDING-READY", "SENDING-WAITING", "WAITING-PARKED"}
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


def test_configuration_errors() -> None:
    with pytest.raises(ValueError, match="qps must be a power of two, 2 or more, not 3"):
        Pacer(3)
    with pytest.raises(ValueError, match="slots must be a power of two, 4 or more, not 2"):
        Pacer(4, slots=2)
