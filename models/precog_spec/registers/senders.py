"""The block SENDERS: how many queue pairs send to this card, and what shims say of it.

It stands in the map of a NIC with `NicConfig.senders`. Numbers that the golden model owns are
compared with it by a test.
"""

from precog_spec.frames.cps import EPOCH_LEAST, HOLD_STEP, SHIM
from precog_spec.registers.common import counter_registers, ticks_of, window_registers
from precog_spec.registers.model import Access, Block, Field, Register, Table

__all__ = [
    "COUNT_BITS",
    "SENDERS_EVENTS",
    "SENDERS_PARAMETERS",
    "SENDERS_ROW",
    "senders_block",
]

_RW, _RO, _PULSE = Access.RW, Access.RO, Access.PULSE
COUNT_BITS = 17  # of up to 65536 queue pairs
_HOLD_US = 500.0

#: (name, doc) of the 64-bit counters, in table order.
SENDERS_EVENTS: tuple[tuple[str, str], ...] = (
    ("joined", "queue pairs that were counted anew"),
    ("heard", "shims that were heeded"),
    ("risen", "of them those with more than all of the queue pair's in the last HOLD"),
    ("outnumbered", "of them those with a level that counts as 0, by CONTROL.own"),
)

#: What a queue pair's receiver has said.
SENDERS_ROW: tuple[Register, ...] = (
    Register(
        "TOLD",
        "Levels of the receiver of the queue pair that was fetched last.",
        (
            Field("level", SHIM["senders"].bits, _RO, "That which is in force."),
            Field("believed", 1, _RO, "It is the host's; no shim has replaced it.", lsb=7),
            Field(
                "most",
                SHIM["senders"].bits,
                _RO,
                "The greatest that was heeded since the queue pair's reset.",
                lsb=8,
            ),
        ),
    ),
)


def _counted(name: str, doc: str, counted: str) -> Register:
    """A register of a count and its level."""
    fields = (
        Field("count", COUNT_BITS, _RO, counted),
        Field("level", SHIM["senders"].bits, _RO, "Level.", lsb=24),
    )
    return Register(name, doc, fields, volatile=True)


def _parameters(tick_ps: int) -> tuple[Register, ...]:
    return (
        Register(
            "CONTROL",
            "What is done with the counts. Another epoch begins with counts of 0.",
            (
                Field("say", 1, _RW, "Shims that leave say the level."),
                Field("heed", 1, _RW, "Levels that shims bring are heeded.", lsb=1),
                Field(
                    "own",
                    1,
                    _RW,
                    "Such a level counts as 0 where the card's own flows are more than half of "
                    "2**level: its own link holds them back.",
                    lsb=2,
                    reset=1,
                ),
                Field(
                    "epoch",
                    4,
                    _RW,
                    f"An epoch is {1 << EPOCH_LEAST} << this many ticks.",
                    lsb=4,
                    reset=6,
                ),
            ),
        ),
        Register(
            "LEAST",
            "What makes a queue pair count.",
            (
                Field(
                    "least",
                    32,
                    _RW,
                    "Messages of fewer bytes do not count; one of unknown length does.",
                    reset=100_000,
                    unit="bytes",
                ),
            ),
        ),
        Register(
            "HOLD",
            "A level that is not greater than all that shims of the queue pair have brought in "
            f"this time is no news. Its steps are {1 << HOLD_STEP} ticks.",
            (
                Field(
                    "hold",
                    32,
                    _RW,
                    "Time.",
                    reset=ticks_of(_HOLD_US, tick_ps),
                    unit="ticks",
                ),
            ),
        ),
    )


SENDERS_PARAMETERS: tuple[Register, ...] = _parameters(1000)


def senders_block(tick_ps: int) -> Block:
    """The block; `tick_ps` is the length of a tick in picoseconds."""
    return Block(
        "SENDERS",
        "Queue pairs that send to this card: those with data in this epoch or the last one. Its "
        "binary logarithm, rounded up, is the level, 0..15; 0: one at most. The card's own flows "
        "are counted alike, by the packets that leave.",
        id=0x47,
        version=(1, 2),
        registers=(
            *_parameters(tick_ps),
            Register(
                "BELIEF",
                "A level of a queue pair's receiver that the host believes at a start: its law "
                "hears of it before the first packet. The first level that a shim brings replaces "
                "it. Only with CONTROL.heed.",
                (
                    Field("qp", 16, _PULSE, "Slot; without such a slot nothing happens."),
                    Field("level", SHIM["senders"].bits, _PULSE, "Level.", lsb=24),
                ),
            ),
            _counted("COUNT", "Now.", "Queue pairs."),
            _counted("OWN", "The card's own flows now.", "Queue pairs with data to the wire."),
            *window_registers("QP slot", (("fetch", "Copy its row to TOLD."),), "a QP"),
            *SENDERS_ROW,
        ),
        tables=(
            Table(
                "COUNTERS",
                "Events since reset, as of the last COUNTERS.COMMAND.snapshot: "
                + "; ".join(f"{n} {name}" for n, (name, _) in enumerate(SENDERS_EVENTS)),
                counter_registers(),
                count=len(SENDERS_EVENTS),
            ),
        ),
    )
