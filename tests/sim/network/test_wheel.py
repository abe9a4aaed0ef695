"""The event queue against a sorted list: exact order, and two orders among equals."""

import heapq

import numpy as np
import pytest
from tests.sim.network.blank import blank, called

from precog_sim.network.control import Cfg, Ctl
from precog_sim.network.layout import Kind, PortCol, Rec
from precog_sim.network.net import Net
from precog_sim.network.wheel import bucket_bits, buckets_ahead, cancel, pop, schedule, soonest

_BITS = 7
_SLOTS = 1 << 12
_HORIZON_PS = _SLOTS << _BITS
_NEVER = 1 << 62


@called
def _schedule(net: Net, row: int, t: int) -> None:
    schedule(net, row, t)


@called
def _cancel(net: Net, row: int) -> None:
    cancel(net, row)


@called
def _pop(net: Net, until: int) -> int:
    return pop(net, until)


@called
def _soonest(net: Net) -> int:
    return soonest(net)


class _Queue:
    def __init__(self, rows: int, ahead: int = 4, *, ns3: bool = True) -> None:
        self.net = blank(
            rec=np.zeros((rows, 8), dtype=np.int64),
            wheel=np.full(_SLOTS, -1, dtype=np.int32),
            bits=np.zeros(_SLOTS // 64, dtype=np.int64),
            heap=np.zeros((rows, 3), dtype=np.int64),
            ctl=np.zeros(Ctl.WIDTH, dtype=np.int64),
            cfg=np.zeros(Cfg.WIDTH, dtype=np.int64),
            port=np.zeros((2, PortCol.WIDTH), dtype=np.int64),
            state=np.zeros((1, 1)),
            telemetry=np.zeros((1, 1), dtype=np.int64),
        )
        self.net.cfg[Cfg.BUCKET_BITS] = _BITS
        self.net.cfg[Cfg.AHEAD] = ahead
        self.net.cfg[Cfg.SLOT_MASK] = _SLOTS - 1
        self.net.cfg[Cfg.NS3] = ns3

    def schedule(self, row: int, t: int) -> None:
        _schedule(self.net, row, t)

    def cancel(self, row: int) -> None:
        _cancel(self.net, row)

    def pop(self, until: int = _NEVER) -> tuple[int, int] | None:
        row = _pop(self.net, until)
        return None if row < 0 else (int(self.net.rec[row, Rec.TIME]), row)


_Event = tuple[int, tuple[int, int, int], int]


def _place(net: Net, row: int) -> tuple[int, int, int]:
    """Among events of one time: packets by port and flow, then timers by kind and owner."""
    kind, port, owner = (int(net.rec[row, k]) for k in (Rec.KIND, Rec.PORT, Rec.OWNER))
    return (0, port, owner) if kind < Kind.TX_DONE else (1, kind, owner)


@pytest.mark.parametrize("ns3", [False, True])
@pytest.mark.parametrize("reaches", [(3, 900, 40_000, _HORIZON_PS, 5 * _HORIZON_PS), (3, 300)])
def test_order_of_random_events_near_and_far(
    seed: int, reaches: tuple[int, ...], ns3: bool
) -> None:
    rng = np.random.default_rng(seed)
    rows = 64
    queue = _Queue(rows, ahead=int(rng.integers(100)), ns3=ns3)
    kinds = rng.choice([Kind.DATA, Kind.ACK, Kind.PAUSE, Kind.TX_DONE, Kind.WAKE], rows)
    queue.net.rec[:, Rec.KIND] = kinds
    queue.net.rec[:, Rec.PORT] = rng.integers(2, size=rows)
    queue.net.rec[:, Rec.OWNER] = rng.permutation(rows)
    want: list[_Event] = []
    idle = list(range(rows))
    scheduled: dict[int, _Event] = {}
    now = count = 0
    for step in range(6000):
        action = rng.random()
        if idle and (action < 0.5 or not scheduled):
            row = idle.pop(int(rng.integers(len(idle))))
            reach = rng.choice(reaches)
            t = now + int(rng.integers(reach))
            queue.schedule(row, t)
            order = (count, 0, 0) if ns3 else _place(queue.net, row)
            scheduled[row] = (t, order, row)
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


def test_nothing_is_taken_at_or_after_the_end_of_a_window() -> None:
    queue = _Queue(3)
    queue.schedule(0, 1000)
    assert queue.pop(1000) is None
    queue.schedule(1, 999)  # the wheel has not gone on
    queue.schedule(2, 3 * _HORIZON_PS)
    assert 999 - (1 << _BITS) < _soonest(queue.net) <= 999
    assert queue.pop(1000) == (999, 1)
    assert queue.pop(1000) is None
    assert queue.pop(1001) == (1000, 0)
    assert queue.pop(3 * _HORIZON_PS) is None
    assert _soonest(queue.net) == 3 * _HORIZON_PS
    assert queue.pop() == (3 * _HORIZON_PS, 2)
    assert _soonest(queue.net) == _NEVER


def test_buckets_are_small_where_many_ports_are_busy_and_large_where_links_are_long() -> None:
    most = 1 << 15
    assert bucket_bits(2, 1_100_000, most) == bucket_bits(119, 1_100_000, most) == 10
    assert bucket_bits(120, 1_100_000, most) == 9
    assert bucket_bits(960, 1_100_000, most) == 6
    assert bucket_bits(1 << 20, 1_000_000, most) == 5
    for bits in range(10, 30):
        reach = most << bits
        assert bucket_bits(960, reach - 1, most) == bits
        assert bucket_bits(960, reach, most) == bits + 1


def test_in_ns3_timing_the_memory_of_the_next_nanosecond_is_asked_for() -> None:
    for bits in range(30):
        assert buckets_ahead(bits, ns3=False) == 16
        assert buckets_ahead(bits, ns3=True) << bits >= 1000
