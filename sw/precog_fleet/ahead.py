"""Congestion ahead: what others see at a destination, told to cards before their own RTTs show it.

    records dst/… ─► `robust.shared` ─┬─► score 0..100 ─► packets of queue pairs that lead there
                                      └─► start rate ─► their next connections

A hotspot that vanished is forgotten with the age of the last reports. Scores are written when they
have moved; a start rate is a queue pair's initial rate, which no running connection uses.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from precog_host.device import Device

from .bodies import Report
from .card import Card, CardDownError
from .robust import QUORUM, Shared, Voice, congestion, shared, start_rate
from .store import Store

__all__ = ["AGE_MS", "Ahead", "Hotspot"]

#: Age at which a report counts no longer.
AGE_MS = 5000
_BASE_MS = 300_000
_STEP = 5  # points of a score that are worth a write
_KBPS = 1_000_000  # kb/s of 1 Gb/s
_CLAMP = 16  # of the line: a start is no slower


@dataclass(frozen=True)
class Hotspot:
    """A destination by the word of many.

    Parameters
    ----------
    name : str
    score : int or None
        0..100; None: too few reporters.
    base_ns : int
        The lowest shared RTT of the last minutes.
    known : Shared or None
    """

    name: str
    score: int | None
    base_ns: int
    known: Shared | None


class Ahead:
    """The map of destinations of one agent.

    Parameters
    ----------
    budget_ns : int
        Queueing delay that is full congestion.
    age_ms, skew_ms : int
        Of reports that count.
    quorum : int
        Reporters that are enough.

    Attributes
    ----------
    map : dict of str to Hotspot
    counts : Counter of str
        ``scores`` and ``starts`` that were written.
    """

    def __init__(
        self,
        *,
        budget_ns: int = 20_000,
        age_ms: int = AGE_MS,
        skew_ms: int = 1000,
        quorum: int = QUORUM,
    ) -> None:
        self.map: dict[str, Hotspot] = {}
        self.counts: Counter[str] = Counter()
        self._budget = budget_ns
        self._age, self._skew, self._quorum = age_ms, skew_ms, quorum
        self._bases: dict[str, list[tuple[int, int]]] = {}  # (begin, least) of two stretches
        self._told: dict[tuple[str, int], int | None] = {}
        self._started: dict[tuple[str, int], int] = {}

    def look(self, store: Store, names: Iterable[str], now: int) -> None:
        """Make the map of destinations anew."""
        self.map = {name: self._hotspot(store, name, now) for name in sorted(set(names))}
        self._bases = {name: held for name, held in self._bases.items() if name in self.map}

    def _hotspot(self, store: Store, name: str, now: int) -> Hotspot:
        voices = [
            Voice(entry.record.origin, entry.record.t0, entry.record.body.stats)
            for entry in store.entries(f"dst/{name}")
            if isinstance(entry.record.body, Report)
        ]
        known = shared(voices, now, age_ms=self._age, skew_ms=self._skew, quorum=self._quorum)
        if known is None:
            return Hotspot(name, None, 0, None)
        base = self._base(name, known.mean, now)
        score = congestion(known, base_ns=base, budget_ns=self._budget)
        return Hotspot(name, score, base, known)

    def _base(self, name: str, mean: int, now: int) -> int:
        held = self._bases.setdefault(name, [(now, mean)])
        if not 0 <= now - held[-1][0] < _BASE_MS:
            held.append((now, mean))
            del held[:-2]
        held[-1] = (held[-1][0], min(held[-1][1], mean))
        return min(least for _, least in held)

    def apply(self, card: Card, leads: Mapping[int, str], now: int) -> None:
        """Tell a card; a fault of its leaves the rest for the next time.

        Parameters
        ----------
        leads : mapping of int to str
            Where each queue pair leads.
        """
        for qp, name in leads.items():
            hotspot = self.map.get(name)
            if hotspot is not None:
                try:
                    self._score(card, qp, hotspot, now)
                    self._start(card, qp, hotspot, now)
                except (CardDownError, ValueError):  # a slot that has just lost its connection
                    self._told.pop((card.name, qp), None)
                    self._started.pop((card.name, qp), None)

    def _score(self, card: Card, qp: int, of: Hotspot, now: int) -> None:
        key = (card.name, qp)
        last = self._told.get(key)
        moved = (
            (last is None) != (of.score is None)
            or abs((last or 0) - (of.score or 0)) >= _STEP
            or (of.score in (0, 100) and last != of.score)
        )
        if not moved or qp not in card.hosted:
            return

        def work(device: Device) -> None:
            assert device.packet is not None
            device.packet.set_score(qp, of.score)
            self.counts["scores"] += 1

        card.do(now, work)
        self._told[key] = of.score

    def _start(self, card: Card, qp: int, of: Hotspot, now: int) -> None:
        """An eighth more or less is worth a write; without the fleet's word it stays."""
        if of.known is None:
            return
        known, key = of.known, (card.name, qp)

        def work(device: Device) -> None:
            status = device.qp(qp).status()
            most = int(status.max_rate_gbps * _KBPS)
            least = max(int(status.min_rate_gbps * _KBPS), most // _CLAMP)
            own = int(status.init_rate_gbps * _KBPS)
            wanted = start_rate(known, own=own, least=min(least, most), most=most)
            if abs(wanted - own) * 8 > own:
                device.qp(qp).configure(clear=False, init_gbps=wanted / _KBPS)
                self.counts["starts"] += 1
            self._started[key] = known.rate

        before = self._started.get(key)
        if before is None or abs(known.rate - before) * 8 > before:
            card.do(now, work)
