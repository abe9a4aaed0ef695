"""The snapshot: one write keeps all 64-bit counters of a device, and their tables show that."""

from precog_spec.registers.model import Access, Field, Register

__all__ = ["counter_tables", "snapshot_registers"]

#: Field of `NicConfig` ("" for every device), and the tables of counters where it is set.
_TABLES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ("COUNTERS.COUNTERS",)),
    ("grants", ("PACER.COUNTERS",)),
    ("profile", ("PROFILER.COUNTERS",)),
    ("forecast", ("FORECAST.COUNTERS",)),
    ("width", ("PACKET_COUNTERS.TX", "PACKET_COUNTERS.RX", "PACKET_COUNTERS.EVENTS")),
    ("receiver", ("RECEIVER.COUNTERS",)),
    ("senders", ("SENDERS.COUNTERS",)),
    ("trace", ("TRACE.COUNTERS",)),
    ("wire", ("WIRE.COUNTERS",)),
    ("ecc", ("ECC.COUNTERS",)),
    ("law_cores", ("LAW.COUNTERS",)),
    ("macs", ("MAC.COUNTERS",)),
)


def counter_tables(sizes: object) -> tuple[str, ...]:
    """Tables of 64-bit counters that a device of this `NicConfig` has, as ``BLOCK.TABLE``."""
    return tuple(
        name for part, names in _TABLES if not part or getattr(sizes, part) for name in names
    )


def snapshot_registers(sizes: object) -> tuple[Register, ...]:
    """COMMAND and STATE of the block COUNTERS.

    Parameters
    ----------
    sizes : NicConfig
    """
    return (
        Register(
            "COMMAND",
            "Wait until STATE.busy is 0, before the write and after it.",
            (
                Field(
                    "snapshot",
                    1,
                    Access.PULSE,
                    "Keep all 64-bit counters of the device as they are at this moment, but for "
                    "PACKET.CLOCK. While busy it is ignored.",
                ),
            ),
            affects=counter_tables(sizes),
        ),
        Register(
            "STATE",
            "What is known of the last snapshot.",
            (
                Field("busy", 1, Access.RO, "It is not complete: counters read anything."),
                Field(
                    "idle",
                    1,
                    Access.RO,
                    "When it was taken, every sample and every event that was counted had had its "
                    "decision, or was dropped or ignored.",
                    lsb=1,
                    reset=1,
                ),
            ),
            volatile=True,
        ),
    )
