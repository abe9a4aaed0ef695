"""Which queue pairs of which guests talk to each other, from the guests' own lists.

A list names the two numbers of a connection, not the peer's address. The peer is the guest whose
list has the same connection from the other end.
"""

from collections.abc import Mapping, Sequence

from precog_host.rdma_list import RdmaQp

__all__ = ["Tie", "ties"]

#: A queue pair of a guest and the guest that has its other end.
Tie = tuple[RdmaQp, int]


def ties(lists: Mapping[int, Sequence[RdmaQp]], hub: int = 0) -> dict[int, list[Tie]]:
    """Queue pairs by guest, those left out whose other end is not known beyond doubt.

    Parameters
    ----------
    lists : mapping of int to sequence of RdmaQp
        By guest. All connections have one end at the hub, since numbers of other guests repeat.
    hub : int
    """
    found: dict[int, list[Tie]] = {guest: [] for guest in lists}
    for here in lists[hub]:
        ends = [
            (guest, there)
            for guest, qps in lists.items()
            if guest != hub
            for there in qps
            if (there.lqpn, there.rqpn) == (here.rqpn, here.lqpn)
        ]
        if len(ends) == 1:
            guest, there = ends[0]
            found[hub].append((here, guest))
            found[guest].append((there, hub))
    return found
