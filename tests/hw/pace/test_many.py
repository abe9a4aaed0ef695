"""The pacer as a parameter makes it: 16,384 queue pairs, all of them with something to send.

Only with --volume: the block takes a minute to build.
"""

from pathlib import Path

import pytest

from precog_hw.pace.layouts import EventKind
from precog_hw.pace.pacer import Pacer
from precog_sim.rtl.stream_block import Link, StreamBlock, stream_library

from .backlog import backlogged, departures, full_link, wire
from .traffic import OVERHEAD, Bench

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("pacer-many")]

QPS = 16_384


@pytest.fixture(scope="module")
def library(request: pytest.FixtureRequest) -> Path:
    if request.config.getoption("--volume") == 1:
        pytest.skip("only with --volume")
    return stream_library(Pacer(QPS), label=f"pacer, {QPS} QPs")


def test_a_full_link_of_all(block: StreamBlock, seed: int) -> None:
    """Everybody gets 1 / 16,384 of the link, to a packet's time, and nobody starves."""
    full_link(block, QPS, seed, [*range(QPS)], mtu=0, rounds=3)


def test_a_grant_in_4_cycles(block: StreamBlock, seed: int) -> None:
    """Out of lists that are never empty, whoever is in them."""
    size, rounds = 256 + OVERHEAD, 3
    bench = backlogged(block, QPS, seed, dict.fromkeys(range(QPS), 255.0), mtu=0)
    bench.run(4 * QPS * 2)
    found = departures(bench, 4 * QPS * rounds, wire(QPS))
    counts = [len(found[qp]) for qp in range(QPS)]
    assert min(counts) >= rounds - 1  # nobody starves
    assert sum(counts) >= QPS * rounds
    print("cycles per grant:", 4 * QPS * rounds / sum(counts), "bytes:", size)


def test_exact_in_the_exported_order(block: StreamBlock, seed: int, volume: int) -> None:
    """Random events of queue pairs anywhere: rows and grants are the golden model's."""
    bench, piece = Bench(block, QPS, seed, start=(1 << 40) - 300_000), 2000
    bench.run(8 * QPS + 100)  # the wheel is emptied
    for n in range(10 * volume):
        block.poke(pause=bench.rng.choice([0, 0, bench.rng.getrandbits(8)]))
        bench.chance(piece)
        bench.run(piece, Link(stall=bench.rng.choice([0.0, 0.5])), seed=seed + n)
    assert {kind.name for kind in (EventKind.GRANT, EventKind.FIRE)} <= {*bench.replay.seen}
