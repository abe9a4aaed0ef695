"""Frames on their way: a guest, its card, the wire, the other card, the other guest.

Each one that comes out is compared with the one that went in.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from precog_sim.backtoback.frames import with_ce
from precog_sim.backtoback.wire import Flight, Wire
from precog_sim.capture import Frame
from precog_spec.frames.cps import SHIM_PORT
from precog_spec.frames.opcodes import CNP, PLAIN_ACKNOWLEDGES

from .binding import Binding, Flow
from .cards import Card, GoldenCard
from .guest import Guest
from .roce import Requests, request
from .settings import Settings
from .waiting import Queues

__all__ = ["About", "Clock", "Passing", "Seen"]

_MANAGEMENT_QPS = (0, 1)
_SHOWN = 200  # characters of two frames that differ
_PORT_AT = slice(36, 38)  # UDP destination port of a frame in IPv4 without options


@dataclass
class Seen:
    """What has happened on the wire."""

    frames: int = 0
    roce: int = 0
    shims: int = 0
    marked_data: int = 0  # frames that came with a mark and may be answered by a CNP
    lost_data: int = 0  # frames of guests that the wire lost
    lost_cnps: int = 0
    lost_shims: int = 0  # frames with a shim that it lost, CNPs among them
    marked_answers: int = 0  # marked frames that came and that no CNP answers
    strange_shims: int = 0  # that came to a card which no longer had the queue pair
    unbound: int = 0  # RoCEv2 of no queue pair of the cards, connection management among them
    identical: int = 0  # came out as they went in, but for marks that the wire put on
    wire: list[Frame] = field(default_factory=list)
    delivered: Counter[int] = field(default_factory=Counter)  # bytes of RoCEv2, by guest


@dataclass(frozen=True)
class About:
    """Whose frame is on the wire."""

    source: int
    destination: int
    original: bytes | None  # None: the card made the frame


class Clock(Protocol):
    """Time of the cards."""

    @property
    def now(self) -> int:
        """Ticks."""
        ...

    def at(self, t: int, action: Callable[[int], None]) -> None:
        """Have something done at a time, in ticks."""
        ...


class Passing:
    """All guests, their cards, and the links to them.

    Parameters
    ----------
    guests : sequence of Guest
    cards : sequence of Card
    settings : Settings
    links : sequence of Wire
        By receiver.
    clock : Clock
    keep : bool
        Frames on the wire are kept for a capture.

    Attributes
    ----------
    seen : Seen
    requests : Requests
    binding : Binding
    differences : list of str
        Frames that did not come out as they went in.
    """

    def __init__(
        self,
        guests: Sequence[Guest],
        cards: Sequence[Card],
        settings: Settings,
        links: "Sequence[Wire[About]]",
        clock: Clock,
        *,
        keep: bool = False,
    ) -> None:
        self._guests, self._cards, self._links, self._clock = guests, cards, links, clock
        self._keep = keep
        self.seen = Seen()
        self.requests = Requests()
        self.binding = Binding(guests, cards)
        self.differences: list[str] = []
        self._macs = {guest.address.mac_bytes: n for n, guest in enumerate(guests)}
        self._backlog: list[deque[bytes]] = [deque() for _ in guests]
        self._queues = [
            Queues(card, clock.at, partial(self._leave, number))
            for number, card in enumerate(cards)
            if settings.pace and isinstance(card, GoldenCard)
        ]

    @property
    def waits(self) -> bool:
        """Frames wait for a guest."""
        return any(self._backlog)

    def settle(self, *, quiet: bool) -> None:
        """Go on with frames that were held; `quiet`: none is under way."""
        for number, backlog in enumerate(self._backlog):
            while backlog and self._guests[number].deliver(backlog[0]):
                backlog.popleft()
        for flow, frame in self.binding.settle(quiet=quiet):
            self._transmit(flow[0], flow[1], frame, known=self.binding.knows(flow))

    def take(self, number: int) -> None:
        """The next frame of a guest, if there is one."""
        frame = self._guests[number].receive()
        if frame is None:
            return
        peers = [self._macs[frame[:6]]] if frame[:6] in self._macs else range(len(self._guests))
        for peer in peers:
            if peer != number:
                self._sort(number, peer, frame)

    def _sort(self, source: int, destination: int, frame: bytes) -> None:
        """Hold a frame of a queue pair that the cards do not know yet."""
        self.seen.frames += 1
        found = request(frame)
        if found is None:
            self._pass_by(source, destination, frame)
            return
        self.seen.roce += 1
        self.requests.sent(source, destination, found)
        flow: Flow = source, destination, found.dest_qp
        if found.dest_qp in _MANAGEMENT_QPS:
            self._transmit(source, destination, frame, known=False)
        elif self.binding.passes(flow):
            self._transmit(source, destination, frame, known=self.binding.knows(flow))
        else:
            self.binding.hold(flow, frame)

    def _pass_by(self, source: int, destination: int, frame: bytes) -> None:
        """A frame of another protocol through both cards; links are not for it."""
        for wire in self._cards[source].transmit(frame, self._clock.now).wire:
            self._arrive(Flight(self._clock.now, wire, False, About(source, destination, frame)))

    def _transmit(self, source: int, destination: int, frame: bytes, *, known: bool) -> None:
        self.seen.unbound += not known
        if self._queues and self._queues[source].put(destination, frame, self._clock.now):
            return
        self._leave(source, destination, frame, self._clock.now)

    def _leave(self, source: int, destination: int, frame: bytes, t: int) -> None:
        """A frame need not wait, or has its grant."""
        for wire in self._cards[source].transmit(frame, t).wire:
            self._carry(wire, About(source, destination, frame))

    def _carry(self, frame: bytes, about: About) -> None:
        now = self._clock.now
        shim = _has_shim(frame)
        self.seen.shims += shim
        if self._keep:
            self.seen.wire.append(Frame(time.time_ns(), frame, len(frame)))
        flight = self._links[about.destination].carry(frame, now, about)
        if flight is None:
            self.seen.lost_shims += shim
            self.seen.lost_cnps += about.original is None
            self.seen.lost_data += about.original is not None
            return
        if flight.t <= now:
            self._arrive(flight)
        else:
            self._clock.at(flight.t, lambda _: self._arrive(flight))

    def _arrive(self, flight: "Flight[About]") -> None:
        about = flight.about
        got = self._cards[about.destination].receive(flight.frame, self._clock.now)
        self._compare(flight, got.host)
        opcode = got.descriptor.opcode
        self.seen.strange_shims += _has_shim(flight.frame) and got.slot is None
        answered = opcode not in (CNP, *PLAIN_ACKNOWLEDGES)
        self.seen.marked_data += flight.marked and answered
        self.seen.marked_answers += flight.marked and not answered
        for cnp in got.wire:
            self._carry(cnp, About(about.destination, about.source, None))
        if got.host is None:
            return
        self.seen.delivered[about.destination] += len(got.host)
        backlog = self._backlog[about.destination]
        if backlog or not self._guests[about.destination].deliver(got.host):
            backlog.append(got.host)

    def _compare(self, flight: "Flight[About]", host: bytes | None) -> None:
        """The host must get the frame that was sent, except for a mark that the wire put on."""
        original = flight.about.original
        if original is None:
            return
        wanted = with_ce(original) if flight.marked else original
        if host == wanted:
            self.seen.identical += 1
            return
        shown = [None if frame is None else frame.hex()[:_SHOWN] for frame in (wanted, host)]
        self.differences.append(f"frame {shown[0]} came out as {shown[1]}")


def _has_shim(frame: bytes) -> bool:
    return frame[_PORT_AT] == SHIM_PORT.to_bytes(2, "big")
