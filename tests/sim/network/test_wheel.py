"""The event queue against a sorted list: exact order, first come first served among equals."""

import heapq

import numba
import numpy as np
import pytest
from tests.sim.network.blank import blank

from precog_sim.network.ahead import SLOTS, WORDS
from precog_sim.network.layout import Cfg, Ctl, Rec
from precog_sim.network.net import Net
from precog_sim.network.wheel import bucket_bits, buckets_ahead, cancel, pop, schedule

_BITS = 7
_HORIZON_PS = SLOTS << _BITS


@numba.njit
def _schedule(net: Net, row: int, t: int) -> None:
    schedule(net, row, t)


@numba.njit
def _cancel(net: Net, row: int) -> None:
    cancel(net, row)


@numba.njit
def _pop(net: Net) -> int:
    return pop(net)


class _Queue:
    def __init__(self, rows: int, ahead: int = 4) -> None:
        self.net = blank(
            rec=np.zeros((rows, 8), dtype=np.int64),
            wheel=np.full(SLOTS, -1, dtype=np.int32),
            bits=np.zeros(WORDS, dtype=np.int64),
            heap=np.zeros((rows, 3), dtype=np.int64),
            ctl=np.zeros(Ctl.WIDTH, dtype=np.int64),
            cfg=np.zeros(Cfg.WIDTH, dtype=np.int64),
            telemetry=np.zeros((1, 1), dtype=np.int64),
        )
        self.net.cfg[Cfg.BUCKET_BITS] = _BITS
        self.net.cfg[Cfg.AHEAD] = ahead

    def schedule(self, row: int, t: int) -> None:
        _schedule(self.net, row, t)

    def cancel(self, row: int) -> None:
        _cancel(self.net, row)

    def pop(self) -> tuple[int, int] | None:
        row = _pop(self.net)
        return None if row < 0 else (int(self.net.rec[row, Rec.TIME]), row)


@pytest.mark.parametrize("reaches", [(3, 900, 40_000, _HORIZON_PS, 5 * _HORIZON_PS), (3, 300)])
def test_order_of_random_events_near_and_far(seed: int, reaches: tuple[int, ...]) -> None:
    rng = np.random.default_rng(seed)
    rows = 64
    queue = _Queue(rows, ahead=int(rng.integers(100)))
    want: list[tuple[int, int, int]] = []
    idle = list(range(rows))
    scheduled: dict[int, tuple[int, int, int]] = {}
    now = count = 0
    for step in range(6000):
        action = rng.random()
        if idle and (action < 0.5 or not scheduled):
            row = idle.pop(int(rng.integers(len(idle))))
            reach = rng.choice(reaches)
            t = now + int(rng.integers(reach))
            queue.schedule(row, t)
            scheduled[row] = (t, count, row)
            heapq.heappush(want, scheduled[row])
            count += 1
        elif action < 0.6 and scheduled:
            row = list(scheduled)[int(rng.integers(len(scheduled)))]
            queue.cancel(row)
            want.remove(scheduled.pop(row))
            heapq.heapify(want)
            idle.append(row)
        elif want:
            t, _, row = heapq.heappop(want)
            assert queue.pop() == (t, row), f"step {step}"
            now = t
            del scheduled[row]
            idle.append(row)
    while want:
        t, _, row = heapq.heappop(want)
        assert queue.pop() == (t, row)
    assert queue.pop() is None


def test_an_event_far_away_comes_before_one_put_beside_it_later() -> None:
    queue = _Queue(3)
    far = 2 * _HORIZON_PS
    queue.schedule(0, far)
    queue.schedule(1, far - _HORIZON_PS // 2)
    assert queue.pop() == (far - _HORIZON_PS // 2, 1)
    queue.schedule(2, far)
    assert queue.pop() == (far, 0)
    assert queue.pop() == (far, 2)


def test_buckets_are_small_where_many_ports_are_busy_and_large_where_links_are_long() -> None:
    assert bucket_bits(2, 1_100_000) == bucket_bits(119, 1_100_000) == 10
    assert bucket_bits(120, 1_100_000) == 9
    assert bucket_bits(960, 1_100_000) == 6
    assert bucket_bits(1 << 20, 1_000_000) == 5
    for bits in range(10, 30):
        reach = SLOTS << bits
        assert bucket_bits(960, reach - 1) == bits
        assert bucket_bits(960, reach) == bits + 1


def test_in_ns3_timing_the_memory_of_the_next_nanosecond_is_asked_for() -> None:
    for bits in range(30):
        assert buckets_ahead(bits, ns3=False) == 16
        assert buckets_ahead(bits, ns3=True) << bits >= 1000
