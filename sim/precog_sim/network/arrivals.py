"""Packets that arrive in the present window, sorted before it begins.

What is on its way for a window or longer is known when the window begins. It is then sorted by
time in one go: by buckets, then by insertion. Sorting goes through memory in order, as a list of
the wheel does not, and it is known early what the next packets will touch.

All else, timers and packets on short links, is in the wheel. `take` merges the two.
"""

from precog_sim.network.ahead import ask
from precog_sim.network.control import Cfg, Ctl
from precog_sim.network.jit import inlined, outlined
from precog_sim.network.layout import NEVER
from precog_sim.network.machine import prefetch
from precog_sim.network.memory import LINE
from precog_sim.network.net import Net
from precog_sim.network.wheel import pop, schedule

__all__ = ["BUCKETS", "SPARE", "arrivals_bits", "gather", "take"]

BUCKETS = 2048  #: that the packets of two windows are sorted into
SPARE = 32  #: entries behind the last one, which may be asked for
_FAR, _NEAR = 12, 6  # entries ahead: a record is asked for, and what it names
_ROW_BITS = 32
_ROW_MASK = (1 << _ROW_BITS) - 1


def arrivals_bits(window_ps: int) -> int:
    """Binary logarithm of the picoseconds in a bucket: all of them hold two windows."""
    return max((2 * window_ps // BUCKETS).bit_length(), 1)


@inlined
def _shelve(net: Net, n: int, room: int, t: int, word: int, base: int) -> int:
    """Make an arrival entry `n` of those to be sorted, or schedule it. Returns their number."""
    slot = (t - base) >> net.cfg[Cfg.ARRIVAL_BITS]
    if slot >= BUCKETS or n >= room:
        schedule(net, word & _ROW_MASK, t)
        return n
    net.unsorted[n, 0] = t
    net.unsorted[n, 1] = word
    net.tally[slot] += 1
    return n + 1


@inlined
def _scatter(net: Net, n: int, base: int) -> None:
    """Copy `n` entries into the order of their buckets."""
    first = 0
    slot = 0
    while first < n:
        count = net.tally[slot]
        net.tally[slot] = first
        first += count
        slot += 1
    for k in range(n):
        at = (net.unsorted[k, 0] - base) >> net.cfg[Cfg.ARRIVAL_BITS]
        place = net.tally[at]
        net.tally[at] = place + 1
        net.arrivals[place, 0] = net.unsorted[k, 0]
        net.arrivals[place, 1] = net.unsorted[k, 1]
    for k in range(slot):
        net.tally[k] = 0


@inlined
def _insert(net: Net, n: int) -> None:
    """Sort `n` entries that are nearly in order, by time and port."""
    before, before_word = net.arrivals[0, 0], net.arrivals[0, 1]
    for k in range(1, n):
        t, word = net.arrivals[k, 0], net.arrivals[k, 1]
        if before < t or (before == t and before_word < word):
            before, before_word = t, word
            continue
        at = k
        while at > 0 and (
            net.arrivals[at - 1, 0] > t
            or (net.arrivals[at - 1, 0] == t and net.arrivals[at - 1, 1] > word)
        ):
            net.arrivals[at, 0] = net.arrivals[at - 1, 0]
            net.arrivals[at, 1] = net.arrivals[at - 1, 1]
            at -= 1
        net.arrivals[at, 0] = t
        net.arrivals[at, 1] = word


@outlined
def gather(net: Net, run: Net, k: int, parity: int, base: int) -> None:
    """Sort what partitions put down for partition `k`, and what it has left of the last window.

    Nothing of that is due before `base` ps.
    """
    room = run.unsorted.shape[1]
    n = 0
    for at in range(net.ctl[Ctl.ARRIVAL], net.ctl[Ctl.ARRIVALS]):
        n = _shelve(net, n, room, net.arrivals[at, 0], net.arrivals[at, 1], base)
    for sender in range(run.ctl.shape[0]):
        first = run.places[sender, k]
        for at in range(first, first + run.posted[parity, sender, k]):
            n = _shelve(net, n, room, run.outbox[parity, at, 0], run.outbox[parity, at, 1], base)
        run.posted[parity, sender, k] = 0
    if n > 0:
        _scatter(net, n, base)
        _insert(net, n)
    net.arrivals[n, 0] = NEVER
    net.ctl[Ctl.ARRIVAL] = 0
    net.ctl[Ctl.ARRIVALS] = n


@inlined
def take(net: Net, until: int) -> int:
    """The record that is due next, taken out; -1: nothing is due before `until` ps."""
    at = net.ctl[Ctl.ARRIVAL]
    t = net.arrivals[at, 0]
    row = net.arrivals[at, 1] & _ROW_MASK
    if t >= until:
        t = until
        row = -1
    if t >= net.ctl[Ctl.SOON]:
        other = pop(net, t, row)
        if other >= 0:
            return int(other)
    if row < 0:
        return -1
    net.ctl[Ctl.ARRIVAL] = at + 1
    far = net.arrivals[at + _FAR, 1]
    prefetch(net.rec, (far & _ROW_MASK) * LINE)
    ask(net, net.arrivals[at + _NEAR, 1] & _ROW_MASK)
    return int(row)
