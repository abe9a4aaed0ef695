"""What a new queue pair believes of its receiver, from what this said to those before.

    begin: level told last ────────────────────────────► not heeded ┐
           times, sizes, levels told ─► model ─► guess ─► heeded ───┴─► 2 or more? ─► `believe`
    end:   greatest level told, bytes counted ─► table of destinations
           └────────────────────────────────► trial of the model (`trial`)

There are two sources:

* The level that the last queue pairs to the peer were told. The study of predictions calls this
  persistence (`docs/evidence/prediction.md`). It is heeded untried: it repeats the receiver's own
  word to its own senders, which laws heed for a whole connection.
* A model of starts (`precog_models.forecast.starts`), in the engine's integers, if there is one.
  It makes its guesses up, so that it replaces persistence at a receiver only while its `trial`
  shows skill there. All its guesses are judged, whether heeded or not.

The receiver's first word replaces a belief, so that a wrong one lasts a round trip.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address

from precog_models.forecast.starts import CROWDED, STEPS, Start, StartForecaster

from .device import Device
from .transport import DeviceError
from .trial import Counts, Evidence, Trial, believed

__all__ = ["Beliefs", "Guess", "Ip"]

_DESTINATIONS = 4096  # those that ended longest ago are forgotten
_BYTES_WRAP = 1 << 48  # of the profiler's counts
_PS_PER_NS = 1000

Ip = IPv4Address | IPv6Address
Slot = tuple[int, Ip | None]  #: its number and its peer


@dataclass(frozen=True)
class Guess:
    """What is known of a queue pair's receiver. The source is the model, or persistence."""

    level: int | None  #: of the source, 0..15; None: it knows too little of the peer
    last: int | None  #: that the peer told the last queue pairs, 0..15; None: there were none
    size: int | None  #: bytes that are to be sent, as the source took them; None: unknown
    heeded: bool  #: the source is heeded at this receiver
    skill: float | None  #: of the source there, -1..1; None: too little evidence
    evidence: Evidence  #: what the skill is made of
    lent: int  #: crowded starts that other receivers and hosts lend to the trial of this one

    @property
    def belief(self) -> int | None:
        """The level that was written to the device; None: none was."""
        return believed(self.level, self.last, heeded=self.heeded)


@dataclass(eq=False)
class _Begun:
    """Queue pairs to one peer that began at once."""

    at_ps: int
    size: int | None  # bytes of the longest, as they are known
    given: bool  # the size is the application's
    told: int  # as `Start`
    guess: int | None
    open: dict[int, int] = field(default_factory=dict)  # slots, and their counts of bytes then
    heard: int = 0  # greatest level that those that ended were told
    counted: int = 0  # most bytes of one that ended


@dataclass
class _Destination:
    """What is known of a peer."""

    level: int | None = None  # that the last queue pairs were told
    size: int | None = None  # bytes of the last start that ended
    starts: deque[_Begun] = field(default_factory=lambda: deque(maxlen=STEPS + 1))


class Beliefs:
    """Starts of a device's queue pairs by destination, and what new ones believe.

    For one thread. An application that knows what it is about to send calls `begin` when the queue
    pair's slot is enabled, before the first packet, and `end` before the slot is disabled.

    Parameters
    ----------
    device : Device
        It counts senders, and heeds levels. Sizes that an application does not give are counted by
        its profiler, if it has one.
    model : StartForecaster, optional
        It decides at receivers where it is heeded; by default the level that was told last does.
    prior : mapping of address to Counts, optional
        What other hosts say of the model (`trial`).
    clock : callable
        Time since any moment, ns.

    Raises
    ------
    DeviceError
        It does not count senders, or does not heed levels.
    """

    def __init__(
        self,
        device: Device,
        model: StartForecaster | None = None,
        *,
        prior: Mapping[Ip, Counts] | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        if device.senders is None:
            raise DeviceError(
                "beliefs need a device that counts senders: it was built without (senders=0), open "
                "one with senders=1"
            )
        device.senders.need_heed()
        self._senders, self._least = device.senders, device.senders.parameters().least
        self._profiler = device.profiler if device.pacer is not None else None
        self._slots, self._model, self._clock = device.sizes.qps, model, clock
        self._destinations: dict[Ip, _Destination] = {}
        self._open: dict[int, tuple[Ip, _Begun]] = {}
        self.trial = Trial(prior)  #: of the model

    def check_counts(self) -> None:
        """Whether a model learns the sizes of queue pairs of which no application tells it.

        Raises
        ------
        DeviceError
            There is a model, and the device counts no queue pair's bytes.
        """
        if self._model is not None and self._profiler is None:
            raise DeviceError(
                "a model of starts needs a device that counts what each queue pair sends: one that "
                "is built with grants and profile"
            )

    def begin(self, slots: Iterable[Slot], *, size: int | None = None) -> dict[int, Guess]:
        """Guess for slots that were enabled, before their first packet; laws hear the beliefs.

        Slots to one peer are one start: all believe the same.

        Parameters
        ----------
        slots : iterable of (int, address)
            Those without a peer are ignored.
        size : int, optional
            Bytes that each is to send; by default what the last start to its peer sent.

        Returns
        -------
        dict of int to Guess
            By slot.

        Raises
        ------
        ValueError
            There is no such slot, or the size is not positive; nothing is written then.
        """
        by_peer = self._by_peer(slots)
        if size is not None and size < 1:
            raise ValueError(f"size must be at least 1 byte, not {size!r}")
        self.lose(number for numbers in by_peer.values() for number in numbers)
        now = self._clock() * _PS_PER_NS
        found: dict[int, Guess] = {}
        for peer, numbers in by_peer.items():
            found |= dict.fromkeys(numbers, self._begun(peer, numbers, size, now))
        for number, guess in found.items():
            if guess.belief is not None:
                self._senders.believe(number, guess.belief)
        self._forget()
        return found

    def end(self, slots: Iterable[Slot]) -> None:
        """Note what slots were told and sent, before they are disabled.

        The greatest level of a peer counts. Slots that did not begin here count, too.

        Raises
        ------
        ValueError
            There is no such slot; nothing is noted then.
        """
        for peer, numbers in self._by_peer(slots).items():
            levels = [self._senders.told(number).most for number in numbers]
            destination = self._destinations.pop(peer, _Destination())
            destination.level = max(levels)
            self._destinations[peer] = destination  # the youngest stand last
            for number, level in zip(numbers, levels, strict=True):
                self._ended(peer, number, level)
        self._forget()

    def lose(self, slots: Iterable[int]) -> None:
        """Forget the starts of slots that were taken away before their `end`, if they had any."""
        for number in slots:
            if number in self._open:
                peer, start = self._open.pop(number)
                del start.open[number]
                if not start.open:
                    self._drop(self._destinations.get(peer), start)

    def _by_peer(self, slots: Iterable[Slot]) -> dict[Ip, list[int]]:
        found: dict[Ip, list[int]] = {}
        for number, peer in slots:
            if not 0 <= number < self._slots:
                raise ValueError(f"slot must be in 0..{self._slots - 1}, not {number!r}")
            if peer is not None:
                found.setdefault(peer, []).append(number)
        return found

    def _begun(self, peer: Ip, numbers: list[int], size: int | None, now: int) -> Guess:
        destination = self._destinations.setdefault(peer, _Destination())
        known = size if size is not None else destination.size
        start = _Begun(now, known, size is not None, self._told(destination), None)
        destination.starts.append(start)
        start.guess = self._guess(destination)
        for number in numbers:
            start.open[number] = self._bytes(number)
            self._open[number] = peer, start
        heeded = self._model is None or self.trial.heeds(peer)
        return Guess(
            start.guess,
            destination.level,
            known,
            heeded,
            self.trial.skill(peer),
            self.trial.evidence(peer),
            self.trial.lent(peer),
        )

    def _told(self, destination: _Destination) -> int:
        """Level that the start before has been told by now."""
        if not destination.starts:
            return destination.level or 0
        last = destination.starts[-1]
        return max([last.heard, *(self._senders.told(number).most for number in last.open)])

    def _guess(self, destination: _Destination) -> int | None:
        """Of the last start."""
        if self._model is None:
            return destination.level
        if destination.starts[-1].size is None:
            return None
        return self._model.level(
            [
                Start(one.at_ps, one.size, one.told)
                for one in destination.starts
                if one.size is not None
            ]
        )

    def _ended(self, peer: Ip, number: int, level: int) -> None:
        if number not in self._open or self._open[number][0] != peer:
            self.lose([number])
            return
        destination, start = self._destinations[peer], self._open.pop(number)[1]
        sent = (self._bytes(number) - start.open.pop(number)) % _BYTES_WRAP
        start.heard, start.counted = max(start.heard, level), max(start.counted, sent)
        if start.open:
            return
        if not start.given:
            start.size = start.counted or None
        if start.size is None:  # it sent nothing, or nothing is known of it
            self._drop(destination, start)
            return
        destination.size = start.size
        if start.guess is not None and start.size > self._least:
            crowded = start.heard >= CROWDED
            self.trial.note(peer, crowded=crowded, guessed=start.guess >= CROWDED)

    def _bytes(self, number: int) -> int:
        """What the device has counted as sent by a slot, 48 bits; 0 if it does not."""
        return 0 if self._profiler is None else self._profiler.queue(number).bytes_out

    @staticmethod
    def _drop(destination: _Destination | None, start: _Begun) -> None:
        if destination is not None and start in destination.starts:
            destination.starts.remove(start)

    def _forget(self) -> None:
        while len(self._destinations) > _DESTINATIONS:
            peer = next(iter(self._destinations))
            del self._destinations[peer]
            self.trial.forget(peer)
