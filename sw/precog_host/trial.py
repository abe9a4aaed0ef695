"""The trial of a source of guesses: it is heeded only where it has shown skill.

    end of a queue pair ─► was it crowded, was it guessed so? ─► outcomes of its receiver
                                                                   └─► skill, or too few yet

The skill is Peirce's score, as in the study of predictions (`precog_models.forecast.starts.skill`):
the share of crowded starts that were guessed so, less that of others that were guessed so. Here it
goes on while the source is heeded, and each receiver has its own:

* Hits count at their own receiver alone, so that one that lies gains no belief elsewhere.
* False alarms, too, where the receiver had enough starts that were not crowded. One that is always
  crowded shows none: there the share of all receivers counts, if it is worse than its own.
"""

from collections import deque
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from precog_models.forecast.starts import ENOUGH, skill

__all__ = ["EVIDENCE", "KEPT", "Evidence", "Trial"]

#: Crowded starts of a receiver, and other starts of all, before there is a skill. A coin surpasses
#: `ENOUGH` with at least 7 hits of 8, once in 28, if half of the others were alarms.
EVIDENCE = 8
KEPT = 64  #: outcomes of a receiver: its share of all, and how soon a source is judged anew

_Ip = IPv4Address | IPv6Address


class Evidence(NamedTuple):
    """Outcomes that a skill is made of."""

    crowded: int  #: crowded starts of the receiver
    others: int  #: starts of all receivers that were not crowded


class _Outcome(NamedTuple):
    crowded: bool
    guessed: bool


#: All that there can be, each of them once in memory.
_OUTCOMES = {(a, b): _Outcome(a, b) for a in (False, True) for b in (False, True)}


class Trial:
    """What came of a source's guesses, by receiver."""

    def __init__(self) -> None:
        self._outcomes: dict[_Ip, deque[_Outcome]] = {}
        self._others = self._alarms = 0

    def note(self, peer: _Ip, *, crowded: bool, guessed: bool) -> None:
        """A start to a receiver ended.

        Parameters
        ----------
        crowded : bool
            The receiver said a level that laws heed.
        guessed : bool
            The source had guessed such a level.
        """
        outcomes = self._outcomes.setdefault(peer, deque())
        outcomes.append(_OUTCOMES[crowded, guessed])
        self._count(outcomes[-1], 1)
        if len(outcomes) > KEPT:
            self._count(outcomes.popleft(), -1)

    def forget(self, peer: _Ip) -> None:
        """Drop a receiver's outcomes, if there are any."""
        for outcome in self._outcomes.pop(peer, ()):
            self._count(outcome, -1)

    def evidence(self, peer: _Ip) -> Evidence:
        """How many outcomes there are for a receiver's skill."""
        return Evidence(sum(one.crowded for one in self._outcomes.get(peer, ())), self._others)

    def skill(self, peer: _Ip) -> float | None:
        """Skill at a receiver, -1..1; None: there is too little evidence."""
        if min(self.evidence(peer)) < EVIDENCE:
            return None
        guessed: dict[bool, list[bool]] = {True: [], False: []}
        for outcome in self._outcomes[peer]:
            guessed[outcome.crowded].append(outcome.guessed)
        alarms = _share(guessed[False])
        if len(guessed[False]) < EVIDENCE:
            alarms = max(alarms, self._alarms / self._others)
        return skill(_share(guessed[True]), alarms)

    def heeds(self, peer: _Ip) -> bool:
        """Whether the source has shown enough skill at a receiver."""
        found = self.skill(peer)
        return found is not None and found > ENOUGH

    def _count(self, outcome: _Outcome, by: int) -> None:
        if not outcome.crowded:
            self._others += by
            self._alarms += by * outcome.guessed


def _share(found: list[bool]) -> float:
    return sum(found) / len(found) if found else 0.0
