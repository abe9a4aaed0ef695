"""Wire mode between an endpoint and its card, golden: packets wait for rate and window.

Pacer and packet store are the golden models; this is who calls them when: a request as soon as a
queue has a first packet, a grant as soon as somebody is ready, a FIRE when one is due, and, while
somebody's window is shut, EXPIRE of all once in a period, as the gateware does.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import NamedTuple

from precog_models.pace.pacer import Pacer, State
from precog_models.store.packet_store import Outcome, PacketStore
from precog_models.store.packet_store import Packet as Stored
from precog_spec.contract import PRIORITIES, TICK_FRAC_BITS, Fmt
from precog_spec.frames.opcodes import ACKNOWLEDGES, RELIABLE_REQUESTS

from .frames import Packet

__all__ = ["Waiting", "WaitingSettings"]

_MTU_LOG2 = 2  # 1024 bytes, as `Pacer.configure` has it
_CELL, _LONGEST, _OVERHEAD = 128, 4608, 24
_FINE, _WRAP = 1 << TICK_FRAC_BITS, 1 << Fmt.TIME.width


@dataclass(frozen=True)
class WaitingSettings:
    """Of all queue pairs, but for the windows."""

    windows: Sequence[int]  # bytes, by slot; 0: no limit
    expiry: int = 40_000  # ticks
    quota: int = 400  # cells of each queue


class _Frame(NamedTuple):
    packet: Packet
    frame: bytes


class Waiting:
    """The packets that wait on one side.

    Parameters
    ----------
    settings : WaitingSettings
    at : callable
        Has something done at a time.
    leave : callable
        A packet leaves: slot, it, its frame, time.
    rate : callable
        What the law allows a slot, in RATE's format.

    Attributes
    ----------
    pacer : Pacer
    dropped, shut, expired : int
        Packets without room, that found their window shut; windows that opened by time.
    on_expiry : callable
        Told of the slot whose window does.
    """

    def __init__(
        self,
        settings: WaitingSettings,
        at: Callable[[int, Callable[[int], None]], None],
        leave: Callable[[int, Packet, bytes, int], object],
        rate: Callable[[int], int],
        on_expiry: Callable[[int, int], None],
    ) -> None:
        self._settings, self._at, self._leave, self._rate = settings, at, leave, rate
        self._on_expiry = on_expiry
        qps = len(settings.windows)
        self.pacer = Pacer(qps, overhead=_OVERHEAD, whole=True)
        self._store = PacketStore(2 * qps, _CELL, _LONGEST)
        self._queues: list[deque[_Frame]] = [deque() for _ in range(2 * qps)]
        self._cells = count()
        self._rates = [-1] * qps
        self._sweeps = False
        self.dropped = self.shut = self.expired = 0
        for slot, window in enumerate(settings.windows):
            self.pacer.configure(slot, 0, _MTU_LOG2, 0)
            self.pacer.limit(slot, window, 0)

    def put(self, slot: int, packet: Packet, frame: bytes, t: int) -> None:
        """A packet of the endpoint."""
        queue = slot + len(self._rates) * (packet.opcode in ACKNOWLEDGES)
        stored = Stored(next(self._cells), len(frame))
        done = self._store.append(queue, stored, quota=self._settings.quota, limit=0)
        if done is not Outcome.STORED:
            self.dropped += 1
            return
        self._queues[queue].append(_Frame(packet, frame))
        if len(self._queues[queue]) == 1:
            self._ask(queue, t)
        self._serve(t)

    def acknowledged(self, slot: int, psn: int, t: int) -> None:
        """All before `psn` has arrived."""
        self.pacer.acknowledge(slot, psn, t)
        self._serve(t)

    def idle(self) -> bool:
        """Nothing waits."""
        return not any(self._queues)

    def _ask(self, queue: int, t: int) -> None:
        answers, slot = divmod(queue, len(self._rates))
        packet, frame = self._queues[queue][0]
        counts = packet.opcode in RELIABLE_REQUESTS
        self.pacer.packet(
            slot, len(frame), t % _WRAP, psn=packet.psn, counts=counts, answers=bool(answers)
        )
        self._look(slot, t)

    def _look(self, slot: int, t: int) -> None:
        """Count a packet that its window holds, and see to it that windows open by time."""
        if self.pacer.rows[slot].shut:
            self.shut += 1
            if not self._sweeps:
                self._sweeps = True
                self._at(t + self._settings.expiry, self._sweep)

    def _sweep(self, t: int) -> None:
        rows = self.pacer.rows
        for slot, row in enumerate(rows):
            if row.stale:
                self.expired += 1
                self._on_expiry(slot, row.next)
            self.pacer.expire(slot, t)
        self._serve(t)
        self._sweeps = any(row.shut for row in rows)
        if self._sweeps:
            self._at(t + self._settings.expiry, self._sweep)

    def _serve(self, t: int) -> None:
        """All grants that there are now."""
        pacer = self.pacer
        for slot, old in enumerate(self._rates):
            rate = self._rate(slot)
            if rate != old and pacer.set_rate(slot, rate, t):
                self._rates[slot] = rate
                if pacer.rows[slot].changed and pacer.retime(slot)[1]:
                    self._wait(slot)
        for priority in reversed(range(PRIORITIES)):
            while pacer.ready[priority]:
                slot = pacer.ready[priority][0]
                grant = pacer.grant(slot, priority, t)
                if grant is None:
                    continue
                queue = slot + len(self._rates) * grant.answers
                self._store.pop(queue)
                packet, frame = self._queues[queue].popleft()
                pacer.charge(slot, t)
                if pacer.rows[slot].state is State.WAITING:
                    self._wait(slot)
                self._leave(slot, packet, frame, t)
                if self._queues[queue]:
                    self._store.advance(queue)
                    self._ask(queue, t)

    def _wait(self, slot: int) -> None:
        self._at(-(-self.pacer.rows[slot].due // _FINE), partial(self._fire, slot))

    def _fire(self, slot: int, t: int) -> None:
        """It may have been retimed since, or have fired."""
        row = self.pacer.rows[slot]
        if row.state is State.WAITING:
            self.pacer.fire(slot, t)
            if row.state is State.WAITING:
                self._wait(slot)
        self._serve(t)
