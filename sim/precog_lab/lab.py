"""The lab at work: frames of guests through their cards and the wire between these.

    guest ─► card ─► link of the receiver (queue, delay, loss, marks) ─► card ─► guest

One frame of each guest is taken in a turn and delivered at once: who reads many first keeps
acknowledgements waiting, until endpoints send everything again.
"""

import heapq
import selectors
import time
from collections.abc import Callable, Sequence
from itertools import count

from precog_host.serve import EtherboneServer
from precog_sim.backtoback.wire import Wire

from .cards import Card
from .guest import Answer, Guest
from .packages import LabError
from .passing import About, Passing
from .settings import Settings

__all__ = ["SILENCE_S", "Lab"]

#: Seconds after which a lab in which nothing moves has failed.
SILENCE_S = 30.0
_POLL_S = 0.05
_BUSY_S = 0.001


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
        links: "Sequence[Wire[About]]",
        *,
        keep: bool = False,
        watch: "Callable[[Lab, int], None] | None" = None,
    ) -> None:
        self.guests, self.cards, self.settings, self.links = guests, cards, settings, links
        self._passing = Passing(guests, cards, settings, links, self, keep=keep)
        self.seen, self.requests = self._passing.seen, self._passing.requests
        self.binding, self.differences = self._passing.binding, self._passing.differences
        self._watch = watch
        self._began = time.monotonic_ns()
        self._heard = time.monotonic()
        self._answers: list[dict[str, Answer]] = [{} for _ in guests]
        self._due: list[tuple[int, int, Callable[[int], None]]] = []
        self._serial = count()
        self._selector = selectors.DefaultSelector()
        for number, guest in enumerate(guests):
            for channel, work in (
                (guest.frames, self._passing.take),
                (guest.commands, self._answered),
                (guest.pairs, self._listed),
            ):
                self._selector.register(channel, selectors.EVENT_READ, (work, number))

    def serve(self, server: EtherboneServer) -> None:
        """Let others look at a card between frames."""
        self._selector.register(server, selectors.EVENT_READ, (lambda _: server.serve_one(), 0))

    @property
    def now(self) -> int:
        """Ticks of the cards."""
        return (time.monotonic_ns() - self._began) // self.settings.tick_ns

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
        """Answers that have come already, of commands whose answer was not awaited yet."""
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

    def rest(self, seconds: float) -> None:
        """Pass frames for some seconds, and begin nothing."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._turn()

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
        if self._passing.waits:
            wait = _BUSY_S
        if self._due:
            wait = min(wait, max(0, self._due[0][0] - self.now) * self.settings.tick_ns / 1e9)
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
        self._passing.settle(quiet=not self._due)
        if self._watch is not None:
            self._watch(self, self.now)

    def _answered(self, number: int) -> None:
        for answer in self.guests[number].answers():
            self._answers[number][answer.number] = answer

    def _listed(self, number: int) -> None:
        for question, text in self.guests[number].listed():
            self.binding.answered(number, question, text)
