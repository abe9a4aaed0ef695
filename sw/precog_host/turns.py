"""Turns at a shared device: one client at a time, in the order in which they came.

While no other waits, a client keeps the device as long as it likes. While others wait it loses the
device after a silence of `hold_s`, and after `turn_s` in any case; then it stands at the end of the
queue. So neither a dead client nor one that sends a datagram now and then shuts others out.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

__all__ = ["HOLD_S", "TURN_S", "Turns"]

HOLD_S = 0.4  #: silence that costs a client the device, if another waits
TURN_S = 10.0  #: seconds that a client keeps it while another waits

_WAITING_S = 0.5  # a client that waits asks more often than this, or has gone
_MOST_WAITING = 32  # clients in the queue; more are told to wait, but keep no place
_MOST_LOST = 256  # clients remembered as having lost the device


class Turns:
    """The device's holder and the queue behind it.

    Parameters
    ----------
    hold_s, turn_s : float
        Seconds of silence, and of a whole turn, after which the device goes to one that waits.
    clock : callable
        Seconds that never go back.
    """

    def __init__(
        self,
        hold_s: float,
        turn_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hold, self._turn, self._clock = hold_s, turn_s, clock
        self._since = self._seen = 0.0
        self._waiting: OrderedDict[Hashable, float] = OrderedDict()  # and when each asked last
        self._lost: OrderedDict[Hashable, None] = OrderedDict()
        #: The client that has the device.
        self.holder: Hashable | None = None
        #: Turns that ended because others waited.
        self.taken = 0

    def ask(self, client: Hashable) -> bool:
        """Whether `client` has the device now; otherwise it waits.

        A client that lost the device is refused once before it gets the device again, so that it
        knows.
        """
        now = self._clock()
        self._forget_the_gone(now)
        if client == self.holder and self._waiting and now - self._since > self._turn:
            self._take_away()
        if client == self.holder:
            self._seen = now
            return True
        if client in self._lost:
            del self._lost[client]
            self._wait(client, now)
            return False
        self._wait(client, now)
        if self.holder is not None and self._overdue(now):
            self._take_away()
        if self.holder is not None or next(iter(self._waiting), client) != client:
            return False
        self._waiting.pop(client, None)
        self.holder = client
        self._since = self._seen = now
        return True

    def leave(self, client: Hashable) -> bool:
        """Take the device from `client`, which is done; whether it had it."""
        self._waiting.pop(client, None)
        self._lost.pop(client, None)
        if client != self.holder:
            return False
        self.holder = None
        return True

    def _overdue(self, now: float) -> bool:
        return now - self._seen > self._hold or now - self._since > self._turn

    def _take_away(self) -> None:
        self._lost[self.holder] = None
        while len(self._lost) > _MOST_LOST:
            self._lost.popitem(last=False)
        self.holder = None
        self.taken += 1

    def _wait(self, client: Hashable, now: float) -> None:
        if client in self._waiting or len(self._waiting) < _MOST_WAITING:
            self._waiting[client] = now

    def _forget_the_gone(self, now: float) -> None:
        for client, asked in list(self._waiting.items()):
            if now - asked > _WAITING_S:
                del self._waiting[client]
