# amaranth: UnusedElaboratable=no
"""Wire mode: packets leave at their queue pairs' rates, and nobody waits for somebody else."""

from collections.abc import Iterator

import numpy as np
import pytest

from precog_hw.pace.wire_path import BURST
from precog_models.store.packet_store import Outcome

from .wire_bench import PACED
from .wire_driver import NARROW, OVERHEAD, WIDE, Bench, first_beats

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("wire")]


@pytest.fixture(params=(WIDE, NARROW), ids=lambda c: f"{c.width}-bits")
def bench(request: pytest.FixtureRequest, volume: int, seed: int) -> Iterator[Bench]:
    if request.param is NARROW and volume == 1:
        pytest.skip("only with --volume")
    made = Bench(request.param, seed)
    yield made
    made.block.close()


def test_two_queue_pairs_at_their_rates(bench: Bench) -> None:
    """7 : 3 of a third of the link, through one memory: each to 0.1 %, and to a packet's time."""
    size, step = 1000, bench.step
    beats = -(-size // step)
    rates = {3: step * 0.7 / 3, 5: step * 0.3 / 3}
    for qp, rate in rates.items():
        bench.rate(qp, rate)
    bench.block.poke(hold=1)
    sent = [bench.paced(3 if n % 10 < 7 else 5, size) for n in range(1000)]
    found = first_beats(bench.run(sent))
    for qp, rate in rates.items():
        times, gap = found[qp], (size + OVERHEAD) / rate
        # A packet of the other one may be ahead at either end.
        wanted = gap * (len(times) - 1)
        assert abs((times[-1] - times[0]) - wanted) <= 1e-3 * wanted + beats, qp
        assert abs((times[-1] - times[0]) / wanted - 1) < 1e-3, qp
        assert np.abs(np.diff(times) - gap).max() <= beats + 4, qp
    print({qp: len(times) for qp, times in found.items()})


def test_a_queue_pair_that_may_not_send_holds_nobody(bench: Bench) -> None:
    """One at the lowest rate, one whose priority is paused: both fill their quotas, no more."""
    block, step = bench.block, bench.step
    bench.configure(2, priority=5)
    bench.rate(1, 1e-4)
    for qp in (2, 3):
        bench.rate(qp, step / 3.5)  # it gets a third of the link
    block.poke(pause=1 << 5, quota=200)
    size = 1024
    sent = [bench.paced(1 + n % 3, size) for n in range(300)]
    found = first_beats(bench.run(sent, settle=2000))
    assert (len(found[1]), 2 in found, len(found[3])) == (1, False, 100)
    times, gap = found[3], (size + OVERHEAD) / (step / 3.5)
    # The first one is granted at once, the others out of the wheel, some ticks late each.
    assert abs((times[-1] - times[1]) / (98 * gap) - 1) < 1e-3
    rows = bench.store.golden.rows
    assert [len(row.packets) for row in rows[1:4]] == [25, 25, 0]  # 200 cells of 128 bytes
    assert [row.drops for row in rows[1:4]] == [74, 75, 0]
    block.poke(pause=0)
    found = first_beats(bench.run([], settle=2000))
    assert len(found[2]) == 25


def test_line_rate(bench: Bench) -> None:
    """A beat leaves in every cycle if the rates allow, with packets of 8 beats and more."""
    step = bench.step
    for qp in range(32):
        bench.rate(qp, 200.0)
    for size in (8 * step, 16 * step, 4096):
        count = 400 if size < 4096 else 120
        run = bench.run([bench.paced(n % 32, size) for n in range(count)], settle=2000)
        sink, beats, skip = run.sinks["m_axis"], size // step, count // 4
        assert len(sink.first) == count
        taken = sink.last[-skip] - sink.first[skip] + 1
        busy = (count - 2 * skip + 1) * beats / taken
        print(f"{size} bytes: {100 * busy:.2f} % of the cycles")
        assert busy > 0.999


def test_the_rest_passes_by_in_order_and_starves_nobody(bench: Bench) -> None:
    """ACKs and the like overtake what is paced; a flood of them leaves the others their turn."""
    step = bench.step
    for qp in range(8):
        bench.rate(qp, 200.0)
    sent = [
        bench.paced(n % 8, 8 * step) if n % 4 == 0 else bench.other(8 * step) for n in range(400)
    ]
    run = bench.run(sent, settle=2000)
    kinds = [bool(wire.tag & PACED) for wire in run.sinks["m_axis"].frames]
    assert (kinds.count(True), kinds.count(False)) == (100, 300)
    waits = "".join("P" if paced else "-" for paced in kinds).strip("-").split("P")
    assert max(map(len, waits)) <= 2 * BURST
    bench.block.poke(pause=0xFF)  # nothing paced leaves: the others do
    sent = [bench.paced(0, step), *(bench.other(50) for _ in range(20)), bench.paced(1, step)]
    assert len(bench.run(sent, settle=2000).sinks["m_axis"].frames) == 20
    bench.block.poke(pause=0)
    assert len(bench.run([], settle=2000).sinks["m_axis"].frames) == 2


def test_exact_whatever_happens(bench: Bench, seed: int, volume: int) -> None:
    """Random packets, rates, connections that begin anew, pauses: both logs are the golden ones."""
    rng, config, block = bench.rng, bench.config, bench.block
    for piece in range(10 * volume):
        for qp in rng.sample(range(config.qps), 10):
            bench.rate(qp, bench.step * rng.choice([0.05, 0.5, 3.0]))
        hold = rng.randrange(2)  # with a priority that is paused it would hold for ever
        block.poke(
            hold=hold,
            quota=rng.choice([40, 200]),
            limit=rng.choice([0, 40]),
            pause=rng.choice([0, rng.getrandbits(8)]) if not hold else 0,
        )
        few = rng.sample(range(config.qps), rng.choice([2, config.qps]))
        sent = []
        for _ in range(120):
            size = rng.choice([rng.randrange(1, 200), rng.randrange(1, config.longest + 60)])
            paced = rng.random() < 0.8
            sent.append(bench.paced(rng.choice(few), size) if paced else bench.other(size))
        bench.run(
            sent, seed=seed + piece, idle=rng.choice([0, 0.4]), stall=rng.choice([0, 0.4]),
            settle=3000,
        )  # fmt: skip
        for qp in rng.sample(range(config.qps), 5):
            bench.configure(qp, priority=rng.randrange(8), mtu=rng.randrange(5))
    block.poke(pause=0)
    bench.run([], settle=60_000)
    assert not bench.bypassed
    assert not bench.store.came
    assert not any(bench.store.queues)
    assert block.peek("free") == config.cells
    stored = bench.store.seen["STORED"]
    assert stored == bench.store.seen["POP"] == bench.paced_out
    drops = sum(bench.store.seen[kind.name] for kind in list(Outcome)[2:])
    print(dict(bench.store.seen), drops)
