"""The block MAC: what the Gigabit ports of a board count."""

from precog_spec.registers.common import counter_registers
from precog_spec.registers.model import Block, Table

__all__ = ["MAC_EVENTS", "mac_block"]


#: What each port counts, in table order: name, meaning.
MAC_EVENTS: tuple[tuple[str, str], ...] = (
    ("received", "frames that came undamaged"),
    ("runt", "frames shorter than 64 bytes with their FCS"),
    ("oversize", "frames longer than the longest, cut off there"),
    ("damaged", "frames with a wrong FCS or a PHY's error"),
    ("dropped", "frames that found no room, or not for all of them"),
    ("underrun", "frames whose next byte was not there in time"),
)


def mac_block(macs: int) -> Block:
    """The block of a device with this many ports."""
    return Block(
        "MAC",
        "Ports between the NIC and Gigabit lines: with two, the host's and then the network's; one "
        "is the network's.",
        id=0x46,
        version=(1, 0),
        registers=(),
        tables=(
            Table(
                "COUNTERS",
                "As of the last COUNTERS.COMMAND.snapshot. "
                f"Of each port {len(MAC_EVENTS)}: "
                + "; ".join(f"{n} {name}, {doc}" for n, (name, doc) in enumerate(MAC_EVENTS)),
                counter_registers(),
                count=macs * len(MAC_EVENTS),
            ),
        ),
    )
