"""What flows through the measuring path."""

from amaranth.hdl import signed, unsigned
from amaranth.lib import data

from precog_spec.config import NicConfig
from precog_spec.contract import Fmt
from precog_spec.frames.cps import SHIM
from precog_spec.frames.headers import PSN_BITS

__all__ = [
    "FLOOR_BITS",
    "LEVELLED",
    "SCORED",
    "answer_layout",
    "feature_layout",
    "measured_layout",
    "request_layout",
]

TURNAROUND_BITS = 32  # 24 bits of ns, in ticks that may be shorter
FLOOR_BITS = 16

#: A score that a packet has brought, 0..100.
SCORED = data.StructLayout({"value": unsigned(7), "valid": unsigned(1)})

#: A level that a packet's shim has brought.
LEVELLED = data.StructLayout({"value": unsigned(SHIM["senders"].bits), "valid": unsigned(1)})


def request_layout(slots: int) -> data.StructLayout:
    """A packet that left, of a queue pair that exists: what the RTT collector wants to know."""
    return data.StructLayout(
        {
            "slot": unsigned((slots - 1).bit_length()),
            "opcode": unsigned(8),
            "psn": unsigned(PSN_BITS),
            "ack_req": unsigned(1),
            # Bytes that a READ request asks for; with `acks`, the payload of any other.
            "dma_length": unsigned(32),
            "t": unsigned(Fmt.TIME.width),  # T0, ticks
        }
    )


def answer_layout(slots: int, *, senders: bool = False, acks: bool = False) -> data.StructLayout:
    """A packet that arrived and may have an effect, of a queue pair that exists.

    `senders`: levels come with them; `acks`: and echoes of congestion marks.
    """
    return data.StructLayout(
        {
            "slot": unsigned((slots - 1).bit_length()),
            "opcode": unsigned(8),
            "psn": unsigned(PSN_BITS),
            "syndrome": unsigned(8),
            "t": unsigned(Fmt.TIME.width),  # T3, ticks
            "turnaround": unsigned(TURNAROUND_BITS),  # T2 - T1, ticks
            "turnaround_valid": unsigned(1),
            "score": SCORED,
            **({"senders": LEVELLED} if senders else {}),
            **({"mark": unsigned(1)} if acks else {}),
        }
    )


def measured_layout(config: NicConfig) -> data.StructLayout:
    """An RTT sample of a queue pair that exists."""
    return data.StructLayout(
        {
            "qp": unsigned(config.qp_bits),
            "rtt": unsigned(Fmt.RTT.width),  # ticks
            "t": unsigned(Fmt.TIME.width),  # ticks; when the sample was completed
        }
    )


def feature_layout(config: NicConfig) -> data.StructLayout:
    """A sample with everything that is derived from it."""
    return data.StructLayout(
        {
            "qp": unsigned(config.qp_bits),
            "rtt": unsigned(Fmt.RTT.width),  # ticks
            "srtt": unsigned(Fmt.SRTT.width),  # S_t of (2), this sample included
            "k": signed(Fmt.X.width),  # K_t of (3)
            "base": unsigned(Fmt.RTT.width),  # base RTT in ticks, this sample included
        }
        | ({"t": unsigned(Fmt.TIME.width)} if config.trials else {})
    )
