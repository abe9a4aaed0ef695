# amaranth: UnusedElaboratable=no
"""What the pacer is for: rates that are kept, a link that is busy, and nobody who starves.

A tick is a cycle. All rates are of bytes on the wire, in bytes per tick; at 8 ns a tick, 1 Mb/s is
2**-10 bytes per tick and 10 Gb/s are 10.
"""

from pathlib import Path

import numpy as np
import pytest

from precog_hw.pace.layouts import CONFIG, EventKind
from precog_hw.pace.pacer import Pacer
from precog_sim.rtl.stream_block import StreamBlock, stream_library
from precog_spec.contract import Fmt

from .backlog import PLENTY, backlogged, departures, full_link, wire
from .traffic import OVERHEAD

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("pacer")]

QPS = 1024
LATEST = 24  # ticks from due to fired, of few queue pairs


@pytest.fixture(scope="module")
def library() -> Path:
    return stream_library(Pacer(QPS), label=f"pacer, {QPS} QPs")


def test_rates_from_1_mbps_to_the_line(block: StreamBlock, seed: int, volume: int) -> None:
    """Each queue pair alone has its rate, whatever the others have: 2**-10..10 bytes per tick."""
    mtu, size = 0, 256 + OVERHEAD
    # Sixteen rates side by side; the slowest sends a packet in 281,000 ticks.
    rates = {17 * n + 3: 2.0 ** (-10 + 0.65 * n) for n in range(16)}
    bench = backlogged(block, QPS, seed, rates, mtu=mtu)
    found = departures(bench, 900_000 * volume, wire(QPS))
    for qp, rate in rates.items():
        times = found[qp]
        got = (len(times) - 1) * size / (times[-1] - times[0])
        asked = Fmt.RATE.from_float(rate) / Fmt.RATE.one
        assert abs(got / asked - 1) < 1e-3, (rate, got / asked)
        gaps = np.diff(times) - size / asked
        assert np.abs(gaps).max() <= size / 10, (rate, gaps)  # a packet's time at 10 Gb/s, 8 ns
    print("latest:", max(bench.replay.lateness))
    assert max(bench.replay.lateness) <= LATEST


@pytest.mark.parametrize("count", [1, 64, 1024])
def test_a_full_link(block: StreamBlock, seed: int, count: int, volume: int) -> None:
    """Equal shares of 10 bytes per tick: the link never idles, and everybody gets its share."""
    chosen = np.random.default_rng(seed).choice(QPS, count, replace=False).tolist()
    rounds = 4 * volume + 2 if count == 1024 else 100 * volume
    full_link(block, QPS, seed, chosen, mtu=2, rounds=rounds)


@pytest.mark.parametrize("paced", [False, True])
def test_a_grant_in_4_cycles(block: StreamBlock, seed: int, paced: bool) -> None:
    """Sustained by all together, out of lists that are never empty and through the wheel."""
    rounds, size = 6, 256 + OVERHEAD
    gap = 3.6 * QPS if paced else size / 255
    bench = backlogged(block, QPS, seed, dict.fromkeys(range(QPS), size / gap), mtu=0)
    bench.run(4 * QPS * 2)
    before = bench.replay.seen["FIRE"]
    cycles = round(rounds * gap) if paced else 4 * QPS * rounds
    found = departures(bench, cycles, wire(QPS))
    counts = [len(found[qp]) for qp in range(QPS)]
    assert min(counts) >= rounds - 1  # nobody starves
    print("cycles per grant:", cycles / sum(counts))
    assert cycles <= 4 * sum(counts)
    assert (bench.replay.seen["FIRE"] - before >= 0.9 * rounds * QPS) == paced


def test_strict_priority_and_pause(block: StreamBlock, seed: int) -> None:
    """The higher priority takes the link while it has something; a paused one gets nothing."""
    line, size = 10.0, 1024 + OVERHEAD
    bench = backlogged(block, QPS, seed, dict.fromkeys(range(8), line), mtu=2)
    high = int(CONFIG.const({"mtu": 2, "priority": 5}).as_bits())
    for qp in (100, 101):
        bench.offer(EventKind.CONFIG, block.cycles, qp, high)
        bench.set_rate(block.cycles, qp, Fmt.RATE.from_float(line))
        bench.offer(EventKind.REQUEST, block.cycles + 20_000, qp, PLENTY)
    first = departures(bench, 20_000, wire(QPS, line))
    assert {*first} == {*range(8)}
    departures(bench, 5 * round(size / line), wire(QPS, line))
    assert {*departures(bench, 20_000, wire(QPS, line))} == {100, 101}
    block.poke(pause=1 << 5)
    departures(bench, 5 * round(size / line), wire(QPS, line))
    assert {*departures(bench, 20_000, wire(QPS, line))} == {*range(8)}
    block.poke(pause=(1 << 5) | 1)
    departures(bench, 5 * round(size / line), wire(QPS, line))
    assert not departures(bench, 20_000, wire(QPS, line))
    block.poke(pause=0)
    departures(bench, 5 * round(size / line), wire(QPS, line))
    assert {*departures(bench, 20_000, wire(QPS, line))} == {100, 101}


def test_a_window_holds_and_opens(block: StreamBlock, seed: int) -> None:
    """(next - unacknowledged PSN) * MTU below the window: 5000 bytes are five packets of 1024."""
    bench = backlogged(block, QPS, seed, {7: 10.0}, mtu=2)
    del bench.pending["i_request"][:]
    bench.offer(EventKind.WINDOW, 0, 7, 5000)
    bench.run(100)
    bench.offer(EventKind.REQUEST, 0, 7, PLENTY)
    assert len(departures(bench, 5000, wire(QPS))[7]) == 5
    bench.offer(EventKind.ACK, 0, 7, 3)
    assert len(departures(bench, 5000, wire(QPS))[7]) == 3
    assert not departures(bench, 5000, wire(QPS))


@pytest.mark.parametrize("factor", [10, 1 / 10])
def test_a_new_rate_takes_effect_on_the_pending_gap(
    block: StreamBlock, seed: int, factor: float
) -> None:
    """Half a gap at the old rate and half of it at the new one."""
    size, gap = 1024 + OVERHEAD, 100_000
    bench = backlogged(block, QPS, seed, {9: size / gap}, mtu=2)
    bench.set_rate(block.cycles + gap // 2, 9, Fmt.RATE.from_float(factor * size / gap))
    first, second = departures(bench, 8 * gap, wire(QPS))[9][:2]
    assert second - first == pytest.approx(gap / 2 + gap / 2 / factor, abs=200)
