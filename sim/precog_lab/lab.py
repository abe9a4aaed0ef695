"""The lab at work: frames of guests through their cards and the wire between these.

    guest ─► card ─► link of the receiver (queue, delay, loss, marks) ─► card ─► guest

One frame of each guest is taken in a turn and delivered at once: who reads many first keeps
acknowledgements waiting, until endpoints send everything again.
"""

import heapq
import selectors
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from precog_sim.backtoback.frames import with_ce
from precog_sim.backtoback.wire import Flight, Wire
from precog_sim.capture import Frame
from precog_spec.frames.cps import SHIM_PORT
from precog_spec.frames.opcodes import CNP, PLAIN_ACKNOWLEDGES

from .binding import Binding, Flow
from .cards import Card, GoldenCard
from .guest import Answer, Guest
from .packages import LabError
from .roce import Requests, request
from .settings import TICK_NS, Settings
from .waiting import Queues

__all__ = ["SILENCE_S", "Lab", "Seen"]

#: Seconds after which a lab in which nothing moves has failed.
SILENCE_S = 30.0
_POLL_S = 0.05
_BUSY_S = 0.001
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
    unbound: int = 0  # RoCEv2 of no queue pair of the cards, connection management among them
    identical: int = 0  # came out as they went in, but for marks that the wire put on
    wire: list[Frame] = field(default_factory=list)
    delivered: Counter[int] = field(default_factory=Counter)  # bytes of RoCEv2, by guest


@dataclass(frozen=True)
class _About:
    source: int
    destination: int
    original: bytes | None  # None: the card made the frame


class Lab:
    """Guests, their cards, and links.

    Parameters
    ----------
    guests : sequence of Guest
        The first one is the hub.
    cards : sequence of Card
    settings : Settings
    links : sequence of Wire
        By receiver.
    keep : bool
        Frames on the wire are kept for a capture.
    watch : callable, optional
        Called now and then with the lab, in ticks.

    Attributes
    ----------
    seen : Seen
    differences : list of str
        Frames that did not come out as they went in.
    """

    def __init__(
        self,
        guests: Sequence[Guest],
        cards: Sequence[Card],
        settings: Settings,
        links: "Sequence[Wire[_About]]",
        *,
        keep: bool = False,
        watch: "Callable[[Lab, int], None] | None" = None,
    ) -> None:
        self.guests, self.cards, self.settings, self.links = guests, cards, settings, links
        self.seen = Seen()
        self.requests = Requests()
        self.differences: list[str] = []
        self.binding = Binding(guests, cards)
        self._keep, self._watch = keep, watch
        self._began = time.monotonic_ns()
        self._heard = time.monotonic()
        self._answers: list[dict[str, Answer]] = [{} for _ in guests]
        self._macs = {guest.address.mac_bytes: n for n, guest in enumerate(guests)}
        self._due: list[tuple[int, int, Callable[[int], None]]] = []
        self._serial = count()
        self._backlog: list[deque[bytes]] = [deque() for _ in guests]
        self._queues = [
            Queues(card, self.at, partial(self._leave, number))
            for number, card in enumerate(cards)
            if settings.pace and isinstance(card, GoldenCard)
        ]
        self._selector = selectors.DefaultSelector()
        for number, guest in enumerate(guests):
            for channel, work in (
                (guest.frames, self._take),
                (guest.commands, self._answered),
                (guest.pairs, self._listed),
            ):
                self._selector.register(channel, selectors.EVENT_READ, (work, number))

    @property
    def now(self) -> int:
        """Ticks of the cards."""
        return (time.monotonic_ns() - self._began) // TICK_NS

    def at(self, t: int, action: Callable[[int], None]) -> None:
        """Have something done at a time, in ticks."""
        heapq.heappush(self._due, (t, next(self._serial), action))

    # --- commands --------------------------------------------------------------------------------

    def ready(self, patience_s: float) -> None:
        """Wait until all guests have booted.

        Raises
        ------
        LabError
            One has not in time; it says what its serial line said last.
        """
        for number, answers in enumerate(self._answers):
            self.until(
                lambda answers=answers: "ready" in answers,  # type: ignore[misc]
                patience_s,
                f"answer ready of guest {number}",
                silence_s=patience_s,  # a guest that boots says nothing
            )

    def answer(self, guest: int, number: str, patience_s: float) -> Answer:
        """Wait for the answer to a command.

        Raises
        ------
        LabError
            It does not come in time, or nothing at all happens for half a minute.
        """
        self.until(
            lambda: number in self._answers[guest], patience_s, f"answer {number} of guest {guest}"
        )
        return self._answers[guest].pop(number)

    def early(self, guest: int, numbers: Sequence[str]) -> list[Answer]:
        """Answers that have come already, of commands that nobody has waited for yet."""
        answers = self._answers[guest]
        return [answers[number] for number in numbers if number in answers]

    def until(
        self,
        done: Callable[[], bool],
        patience_s: float,
        what: str,
        *,
        silence_s: float = SILENCE_S,
    ) -> None:
        """Pass frames until `done`; nothing may happen for `silence_s` at most.

        Raises
        ------
        LabError
            It is not so in time.
        """
        give_up = time.monotonic() + patience_s
        self._heard = time.monotonic()
        while not done():
            self._turn()
            now = time.monotonic()
            if now > give_up or now > self._heard + min(silence_s, patience_s):
                why = f"within {patience_s:.0f} s" if now > give_up else "while nothing moved"
                tails = "\n".join(
                    f"guest {n}, serial line:\n{guest.tail()}"
                    for n, guest in enumerate(self.guests)
                )
                raise LabError(f"{what} did not come {why}\n{tails}")

    def drained(self, patience_s: float) -> None:
        """Wait until all queue pairs have gone and their slots are released.

        Raises
        ------
        LabError
            Some stay.
        """

        def gone() -> bool:
            self.binding.ask()
            return self.binding.empty and not self._due

        self.until(gone, patience_s, "end of all queue pairs")
        self.requests.forget()

    def close(self) -> None:
        """Nothing is waited for any more."""
        self._selector.close()

    # --- turns -----------------------------------------------------------------------------------

    def _turn(self) -> None:
        wait = _POLL_S
        if any(self._backlog):
            wait = _BUSY_S
        if self._due:
            wait = min(wait, max(0, self._due[0][0] - self.now) * TICK_NS / 1e9)
        events = self._selector.select(wait)
        for key, _ in events:
            work, number = key.data
            work(number)
        if events:
            self._heard = time.monotonic()
        else:
            for guest in self.guests:
                guest.check()
        while self._due and self._due[0][0] <= self.now:
            t, _, action = heapq.heappop(self._due)
            action(t)
        for number, backlog in enumerate(self._backlog):
            while backlog and self.guests[number].deliver(backlog[0]):
                backlog.popleft()
        for flow, frame in self.binding.settle(quiet=not self._due):
            self._transmit(flow[0], flow[1], frame, known=self.binding.knows(flow))
        if self._watch is not None:
            self._watch(self, self.now)

    def _answered(self, number: int) -> None:
        for answer in self.guests[number].answers():
            self._answers[number][answer.number] = answer

    def _listed(self, number: int) -> None:
        for question, text in self.guests[number].listed():
            self.binding.answered(number, question, text)

    # --- frames ----------------------------------------------------------------------------------

    def _take(self, number: int) -> None:
        frame = self.guests[number].receive()
        if frame is None:
            return
        peers = [self._macs[frame[:6]]] if frame[:6] in self._macs else range(len(self.guests))
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
        for wire in self.cards[source].transmit(frame, self.now).wire:
            self._arrive(Flight(self.now, wire, False, _About(source, destination, frame)))

    def _transmit(self, source: int, destination: int, frame: bytes, *, known: bool) -> None:
        self.seen.unbound += not known
        if self._queues and self._queues[source].put(destination, frame, self.now):
            return
        made = self.cards[source].transmit(frame, self.now)
        for wire in made.wire:
            self._carry(wire, _About(source, destination, frame))

    def _leave(self, source: int, destination: int, frame: bytes, t: int) -> None:
        """A frame has its grant."""
        for wire in self.cards[source].transmit(frame, t).wire:
            self._carry(wire, _About(source, destination, frame))

    def _carry(self, frame: bytes, about: _About) -> None:
        now = self.now
        self.seen.shims += frame[_PORT_AT] == SHIM_PORT.to_bytes(2, "big")
        if self._keep:
            self.seen.wire.append(Frame(time.time_ns(), frame, len(frame)))
        flight = self.links[about.destination].carry(frame, now, about)
        if flight is None:
            return
        if flight.t <= now:
            self._arrive(flight)
        else:
            self.at(flight.t, lambda _: self._arrive(flight))

    def _arrive(self, flight: "Flight[_About]") -> None:
        about = flight.about
        got = self.cards[about.destination].receive(flight.frame, self.now)
        self._compare(flight, got.host)
        opcode = got.descriptor.opcode
        self.seen.marked_data += flight.marked and opcode not in (CNP, *PLAIN_ACKNOWLEDGES)
        for cnp in got.wire:
            self._carry(cnp, _About(about.destination, about.source, None))
        if got.host is None:
            return
        self.seen.delivered[about.destination] += len(got.host)
        backlog = self._backlog[about.destination]
        if backlog or not self.guests[about.destination].deliver(got.host):
            backlog.append(got.host)

    def _compare(self, flight: "Flight[_About]", host: bytes | None) -> None:
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
