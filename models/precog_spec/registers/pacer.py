"""The block PACER: connections' priority, MTU and first PSN, what holds all of them, counters.

It stands in the map of a NIC with `NicConfig.grants`.
"""

from precog_spec.registers.common import counter_registers, window_registers
from precog_spec.registers.model import Access, Block, Field, Register, Table

__all__ = ["PACER_CONFIG", "PACER_EVENTS", "pacer_block", "pacer_parameters"]

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

#: Bytes of a packet on the wire that no stream carries: preamble 8, FCS 4, gap 12.
_LINE_BYTES = 8 + 4 + 12
#: Headers of a RoCEv2 packet on IPv4, and its ICRC: Ethernet 14, IP 20, UDP 8, BTH 12, ICRC 4.
_HEADER_BYTES = 14 + 20 + 8 + 12 + 4


def pacer_parameters(*, wire: bool) -> tuple[Register, ...]:
    """The registers that all queue pairs share.

    Parameters
    ----------
    wire : bool
        A grant is of a whole frame (wire mode), not of payload.
    """
    granted, reset = (
        ("a frame without its FCS", _LINE_BYTES)
        if wire
        else ("payload", _HEADER_BYTES + _LINE_BYTES)
    )
    return (
        Register(
            "OVERHEAD",
            "Bytes of a packet on the wire beyond those that are granted; rates count both. "
            f"A grant here is of {granted}. In wire mode the reset value is preamble 8, FCS 4 and "
            "gap 12; for grants of payload it adds the headers of RoCEv2 on IPv4 and the ICRC: "
            "Ethernet 14, IP 20, UDP 8, BTH 12, ICRC 4. Neither has a VLAN tag, an extended "
            "header, a shim or padding in it.",
            (Field("overhead", 8, _RW, "Bytes.", reset=reset, unit="bytes"),),
        ),
        Register(
            "PAUSE",
            "Priorities that get no grants, in addition to those that the input `pause` names.",
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


def pacer_block(*, wire: bool) -> Block:
    """The block; `wire` as in `pacer_parameters`."""
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
            *pacer_parameters(wire=wire),
        ),
        tables=(
            Table(
                "COUNTERS",
                "Events since reset, as of the last COUNTERS.COMMAND.snapshot: "
                + "; ".join(f"{n} {name}" for n, (name, _) in enumerate(PACER_EVENTS)),
                counter_registers(),
                count=len(PACER_EVENTS),
            ),
        ),
    )
