"""The block RECEIVER: bands of congestion scores, what they do, and for which queue pairs.

Fields of parameters and rows are those of `precog_spec.receiver_fields` (a test compares
them). It stands in the map of a NIC with `NicConfig.receiver`.
"""

from precog_spec.registers.common import counter_registers, ticks_of, window_registers
from precog_spec.registers.model import Access, Block, Field, Register, Table

__all__ = [
    "RECEIVER_EVENTS",
    "RECEIVER_METER",
    "RECEIVER_PARAMETERS",
    "RECEIVER_QP_CONFIG",
    "receiver_block",
]

_RW = Access.RW
_SCORE_US = 200.0  # as PSCHED's
_WINDOW_US = 10.0
_LINK_SHARE, _LINK_GBPS = 0.95, 100.0

#: (name, doc) of the 64-bit counters, in table order.
RECEIVER_EVENTS: tuple[tuple[str, str], ...] = (
    ("scores", "scores taken"),
    ("merged", "scores that a later one of the QP replaced before they were taken"),
    ("to_low", "changes into the low band"),
    ("to_medium", "changes into the medium band"),
    ("to_high", "changes into the high band"),
    ("aged", "scores that were too old"),
    ("reduced", "scores that went to the law with a command to reduce"),
    ("held", "scores that went to the law with a command to hold"),
    ("starved", "of them low ones, held because no bandwidth was available"),
    ("boosted", "priorities raised, or raised by another amount"),
    ("restored", "priorities that are as configured again"),
    ("quotas", "quotas that a band has changed"),
    ("short", "scores in the high band that the limit left less quota than it asks for"),
)

#: A queue pair's row.
RECEIVER_QP_CONFIG: tuple[Register, ...] = (
    Register(
        "CONTROL",
        "What the bands do for the QP.",
        (
            Field("commands", 1, _RW, "Commands to its law, which must run PSCHED."),
            Field("boosts", 1, _RW, "High: its priority rises.", lsb=1),
            Field("grows", 1, _RW, "High: its quota grows.", lsb=2),
        ),
        loadable=True,
    ),
    Register(
        "QUOTA",
        "Cells that it may hold.",
        (Field("base_quota", 16, _RW, "Outside the high band.", reset=64, unit="cells"),),
        loadable=True,
    ),
)

#: What all queue pairs share, but for TICKS and the meter.
_SHARED: tuple[Register, ...] = (
    Register(
        "BANDS",
        "Where the bands begin. To leave one downwards, a score must lie so far below.",
        (
            Field("high", 7, _RW, "Scores from here on are high.", reset=75),
            Field("low", 7, _RW, "Scores below this one are low.", lsb=8, reset=25),
            Field("hysteresis", 7, _RW, "How far below; 0 leaves every band.", lsb=16, reset=5),
        ),
    ),
    Register(
        "ACTIONS",
        "Which actions there are; QPs are chosen in CONTROL.",
        (
            Field("rate", 1, _RW, "Commands to the law.", reset=1),
            Field("priority", 1, _RW, "Priorities rise.", lsb=1, reset=1),
            Field("quota", 1, _RW, "Quotas grow.", lsb=2, reset=1),
        ),
    ),
    Register(
        "AMOUNTS",
        "How much.",
        (
            Field("boost", 3, _RW, "High: priorities that it rises by, up to 7.", reset=1),
            Field("shift", 4, _RW, "High: the quota is the base quota << shift.", lsb=8, reset=1),
        ),
    ),
    Register(
        "LIMIT",
        "Shared by all QPs.",
        (
            Field(
                "limit",
                16,
                _RW,
                "Cells that they may have beyond their base quotas together.",
                reset=1024,
                unit="cells",
            ),
        ),
    ),
)


def _ticks(tick_ps: int) -> Register:
    reset = ticks_of(_SCORE_US, tick_ps)
    doc = "A score older than this is none; 0: it holds for ever."
    return Register("TICKS", "Age.", (Field("ticks", 32, _RW, doc, reset=reset, unit="ticks"),))


def _meter(tick_ps: int) -> tuple[Register, ...]:
    window = ticks_of(_WINDOW_US, tick_ps)
    budget = round(_LINK_SHARE * _LINK_GBPS * _WINDOW_US * 1000 / 8)
    return (
        Register(
            "WINDOW",
            "How long sent bytes are added up.",
            (
                Field(
                    "window_ticks",
                    32,
                    _RW,
                    "0: bandwidth is always available.",
                    reset=window,
                    unit="ticks",
                ),
            ),
        ),
        Register(
            "BUDGET",
            "Bandwidth is available if the last window's bytes were no more.",
            (Field("budget", 32, _RW, "Bytes in a window.", reset=budget, unit="bytes"),),
        ),
    )


RECEIVER_PARAMETERS: tuple[Register, ...] = (*_SHARED, _ticks(1000))
RECEIVER_METER: tuple[Register, ...] = _meter(1000)


def receiver_block(tick_ps: int) -> Block:
    """The block; `tick_ps` is the length of a tick in picoseconds."""
    return Block(
        "RECEIVER",
        "What congestion scores in packets do in addition to PSCHED: bands with commands to the "
        "law, higher priorities, larger quotas. Apply forgets the QP's score.",
        id=0x41,
        version=(1, 0),
        registers=(
            *window_registers(
                "QP slot",
                (("fetch", "Copy the QP's row here."), ("apply", "Write it.")),
                "a QP",
                affects=("TRACE.STATE", "TRACE.RECORDS", "TRACE.COUNTERS"),
            ),
            *RECEIVER_QP_CONFIG,
            *_SHARED,
            _ticks(tick_ps),
            *_meter(tick_ps),
        ),
        tables=(
            Table(
                "COUNTERS",
                "Events since reset, as of the last COUNTERS.COMMAND.snapshot: "
                + "; ".join(f"{n} {name}" for n, (name, _) in enumerate(RECEIVER_EVENTS)),
                counter_registers(),
                count=len(RECEIVER_EVENTS),
            ),
        ),
    )
