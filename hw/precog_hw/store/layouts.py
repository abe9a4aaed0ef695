"""What the packet store is made of: its sizes, its rows, and what happens to them."""

from dataclasses import dataclass

from amaranth.hdl import unsigned
from amaranth.lib import data, enum
from amaranth.utils import exact_log2

from precog_hw.pace.layouts import GRANT_MAX, SIZE_BITS
from precog_hw.stream.packet import USER, beat_layout

__all__ = [
    "DROPS_BITS",
    "EventKind",
    "Outcome",
    "StoreConfig",
    "cells_layout",
    "commit_layout",
    "event_layout",
    "following_layout",
    "leaving_layout",
    "quota_layout",
    "row_layout",
    "size_layout",
]

DROPS_BITS = 32


@dataclass(frozen=True)
class StoreConfig:
    """Sizes of a packet store.

    Parameters
    ----------
    qps : int
        Queues, a power of two, 2 or more.
    width : int
        Bits in a beat.
    cells : int
        Cells of the memory, a power of two; twice the longest packet and 8 more at least.
    cell_bytes : int
        Bytes of a cell, a power of two, two beats or more.
    longest : int
        Bytes of the longest packet that is stored, a multiple of `cell_bytes`, up to 8191.
    label : int
        Bits that come with a packet and are told with its request.

    Raises
    ------
    ValueError
        A size is not as above.
    """

    qps: int = 1024
    width: int = 64
    cells: int = 1024
    cell_bytes: int = 128
    longest: int = 4608
    label: int = 0

    def __post_init__(self) -> None:
        beat_layout(self.width)  # refuses a width that there is not
        for name, least in (("qps", 2), ("cell_bytes", self.width // 4), ("cells", 2)):
            value = getattr(self, name)
            if value < least or value & (value - 1):
                raise ValueError(f"{name} must be a power of two, {least} or more, not {value!r}")
        if not 0 < self.longest <= GRANT_MAX or self.longest % self.cell_bytes:
            raise ValueError(
                f"longest must be a multiple of cell_bytes ({self.cell_bytes}) up to {GRANT_MAX}, "
                f"not {self.longest!r}"
            )
        if self.cells < 2 * self.most + 8:
            raise ValueError(
                f"cells must be {2 * self.most + 8} or more for packets of {self.longest} bytes, "
                f"not {self.cells!r}"
            )

    @property
    def most(self) -> int:
        """Cells of the longest packet."""
        return self.longest // self.cell_bytes

    @property
    def beats(self) -> int:
        """Beats of a cell."""
        return self.cell_bytes * 8 // self.width

    @property
    def cell_bits(self) -> int:
        """Bits of a cell's number."""
        return int(exact_log2(self.cells))

    @property
    def count_bits(self) -> int:
        """Bits of a number of cells, or of packets."""
        return self.cell_bits + 1

    @property
    def queued_bits(self) -> int:
        """Bits of the bytes that a queue has."""
        return self.count_bits + int(exact_log2(self.cell_bytes))


class EventKind(enum.IntEnum, shape=3):  # type: ignore[call-arg]
    """What may happen to a queue."""

    APPEND = 0  # a packet came to its end at the input
    POP = 1  # the first packet was granted
    HEAD = 2  # the one behind it is the first now
    ASK = 3  # the pacer has forgotten what was asked for
    READ = 4  # the host looks


class Outcome(enum.IntEnum, shape=3):  # type: ignore[call-arg]
    """What became of a packet; before it is appended, what it can become at most."""

    STORED = 0
    WAITS = 1  # it is over its quota and offered again
    QUOTA = 2  # it is over its quota and dropped
    MEMORY = 3  # dropped: no cell was free
    LONG = 4  # dropped: longer than any that is stored


def row_layout(config: StoreConfig) -> data.StructLayout:
    """A queue. Beyond `packets`, `own`, `borrowed`, `queued`, `drops` it is of the first packet."""
    cell, count = config.cell_bits, config.count_bits
    return data.StructLayout(
        {
            "packets": unsigned(count),
            "own": unsigned(count),  # cells within the quota
            "borrowed": unsigned(count),  # cells of the part that all share
            "queued": unsigned(config.queued_bits),  # bytes
            "drops": unsigned(DROPS_BITS),  # packets, wraps
            "tail": unsigned(cell),  # first cell of the last packet
            "head": unsigned(cell),  # first cell of the first packet
            "bytes": unsigned(SIZE_BITS),
            "cells": unsigned(count),
            "label": unsigned(config.label),
        }
    )


def event_layout(config: StoreConfig) -> data.StructLayout:
    """What happens to a queue; from `cell` on of a packet."""
    return data.StructLayout(
        {
            "kind": EventKind,
            "qp": exact_log2(config.qps),
            "cell": unsigned(config.cell_bits),  # its first
            "cells": unsigned(config.count_bits),
            "bytes": unsigned(SIZE_BITS),
            "outcome": Outcome,
            "may_wait": unsigned(1),
            "label": unsigned(config.label),
        }
    )


def commit_layout(config: StoreConfig) -> data.StructLayout:
    """An event that took effect, what was true at the time, and the row that it left."""
    return data.StructLayout(
        {
            "event": event_layout(config),
            "quota": unsigned(config.count_bits),
            "limit": unsigned(config.count_bits),
            "shared": unsigned(config.count_bits),  # borrowed by all queues, after it
            "row": row_layout(config),
        }
    )


def size_layout(config: StoreConfig) -> data.StructLayout:
    """A queue, and bytes and label of its first packet."""
    return data.StructLayout(
        {
            "qp": exact_log2(config.qps),
            "size": unsigned(SIZE_BITS),
            "label": unsigned(config.label),
        }
    )


def quota_layout(config: StoreConfig) -> data.StructLayout:
    """A queue's quota in cells; 0: the default."""
    return data.StructLayout({"qp": exact_log2(config.qps), "quota": unsigned(config.count_bits)})


def following_layout(config: StoreConfig) -> data.StructLayout:
    """The packet behind another one."""
    return data.StructLayout(
        {
            "qp": exact_log2(config.qps),
            "cell": unsigned(config.cell_bits),
            "bytes": unsigned(SIZE_BITS),
            "label": unsigned(config.label),
        }
    )


def cells_layout(config: StoreConfig) -> data.StructLayout:
    """Some linked cells."""
    return data.StructLayout(
        {"cell": unsigned(config.cell_bits), "cells": unsigned(config.count_bits)}
    )


def leaving_layout(config: StoreConfig) -> data.StructLayout:
    """A packet that leaves."""
    return data.StructLayout(
        {
            "cell": unsigned(config.cell_bits),
            "bytes": unsigned(SIZE_BITS),
            "user": USER,
        }
    )
