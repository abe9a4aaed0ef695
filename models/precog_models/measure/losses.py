"""Losses: what the packet path sees that means one, once for all that was in flight with it.

    NAK of a sequence error, of a packet in flight ─┐
    a packet in flight is sent again ───────────────┴─► sent after the last loss was told? ─► told
    RNR NAK of a packet in flight ────────────────────► what is in flight is sent again, not lost

The first sign comes a round trip after the loss, the second where no NAK comes: after a time-out,
under selective repeat, or where the response of a READ has a gap. Both are of one loss, as are all
others of packets that were in flight when it was told. So a loss needs a packet that was sent for
the first time after the last loss: a flow hears at most one in a round trip, and NAKs that are
forged can make no more, however many come.

A receiver that is not ready has lost nothing to congestion. Other NAKs end the connection.
"""

import numpy as np

from precog_spec.frames.headers import PSN_BITS

__all__ = ["Losses"]

_PSN_MASK = (1 << PSN_BITS) - 1
_PSN_HALF = 1 << (PSN_BITS - 1)
_RECOVERS, _UNTIL = range(2)


def _before(psn: int, other: int) -> bool:
    """On the circle of PSNs."""
    return (psn - other) & _PSN_MASK >= _PSN_HALF


class Losses:
    """Of all queue pairs: whether there was a loss, and which packets were not sent before it.

    Parameters
    ----------
    slots : int
        Queue pairs.
    """

    def __init__(self, slots: int) -> None:
        self._rows = np.zeros((slots, 2), dtype=np.int64)

    def passed(
        self, slot: int, psn: int, acked: int, following: int, *, lost: bool, busy: bool = False
    ) -> bool:
        """A packet of the queue pair left or came.

        Parameters
        ----------
        slot : int
        psn : int
            Of a request that leaves, or what the answer names; 24 bits.
        acked : int
            The last PSN that is acknowledged by now.
        following : int
            The PSN that is sent next for the first time.
        lost : bool
            It is a sign of a loss, and `psn` is in flight.
        busy : bool
            It is an RNR NAK of a PSN in flight.

        Returns
        -------
        bool
            Whether the loss is told.
        """
        row = self._rows[slot]
        until = int(row[_UNTIL])
        recovers = bool(row[_RECOVERS]) and _before(acked + 1, until)
        told = lost and not (recovers and _before(psn, until))
        if told or busy:
            recovers, until = True, following
        row[:] = recovers, until
        return told

    def reset(self, slot: int) -> None:
        """Another queue pair comes."""
        self._rows[slot] = 0
