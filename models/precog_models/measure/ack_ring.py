"""Round trips of single packets, and the bytes that acknowledgements newly acknowledge.

A ring of each queue pair holds its packets in flight, each at the place that the low bits of its
PSN name. An older packet in flight keeps its place, and the newer one is not timed: with more
packets in flight than the ring has places, the oldest are timed. Bytes are counted up to each timed
packet, so that the bytes of a packet without a place are told with the next one that has one.

    sent      new PSN, place free ─► time it, and note the bytes up to its end
              PSN sent before     ─► forget it: Karn's rule
    answered  a plain ACK of a PSN that no ACK has reached, and that is timed ─► `Ack`

The RTT collector says which PSNs are new, and which acknowledgements count. A round trip that RTT
cannot hold is not told; nor is one that ends before it began.
"""

from typing import NamedTuple

import numpy as np

from precog_spec.contract import Fmt
from precog_spec.frames.headers import PSN_BITS
from precog_spec.law_fields import RING_STAMP_BITS

__all__ = ["Ack", "AckRing"]

_PSN_MASK = (1 << PSN_BITS) - 1
_BYTES_MASK = (1 << 32) - 1
_STAMP_MASK = (1 << RING_STAMP_BITS) - 1
_VALID, _PSN, _T0, _SENT = range(4)
_BYTES, _BASE, _MARKED = range(3)


class Ack(NamedTuple):
    """What a law hears of an acknowledgement, `law_fields.ACK_FIELDS` without queue pair and t."""

    rtt: int
    bytes: int
    marked: int
    seq: int
    next: int


class AckRing:
    """Rings of all queue pairs.

    Parameters
    ----------
    slots : int
        Queue pairs.
    places : int
        Of each ring, a power of two.
    """

    def __init__(self, slots: int, places: int) -> None:
        self._ring = np.zeros((slots, places, 4), dtype=np.int64)
        self._rows = np.zeros((slots, 3), dtype=np.int64)
        self._listens = [False] * slots
        self._places = places

    def listen(self, slot: int, *, on: bool) -> None:
        """Whether the queue pair's acknowledgements are told; at first none is."""
        self._listens[slot] = on

    def sent(self, slot: int, psn: int, payload: int, t: int, *, new: bool, acked: int) -> None:
        """A request leaves.

        Parameters
        ----------
        slot : int
        psn : int
            Its first PSN, 24 bits.
        payload : int
            Its bytes of payload.
        t : int
            T0, ticks.
        new : bool
            The PSN was not sent before.
        acked : int
            The last PSN that is acknowledged.
        """
        row, place = self._rows[slot], self._ring[slot, psn % self._places]
        if not new:
            if place[_PSN] == psn:
                place[_VALID] = 0
            return
        row[_BYTES] = (row[_BYTES] + payload) & _BYTES_MASK
        flying = ((psn - 1 - acked) & _PSN_MASK) > ((psn - 1 - place[_PSN]) & _PSN_MASK)
        if not (place[_VALID] and flying):
            place[:] = 1, psn, t & _STAMP_MASK, row[_BYTES]

    def answered(
        self,
        slot: int,
        psn: int,
        t: int,
        turnaround: int,
        floor: int,
        *,
        marked: bool,
        following: int,
    ) -> Ack | None:
        """A plain ACK comes that acknowledges `psn`, for the first time.

        Parameters
        ----------
        slot : int
        psn : int
            24 bits.
        t : int
            T3, ticks.
        turnaround : int
            T2 - T1 in ticks, negative if unknown.
        floor : int
            Ticks that a round trip is longer than, or T2 - T1 is refused.
        marked : bool
            It echoes a congestion mark.
        following : int
            The PSN that is sent next.
        """
        row, place = self._rows[slot], self._ring[slot, psn % self._places]
        row[_MARKED] |= marked and self._listens[slot]
        elapsed = (t - int(place[_T0])) & _STAMP_MASK
        if not place[_VALID] or place[_PSN] != psn or elapsed > Fmt.RTT.max:
            return None
        if turnaround >= 0 and elapsed - turnaround > floor:
            elapsed -= turnaround
        new = int(place[_SENT] - row[_BASE]) & _BYTES_MASK
        if new >> 31:
            new = 0
        row[_BASE] = (row[_BASE] + new) & _BYTES_MASK
        if not self._listens[slot]:
            return None
        told, row[_MARKED] = int(row[_MARKED]), 0
        return Ack(max(elapsed, 1), new, told, (psn + 1) & _PSN_MASK, following)

    def reset(self, slot: int) -> None:
        """What is in flight, and marks that were not told yet, are told of no more."""
        row = self._rows[slot]
        row[_BASE], row[_MARKED] = row[_BYTES], 0
