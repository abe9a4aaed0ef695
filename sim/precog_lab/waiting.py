"""Wire mode at a golden card: a guest's packets wait there as the rate of its law says.

The golden pacer and packet store do the work (`precog_sim.backtoback.waiting`). In RTL both are in
the card itself.
"""

from collections.abc import Callable

from precog_sim.backtoback.frames import Packet
from precog_sim.backtoback.waiting import Waiting, WaitingSettings

from .cards import GoldenCard
from .roce import request

__all__ = ["Queues"]

_QUOTA = 16_384  # cells of each queue: an endpoint's whole window


class Queues:
    """Packets that wait at one card.

    Parameters
    ----------
    card : GoldenCard
    at : callable
        Has something done at a time, in ticks.
    leave : callable
        A packet leaves: the guest that it is for, its frame, the time.
    """

    def __init__(
        self,
        card: GoldenCard,
        at: Callable[[int, Callable[[int], None]], None],
        leave: Callable[[int, bytes, int], object],
    ) -> None:
        self._card = card
        slots = card.device.sizes.qps
        self._for: dict[int, int] = {}  # by slot: the guest at the other end
        self.waiting = Waiting(
            WaitingSettings([0] * slots, quota=_QUOTA),
            at,
            lambda slot, packet, frame, t: leave(self._for[slot], frame, t),
            card.rate,
            lambda slot, psn: None,
        )

    def put(self, destination: int, frame: bytes, t: int) -> bool:
        """Take a guest's frame, if it belongs to a queue pair of the card."""
        found = request(frame)
        slot = None if found is None else self._card.slot_of(frame, found.dest_qp)
        if found is None or slot is None:
            return False
        self._for[slot] = destination
        self.waiting.put(slot, Packet(found.opcode, found.dest_qp, found.psn), frame, t)
        return True
