"""CPS insertion, the last stage before the wire.

    frame ─► parse ─► slot ─► enabled? ─► mode S: room? ─► shim in, lengths, port, checksums
               │                      └─► mode R: six bits free? ─► score into them
               └─► acknowledgement? ─► its DSCP; marked data since the last one? ─► BECN

The decision needs nothing behind the BTH. Every packet leaves, with a score or not; one without is
counted under the first reason that holds. An acknowledgement's DSCP and BECN do not depend on that.
"""

from typing import NamedTuple

from precog_spec.frames.cps import SHIM, TIME_BITS, Mode, ShimType, resv6_from_score
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.headers import BTH, IPV4, IPV6
from precog_spec.frames.opcodes import ACKNOWLEDGES, PLAIN_ACKNOWLEDGES

from .checksum import update
from .cps_state import CpsSlot, CpsState
from .parser import Descriptor, Parsed, parse
from .shim import Shim, encode, insert, update_udp_checksum

__all__ = ["Sent", "put_becn", "put_dscp", "put_resv6", "transmit"]

_UNUPDATABLE = 0xFFFF  # an IPv4 checksum that no sum of a header gives
_TIME_MASK = (1 << TIME_BITS) - 1


class Sent(NamedTuple):
    """One packet to the wire."""

    frame: bytes
    descriptor: Descriptor  # of the packet as it came
    slot: int | None
    reason: Reason  # NONE: the packet carries the score
    end: int  # bytes of the packet as it came, up to its ICRC
    lost: bool = False  # it is sent again, and programs hear of a loss


def transmit(
    state: CpsState,
    frame: bytes | bytearray,
    now_ns: int,
    *,
    error: bool = False,
    senders: int = 0,
) -> Sent:
    """Send a frame.

    Parameters
    ----------
    state : CpsState
        Its counters change.
    frame : bytes
        Without FCS.
    now_ns : int
        The card's time; T0 of data, T2 of answers.
    error : bool
        The stream's error flag. It is carried through and changes nothing else.
    senders : int
        The level that a shim says.
    """
    port = state.config.shim_port
    parsed = parse(frame, Direction.TX, shim_port=port, error=error, knows_ipv6=state.ipv6)
    found = parsed.descriptor
    slot = None
    if found.reason is Reason.NONE and not found.shim:
        slot = state.table.lookup(Direction.TX, found.remote, found.dest_qp)
    reason = _reason(state, frame, parsed, slot)
    state.counters.passed_tx[reason] += 1
    if _acknowledges(found):
        frame = _remark(state, frame, parsed, slot)
    if reason is not Reason.NONE or slot is None:
        return Sent(bytes(frame), found, slot, reason, parsed.end)
    row = state.slots[slot]
    if row.mode is Mode.R and row.carried is not None:
        state.counters.resv6_written += 1
        out = put_resv6(frame, parsed, resv6_from_score(row.carried))
    else:
        state.counters.inserted += 1
        shim = encode(_shim(row, found, now_ns, senders))
        out = insert(frame, parsed, shim, state.config.shim_port)
    return Sent(out, found, slot, reason, parsed.end)


def put_dscp(frame: bytes | bytearray, parsed: Parsed, dscp: int) -> bytes:
    """The frame with another DSCP; one that has it already stays, whatever its checksum."""
    out = bytearray(frame)
    l3, ip = parsed.l3, IPV6 if parsed.descriptor.ipv6 else IPV4
    if ip.get(out, l3, "dscp") == dscp:
        return bytes(out)
    was = int.from_bytes(out[l3 : l3 + 2], "big")
    ip.put(out, l3, "dscp", dscp)
    if ip is IPV4:
        word = int.from_bytes(out[l3 : l3 + 2], "big")
        IPV4.put(out, l3, "checksum", update(IPV4.get(out, l3, "checksum"), [was], [word]))
    return bytes(out)


def put_becn(frame: bytes | bytearray, parsed: Parsed) -> bytes:
    """The frame with BECN set; one that has it already stays, whatever its checksum."""
    if BTH.get(frame, parsed.bth, "becn"):
        return bytes(frame)
    return _put_bits(frame, parsed, "becn", 1)


def put_resv6(frame: bytes | bytearray, parsed: Parsed, bits: int) -> bytes:
    """The frame with mode R's six bits in the BTH."""
    return _put_bits(frame, parsed, "resv6", bits)


def _put_bits(frame: bytes | bytearray, parsed: Parsed, name: str, bits: int) -> bytes:
    """The frame with another value of a field that the ICRC does not cover."""
    out = bytearray(frame)
    at = parsed.bth + BTH[name].byte  # an even distance from the UDP header: one whole word
    was = int.from_bytes(out[at : at + 2], "big")
    BTH.put(out, parsed.bth, name, bits)
    update_udp_checksum(out, parsed.l4, old=[was], new=[int.from_bytes(out[at : at + 2], "big")])
    return bytes(out)


def _acknowledges(found: Descriptor) -> bool:
    """Whether it is RoCEv2 without a shim, and an acknowledgement without payload."""
    return found.reason is Reason.NONE and not found.shim and found.opcode in PLAIN_ACKNOWLEDGES


def _remark(
    state: CpsState, frame: bytes | bytearray, parsed: Parsed, slot: int | None
) -> bytes | bytearray:
    """The acknowledgement with the registers' DSCP, and with its queue pair's mark, which it takes.

    With the bit off it takes the mark, too: what is switched on later says nothing of before.
    """
    config = state.config
    if config.ack_enabled:
        frame = put_dscp(frame, parsed, config.ack_dscp)
    if slot is None:
        return frame
    row = state.slots[slot]
    echoes, row.marked = row.marked and config.echo_enabled, False
    if not echoes:
        return frame
    marked = put_becn(frame, parsed)
    state.counters.marks_echoed += marked != frame
    return marked


def _reason(state: CpsState, frame: bytes | bytearray, parsed: Parsed, slot: int | None) -> Reason:
    """Why the packet leaves as it is."""
    found = parsed.descriptor
    if found.reason is not Reason.NONE:
        return found.reason
    if found.shim:
        return Reason.SHIM_PORT
    if slot is None:
        return Reason.UNKNOWN_QP
    row = state.slots[slot]
    if row.mode is Mode.OFF:
        return Reason.QP_DISABLED
    if not state.destination_enable[row.destination]:
        return Reason.DESTINATION_DISABLED
    if row.mode is Mode.R:
        if BTH.get(frame, parsed.bth, "resv6"):
            return Reason.RESV6_IN_USE
        return Reason.NO_SCORE if row.carried is None else Reason.NONE
    if not found.ipv6 and IPV4.get(frame, parsed.l3, "checksum") == _UNUPDATABLE:
        return Reason.CHECKSUM_FORM
    if parsed.end + SHIM.size > state.config.max_frame:
        return Reason.MAX_FRAME
    return Reason.NONE


def _shim(row: CpsSlot, found: Descriptor, now_ns: int, senders: int) -> Shim:
    """What the packet's shim says."""
    if found.opcode in ACKNOWLEDGES:
        turnaround = row.turnaround.answered(found.psn, now_ns)
        return Shim(ShimType.ACKNOWLEDGE, row.carried, row.echo, turnaround, senders)
    return Shim(ShimType.DATA, row.carried, row.echo, now_ns & _TIME_MASK, senders)
