"""Events of the RTT collector: what its pipeline takes, and what it says of each."""

from amaranth.hdl import unsigned
from amaranth.lib import data, enum

from precog_spec.contract import Fmt, Outcome
from precog_spec.frames.headers import PSN_BITS

from .layouts import LEVELLED, SCORED, TURNAROUND_BITS

__all__ = ["ACK_COMMIT", "EventKind", "commit_layout", "event_layout"]

NUMBER_BITS = max(32, TURNAROUND_BITS)  # a READ's length has 32 bits


class EventKind(enum.Enum, shape=3):  # type: ignore[call-arg]
    """Where an event comes from."""

    TX = 0  # a request left
    RX = 1  # an answer came
    SWEEP = 2  # nothing happened
    RESET = 3  # the host
    SCORE = 4  # a packet that is no answer brought a score, or a level


#: The facts of acknowledgements, for programs.
ACK_COMMIT = data.StructLayout(
    {
        "psn": unsigned(PSN_BITS),
        "new": 1,  # TX: the PSN was not sent before
        "fresh": 1,  # RX: an ACK that acknowledges more than any before
        "number": unsigned(NUMBER_BITS),  # TX: bytes of payload. RX: T2 - T1, ticks
        "counts": 1,  # TX: a READ, without payload. RX: T2 - T1 is known
        "mark": 1,  # RX: it echoes a congestion mark
        "acked": unsigned(PSN_BITS),  # the last PSN that is acknowledged now
        "next": unsigned(PSN_BITS),  # next new PSN
        "lost": 1,  # TX, RX: a sign that `psn` is lost, which is in flight
        "busy": 1,  # RX: the receiver is not ready for `psn`, which is in flight
        "answers": 1,  # RX: it acknowledges, or refuses, what is in flight
    }
)


def event_layout(slots: int, *, senders: bool = False, acks: bool = False) -> data.StructLayout:
    """One event, decoded; `senders`: with levels; `acks`: with the facts of acknowledgements."""
    return data.StructLayout(
        {
            "kind": EventKind,
            "slot": unsigned((slots - 1).bit_length()),
            "psn": unsigned(PSN_BITS),
            "t": unsigned(Fmt.TIME.width),  # ticks
            "flag": 1,  # TX: may be timed. RX: a NAK. RESET: the first one, of what memory kept
            # TX: bytes that a READ asks for, with `acks` of others the payload. RX: T2 - T1, ticks
            "number": unsigned(NUMBER_BITS),
            "counts": 1,  # TX: a READ. RX: T2 - T1 is known
            "score": SCORED,  # RX, SCORE
            **({"senders": LEVELLED} if senders else {}),  # RX, SCORE
            # RX: an ACK, an echo of a congestion mark, NAKs: of a sequence error, RNR
            **(dict.fromkeys(("plain", "mark", "lacks", "busy"), 1) if acks else {}),
        }
    )


def commit_layout(slots: int, *, senders: bool = False, acks: bool = False) -> data.StructLayout:
    """What golden models need to replay the order of events, and what each did.

    `senders`: with levels; `acks`: with the facts of acknowledgements.
    """
    return data.StructLayout(
        {
            "kind": EventKind,
            "slot": unsigned((slots - 1).bit_length()),
            "t": unsigned(Fmt.TIME.width),
            "outcome": unsigned(len(Outcome)),  # `Outcome` bits, 0 without an event
            "score": SCORED,  # that may be followed
            **({"senders": LEVELLED} if senders else {}),  # that may be heeded
            **({"ack": ACK_COMMIT} if acks else {}),
        }
    )
