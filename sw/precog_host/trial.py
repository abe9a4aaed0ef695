"""The trial of a source of guesses: it is heeded only where it has shown skill.

    end of a queue pair ─► was it crowded, was it guessed so? ─► outcomes of its receiver
                                                                   └─► skill, or too few yet
    start: is the source heeded there? ─► its guess; else what the receiver told last ─► belief

The skill is Peirce's score, as in the study of predictions (`precog_models.forecast.starts.skill`):
the share of crowded starts that were guessed so, less that of others that were guessed so. Here it
goes on while the source is heeded, and each receiver has its own:

* Hits count at their own receiver alone, so that one that lies gains no belief elsewhere.
* False alarms, too, where the receiver had enough starts that were not crowded. One that is always
  crowded shows none: there the share of all receivers counts, if it is worse than its own.

A trial takes `EVIDENCE` crowded starts of the receiver. Skill elsewhere shortens it, to `OWN`:

* Each other receiver lends its last `LENT` crowded starts; with those of the receiver itself they
  must be as many as a trial takes, and show skill, too.
* All of the receiver's own must be hits. At the first miss the trial goes on to its end.

So a source that is wrong at one receiver is not heeded there for what it was right at others, and
one that guesses at random there is found out by its first miss. While fewer than `EVIDENCE` other
starts have ended, of all receivers, skills count for others / (others + `_FEW`) of themselves.

A prior is what other hosts say of their outcomes, by receiver. Each of these lends as one more
receiver of this host would, its others only while this host has fewer than `EVIDENCE`. So a false
prior does what receivers that lie can do, and less: eight starts of either kind make it void.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from itertools import islice
from typing import NamedTuple

from precog_models.forecast.starts import CROWDED, ENOUGH, skill

__all__ = ["EVIDENCE", "KEPT", "LENT", "OWN", "Counts", "Evidence", "Trial", "believed", "merged"]

#: Crowded starts of a receiver, and other starts of all, before there is a skill. A coin surpasses
#: `ENOUGH` with at least 7 hits of 8, once in 28, if half of the others were alarms.
EVIDENCE = 8
OWN = 2  #: crowded starts that a trial takes at the least, whatever others lend
LENT = 2  #: crowded starts that a receiver lends
KEPT = 64  #: outcomes of a receiver: its share of all, and how soon a source is judged anew
_FEW = 4

_Ip = IPv4Address | IPv6Address


class Evidence(NamedTuple):
    """Outcomes that a skill is made of."""

    crowded: int  #: crowded starts of the receiver
    others: int  #: starts of all receivers that were not crowded


class Counts(NamedTuple):
    """Outcomes of a receiver."""

    crowded: int  #: crowded starts
    hits: int  #: of these, guessed so
    others: int  #: other starts
    alarms: int  #: of these, guessed to be crowded


def believed(guess: int | None, last: int | None, *, heeded: bool) -> int | None:
    """The level that a start believes; None: none.

    A source that is heeded decides alone, also where it says that a receiver which was crowded last
    is not: it has shown its skill at this receiver, and a start that ought to have believed hears
    the receiver's word a round trip later. Elsewhere the receiver's last word decides, untried: a
    source must not cost a host what it had without one.

    Parameters
    ----------
    guess : int, optional
        The source's level; None: it knows too little, so that the last word decides.
    last : int, optional
        Level that the receiver told the host's last start; None: there was none.
    heeded : bool
        The source is heeded at this receiver.
    """
    level = guess if heeded and guess is not None else last
    return level if level is not None and level >= CROWDED else None


def merged(hosts: Iterable[Mapping[_Ip, Counts]]) -> dict[_Ip, Counts]:
    """Outcomes of several hosts, added up by receiver."""
    found: dict[_Ip, Counts] = {}
    for one in hosts:
        for peer, said in one.items():
            before = found.get(peer, Counts(0, 0, 0, 0))
            found[peer] = Counts(*map(sum, zip(before, said, strict=True)))
    return found


class _Outcome(NamedTuple):
    crowded: bool
    guessed: bool


#: All that there can be, each of them once in memory.
_OUTCOMES = {(a, b): _Outcome(a, b) for a in (False, True) for b in (False, True)}


@dataclass
class _Sum:
    """A number of starts, and how many of them were guessed to be crowded."""

    starts: float = 0
    guessed: float = 0

    def lend(self, starts: int, guessed: int) -> None:
        """Add up to `LENT` starts, in the proportion of these."""
        lent = min(starts, LENT)
        self.starts += lent
        self.guessed += lent * guessed / max(starts, 1)

    def add(self, guesses: tuple[bool, ...], by: int) -> None:
        self.starts += by * len(guesses)
        self.guessed += by * sum(guesses)

    @property
    def share(self) -> float:
        return self.guessed / self.starts if self.starts else 0.0


@dataclass
class _Receiver:
    outcomes: deque[_Outcome] = field(default_factory=deque)
    lent: tuple[bool, ...] = ()  # whether its last crowded starts were guessed so

    def guesses(self, *, crowded: bool) -> list[bool]:
        return [one.guessed for one in self.outcomes if one.crowded == crowded]


class Trial:
    """What came of a source's guesses, by receiver.

    Parameters
    ----------
    prior : mapping of address to Counts, optional
        What other hosts say of the source.
    """

    def __init__(self, prior: Mapping[_Ip, Counts] | None = None) -> None:
        self._receivers: dict[_Ip, _Receiver] = {}
        self._others, self._lent = _Sum(), _Sum()
        self._told, self._told_others = _Sum(), _Sum()  # of the prior
        for one in (prior or {}).values():
            self._told.lend(one.crowded, one.hits)
            self._told_others.lend(one.others, one.alarms)

    def note(self, peer: _Ip, *, crowded: bool, guessed: bool) -> None:
        """A start to a receiver ended.

        Parameters
        ----------
        crowded : bool
            The receiver said a level that laws heed.
        guessed : bool
            The source had guessed such a level.
        """
        receiver = self._receivers.setdefault(peer, _Receiver())
        receiver.outcomes.append(_OUTCOMES[crowded, guessed])
        self._count(receiver.outcomes[-1], 1)
        if len(receiver.outcomes) > KEPT:
            self._count(receiver.outcomes.popleft(), -1)
        self._lend(receiver)

    def forget(self, peer: _Ip) -> None:
        """Drop a receiver's outcomes, if there are any."""
        receiver = self._receivers.pop(peer, _Receiver())
        for outcome in receiver.outcomes:
            self._count(outcome, -1)
        self._lent.add(receiver.lent, -1)

    def evidence(self, peer: _Ip) -> Evidence:
        """How many outcomes there are for a receiver's skill."""
        return Evidence(len(self._of(peer).guesses(crowded=True)), int(self._others.starts))

    def outcomes(self) -> dict[_Ip, Counts]:
        """This host's outcomes by receiver, without its prior."""
        found = {}
        for peer, receiver in self._receivers.items():
            own, others = (receiver.guesses(crowded=crowded) for crowded in (True, False))
            found[peer] = Counts(len(own), sum(own), len(others), sum(others))
        return found

    def lent(self, peer: _Ip) -> int:
        """Crowded starts that other receivers, and other hosts, lend to a receiver's trial."""
        return round(self._elsewhere(peer).starts)

    def skill(self, peer: _Ip) -> float | None:
        """Skill at a receiver, -1..1; None: there is too little evidence."""
        if min(self.evidence(peer)) < EVIDENCE:
            return None
        return self._here(peer)

    def heeds(self, peer: _Ip) -> bool:
        """Whether the source has shown enough skill: at a receiver, or there and elsewhere."""
        own = self._of(peer).guesses(crowded=True)
        if not self._sure() * self._here(peer) > ENOUGH:
            return False
        if len(own) >= EVIDENCE:
            return True
        lent = self._elsewhere(peer)
        enough = len(own) >= OWN and len(own) + lent.starts >= EVIDENCE
        there = self._sure() * skill(lent.share, self._pool().share)
        return enough and all(own) and there > ENOUGH

    def _of(self, peer: _Ip) -> _Receiver:
        return self._receivers.get(peer, _Receiver())

    def _here(self, peer: _Ip) -> float:
        """Skill at a receiver, by whatever evidence there is."""
        receiver = self._of(peer)
        others = receiver.guesses(crowded=False)
        alarms = _share(others)
        if len(others) < EVIDENCE:
            alarms = max(alarms, self._pool().share)
        return skill(_share(receiver.guesses(crowded=True)), alarms)

    def _elsewhere(self, peer: _Ip) -> _Sum:
        """Crowded starts that are lent to a receiver."""
        lent = _Sum(self._lent.starts + self._told.starts, self._lent.guessed + self._told.guessed)
        lent.add(self._of(peer).lent, -1)
        return lent

    def _pool(self) -> _Sum:
        """Starts of all receivers that were not crowded; up to `EVIDENCE`, those of the prior."""
        told = min(max(EVIDENCE - self._others.starts, 0), self._told_others.starts)
        alarms = told * self._told_others.share
        return _Sum(self._others.starts + told, self._others.guessed + alarms)

    def _sure(self) -> float:
        """What a skill counts for, 0..1, by the number of starts that were not crowded."""
        others = self._pool().starts
        return 1.0 if others >= EVIDENCE else others / (others + _FEW)

    def _count(self, outcome: _Outcome, by: int) -> None:
        if not outcome.crowded:
            self._others.add((outcome.guessed,), by)

    def _lend(self, receiver: _Receiver) -> None:
        self._lent.add(receiver.lent, -1)
        crowded = (one.guessed for one in reversed(receiver.outcomes) if one.crowded)
        receiver.lent = tuple(islice(crowded, LENT))
        self._lent.add(receiver.lent, 1)


def _share(found: list[bool]) -> float:
    return sum(found) / len(found) if found else 0.0
