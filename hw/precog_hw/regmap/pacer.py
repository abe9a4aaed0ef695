"""The block PACER: connections' priority, MTU and first PSN, what holds all of them, counters.

It stands in the map of a NIC whose `Sizes.grants` is 1.
"""

from .common import counter_registers, window_registers
from .model import Access, Block, Field, Register, Table

__all__ = ["PACER_CONFIG", "PACER_EVENTS", "PACER_PARAMETERS", "pacer_block"]

_RW = Access.RW

#: (name, doc) of the 64-bit counters, in table order.
PACER_EVENTS: tuple[tuple[str, str], ...] = (
    ("requests", "requests taken"),
    ("requests_refused", "requests of a QP that is not enabled"),
    ("acks", "acknowledgements taken"),
    ("acks_refused", "acknowledgements of a QP that is not enabled"),
    ("grants", "grants"),
    ("rates", "rates that took effect"),
    ("rates_merged", "decisions that a later one of the QP replaced before they took effect"),
    ("retimed", "pending gaps that a new rate changed"),
    ("granted_bytes", "bytes granted"),
)

#: What all queue pairs share.
PACER_PARAMETERS: tuple[Register, ...] = (
    Register(
        "OVERHEAD",
        "Bytes that a packet takes on the wire beyond those that are granted; rates are of both. "
        "At reset those of RoCEv2 on IPv4: preamble and gap 20, Ethernet and FCS 18, IP 20, UDP 8, "
        "BTH 12, ICRC 4.",
        (Field("overhead", 8, _RW, "Bytes.", reset=82, unit="bytes"),),
    ),
    Register(
        "PAUSE",
        "Priorities that get no grants, besides those that the input `pause` names.",
        (Field("pause", 8, _RW, "One bit for each priority."),),
    ),
)

#: A queue pair's connection, as PACER's window shows it.
PACER_CONFIG: tuple[Register, ...] = (
    Register(
        "FLOW",
        "How it is served.",
        (
            Field("priority", 3, _RW, "7 goes first."),
            Field("mtu_log2", 4, _RW, "Path MTU: 8..12 for 256..4096 bytes.", lsb=8, reset=10),
            Field(
                "windows",
                1,
                _RW,
                "Wire mode: its requests keep to its law's window, and its answers have a queue "
                "of their own. Without wire mode windows always count.",
                lsb=16,
            ),
        ),
        loadable=True,
    ),
    Register(
        "FIRST",
        "Where it begins.",
        (Field("psn", 24, _RW, "PSN of the first packet."),),
        loadable=True,
    ),
)


def pacer_block() -> Block:
    """The block."""
    return Block(
        "PACER",
        "Grants. A queue pair gets them while QP.CONTROL.enable is set, at the rate of its last "
        "decision, before the first at its initial rate. Apply begins a connection, as disabling "
        "the queue pair does: nothing is asked for and nothing in flight.",
        id=0x15,
        version=(1, 1),
        registers=(
            *window_registers(
                "QP slot",
                (("fetch", "Copy the connection here."), ("apply", "Begin a connection.")),
                "a QP",
            ),
            *PACER_CONFIG,
            *PACER_PARAMETERS,
        ),
        tables=(
            Table(
                "COUNTERS",
                "Events since reset; read LOW first: it keeps HIGH of the same instant: "
                + "; ".join(f"{n} {name}" for n, (name, _) in enumerate(PACER_EVENTS)),
                counter_registers(),
                count=len(PACER_EVENTS),
            ),
        ),
    )
