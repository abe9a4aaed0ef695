"""The block WIRE: the packets that wait for grants, and what holds or drops them.

It stands in the map of a NIC whose `NicConfig.wire` is not 0.
"""

from precog_spec.registers.common import counter_registers, window_registers
from precog_spec.registers.model import Access, Block, Field, Register, Table

__all__ = ["CELL_BYTES", "WIRE_EVENTS", "WIRE_ROW", "wire_block"]

CELL_BYTES = 128
#: Cells of a memory: it holds two of the longest packets and 8 more; their number has 16 bits.

_RO, _RW = Access.RO, Access.RW

#: (name, doc) of the 64-bit counters, in the order of `precog_hw.pace.wire_path.WIRE_EVENTS`.
WIRE_EVENTS: tuple[tuple[str, str], ...] = (
    ("stored", "packets stored"),
    ("dropped_quota", "packets dropped because their QP had no room left"),
    ("dropped_memory", "packets dropped because no cell was free"),
    ("dropped_long", "packets of a QP dropped because they are longer than any that is stored"),
    ("sent", "stored packets that left"),
    ("held", "cycles in which the input waited for room"),
    ("bypassed", "packets that are not paced"),
    ("unpaced", "stored packets that left without a grant, because their QP was not enabled"),
    ("shut", "packets that found their QP's window shut"),
    ("waits", "cycles in which a packet waited for its QP's window"),
    ("expired", "windows that opened because nothing was acknowledged for EXPIRY"),
)

#: What a queue pair has in the memory.
WIRE_ROW: tuple[Register, ...] = tuple(
    Register(name.upper(), doc, (Field(name, 32, _RO, doc, unit=unit),))
    for name, doc, unit in (
        ("packets", "Packets that wait.", ""),
        ("own", "Cells of its quota in use.", "cells"),
        ("borrowed", "Cells beyond it.", "cells"),
        ("queued", "Bytes that wait.", "bytes"),
        ("drops", "Packets dropped since reset; wraps.", ""),
    )
)


def wire_block(cells: int) -> Block:
    """The block.

    Parameters
    ----------
    cells : int
        Cells of the memory.
    """
    return Block(
        "WIRE",
        "Packets of enabled QPs wait here for their grants, in one memory of linked cells.",
        id=0x42,
        version=(1, 1),
        registers=(
            *window_registers(
                "QP slot; with the number of slots added, its answers if it has windows",
                (("fetch", "Copy its row here."),),
                "a QP",
            ),
            *WIRE_ROW,
            Register(
                "MEMORY",
                "How large it is.",
                (
                    Field("cells", 16, _RO, "Cells.", reset=cells, unit="cells"),
                    Field("cell_bytes", 16, _RO, "Size.", lsb=16, reset=CELL_BYTES, unit="bytes"),
                ),
                constant=True,
            ),
            Register(
                "CONTROL",
                "Packets in the memory, and those lost.",
                (
                    Field("hold", 1, _RW, "What has no room holds the input; else it is dropped."),
                    Field(
                        "acks_pass",
                        1,
                        _RW,
                        "Acknowledgements pass by. Only for QPs that answer no READ: they would "
                        "overtake its responses.",
                        lsb=1,
                    ),
                ),
            ),
            Register(
                "QUOTA",
                "Cells that a QP may hold; with a receiver RECEIVER.QUOTA counts, of each QP.",
                (Field("quota", 16, _RW, "Quota.", reset=min(64, cells), unit="cells"),),
            ),
            Register(
                "LIMIT",
                "Cells that all QPs together may hold beyond their quotas. At reset half of the "
                "memory: a burst of one QP may take that and its quota, and the rest is for "
                "others.",
                (Field("limit", 16, _RW, "Limit.", reset=cells // 2, unit="cells"),),
            ),
            Register(
                "USE",
                "Cells now.",
                (
                    Field("free", 16, _RO, "Free.", reset=cells, unit="cells"),
                    Field("shared", 16, _RO, "Beyond quotas.", lsb=16, unit="cells"),
                ),
            ),
            Register(
                "EXPIRY",
                "When a window that is shut opens without an acknowledgement: what is in flight "
                "counts as gone after this time, at the latest after twice as much.",
                (Field("expiry", 32, _RW, "Time.", reset=1_000_000, unit="ticks"),),
            ),
        ),
        tables=(
            Table(
                "COUNTERS",
                "Events since reset, as of the last COUNTERS.COMMAND.snapshot: "
                + "; ".join(f"{n} {name}" for n, (name, _) in enumerate(WIRE_EVENTS)),
                counter_registers(),
                count=len(WIRE_EVENTS),
            ),
        ),
    )
