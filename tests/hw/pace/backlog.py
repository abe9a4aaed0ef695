"""Queue pairs that always have something to send, and the link that takes it.

A tick is a cycle. All rates are of bytes on the wire, in bytes per tick.
"""

from collections import defaultdict

import numpy as np

from precog_hw.pace.layouts import CONFIG, EventKind, grant_layout
from precog_hw.pace.wheel import BUCKET_LOG2
from precog_sim.rtl.stream_block import Link, StreamBlock
from precog_spec.contract import Fmt

from .traffic import OVERHEAD, Bench

__all__ = ["PLENTY", "backlogged", "departures", "full_link", "wire"]

PLENTY = (1 << 32) - 1  # bytes


def wire(qps: int, bytes_per_tick: float = 0.0) -> Link:
    """A link of so many bytes per tick, or one that takes everything."""
    if not bytes_per_tick:
        return Link()
    size = grant_layout(qps)["size"]
    return Link((size.offset, size.width), OVERHEAD, round((1 << 20) / bytes_per_tick), 1 << 20)


def backlogged(
    block: StreamBlock,
    qps: int,
    seed: int,
    rates: dict[int, float],
    *,
    mtu: int,
    over: float = 0.0,
) -> Bench:
    """Queue pairs with their rates (bytes per tick) and more to send than they can.

    They begin at random times within `over` cycles.
    """
    bench = Bench(block, qps, seed)
    bench.run(2 * 4 * qps + 100)  # after reset the slots of the wheel are emptied
    config = int(CONFIG.const({"mtu": mtu}).as_bits())
    for qp, rate in rates.items():
        bench.offer(EventKind.CONFIG, 0, qp, config)
        bench.set_rate(0, qp, Fmt.RATE.from_float(rate))
    bench.run(40 * len(rates) + 100)
    starts = sorted(block.cycles + bench.rng.random() * over for _ in rates)
    for start, qp in zip(starts, bench.rng.sample([*rates], len(rates)), strict=True):
        bench.offer(EventKind.REQUEST, int(start), qp, PLENTY)
    return bench


def departures(bench: Bench, cycles: int, link: Link) -> dict[int, np.ndarray]:
    """Cycles in which the grants of each queue pair were taken."""
    found: dict[int, list[int]] = defaultdict(list)
    for at, qp, _, _ in bench.grants(bench.run(cycles, link)):
        found[qp].append(at)
    return {qp: np.array(times) for qp, times in found.items()}


def full_link(
    block: StreamBlock, qps: int, seed: int, chosen: list[int], *, mtu: int, rounds: int
) -> None:
    """Equal shares of 10 bytes per tick: the link never idles, and everybody gets its share."""
    count, line, size = len(chosen), 10.0, (256 << mtu) + OVERHEAD
    packet = size / line
    rates = dict.fromkeys(chosen, line / count)
    bench = backlogged(block, qps, seed, rates, mtu=mtu, over=packet * count)
    departures(bench, round(packet * count * 2), wire(qps, line))
    found = departures(bench, round(packet * count * rounds), wire(qps, line))
    assert {*found} == {*chosen}
    sent = sum(len(times) for times in found.values())
    assert sent * size >= 0.999 * line * packet * count * rounds - 2 * size, "the link idles"
    for times in found.values():
        # Two that are due within the same bucket may change places.
        assert np.abs(np.diff(times) - packet * count).max() <= packet + (1 << BUCKET_LOG2)
        got = (len(times) - 1) / (times[-1] - times[0])
        assert abs(got * packet * count - 1) < 1e-3 + packet / (times[-1] - times[0])
