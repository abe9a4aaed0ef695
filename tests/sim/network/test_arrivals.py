"""Packets sorted before their window, merged with the wheel: against a sorted list."""

import heapq

import numpy as np
import pytest
from tests.sim.network.blank import blank, called

from precog_sim.network.arrivals import BUCKETS, SPARE, arrivals_bits, gather, take
from precog_sim.network.control import Cfg, Ctl
from precog_sim.network.layout import Kind, PortCol, Rec
from precog_sim.network.net import Net
from precog_sim.network.wheel import schedule

_SLOTS = 1 << 12
_NEVER = 1 << 62
_WINDOW_PS = 100_000
_GRID_PS = 40  # times are multiples of it, so that many are equal
_SENDERS = 3
_PORTS = 4


@called
def _schedule(net: Net, row: int, t: int) -> None:
    schedule(net, row, t)


@called
def _gather(net: Net, run: Net, parity: int, base: int) -> None:
    gather(net, run, 0, parity, base)


@called
def _take(net: Net, until: int) -> int:
    return take(net, until)


_Event = tuple[int, tuple[int, int, int], int]


class _Partition:
    """Partition 0 of three, and the mail for it."""

    def __init__(self, rows: int, room: int) -> None:
        self.net = blank(
            rec=np.zeros((rows, 8), dtype=np.int64),
            wheel=np.full(_SLOTS, -1, dtype=np.int32),
            bits=np.zeros(_SLOTS // 64, dtype=np.int64),
            heap=np.zeros((rows, 3), dtype=np.int64),
            arrivals=np.zeros((room + SPARE, 2), dtype=np.int64),
            unsorted=np.zeros((room, 2), dtype=np.int64),
            tally=np.zeros(BUCKETS, dtype=np.int32),
            ctl=np.zeros(Ctl.WIDTH, dtype=np.int64),
            cfg=np.zeros(Cfg.WIDTH, dtype=np.int64),
            port=np.zeros((_PORTS, PortCol.WIDTH), dtype=np.int64),
            prio=np.zeros((_PORTS, 16), dtype=np.int64),
            flow=np.zeros((rows, 48), dtype=np.int64),
            state=np.zeros((1, 1)),
            words=np.zeros((1, 1), dtype=np.int64),
            telemetry=np.zeros((1, 1), dtype=np.int64),
        )
        self.net.arrivals[0, 0] = _NEVER
        self.net.cfg[Cfg.BUCKET_BITS] = 7
        self.net.cfg[Cfg.AHEAD] = 16
        self.net.cfg[Cfg.SLOT_MASK] = _SLOTS - 1
        self.net.cfg[Cfg.PRIORITIES] = 1
        self.net.cfg[Cfg.ARRIVAL_BITS] = arrivals_bits(_WINDOW_PS)
        self.net.rec[:, Rec.OWNER] = np.arange(rows)
        places = np.tile(np.arange(_SENDERS + 1) * rows, (_SENDERS, 1))
        places += np.arange(_SENDERS)[:, None] * _SENDERS * rows
        self.run = blank(
            unsorted=np.zeros((_SENDERS, room, 2), dtype=np.int64),
            ctl=np.zeros((_SENDERS, Ctl.WIDTH), dtype=np.int64),
            places=places.astype(np.int32),
            posted=np.zeros((2, _SENDERS, _SENDERS), dtype=np.int32),
            outbox=np.zeros((2, _SENDERS * _SENDERS * rows, 2), dtype=np.int64),
        )

    def post(self, sender: int, parity: int, row: int, t: int) -> None:
        """Put a packet down for partition 0, as `mail.post` does."""
        self.net.rec[row, Rec.TIME] = t
        at = self.run.places[sender, 0] + self.run.posted[parity, sender, 0]
        self.run.outbox[parity, at] = t, int(self.net.rec[row, Rec.PORT]) << 32 | row
        self.run.posted[parity, sender, 0] += 1

    def event(self, row: int, t: int) -> _Event:
        """What `heapq` sorts as the simulator does."""
        kind, port = (int(self.net.rec[row, k]) for k in (Rec.KIND, Rec.PORT))
        return t, (0, port, row) if kind < Kind.TX_DONE else (1, kind, row), row


@pytest.mark.parametrize("room", [1000, 40])
def test_packets_and_timers_come_in_one_order_whatever_holds_them(seed: int, room: int) -> None:
    rng = np.random.default_rng(seed)
    rows = 300
    part = _Partition(rows, room)
    idle = list(range(rows))
    want: list[_Event] = []
    posted: list[_Event] = []
    taken = 0

    def new(packets_only: bool) -> int:
        row = idle.pop(int(rng.integers(len(idle))))
        kinds = [Kind.DATA, Kind.ACK] if packets_only else [Kind.DATA, Kind.TX_DONE, Kind.WAKE]
        part.net.rec[row, Rec.KIND] = rng.choice(kinds)
        part.net.rec[row, Rec.PORT] = rng.integers(_PORTS)
        return row

    def later(now: int, reach: int) -> int:
        return int(-(-now // _GRID_PS) + rng.integers(reach // _GRID_PS)) * _GRID_PS

    def fill(window: int, now: int) -> None:
        until = (window + 1) * _WINDOW_PS
        if idle and rng.random() < 0.3:
            row = new(packets_only=False)
            t = later(now, int(rng.choice([400, 200_000, 2_000_000])))
            _schedule(part.net, row, t)
            heapq.heappush(want, part.event(row, t))
        if idle and rng.random() < 0.7:
            row = new(packets_only=True)
            t = later(until, int(rng.choice([_WINDOW_PS, 8 * _WINDOW_PS])))
            part.post(int(rng.integers(_SENDERS)), window % 2, row, t)
            posted.append(part.event(row, t))

    for window in range(40):
        base, until = window * _WINDOW_PS, (window + 1) * _WINDOW_PS
        _gather(part.net, part.run, 1 - window % 2, base)
        want += posted
        heapq.heapify(want)
        posted.clear()
        now = base
        for _ in range(60):
            fill(window, now)
        while True:
            fill(window, now)
            row = _take(part.net, until)
            if row < 0:
                assert not want or want[0][0] >= until
                break
            t, _, first = heapq.heappop(want)
            assert (int(part.net.rec[row, Rec.TIME]), row) == (t, first)
            assert now <= t < until
            now = t
            idle.append(row)
            taken += 1
    assert taken > 1000


def test_all_buckets_hold_two_windows() -> None:
    for window_ps in (1, 600, 1024, 100_000, 1_000_000):
        bits = arrivals_bits(window_ps)
        assert BUCKETS << bits > 2 * window_ps
        assert bits == 1 or BUCKETS << (bits - 1) <= 2 * window_ps
