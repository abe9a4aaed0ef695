"""The block LAW: programs of the law engine, their slots, the safety layer's numbers, counters.

It stands in the map of a NIC whose `NicConfig.law_cores` is not 0. Numbers and codes are those of
`precog_models.rate.engine`; a test compares them.
"""

from precog_spec.registers.common import counter_registers, load_registers, ticks_of
from precog_spec.registers.model import Access, Block, Field, Register, Table

__all__ = ["LAW_EVENTS", "LAW_LOAD_STATUS", "LAW_SLOTS", "TRAPS", "law_block"]

_RO, _RW, _W1C = Access.RO, Access.RW, Access.W1C

LAW_SLOTS = 8
_IMAGE_BYTES = 8256

#: What became of the last load, LAW.STATUS.code.
LAW_LOAD_STATUS: tuple[tuple[str, int], ...] = (
    ("idle", 0),
    ("loading", 1),
    ("ok", 2),
    ("bad_crc", 3),
    ("bad_length", 4),
    ("bad_contract", 5),
    ("bad_format", 6),
    ("bank_in_use", 7),
    ("not_begun", 8),
)

#: How an event ended, LAW.TRAP.status.
TRAPS: tuple[tuple[str, int], ...] = (("none", 0), ("illegal", 1), ("overrun", 2), ("fell", 3))

#: (name, doc) of the 64-bit counters, in table order.
LAW_EVENTS: tuple[tuple[str, str], ...] = (
    ("events", "events of QPs whose slot has a program"),
    ("trapped", "of them those that ended in an instruction that is none, or past the last one"),
    ("overrun", "of them those that took more turns than the budget"),
    ("safe", "events of QPs whose slot has no program: the safe law decided"),
    ("merged", "acknowledgements of packets that a later one replaced while they waited"),
)


_BANK = Field("bank", 3, _RW, "Number of a bank.")


def law_block(cores: int, tick_ps: int, *, ecc: bool = False) -> Block:
    """The block.

    Parameters
    ----------
    cores : int
        Of the engine.
    tick_ps : int
        Length of a tick in picoseconds.
    ecc : bool
        Programs have check bits.
    """
    return Block(
        "LAW",
        "Laws that are programs. A program is loaded into a bank and checked there; a slot stands "
        "for a bank; a QP names a slot (QP.CONTROL.algorithm). Whatever a program says, rates stay "
        "in the QP's bounds, a window holds a packet, and neither rises while the RTT is above the "
        "threshold. A trap disables the slot, and its QPs run the built-in safe law.",
        id=0x19,
        version=(2, 1),
        registers=(
            *_engine(cores),
            *_limits(tick_ps),
            Register("BANK", "The bank that BEGIN takes.", (_BANK,)),
            *load_registers("bank", _IMAGE_BYTES, "while it is used"),
            *_outcomes(),
        ),
        tables=(_slots(ecc), _banks(), _counters()),
    )


def _engine(cores: int) -> tuple[Register, ...]:
    """Constants: the engine's size, and a program's."""

    def constant(name: str, bits: int, value: int, doc: str, lsb: int = 0) -> Field:
        return Field(name, bits, _RO, doc, lsb=lsb, reset=value)

    return (
        Register(
            "CAPABILITIES",
            "Size of the engine.",
            (
                constant("isa", 8, 3, "Version of the instruction set."),
                constant("cores", 4, cores, "Cores.", lsb=8),
                constant("slots", 4, LAW_SLOTS, "Slots, and banks.", lsb=12),
                constant("image", 16, 2064, "Words of an image.", lsb=16),
            ),
            constant=True,
        ),
        Register(
            "SIZES",
            "What a program may have.",
            (
                constant("code", 16, 1024, "Instructions."),
                constant("memory", 16, 512, "Words of parameters and constants.", lsb=16),
            ),
            constant=True,
        ),
    )


def _limits(tick_ps: int) -> tuple[Register, ...]:
    """Numbers of the safety layer, and the period of time's events."""
    default = min(ticks_of(50.0, tick_ps), (1 << 24) - 1)
    return (
        Register(
            "THRESHOLD",
            "RTT above which no rate and no window rises.",
            (
                Field(
                    "threshold",
                    24,
                    _RW,
                    "RTT.",
                    reset=default,
                    unit="ticks",
                ),
            ),
        ),
        Register(
            "BUDGET",
            "Most turns of an event; one of 6 threads has a turn in each cycle.",
            (Field("budget", 10, _RW, "Turns.", reset=1023),),
        ),
        Register(
            "TIMER",
            "Time in which programs of a NIC with packets hear four times that time has passed.",
            (
                Field(
                    "timer",
                    24,
                    _RW,
                    "Period; that in which scores of PSCHED hold if it is shorter, or this is 0.",
                    reset=default,
                    unit="ticks",
                ),
            ),
        ),
    )


def _outcomes() -> tuple[Register, ...]:
    """Results of a load, errors, the last trap."""
    return (
        Register(
            "STATUS",
            "What became of the last load.",
            (
                Field("code", 4, _RO, "Outcome.", values=LAW_LOAD_STATUS),
                Field("busy", 1, _RO, "A commit is being decided.", lsb=8),
            ),
        ),
        Register(
            "ERROR",
            "What went wrong; each bit stays until 1 is written to it.",
            (
                Field("load", 1, _W1C, "A load failed or was refused."),
                Field("map", 1, _W1C, "A map write was refused.", lsb=1),
                Field("trap", 1, _W1C, "An event ended in a trap.", lsb=2),
            ),
        ),
        Register(
            "TRAP",
            "The last trap.",
            (
                Field("slot", 3, _RO, "Slot that was disabled."),
                Field("status", 2, _RO, "How the event ended.", lsb=4, values=TRAPS),
                Field("qp", 16, _RO, "Its QP.", lsb=16),
            ),
        ),
    )


def _slots(ecc: bool) -> Table:
    """The map from slots to banks."""
    damaged = Field("damaged", 1, _RO, "An uncorrectable word of its program disabled it, and it "
                    "was not written: see the block ECC.", lsb=1)  # fmt: skip
    return Table(
        "SLOTS",
        "What a slot stands for. A write is refused, and changes nothing, when it enables "
        "a bank that is not valid.",
        (
            Register(
                "SLOT",
                "One entry of the map.",
                (_BANK, Field("enable", 1, _RW, "The slot has a program.", lsb=8)),
                affects=("LAW.ERROR", "COUNTERS.COUNTERS"),
            ),
            Register(
                "SLOT_STATE",
                "What became of it.",
                (
                    Field("trapped", 1, _RO, "A trap disabled it, and it was not written."),
                    *((damaged,) if ecc else ()),
                ),
            ),
        ),
        count=LAW_SLOTS,
    )


def _banks() -> Table:
    """Programs that were loaded: valid or not, version, name."""
    names = tuple(
        Register(
            f"BANK_NAME{n}",
            "Characters of the law's name, the first in the low byte.",
            (Field(f"name{n}", 32, _RO, "Four characters."),),
        )
        for n in range(4)
    )
    return Table(
        "BANKS",
        "The programs that were loaded.",
        (
            Register(
                "BANK_STATE",
                "Whether a slot may stand for the bank.",
                (Field("valid", 1, _RO, "Holds a checked program."),),
            ),
            Register(
                "BANK_VERSION",
                "Version from the image's header: the program's CRC-32.",
                (Field("version", 32, _RO, "Version."),),
            ),
            *names,
        ),
        count=LAW_SLOTS,
    )


def _counters() -> Table:
    """64-bit counters of events."""
    return Table(
        "COUNTERS",
        "Events since reset, as of the last COUNTERS.COMMAND.snapshot: "
        + "; ".join(f"{n} {name}" for n, (name, _) in enumerate(LAW_EVENTS)),
        counter_registers(),
        count=len(LAW_EVENTS),
    )
