"""The block TRACE: records of decisions, receiver's actions, forecasts, programs, in batches.

It stands in the map of a NIC with `NicConfig.trace`. A record's layout is the contract's; its
number of words is compared by a test.
"""

from precog_spec.registers.common import counter_registers
from precog_spec.registers.model import Access, Block, Field, Register, Table

__all__ = [
    "TRACE_BATCH",
    "TRACE_DEPTH",
    "TRACE_EVENTS",
    "TRACE_FILTER",
    "TRACE_FORECASTS_FROM",
    "TRACE_KINDS",
    "TRACE_PROGRAMS_FROM",
    "trace_block",
]

_RO, _RW, _PULSE = Access.RO, Access.RW, Access.PULSE

TRACE_DEPTH = 512  #: records that fit
TRACE_BATCH = 32  #: of them the oldest, in the window
_WORDS = 8

#: Kinds of records, in the order of their numbers.
TRACE_KINDS = ("decision", "receiver", "forecast", "program")

#: The block's minor version from which on devices with forecasts record them.
TRACE_FORECASTS_FROM = 1
#: As above, with a law engine: its programs' decisions.
TRACE_PROGRAMS_FROM = 2

#: (name, doc) of the 64-bit counters, in table order.
TRACE_EVENTS: tuple[tuple[str, str], ...] = (
    ("recorded", "records kept"),
    ("filtered", "records that the filter does not want"),
    ("overflowed", "records that found no room and are lost"),
)

#: What is recorded.
TRACE_FILTER: tuple[Register, ...] = (
    Register(
        "FILTER",
        "Kinds that are recorded; none after reset.",
        (
            *(
                Field(f"{name}s", 1, _RW, f"Records of kind {name}.", lsb=n)
                for n, name in enumerate(TRACE_KINDS)
            ),
            Field("one_qp", 1, _RW, "Only those of the QP that QP names.", lsb=16),
        ),
    ),
    Register("QP", "The QP slot of FILTER.one_qp.", (Field("qp", 16, _RW, "QP slot."),)),
    Register(
        "EVERY",
        "Thins what the filter wants, all kinds together.",
        (Field("every", 16, _RW, "Every so manieth is recorded; 0 and 1: all.", reset=1),),
    ),
)


def trace_block() -> Block:
    """The block."""
    return Block(
        "TRACE",
        "Records wait in a FIFO until the host pops them: read STATE.level, then this many entries "
        "of RECORDS, then pop them. What finds no room is counted and lost; nothing ever waits.",
        id=0x40,
        version=(1, TRACE_PROGRAMS_FROM),
        registers=(
            *TRACE_FILTER,
            Register(
                "THRESHOLD",
                "When the host wants to be told.",
                (
                    Field(
                        "threshold",
                        16,
                        _RW,
                        "STATE.reached is up at this many records and more; 0: never.",
                        unit="records",
                    ),
                ),
                affects=("TRACE.STATE",),
            ),
            Register(
                "COMMAND",
                "What the host has done with.",
                (
                    Field("pop", 16, _PULSE, "Forget this many of the oldest records, or all."),
                    Field("clear", 1, _PULSE, "Forget all records.", lsb=31),
                ),
            ),
            Register(
                "STATE",
                "Records in the FIFO.",
                (
                    Field("level", 16, _RO, "Records in the FIFO.", unit="records"),
                    Field(
                        "reached",
                        1,
                        _RO,
                        "THRESHOLD is reached: INTERRUPT.CAUSE.trace.",
                        lsb=16,
                    ),
                ),
            ),
        ),
        tables=(
            Table(
                "RECORDS",
                "The oldest records, the first one first; 0 where there is none.",
                tuple(
                    Register(f"WORD{n}", f"Word {n}.", (Field(f"word{n}", 32, _RO, "32 bits."),))
                    for n in range(_WORDS)
                ),
                count=TRACE_BATCH,
            ),
            Table(
                "COUNTERS",
                "Events since reset, as of the last COUNTERS.COMMAND.snapshot: "
                + "; ".join(f"{n} {name}" for n, (name, _) in enumerate(TRACE_EVENTS)),
                counter_registers(),
                count=len(TRACE_EVENTS),
            ),
        ),
    )
