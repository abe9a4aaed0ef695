"""An RC endpoint, one queue pair: requests, coalesced ACKs, NAK, go-back-N. It knows no score.

InfiniBand Architecture Specification 1, sections 9.7.5 (responder) and 9.9 (requester): a responder
takes packets in the order of their PSNs, answers the first of a gap with one NAK until what it
expects has come, and acknowledges duplicates again; a requester goes back to the PSN of a NAK, or
after a time without an answer to the oldest one.
"""

import random
from collections import deque
from dataclasses import dataclass, field

from precog_spec.frames.opcodes import CNP

from .frames import (
    ACK,
    ACKNOWLEDGE,
    NAK_SEQUENCE,
    SEND_FIRST,
    SEND_LAST,
    SEND_MIDDLE,
    SEND_ONLY,
    Packet,
)

__all__ = ["Endpoint", "EndpointSettings"]

_PSN_MASK = (1 << 24) - 1
_HALF = 1 << 23


@dataclass(frozen=True)
class EndpointSettings:
    """Times in ticks."""

    mtu: int = 1024
    message_packets: int = 12  # at most
    think: int = 20_000  # between messages, mean
    window: int = 48  # packets without an answer
    ack_every: int = 8  # packets of a message that ask for an answer, besides its last
    ack_delay: int = 600  # answers within this time become one
    timeout: int = 120_000


@dataclass
class Endpoint:
    """One end of a connection.

    Attributes
    ----------
    heard : bytearray
        Payload of the messages that have come, in order.
    said : bytearray
        Payload that was accepted for sending and has been acknowledged.
    counts : dict of str to int
        Packets by what became of them here.
    """

    peer_qp: int
    psn: int  # of the first request
    expected: int  # PSN of the peer's first one
    settings: EndpointSettings
    rng: random.Random
    packets_left: int  # that it will say
    heard: bytearray = field(default_factory=bytearray)
    said: bytearray = field(default_factory=bytearray)
    counts: dict[str, int] = field(default_factory=dict)
    next_message: int = 0
    ack_due: int | None = None
    timer: int | None = None
    _queue: deque[Packet] = field(default_factory=deque)
    _flying: deque[Packet] = field(default_factory=deque)
    _again: int = 0  # of those that fly, from here on they are to be sent again
    _asked: bool = False  # NAK said for the gap that is
    _msn: int = 0

    # --- requester -------------------------------------------------------------------------------

    def think(self, t: int) -> int:
        """A message to say comes up; its bytes, or 0."""
        if self.packets_left <= 0:
            return 0
        count = min(self.rng.randint(1, self.settings.message_packets), self.packets_left)
        self.packets_left -= count
        size = 0
        for n in range(count):
            last = n == count - 1
            length = self.rng.randint(1, self.settings.mtu) if last else self.settings.mtu
            opcode = SEND_ONLY if count == 1 else SEND_LAST if last else SEND_MIDDLE
            opcode = SEND_FIRST if n == 0 and not last else opcode
            asks = last or n % self.settings.ack_every == self.settings.ack_every - 1
            payload = self.rng.randbytes(length)
            self._queue.append(Packet(opcode, self.peer_qp, self.psn, asks, payload=payload))
            self.psn = (self.psn + 1) & _PSN_MASK
            size += length
        self.next_message = t + round(self.rng.expovariate(1 / self.settings.think))
        return size

    def ready(self) -> bool:
        """It has a request to send."""
        if self._again < len(self._flying):
            return True
        return bool(self._queue) and len(self._flying) < self.settings.window

    def send(self, t: int) -> Packet:
        """The next request leaves."""
        if self.timer is None:
            self.timer = t + self.settings.timeout
        if self._again < len(self._flying):
            self._count("again")
            packet = self._flying[self._again]
        else:
            self._count("sent")
            packet = self._queue.popleft()
            self._flying.append(packet)
        self._again += 1
        return packet

    def expire(self, t: int) -> None:
        """The timer: no answer in time."""
        self.timer = t + self.settings.timeout if self._flying else None
        if self._flying:
            self._count("timeouts")
            self._again = 0

    def idle(self) -> bool:
        """Nothing is to be said or waited for."""
        return not (self._queue or self._flying or self.packets_left > 0)

    def _answered(self, psn: int, t: int) -> None:
        """All requests up to `psn` have arrived."""
        while self._flying and (psn - self._flying[0].psn) & _PSN_MASK < _HALF:
            self.said += self._flying.popleft().payload
            self._again = max(0, self._again - 1)
            self.timer = t + self.settings.timeout
        if not self._flying:
            self.timer = None

    # --- responder -------------------------------------------------------------------------------

    def receive(self, packet: Packet, t: int) -> Packet | None:
        """A packet has come; what is to be answered at once. `ack_due` says when to `answer`."""
        if packet.opcode == CNP:
            self._count("cnps")
            return None
        if packet.opcode == ACKNOWLEDGE:
            self._answer_came(packet, t)
            return None
        ahead = (packet.psn - self.expected) & _PSN_MASK
        if ahead == 0:
            self.expected = (self.expected + 1) & _PSN_MASK
            self._asked = False
            self.heard += packet.payload
            self._count("taken")
            self._msn += packet.opcode in (SEND_LAST, SEND_ONLY)
            if packet.ack_req and self.ack_due is None:
                self.ack_due = t + self.settings.ack_delay
            return None
        if ahead < _HALF:
            self._count("early")
            if self._asked:
                return None
            self._asked = True
            self._count("naks_said")
            return self._ack(self.expected, NAK_SEQUENCE)
        self._count("twice")
        if packet.ack_req and self.ack_due is None:
            self.ack_due = t + self.settings.ack_delay
        return None

    def answer(self) -> Packet:
        """The ACK that is due."""
        self.ack_due = None
        self._count("acks_said")
        return self._ack((self.expected - 1) & _PSN_MASK, ACK)

    def _ack(self, psn: int, syndrome: int) -> Packet:
        msn = self._msn & _PSN_MASK
        return Packet(ACKNOWLEDGE, self.peer_qp, psn, syndrome=syndrome, msn=msn)

    def _answer_came(self, packet: Packet, t: int) -> None:
        if packet.syndrome == ACK:
            self._count("acks")
            self._answered(packet.psn, t)
            return
        self._count("naks")
        self._answered((packet.psn - 1) & _PSN_MASK, t)
        self._again = 0

    def _count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1
