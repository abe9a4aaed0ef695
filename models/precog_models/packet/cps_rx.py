"""CPS extraction, the first stage behind the wire: shims of trusted peers leave the packet here.

    frame ─► parse ─► shim port? ─► length, version, type, CRC ─► trusted? ─► shim out, original
                  │                                                           bytes restored
                  └─► port 4791 ─► mode R's six bits, mode C's mark ─► trusted? ─► score

A frame is trusted if it is of a queue pair that the table knows, whose destination is enabled; a
shim, if that queue pair is in mode S, too. A right shim that is not trusted passes untouched, so
that no sender can have a packet of his own rewritten to port 4791. A frame with a wrong shim passes
untouched, or is dropped, as configured. Both are counted by cause. A score becomes the QP's echo,
and a request's arrival time T1 is kept (`remember`), only from packets that may have an effect
(`trust`): which these are is known only at the end of the frame.
"""

from typing import NamedTuple

from precog_spec.frames.cps import CNP_MARK, SHIM, Mode, ShimFault, score_from_resv6
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.headers import BTH, CNP_PAYLOAD
from precog_spec.frames.opcodes import CNP, solicits

from .cps_state import CpsState
from .cps_tx import put_resv6
from .parser import Descriptor, Parsed, parse
from .shim import Shim, clamp_score, decode, remove

__all__ = ["Received", "receive", "remember"]


class Received(NamedTuple):
    """One packet from the wire."""

    frame: bytes | None  # None: dropped
    parsed: Parsed  # of the packet as it goes on
    slot: int | None
    fault: ShimFault
    shim: Shim | None
    score: int | None  # from the shim, from mode R or from mode C

    @property
    def descriptor(self) -> Descriptor:
        """Of the packet as it goes on."""
        return self.parsed.descriptor


def receive(state: CpsState, frame: bytes | bytearray, *, error: bool = False) -> Received:
    """Receive a frame.

    Parameters
    ----------
    state : CpsState
        Counters change.
    frame : bytes
        Without FCS.
    error : bool
        The stream's error flag.
    """
    counters, port = state.counters, state.config.shim_port
    parsed = parse(frame, Direction.RX, shim_port=port, error=error, knows_ipv6=state.ipv6)
    out, shim, score = bytes(frame), None, None
    if parsed.descriptor.shim:
        fault, shim, clamped = _read(frame, parsed)
        if shim is not None and not _takes_shims(state, parsed):
            fault = ShimFault.UNTRUSTED
        if fault is not ShimFault.NONE or shim is None:
            counters.faults[fault] += 1
            dropped = state.config.drop_malformed and fault is not ShimFault.UNTRUSTED
            counters.dropped += dropped
            return Received(None if dropped else out, parsed, None, fault, None, None)
        counters.clamped += clamped
        counters.extracted += 1
        score = shim.score
        out = remove(frame, parsed)
        parsed = parse(out, Direction.RX, shim_port=port, error=error, knows_ipv6=state.ipv6)

    found, slot = parsed.descriptor, _slot(state, parsed)
    unknown = found.reason is Reason.NONE and slot is None
    counters.passed_rx[Reason.UNKNOWN_QP if unknown else found.reason] += 1
    if slot is None:
        return Received(out, parsed, None, ShimFault.NONE, None, None)

    row = state.slots[slot]
    enabled = state.destination_enable[row.destination]
    if enabled and shim is None and row.mode is Mode.R:
        out, score = _resv6(state, out, parsed)
    if enabled and found.opcode == CNP and score is None:
        score = _mark(state, out, parsed)
    return Received(out, parsed, slot, ShimFault.NONE, shim, score)


def remember(state: CpsState, got: Received, now_ns: int) -> None:
    """Keep a packet's score as the echo, and T1 of one that asks for an answer.

    Parameters
    ----------
    state : CpsState
        Echo and turnaround change.
    got : Received
        Of a slot.
    now_ns : int
        The card's time when the packet's first beat came.
    """
    assert got.slot is not None
    row, found = state.slots[got.slot], got.descriptor
    if got.score is not None:
        row.echo = got.score
    if solicits(found.opcode, found.ack_req):
        row.turnaround.arrived(found.psn, now_ns)


def _slot(state: CpsState, parsed: Parsed) -> int | None:
    """The queue pair of a packet from the wire."""
    found = parsed.descriptor
    if found.reason is not Reason.NONE:
        return None
    return state.table.lookup(Direction.RX, found.remote, found.dest_qp)


def _takes_shims(state: CpsState, parsed: Parsed) -> bool:
    """Whether the packet is of a queue pair in mode S to an enabled destination."""
    slot = _slot(state, parsed)
    if slot is None:
        return False
    row = state.slots[slot]
    return row.mode is Mode.S and state.destination_enable[row.destination]


def _read(frame: bytes | bytearray, parsed: Parsed) -> tuple[ShimFault, Shim | None, int]:
    """`shim.decode` of a packet to the shim's port."""
    if parsed.descriptor.reason is not Reason.NONE:
        return ShimFault.LENGTH, None, 0
    return decode(frame[parsed.bth - SHIM.size : parsed.bth])


def _resv6(state: CpsState, frame: bytes, parsed: Parsed) -> tuple[bytes, int | None]:
    """Mode R: the score, and the packet with the six bits zero as they were before."""
    bits = BTH.get(frame, parsed.bth, "resv6")
    score = score_from_resv6(bits)
    if score is None:
        state.counters.resv6_faults += bits != 0
        return frame, None
    state.counters.resv6_read += 1
    return put_resv6(frame, parsed, 0), score


def _mark(state: CpsState, frame: bytes, parsed: Parsed) -> int | None:
    """Mode C: the score in a CNP that a notification point like ours made."""
    payload = CNP_PAYLOAD.unpack(frame, parsed.bth + BTH.size)
    if payload["mark"] != CNP_MARK:
        return None
    score, clamped = clamp_score(payload["score"])
    state.counters.clamped += clamped
    return score
