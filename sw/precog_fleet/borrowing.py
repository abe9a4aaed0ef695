"""Heads of neighbours: what others learned of a destination, tried in the shadow.

A report carries the reporter's own head for its destination, as the difference to a base that all
share. Taken unchecked a neighbour's head hurts more often than not; so it is a candidate as a
release is, and runs only if it beats what is live on this card's own windows.
"""

from collections.abc import Sequence

from .bodies import Report
from .seating import Seating
from .store import Store

__all__ = ["borrow", "own_head"]


def own_head(seatings: Sequence[Seating], destination: str) -> tuple[int, bytes] | None:
    """CRC-32 of the base, and the head of the first queue that leads to a destination.

    None: the base serves it.
    """
    for seating in seatings:
        observer = seating.card.observer
        if observer is not None:
            for qp, name in observer.destinations.items():
                head = seating.head(qp) if name == destination else None
                if head is not None:
                    return head
    return None


def borrow(seating: Seating, store: Store, now: int) -> bool:
    """Offer a card one neighbour's head that it has not tried; whether there was one.

    Only while nothing else stands in the shadow.
    """
    observer, lineup = seating.card.observer, seating.lineup
    if observer is None or lineup.live is None or lineup.shadow is not None:
        return False
    for qp, name in sorted(observer.destinations.items()):
        entries = {entry.record.origin: entry for entry in store.entries(f"dst/{name}")}
        # A member that always has another head to try must not keep others' from being tried.
        for origin in sorted(entries, key=lambda one: (seating.tried[one], one)):
            body = entries[origin].record.body
            if origin == seating.origin or not isinstance(body, Report):
                continue
            if body.delta and seating.borrow(now, qp, body.delta, body.base_crc):
                seating.tried[origin] += 1
                return True
    return False
