"""Records of packets among partitions: each has a list of free ones, and a stock is shared.

A packet keeps its record as it crosses to another partition, so records gather where packets end.
A partition that has many gives some back to the stock; one that has none takes a portion of it.
Which record a packet has does not matter to what happens.
"""

from enum import IntEnum

from precog_sim.network.control import Cfg, Ctl, Err
from precog_sim.network.jit import inlined, outlined
from precog_sim.network.layout import Rec
from precog_sim.network.machine import lock, unlock
from precog_sim.network.net import Net, Table

__all__ = ["Stock", "allocate", "free", "give_back", "stock_words"]

_PORTION = 256
_MOST_FREE = 8 * _PORTION


class Stock(IntEnum):
    """Words of the shared stock."""

    LOCK = 0
    FRESH = 1  # the first record that was never in use
    LISTS = 2  # lists of free records
    FIRST = 8  # their first records, from here on


def stock_words(packets: int) -> int:
    """Words of the stock for a pool of `packets`."""
    return Stock.FIRST + packets // _PORTION + 1


@outlined
def _restocked(rec: Table, stock: Table, ctl: Table, rows: int) -> int:
    """A record for a packet, of a portion out of the stock; -1 and `Err.POOL`: it is empty.

    `rows` is the number of all records.
    """
    lock(stock, Stock.LOCK)
    lists = stock[Stock.LISTS]
    fresh = stock[Stock.FRESH]
    if lists > 0:
        row = stock[Stock.FIRST + lists - 1]
        stock[Stock.LISTS] = lists - 1
    else:
        row = -1
        stock[Stock.FRESH] = min(fresh + _PORTION, rows)
    unlock(stock, Stock.LOCK)
    if row >= 0:
        ctl[Ctl.FREE] = rec[row, Rec.NEXT]
        ctl[Ctl.FREE_ROWS] = _PORTION - 1
        return int(row)
    if fresh >= rows:
        ctl[Ctl.ERROR] = Err.POOL
        return -1
    ctl[Ctl.FRESH] = fresh + 1
    ctl[Ctl.LIMIT] = min(fresh + _PORTION, rows)
    return int(fresh)


@inlined
def allocate(net: Net) -> int:
    """A record for a new packet; -1 and `Err.POOL` when the pool is exhausted."""
    row = net.ctl[Ctl.FREE]
    if row >= 0:
        net.ctl[Ctl.FREE] = net.rec[row, Rec.NEXT]
        net.ctl[Ctl.FREE_ROWS] -= 1
        return int(row)
    row = net.ctl[Ctl.FRESH]
    if row >= net.ctl[Ctl.LIMIT]:
        return _restocked(net.rec, net.stock, net.ctl, net.cfg[Cfg.ROWS])
    net.ctl[Ctl.FRESH] = row + 1
    return int(row)


@inlined
def free(net: Net, row: int) -> None:
    """Give a packet's record back."""
    net.rec[row, Rec.NEXT] = net.ctl[Ctl.FREE]
    net.ctl[Ctl.FREE] = row
    net.ctl[Ctl.FREE_ROWS] += 1


@outlined
def give_back(net: Net) -> None:
    """Let others have what this partition has too many of."""
    while net.ctl[Ctl.FREE_ROWS] > _MOST_FREE:
        first = net.ctl[Ctl.FREE]
        last = first
        for _ in range(_PORTION - 1):
            last = net.rec[last, Rec.NEXT]
        net.ctl[Ctl.FREE] = net.rec[last, Rec.NEXT]
        net.ctl[Ctl.FREE_ROWS] -= _PORTION
        net.rec[last, Rec.NEXT] = -1
        lock(net.stock, Stock.LOCK)
        lists = net.stock[Stock.LISTS]
        net.stock[Stock.FIRST + lists] = first
        net.stock[Stock.LISTS] = lists + 1
        unlock(net.stock, Stock.LOCK)
