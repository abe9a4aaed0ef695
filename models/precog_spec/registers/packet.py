"""Blocks of the packet path: PACKET, LOOKUP, PACKET_QP, DESTINATION, PACKET_COUNTERS.

They stand in the map of a NIC whose `NicConfig.width` is not 0; what belongs to a part that was not
built (`NicConfig.destinations`, `cnps`, `icrc`) does not. Numbers and names that the packet
path's golden models own (reasons, faults, resets) are compared with them by a test.
"""

from dataclasses import replace

from precog_spec.registers.common import command_registers, counter_registers, window_registers
from precog_spec.registers.model import Access, Block, Field, Register, Table
from precog_spec.registers.parts import built

__all__ = [
    "DESTINATION_CONFIG",
    "DESTINATION_VALUES",
    "ECHOES_COUNTED_FROM",
    "ECHOES_FROM",
    "ECHO_EVENTS",
    "LOOKUP_CELL",
    "OUTCOME_EVENTS",
    "PACKET_EVENTS",
    "PACKET_PARAMETERS",
    "PACKET_QP_CONFIG",
    "RX_CLASSES",
    "TX_CLASSES",
    "packet_blocks",
    "packet_events",
    "packet_parameters",
    "packet_qp_config",
    "part_of",
]

RW, RO, W1C, PULSE = Access.RW, Access.RO, Access.W1C, Access.PULSE

ECHOES_FROM = 1  #: minor version of PACKET from which on a card echoes marks
ECHOES_COUNTED_FROM = 1  #: minor version of PACKET_COUNTERS from which on it counts echoes
#: Its counters of echoes.
ECHO_EVENTS = ("marks_heard", "marks_echoed")

#: Why a packet passes unchanged, in the order of their numbers; 0 is none of them.
_REASONS = (
    "truncated",
    "ethertype",
    "vlan_depth",
    "ip_header",
    "ipv4_options",
    "fragment",
    "ipv6_extension",
    "protocol",
    "port",
    "length",
    "shim_port",
    "unknown_qp",
    "qp_disabled",
    "destination_disabled",
    "checksum_form",
    "max_frame",
    "resv6_in_use",
    "no_score",
)
#: What became of each packet to the wire: exactly one of these.
TX_CLASSES: tuple[str, ...] = ("inserted", *_REASONS, "resv6_written")
#: What was found of each packet from the wire: exactly one of these.
RX_CLASSES: tuple[str, ...] = (
    "of_qp",
    *_REASONS,
    "shim_length",
    "shim_version",
    "shim_type",
    "shim_crc",
    "shim_untrusted",
)

#: (name, doc) of the other 64-bit counters, in table order.
PACKET_EVENTS: tuple[tuple[str, str], ...] = (
    ("extracted", "shims taken out"),
    ("dropped", "frames to the shim's port that were not ours, dropped"),
    ("resv6_read", "mode R: scores taken out of six bits"),
    ("resv6_faults", "mode R: the six bits held 52..63"),
    ("clamped", "scores and echoes of 101..254"),
    ("tx_errors", "frames to the wire with the error flag, or shorter than their IP length"),
    ("rx_errors", "the same, from the wire"),
    ("icrc_ok", "packets from the wire whose ICRC is right"),
    ("icrc_bad", "packets from the wire whose ICRC is wrong"),
    ("refused_icrc", "packets of a queue pair that had no effect: their ICRC is wrong"),
    ("refused_cnp", "CNPs that had no effect: the interval since the last was not over"),
    ("cnp_sent", "CNPs made"),
    ("cnp_limited", "marked data within the interval of the last CNP"),
    ("cnp_unknown", "marked data of no queue pair"),
    ("cnp_busy", "CNPs that were due while too many waited"),
    ("rtt_started", "packets timed"),
    ("rtt_samples", "RTT samples"),
    ("rtt_coalesced", "samples whose answer acknowledged a later PSN"),
    ("rtt_corrected", "samples with T2 - T1 taken off"),
    ("rtt_retransmission", "timed packets given up: sent again (Karn's rule)"),
    ("rtt_nak", "timed packets given up: refused"),
    ("rtt_timeout", "timed packets given up: no answer in time"),
    ("rtt_swept", "time-outs found without a packet of the queue pair"),
    ("rtt_forgotten", "timed packets that a reset of the queue pair ended"),
    ("rtt_refused_psn", "answers that had no effect: to no PSN in flight"),
    ("rtt_refused_turnaround", "T2 - T1 that were not taken off: they left too little"),
    ("marks_heard", "marked data of a queue pair, while marks are echoed"),
    ("marks_echoed", "acknowledgements in which the card set BECN"),
)

#: Of these, one for each outcome of the RTT collector's events, in the order of its bits.
OUTCOME_EVENTS: tuple[str, ...] = tuple(
    name for name, _ in PACKET_EVENTS if name.startswith("rtt_")
)

#: Fields and counters of parts that a device may lack, by the part's field of `NicConfig`.
_OF_PARTS: dict[str, tuple[str, ...]] = {
    "destinations": ("destination",),
    "cnps": (
        *("enabled", "mode_c", "ecn", "dscp", "ttl", "interval_ticks"),
        *("ack_enabled", "ack_dscp", "echo_enabled"),
        *("remote_qp", "remote_valid"),
        *("cnp_sent", "cnp_limited", "cnp_unknown", "cnp_busy"),
        *ECHO_EVENTS,
    ),
    "icrc": ("icrc_gate", "icrc_ok", "icrc_bad", "refused_icrc"),
}

#: Parameters of the packet path.
PACKET_PARAMETERS: tuple[Register, ...] = (
    Register(
        "SHIM",
        "Mode S. Two cards must agree on the port. What no card can work with does not take "
        "effect: ERROR says so, and the packet path keeps what it had.",
        (
            Field("shim_port", 16, RW, "UDP destination port; not 0, not 4791.", reset=54791),
            Field(
                "max_frame",
                16,
                RW,
                "Longest frame, without FCS, that an insertion may make; from 68.",
                lsb=16,
                reset=9216,
                unit="bytes",
            ),
        ),
        affects=("PACKET.ERROR",),
    ),
    Register(
        "CONTROL",
        "Choices.",
        (
            Field("drop_malformed", 1, RW, "Drop frames to the shim's port that are not ours."),
            Field("any_packet", 1, RW, "Time packets that do not ask for an answer.", lsb=1),
            Field("corrected", 1, RW, "Take T2 - T1 off, where the peer tells it.", lsb=2, reset=1),
            Field(
                "icrc_gate",
                1,
                RW,
                "Packets with a wrong ICRC have no effect; 0 where an ICRC means nothing, as in a "
                "capture that has cut its packets.",
                lsb=3,
                reset=1,
            ),
        ),
    ),
    Register(
        "TIMEOUT",
        "When the RTT collector gives a timed packet up.",
        (Field("timeout", 32, RW, "Age; 0: never.", unit="ticks"),),
    ),
    Register(
        "RTT_FLOOR",
        "T2 - T1 is not taken off an RTT of which it would leave no more than this. No answer "
        "comes before its request has passed our transmit path, 36 cycles at least.",
        (Field("rtt_floor", 16, RW, "Floor.", reset=32, unit="ticks"),),
    ),
    Register(
        "CNP",
        "DCQCN's notification point.",
        (
            Field("enabled", 1, RW, "CNPs are made."),
            Field("mode_c", 1, RW, "The queue pair's score goes into them.", lsb=1),
            Field("ecn", 2, RW, "ECN field of a CNP.", lsb=4, reset=2),
            Field("dscp", 6, RW, "DSCP of a CNP.", lsb=8, reset=48),
            Field("ttl", 8, RW, "TTL or hop limit of a CNP.", lsb=16, reset=64),
        ),
    ),
    Register(
        "CNP_INTERVAL",
        "At most one CNP per queue pair in this time.",
        (Field("interval_ticks", 32, RW, "Interval.", reset=50_000, unit="ticks"),),
    ),
    Register(
        "CNP_GAP",
        "CNPs that come: of each queue pair one in this time has an effect. Half of a peer's "
        "interval, because switches bring two CNPs closer together than they left.",
        (Field("cnp_gap", 32, RW, "Interval; 0: all.", reset=25_000, unit="ticks"),),
    ),
    Register(
        "ACK",
        "Our acknowledgements. The transport gives them their queue pair's class, in which they "
        "wait behind data, and may echo no marks.",
        (
            Field("ack_enabled", 1, RW, "They get the DSCP below."),
            Field(
                "echo_enabled",
                1,
                RW,
                "Marked data sets BECN in the queue pair's next acknowledgement.",
                lsb=1,
            ),
            Field("ack_dscp", 6, RW, "DSCP of an acknowledgement.", lsb=8, reset=48),
        ),
    ),
)

#: One cell of the QP table, as LOOKUP's window shows it.
LOOKUP_CELL: tuple[Register, ...] = (
    *(
        Register(
            f"REMOTE_{n}",
            f"Peer's address, bits {32 * n + 31}..{32 * n}; IPv4 as ::ffff:a.b.c.d.",
            (Field(f"remote_{n}", 32, RW, "Address."),),
            loadable=True,
        )
        for n in range(4)
    ),
    Register(
        "KEY",
        "The rest of the key.",
        (
            Field("qpn", 24, RW, "DestQP of the packets."),
            Field("direction", 1, RW, "0: packets to the wire, 1: from it.", lsb=31),
        ),
        loadable=True,
    ),
    Register(
        "CELL",
        "What the key stands for.",
        (
            Field("slot", 16, RW, "QP slot."),
            Field("valid", 1, RW, "The cell is taken.", lsb=31),
        ),
        loadable=True,
    ),
)

#: A queue pair's row in the packet path, as PACKET_QP's window shows it.
PACKET_QP_CONFIG: tuple[Register, ...] = (
    Register(
        "CARRY",
        "How its packets carry the score, and which.",
        (
            Field("mode", 2, RW, "Mode.", values=(("off", 0), ("s", 1), ("r", 2))),
            Field("destination", 8, RW, "Index of its destination.", lsb=8),
            Field("score", 7, RW, "Score to be sent, 0..100; more is 100.", lsb=16),
            Field("score_valid", 1, RW, "There is a score.", lsb=23),
            Field(
                "score_source",
                2,
                RW,
                "Whose score is sent: the one above, or, with forecasts, the newest predicted one.",
                lsb=24,
                values=(("host", 0), ("queue", 1), ("rtt", 2), ("max", 3)),
            ),
        ),
        loadable=True,
    ),
    Register(
        "PEER",
        "Where its CNPs go.",
        (
            Field("remote_qp", 24, RW, "The peer's QPN."),
            Field("remote_valid", 1, RW, "The slot is in use.", lsb=31),
        ),
        loadable=True,
    ),
    Register(
        "PATH",
        "Its path MTU, for the length of READ responses.",
        (Field("mtu_log2", 4, RW, "8..12 for 256..4096 bytes.", reset=10),),
        loadable=True,
    ),
)

#: A destination's configuration, as DESTINATION's window shows it.
DESTINATION_CONFIG: tuple[Register, ...] = (
    Register(
        "ENABLE",
        "Whether it is trusted with scores: packets to it may carry them, those from it are heard, "
        "and their shims taken out.",
        (Field("enable", 1, RW, "It is.", reset=1),),
        loadable=True,
    ),
)

#: A destination's numbers, all of the instant of COMMAND.fetch.
DESTINATION_VALUES: tuple[Register, ...] = tuple(
    Register(
        name.upper(),
        doc,
        tuple(
            Field(
                field,
                bits,
                RO,
                doc,
                lsb=lsb,
                unit=unit,
                reset=(1 << bits) - 1 if field == "rtt_min" else 0,
            )
            for field, bits, lsb in parts
        ),
    )
    for name, unit, doc, parts in (
        ("samples", "", "RTT samples.", (("samples", 32, 0),)),
        ("rtt_sum_low", "ticks", "Their sum, bits 31..0.", (("rtt_sum_low", 32, 0),)),
        ("rtt_sum_high", "ticks", "Their sum, bits 47..32.", (("rtt_sum_high", 16, 0),)),
        ("rtt_max", "ticks", "Greatest RTT.", (("rtt_max", 24, 0),)),
        ("rtt_min", "ticks", "Least RTT; all ones before the first.", (("rtt_min", 24, 0),)),
        ("rtt_last", "ticks", "Last RTT.", (("rtt_last", 24, 0),)),
        (
            "losses",
            "",
            "Timed packets sent again, refused or unanswered.",
            (("losses", 32, 0),),
        ),
        ("marks", "", "Packets from there with CE.", (("marks", 32, 0),)),
        ("score", "", "Last score received.", (("score", 7, 0), ("score_valid", 1, 31))),
    )
)


def part_of(name: str) -> str:
    """The part, a field of `NicConfig`, that a register's field or a counter belongs to."""
    return next(part for part, names in _OF_PARTS.items() if name in names)


def packet_parameters(sizes: object) -> tuple[Register, ...]:
    """Parameters of the packet path of a device of this `NicConfig`."""
    return _known(PACKET_PARAMETERS, sizes)


def packet_qp_config(sizes: object) -> tuple[Register, ...]:
    """A queue pair's row in a device of this `NicConfig`."""
    registers = _known(PACKET_QP_CONFIG, sizes)
    if not built(sizes, "port"):
        return registers
    return tuple(
        replace(register, fields=tuple(map(_with_port, register.fields))) for register in registers
    )


def _with_port(field: Field) -> Field:
    """Scores can be those of the port, too."""
    if field.name != "score_source":
        return field
    return replace(field, bits=3, values=(*field.values, ("port", 4)))


def packet_events(sizes: object) -> tuple[str, ...]:
    """Counters of events in a device of this `NicConfig`, in table order."""
    absent = _absent(sizes)
    return tuple(name for name, _ in PACKET_EVENTS if name not in absent)


def _known(registers: tuple[Register, ...], sizes: object) -> tuple[Register, ...]:
    """Registers without the fields that are of no use to such a device."""
    absent = _absent(sizes)
    left = (
        replace(register, fields=tuple(f for f in register.fields if f.name not in absent))
        for register in registers
    )
    return tuple(register for register in left if register.fields)


def _absent(sizes: object) -> set[str]:
    return {name for part, names in _OF_PARTS.items() if not built(sizes, part) for name in names}


def packet_blocks(sizes: object) -> tuple[Block, ...]:
    """The blocks of a packet path.

    Parameters
    ----------
    sizes : NicConfig
    """
    return (
        _packet(packet_parameters(sizes)),
        Block(
            "LOOKUP",
            "A window on one cell of the QP table. A key is in one of the ways, in the row that "
            "the way's hash of it gives; who moves a key copies it before overwriting it.",
            id=0x31,
            version=(1, 0),
            registers=(
                Register(
                    "PLACE",
                    "The cell.",
                    (
                        Field("row", 16, RW, "Row."),
                        Field("way", 2, RW, "Way, 0..2.", lsb=16),
                    ),
                ),
                *command_registers(
                    "Acts on the cell that PLACE names; wait until STATE.busy is 0.",
                    (("fetch", "Copy the cell here."), ("apply", "Write the cell.")),
                    "a row or a way",
                ),
                *LOOKUP_CELL,
            ),
        ),
        Block(
            "PACKET_QP",
            "A window on one queue pair's row in the packet path.",
            id=0x32,
            version=(1, 1),
            registers=(
                *window_registers(
                    "QP slot",
                    (
                        ("fetch", "Copy the row here."),
                        ("apply", "Write the row."),
                        ("clear", "Forget the QP's echo, arrivals, mark and timed packet."),
                    ),
                    "a QP",
                ),
                *packet_qp_config(sizes),
            ),
        ),
        *((_destination(),) if built(sizes, "destinations") else ()),
        Block(
            "PACKET_COUNTERS",
            "Packets by what became of them, and events, since reset, as of the last "
            "COUNTERS.COMMAND.snapshot.",
            id=0x34,
            version=(2, ECHOES_COUNTED_FROM),
            registers=(),
            tables=tuple(
                Table(
                    name,
                    f"{doc}: " + "; ".join(f"{n} {text}" for n, text in enumerate(names)),
                    counter_registers(),
                    count=len(names),
                )
                for name, doc, names in (
                    ("TX", "To the wire", TX_CLASSES),
                    ("RX", "From the wire", RX_CLASSES),
                    ("EVENTS", "Events", packet_events(sizes)),
                )
            ),
        ),
    )


def _destination() -> Block:
    return Block(
        "DESTINATION",
        "A window on one destination: its enable, and statistics over all of its queue pairs.",
        id=0x33,
        version=(1, 0),
        registers=(
            *window_registers(
                "destination",
                (
                    ("fetch", "Copy enable and numbers here."),
                    ("apply", "Write the enable."),
                    ("clear", "Start the numbers again, behind a fetch; no event is lost."),
                ),
                "a destination",
            ),
            *DESTINATION_CONFIG,
            *DESTINATION_VALUES,
        ),
    )


def _packet(parameters: tuple[Register, ...]) -> Block:
    return Block(
        "PACKET",
        "The packet path: parameters, and the card's time.",
        id=0x30,
        version=(2, ECHOES_FROM),
        registers=(
            *parameters,
            Register(
                "ERROR",
                "What went wrong; the bit stays until 1 is written to it.",
                (Field("shim", 1, W1C, "SHIM was set to what no card can work with."),),
            ),
        ),
        tables=(
            Table(
                "CLOCK",
                "The card's time in ticks, of which stamps are the low bits. Read LOW first: it "
                "keeps HIGH of the same instant.",
                counter_registers(volatile=True),
                count=1,
            ),
        ),
    )
