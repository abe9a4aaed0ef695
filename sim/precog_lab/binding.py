"""Queue pairs of the cards follow those of the guests; frames of new ones wait for that.

A guest sends as soon as its queue pair is ready. Its frames are held until both guests have been
asked for their queue pairs and both cards are set up, since a shim that the receiver's card does
not trust would stay in. Frames of queue pairs that no list has pass as they are.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address

from precog_host.rdma_list import RdmaQp, read_list

from .cards import Card
from .guest import Guest
from .ties import ties

__all__ = ["Binding", "Flow"]

#: From a guest to a queue pair of another: source, destination, its number there.
Flow = tuple[int, int, int]

_ASKED_TWICE = 2


@dataclass
class _Held:
    since: int  # question that was the last when the first of them came
    frames: deque[bytes] = field(default_factory=deque)
    misses: int = 0


class Binding:
    """All cards' queue pairs.

    Parameters
    ----------
    guests : sequence of Guest
    cards : sequence of Card

    Attributes
    ----------
    added, released : int
        Slots, of both ends together.
    peak : int
        Most slots of one card at a time.
    """

    def __init__(self, guests: Sequence[Guest], cards: Sequence[Card]) -> None:
        self._guests, self._cards = guests, cards
        self._held: dict[Flow, _Held] = {}
        self._bound: set[Flow] = set()
        self._strangers: set[Flow] = set()
        self._question = self._settled = 0
        self._answers: dict[int, list[RdmaQp]] = {}
        self._kept: dict[int, list[tuple[RdmaQp, int]]] = {n: [] for n in range(len(guests))}
        self.added = self.released = self.peak = 0

    @property
    def empty(self) -> bool:
        """No card has a queue pair, and no frame is held."""
        return not self._bound and not self._held

    @property
    def asking(self) -> bool:
        """Guests have been asked, and their lists have not been followed yet."""
        return self._question > self._settled

    def knows(self, flow: Flow) -> bool:
        """Both cards have the queue pair."""
        return flow in self._bound

    def passes(self, flow: Flow) -> bool:
        """A frame of the flow may go on: it is bound, or belongs to no connection."""
        return flow in self._bound or flow in self._strangers

    def hold(self, flow: Flow, frame: bytes) -> None:
        """Keep a frame until the flow is known."""
        held = self._held.setdefault(flow, _Held(self._question))
        held.frames.append(frame)
        self.ask()

    def ask(self) -> None:
        """Have all guests list their queue pairs, unless they are about to."""
        if self.asking:
            return
        self._question += 1
        self._answers = {}
        for guest in self._guests:
            guest.ask_pairs(self._question)

    def answered(self, number: int, question: int, text: str) -> None:
        """A guest's list has come."""
        if question == self._question:
            self._answers[number] = read_list(text)[0]

    def settle(self, *, quiet: bool) -> list[tuple[Flow, bytes]]:
        """Follow the lists, if all are there; frames that may go on now, in order.

        Parameters
        ----------
        quiet : bool
            No frame is under way, so that slots may be released.
        """
        if not self.asking or len(self._answers) < len(self._guests):
            return []
        self._settled = self._question
        self._follow(quiet)
        released: list[tuple[Flow, bytes]] = []
        for flow, held in list(self._held.items()):
            if held.since >= self._question:
                continue
            held.misses += 1
            if flow not in self._bound and held.misses < _ASKED_TWICE:
                held.since = self._question
                continue
            if flow not in self._bound:
                self._strangers.add(flow)
            released += [(flow, frame) for frame in held.frames]
            del self._held[flow]
        if self._held:
            self.ask()
        return released

    def _follow(self, quiet: bool) -> None:
        found = ties(self._answers)
        if not quiet:  # what is there stays until its last frame has come through
            for number, kept in self._kept.items():
                found[number] += [one for one in kept if one not in found[number]]
        if found == self._kept:
            return
        for number, card in enumerate(self._cards):
            peers = {
                f"{qp.ifname}/{qp.lqpn}": IPv4Address(self._guests[peer].address.ip)
                for qp, peer in found[number]
            }
            change = card.follow([qp for qp, _ in found[number]], peers)
            if change.skipped:
                card.differences.append(f"queue pairs without a slot: {change.skipped}")
            self.added += len(change.added)
            self.released += len(change.released)
            self.peak = max(self.peak, len(found[number]))
            if change.released:
                self._strangers.clear()
        self._kept = found
        self._bound = {
            (number, peer, qp.rqpn) for number, pairs in found.items() for qp, peer in pairs
        }
