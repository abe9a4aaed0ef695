"""The block PROFILER: the queues' numbers, when samples of them are taken, and how they are scaled.

It stands in the map of a NIC with `NicConfig.profile`.
"""

from precog_spec.registers.common import counter_registers, window_registers
from precog_spec.registers.model import Access, Block, Field, Register, Table

__all__ = [
    "PROFILER_EVENTS",
    "PROFILER_INPUTS",
    "PROFILER_PARAMETERS",
    "PROFILER_VALUES",
    "profiler_block",
]

_RW, _RO = Access.RW, Access.RO
_LOG_FRAC, _CENTER_BITS, _GAIN_FRAC, _GAIN_BITS = 11, 17, 14, 16

#: (name, doc) of the 64-bit counters, in table order.
PROFILER_EVENTS: tuple[tuple[str, str], ...] = (
    ("events", "arrivals and departures"),
    ("samples", "samples taken"),
    ("samples_merged", "samples that a later one of the QP replaced before they were used"),
)

#: Inputs of a `queue` head, in their order.
PROFILER_INPUTS = ("occupancy", "inter_arrival", "service", "size")

#: What all queue pairs share.
PROFILER_PARAMETERS: tuple[Register, ...] = (
    Register(
        "PERIOD",
        "Samples by time. Queue pairs are visited in turn, so they are as far apart as that takes, "
        "if that is longer.",
        (Field("period", 32, _RW, "From sample to sample of a QP; 0: none.", unit="ticks"),),
    ),
    Register(
        "EVERY",
        "Samples by events.",
        (Field("every", 16, _RW, "Every this many arrivals and departures of a QP; 0: none."),),
    ),
    *(
        register
        for name in PROFILER_INPUTS
        for register in (
            Register(
                f"{name.upper()}_CENTER",
                f"Of the {name.replace('_', ' ')}'s base-2 logarithm: what becomes 0.",
                (
                    Field(
                        f"{name}_center",
                        _CENTER_BITS,
                        _RW,
                        "Center.",
                        reset=16 << _LOG_FRAC,
                        frac_bits=_LOG_FRAC,
                    ),
                ),
            ),
            Register(
                f"{name.upper()}_GAIN",
                "By what the difference from the center is multiplied.",
                (
                    Field(
                        f"{name}_gain",
                        _GAIN_BITS,
                        _RW,
                        "Gain.",
                        reset=1 << (_GAIN_FRAC - 2),
                        frac_bits=_GAIN_FRAC,
                    ),
                ),
            ),
        )
    ),
)

#: A queue's numbers, all of the instant of COMMAND.fetch.
PROFILER_VALUES: tuple[Register, ...] = tuple(
    Register(name.upper(), doc, (Field(name, bits, _RO, doc, unit=unit),))
    for name, bits, unit, doc in (
        ("occupancy", 32, "bytes", "Bytes that arrived and did not depart."),
        ("inter_arrival", 32, "ticks", "Between the last two arrivals of the connection."),
        ("service", 32, "ticks", "Of the last departure, since it stood first in the queue."),
        ("size", 32, "bytes", "Of the last arrival."),
        ("peak", 32, "bytes", "Most bytes that were queued at once."),
        ("arrivals", 32, "", "Arrivals; wraps."),
        ("departures", 32, "", "Departures; wraps."),
        ("bytes_in_low", 32, "", "Bytes that arrived, bits 31..0."),
        ("bytes_in_high", 16, "", "Bytes that arrived, bits 47..32; wraps."),
        ("bytes_out_low", 32, "", "Bytes that departed, bits 31..0."),
        ("bytes_out_high", 16, "", "Bytes that departed, bits 47..32; wraps."),
    )
)


def profiler_block() -> Block:
    """The block."""
    return Block(
        "PROFILER",
        "Send queues. With grants a request is an arrival, a grant a departure, and a connection's "
        "beginning empties its queue. In wire mode a packet that is stored is an arrival, one that "
        "leaves a departure, requests and answers alike, and a connection empties nothing. PEAK "
        "and the counts start again only with COMMAND.clear.",
        id=0x17,
        version=(1, 0),
        registers=(
            *window_registers(
                "QP slot",
                (
                    ("fetch", "Copy the numbers here."),
                    ("clear", "As above; behind that counts are 0, and PEAK is what is queued."),
                ),
                "a QP",
            ),
            *PROFILER_VALUES,
            *PROFILER_PARAMETERS,
        ),
        tables=(
            Table(
                "COUNTERS",
                "Events since reset, as of the last COUNTERS.COMMAND.snapshot: "
                + "; ".join(f"{n} {name}" for n, (name, _) in enumerate(PROFILER_EVENTS)),
                counter_registers(),
                count=len(PROFILER_EVENTS),
            ),
        ),
    )
