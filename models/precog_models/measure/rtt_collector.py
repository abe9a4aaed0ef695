"""RTT collector: one sample per round trip and queue pair, never overlapping, by PSN.

RTT = (T3 - T0) - (T2 - T1), thesis (1): the first packet sent after the last sample completed is
the next one timed (section 3.2). T2 - T1 comes from the answer's time field if the peer has one.

    sent      new PSN, none timed, asks for an answer ─► time it
              PSN sent before (retransmission)        ─► drop what is timed: Karn's rule
    answered  to no PSN in flight                     ─► refuse: it is a forgery, or old
              acknowledges the timed PSN              ─► sample; a later PSN: coalesced
              NAK at or before the timed PSN          ─► drop: it will be sent again
    any       timed for longer than the time-out      ─► drop: the answer was lost
    swept     that, where no packet comes any more

A packet is timed only if it asks for an answer: others are answered when a later packet of the
message asks, and that would measure the sender's own pace. `any_packet` times them all the same, as
the thesis does, where every packet is acknowledged.

PSNs are compared on the circle of 2**24: the half ahead is new. A READ request occupies as many
PSNs as its response has packets.

In flight are the PSNs from the first that is not acknowledged to the last that was sent. An answer
acknowledges one of them, or repeats the last acknowledgement; a NAK may name the first of them.
Everything else is refused: an attacker without sight of the packets has a chance of (PSNs in
flight + 1) in 2**24 for each forgery. A turnaround that would leave `floor` ticks or less is
refused, and the sample is T3 - T0: no peer answers before the packet has left our own transmit
path.

The two directions' events may come out of their stamps' order: an answer that is stamped before T0
answers something older, and no event that is stamped before T0 finds a time-out.
"""

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import Fmt, Outcome
from precog_spec.frames.descriptor import Reason
from precog_spec.frames.headers import PATH_MTUS, PSN_BITS
from precog_spec.frames.opcodes import (
    ACKNOWLEDGES,
    PLAIN_ACKNOWLEDGES,
    READ_REQUEST,
    SYNDROME_ACK,
    SYNDROME_NAK,
    SYNDROME_RNR,
    SYNDROME_SEQUENCE_ERROR,
    is_reliable,
    solicits,
    syndrome_kind,
)

from ..jit import njit
from ..packet.parser import Descriptor
from .ack_ring import Ack, AckRing
from .losses import Losses

__all__ = ["COLLECTOR_STATE", "NO_TURNAROUND", "RttCollector", "answered", "sent", "swept"]

#: A queue pair's row of state: a PSN was sent; next new PSN; a packet is timed; its PSN; its T0;
#: the last PSN that is acknowledged.
COLLECTOR_STATE = ("seen", "next", "timed", "psn", "t0", "acked")

NO_TURNAROUND = -1


class _Answer(IntEnum):
    ACK = 0  # acknowledges up to its PSN
    NAK = 1  # acknowledges up to the PSN before


_PSN_MASK = (1 << PSN_BITS) - 1
_PSN_HALF = 1 << (PSN_BITS - 1)
_TIME_MASK = Fmt.TIME.max
_TIME_HALF = 1 << (Fmt.TIME.width - 1)
_RTT_MAX = Fmt.RTT.max
_SYNDROME_MASK = 0x7F
_STARTED = int(Outcome.STARTED)
_SAMPLE = int(Outcome.SAMPLE)
_COALESCED = int(Outcome.COALESCED)
_CORRECTED = int(Outcome.CORRECTED)
_RETRANSMISSION = int(Outcome.DROPPED_RETRANSMISSION)
_NAK_DROP = int(Outcome.DROPPED_NAK)
_TIMEOUT = int(Outcome.DROPPED_TIMEOUT)
_SWEPT = int(Outcome.SWEPT)
_REFUSED_PSN = int(Outcome.REFUSED_PSN)
_REFUSED_TURNAROUND = int(Outcome.REFUSED_TURNAROUND)
_NAK = int(_Answer.NAK)
_DEFAULT_MTU = 1024


@njit
def _age(state: NDArray[np.int64], t: int) -> int:
    """Ticks from T0 to `t`, negative if `t` is before it."""
    return int(((t - state[4] + _TIME_HALF) & _TIME_MASK) - _TIME_HALF)


@njit
def sent(state: NDArray[np.int64], psn: int, span: int, wanted: bool, t: int, timeout: int) -> int:
    """A request leaves.

    Parameters
    ----------
    state : ndarray of int64, shape (6,)
        `COLLECTOR_STATE` of the queue pair; zeros after a reset. Changed in place.
    psn : int
        Its PSN, 24 bits.
    span : int
        PSNs that it occupies: for a READ request the packets of its response, otherwise 1.
    wanted : bool
        It may be timed.
    t : int
        T0, ticks in 40 bits.
    timeout : int
        Ticks after which a timed packet is given up, 32 bits; 0: never.

    Returns
    -------
    int
        `Outcome` bits.
    """
    outcome = 0
    if state[2] != 0 and timeout > 0 and _age(state, t) >= timeout:
        state[2] = 0
        outcome |= _TIMEOUT
    if state[0] != 0 and ((psn - state[1]) & _PSN_MASK) >= _PSN_HALF:
        if state[2] != 0:
            state[2] = 0
            outcome |= _RETRANSMISSION
        return outcome
    if state[0] == 0:
        state[5] = (psn - 1) & _PSN_MASK
    state[0] = 1
    state[1] = (psn + span) & _PSN_MASK
    if state[2] == 0 and wanted:
        state[2] = 1
        state[3] = psn
        state[4] = t
        outcome |= _STARTED
    return outcome


@njit
def answered(
    state: NDArray[np.int64],
    psn: int,
    answer: int,
    t: int,
    turnaround: int,
    timeout: int,
    floor: int,
) -> tuple[int, int]:
    """An acknowledge, a NAK or a READ response arrives.

    Parameters
    ----------
    state : ndarray of int64, shape (6,)
        As for `sent`.
    psn : int
        Its PSN, 24 bits.
    answer : int
        0: acknowledges up to `psn`; 1, a NAK: up to the PSN before.
    t : int
        T3, ticks in 40 bits.
    turnaround : int
        T2 - T1 in ticks, `NO_TURNAROUND` if unknown.
    timeout : int
        As for `sent`.
    floor : int
        Ticks that a sample is longer than, or T2 - T1 is refused.

    Returns
    -------
    outcome : int
        `Outcome` bits.
    rtt : int
        The sample in ticks, at most RTT's greatest; 0 without one.
    """
    elapsed = _age(state, t)
    outcome = 0
    if state[2] != 0 and timeout > 0 and elapsed >= timeout:
        state[2] = 0
        outcome = _TIMEOUT
    through = (psn - answer) & _PSN_MASK
    sent_before = ((through - state[1]) & _PSN_MASK) >= _PSN_HALF
    stale = ((through - state[5]) & _PSN_MASK) >= _PSN_HALF
    if state[0] == 0 or not sent_before or stale:
        return outcome | _REFUSED_PSN, 0
    state[5] = through
    if state[2] == 0 or elapsed < 0:
        return outcome, 0
    beyond = (through - state[3]) & _PSN_MASK
    if beyond >= _PSN_HALF:  # the timed PSN is not acknowledged
        if answer != _NAK:
            return outcome, 0
        state[2] = 0
        return outcome | _NAK_DROP, 0
    state[2] = 0
    outcome |= _SAMPLE
    if beyond != 0:
        outcome |= _COALESCED
    if turnaround >= 0:
        if elapsed - turnaround > floor:
            outcome |= _CORRECTED
            elapsed -= turnaround
        else:
            outcome |= _REFUSED_TURNAROUND
    return outcome, min(elapsed, _RTT_MAX)


@njit
def swept(state: NDArray[np.int64], t: int, timeout: int) -> int:
    """Nothing happened until `t`; arguments and result as for `sent`."""
    if state[2] == 0 or timeout == 0 or _age(state, t) < timeout:
        return 0
    state[2] = 0
    return _TIMEOUT | _SWEPT


class RttCollector:
    """The collector of all queue pairs, fed with descriptors.

    Parameters
    ----------
    slots : int
        Queue pairs.
    timeout : int
        Ticks after which a timed packet is given up; 0: never.
    any_packet : bool
        Also time packets that do not ask for an answer.
    floor : int
        Ticks that a sample is longer than, or T2 - T1 is refused.
    mtu : sequence of int, optional
        Path MTU of each slot in bytes, for the length of READ responses; 1024 without it.
    places : int
        Packets in flight of a queue pair that are timed for programs; 0: none.

    Attributes
    ----------
    ring : AckRing or None
    losses : Losses or None
        With a ring.
    ack : Ack or None
        The acknowledgement that programs hear of, if the last event was one.
    lost : bool
        Programs hear of a loss with the last event.

    Raises
    ------
    ValueError
        `mtu` has another length, or a number that is no path MTU of InfiniBand.
    """

    def __init__(
        self,
        slots: int,
        timeout: int,
        *,
        any_packet: bool = False,
        floor: int = 0,
        mtu: Sequence[int] | None = None,
        places: int = 0,
    ) -> None:
        self.ring = AckRing(slots, places) if places else None
        self.losses = Losses(slots) if places else None
        self.ack: Ack | None = None
        self.lost = False
        self.timeout = timeout
        self.floor = floor
        self.any_packet = any_packet
        self.mtu = list(mtu) if mtu is not None else [_DEFAULT_MTU] * slots
        if len(self.mtu) != slots or not set(self.mtu) <= set(PATH_MTUS):
            raise ValueError(f"mtu must be {slots} numbers out of {PATH_MTUS}, not {self.mtu!r}")
        self.counts = dict.fromkeys(Outcome, 0)
        self.outcome = Outcome(0)  # of the last event
        self._state = np.zeros((slots, len(COLLECTOR_STATE)), dtype=np.int64)

    def sent(self, slot: int, packet: Descriptor, t: int) -> Outcome:
        """A packet of the queue pair leaves at `t`; only requests of reliable services count."""
        if not _counts(packet) or packet.opcode in ACKNOWLEDGES:
            return self._count(0)
        span = 1
        if packet.opcode in READ_REQUEST:
            span = max(1, -(-packet.dma_length // self.mtu[slot]))
        wanted = self.any_packet or solicits(packet.opcode, packet.ack_req)
        state = self._state[slot]
        new = not state[0] or ((packet.psn - state[1]) & _PSN_MASK) < _PSN_HALF
        did = self._count(sent(state, packet.psn, span, wanted, t, self.timeout))
        if self.ring is not None:
            acked = int(state[5])
            self.ring.sent(slot, packet.psn, packet.payload, t, new=bool(new), acked=acked)
        flies = 0 < (packet.psn - int(state[5])) & _PSN_MASK < _PSN_HALF
        self._lose(slot, packet.psn, lost=not new and flies)
        return did

    def received(
        self,
        slot: int,
        packet: Descriptor,
        t: int,
        turnaround: int = NO_TURNAROUND,
        *,
        marked: bool = False,
    ) -> int | None:
        """A packet of the queue pair arrives at `t`; `marked`, it echoes a congestion mark.

        Returns
        -------
        int or None
            RTT in ticks if it completes a sample.
        """
        self._count(0)
        if not _counts(packet) or packet.opcode not in ACKNOWLEDGES:
            return None
        answer = _Answer.ACK
        if packet.opcode in PLAIN_ACKNOWLEDGES:
            kind = syndrome_kind(packet.syndrome)
            if kind in (SYNDROME_NAK, SYNDROME_RNR):
                answer = _Answer.NAK
            elif kind != SYNDROME_ACK:
                return None
        state = self._state[slot]
        before = int(state[5])
        outcome, rtt = answered(
            state, packet.psn, int(answer), t, turnaround, self.timeout, self.floor
        )
        did = self._count(outcome)
        counts = packet.opcode in PLAIN_ACKNOWLEDGES and Outcome.REFUSED_PSN not in did
        if counts and answer is _Answer.ACK and packet.psn != before and self.ring is not None:
            self.ack = self.ring.answered(
                slot,
                packet.psn,
                t,
                turnaround,
                self.floor,
                marked=marked,
                following=int(state[1]),
            )
        if Outcome.REFUSED_PSN not in did:
            flies = answer is _Answer.NAK and packet.psn != int(state[1])
            lost = flies and packet.syndrome & _SYNDROME_MASK == SYNDROME_SEQUENCE_ERROR
            busy = flies and syndrome_kind(packet.syndrome) == SYNDROME_RNR
            self._lose(slot, packet.psn, lost=lost, busy=busy)
        return rtt if Outcome.SAMPLE in did else None

    def sweep(self, slot: int, t: int) -> Outcome:
        """Look at a queue pair that may have no packets any more."""
        return self._count(swept(self._state[slot], t, self.timeout))

    def reset(self, slot: int) -> Outcome:
        """Forget a queue pair, as when it connects anew with another PSN."""
        timed = self._state[slot, COLLECTOR_STATE.index("timed")]
        self._state[slot] = 0
        if self.ring is not None:
            self.ring.reset(slot)
        if self.losses is not None:
            self.losses.reset(slot)
        return self._count(Outcome.FORGOTTEN if timed else 0)

    def _lose(self, slot: int, psn: int, *, lost: bool, busy: bool = False) -> None:
        if self.losses is not None:
            acked, following = (int(n) for n in self._state[slot, [5, 1]])
            self.lost = self.losses.passed(slot, psn, acked, following, lost=lost, busy=busy)

    def _count(self, outcome: int) -> Outcome:
        self.outcome = made = Outcome(outcome)
        self.ack, self.lost = None, False
        for bit in made:
            self.counts[bit] += 1
        return made


def _counts(packet: Descriptor) -> bool:
    """Whether the packet is whole and of a service that acknowledges."""
    return packet.reason is Reason.NONE and not packet.error and is_reliable(packet.opcode)
