"""One host's member of the fleet: reads its cards, keeps windows, gossips, and changes models.

    cards ─► windows ─┬─► telemetry: Parquet parts
                      ├─► lineup: what is live, and what would be better
                      └─► statistics of destinations ─► records ─► fleet
    fleet ─► rollout ─► release ─► candidate ─► shadow ─► live
          └► statistics of others ─► congestion ahead: scores and start rates on the cards

`Agent.step` does a turn of all of it and returns; it waits for nothing. Clock, link, disk and the
worker that fetches releases are given, so one process can run many agents. Nothing that
comes from outside ends it: faults of devices, records, disk and repository are counted.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .ahead import Ahead
from .assignments import LIVE_KEY, SHIPPED
from .borrowing import borrow
from .card import Card, CardDownError
from .errors import FleetError
from .following import Following, Source, Submit, at_once
from .health import Health
from .lineup import Rules
from .modelset import ModelSet
from .seating import Seating
from .shelf import Shelf
from .showing import card_status
from .speaking import Identity, Link, Speaker, drift_of, reports, skills
from .store import Store
from .telemetry import Telemetry
from .timing import Cadence, Due, Timing

__all__ = ["Agent"]

_NO_DIGEST = bytes(32)


class Agent:
    """An agent.

    Parameters
    ----------
    identity : Identity
    store : Store
        Of its link's gossip.
    link : Link
    cards : sequence of Card
    telemetry : Telemetry
    shelf : Shelf
        Gives versions, and keeps records.
    folder : Path
        For models and state.
    shipped : ModelSet
        What cards run before the first release.
    source : Source, optional
        Without one, no release is fetched.
    rules : Rules
    timing : Timing
    submit : callable
        Starts a download; `at_once` by default.
    ahead : Ahead, optional
        Judges what others say of destinations.
    qps : sequence of int, optional
        Queue pairs with queue models, of each card; those that lead somewhere if not given.

    Attributes
    ----------
    counts : Counter of str
        ``turns``, ``unsent``, ``unsaved``, ``unfit`` (models that a card did not take), ``drifts``.
    errors : dict of str to str
        The last of each kind.
    shelf : Shelf
    speaker : Speaker
    following : Following
    ahead : Ahead
    """

    def __init__(
        self,
        identity: Identity,
        store: Store,
        link: Link,
        cards: Sequence[Card],
        telemetry: Telemetry,
        shelf: Shelf,
        folder: Path,
        shipped: ModelSet,
        *,
        source: Source | None = None,
        rules: Rules | None = None,
        timing: Timing | None = None,
        submit: Submit = at_once,
        ahead: Ahead | None = None,
        qps: Sequence[int] | None = None,
    ) -> None:
        self.identity = identity
        self.store = store
        self.link = link
        self.telemetry = telemetry
        self.timing = timing or Timing()
        self.counts: Counter[str] = Counter()
        self.errors: dict[str, str] = {}
        rules = rules or Rules()
        self.seatings = [
            Seating(identity.name, card, folder / "models", rules, qps) for card in cards
        ]
        self.speaker = Speaker(identity, store, link, shelf)
        here = {_NO_DIGEST: shipped}
        self.following = Following(identity.name, store, source, submit, here)
        self._first = (SHIPPED, _NO_DIGEST, shipped)
        self.ahead = ahead or Ahead()
        self.shelf = shelf
        self._due = Due()
        self._cadence = Cadence(self.timing, store, identity.name)
        self._destinations: set[str] = set()
        self._bases: set[int] = set()

    # --- a turn ----------------------------------------------------------------------------------

    def step(self, now: int, wait_s: float = 0.0) -> int:
        """Do a turn at `now`, ms; the records of traces that were read.

        Parameters
        ----------
        wait_s : float
            How long the link may wait for the first message.
        """
        self.counts["turns"] += 1
        read = sum(self._card(seating, now) for seating in self.seatings)
        self.telemetry.poll(now)
        self._mesh(now, wait_s)
        if self._due("models", now, self.timing.models):
            self.following.turn(now, self.seatings)
            self._reconsider()
        if self._due("borrow", now, self.timing.borrow):
            self._borrow(now)
        if self._due("ahead", now, self.timing.ahead):
            self._look_ahead(now)
        self._speak(now)
        if self._due("save", now, self.timing.save):
            self.store.expire(now)
            self._save()
        return read

    def _card(self, seating: Seating, now: int) -> int:
        before = seating.card.tallies()["records"]
        try:
            if seating.ready(now, self._first):
                windows = seating.card.poll(now, self.timing.batch)
                self.telemetry.add(seating.judge(windows), now)
                seating.decide(now)
        except CardDownError as error:
            self.errors["card"] = str(error)
        except ValueError as error:  # of models that the card cannot take
            self.errors["models"] = f"{seating.card.name}: {error}"
            self.counts["unfit"] += 1
        return seating.card.tallies()["records"] - before

    def _mesh(self, now: int, wait_s: float) -> None:
        try:
            if self._due("bindings", now, self.timing.bindings):
                self._bind(now)
            self.link.pump(now, wait_s)
            if self._due("ask", now, self.timing.ask):
                self.link.ask(now)
        except FleetError as error:
            self.errors["link"] = str(error)
            self.counts["unsent"] += 1

    def _bind(self, now: int) -> None:
        """Follow the destinations of all cards, the rollout and the members."""
        found = {name for seating in self.seatings for name in seating.card.follow(now).values()}
        if found != self._destinations or not self.counts["bound"]:
            self._destinations = found
            own = [f"{kind}/{self.identity.name}" for kind in ("health", "drift")]
            self.link.follow([*(f"dst/{name}" for name in sorted(found)), LIVE_KEY, *own])
            self.counts["bound"] += 1

    def _look_ahead(self, now: int) -> None:
        """Tell cards what others see where they send."""
        self.ahead.look(self.store, self._destinations, now)
        for seating in self.seatings:
            if seating.card.observer is not None:
                self.ahead.apply(seating.card, seating.card.observer.destinations, now)

    def bases(self) -> set[int]:
        """CRC-32 of the base images of all cards, for the store."""
        return set().union(*(seating.bases() for seating in self.seatings))

    def _borrow(self, now: int) -> None:
        """Try heads of neighbours where no release waits to be judged."""
        for seating in self.seatings:
            borrow(seating, self.store, now)

    def _reconsider(self) -> None:
        """Heads that nothing here could use count again when other images run."""
        bases = self.bases()
        if bases != self._bases:
            self._bases = bases
            self.store.reconsider()

    def _save(self) -> None:
        if not self.shelf.try_to_keep(self.store):
            self.counts["unsaved"] += 1

    # --- what is said ----------------------------------------------------------------------------

    def _speak(self, now: int) -> None:
        cadence, say = self._cadence, self.speaker.say
        for key, report in reports(self.seatings, partial(cadence.due, now=now)).items():
            say(key, report, now, cadence.life(key))
        health, asking = (f"{kind}/{self.identity.name}" for kind in ("health", "drift"))
        if cadence.due(health, now):
            say(health, self.health(), now, cadence.life(health))
        if cadence.due("skill/", now):
            for key, skill in skills(self.seatings).items():
                say(key, skill, now, cadence.life(key))
        if cadence.due(asking, now):
            drift = drift_of(self.seatings)
            if drift is not None:
                say(asking, drift, now, cadence.life(asking))
                self.counts["drifts"] += 1

    # --- what others see -------------------------------------------------------------------------

    def health(self) -> Health:
        """The agent's state, as other members see it."""
        cards = [seating.card for seating in self.seatings]
        tallies: Counter[str] = Counter()
        for card in cards:
            tallies.update(card.tallies())
        lineup = self.seatings[0].lineup if self.seatings else None
        live = lineup.live if lineup else None
        shadow = lineup.shadow if lineup else None
        return Health(
            cards=len(cards),
            up=sum(card.device is not None for card in cards),
            release=live.release if live else SHIPPED,
            shadow=shadow.release if shadow else SHIPPED,
            **{name: tallies[name] for name in ("records", "lost", "windows", "faults")},
            rows=self.telemetry.counts["rows"],
            rows_lost=self.telemetry.counts["rows_lost"],
            rollbacks=sum(seating.counts["rollbacks"] for seating in self.seatings),
            refused=self.speaker.refused,
        )

    def status(self, now: int) -> dict[str, Any]:
        """JSON data for who looks at this host."""
        return {
            "name": self.identity.name,
            "role": "agent",
            "at": now,
            "cards": [card_status(seating) for seating in self.seatings],
            "telemetry": dict(self.telemetry.counts)
            | {"waiting": self.telemetry.waiting, "bytes": self.telemetry.size},
            "destinations": {
                name: {"score": of.score, "reporters": of.known.reporters if of.known else 0}
                for name, of in self.ahead.map.items()
            },
            "counts": dict(self.counts + self.speaker.counts + self.following.counts),
            "outcomes": {str(o): n for o, n in sorted(self.store.outcomes.items())},
            "errors": self.errors
            | {
                name: text
                for name, text in (
                    ("identity", self.speaker.twin),
                    ("record", self.speaker.error),
                    ("release", self.following.error),
                    ("store", self.shelf.error),
                    ("telemetry", self.telemetry.error),
                )
                if text
            },
        }

    def close(self, now: int) -> None:
        """Write waiting rows, and give the cards back; they keep their models."""
        self.telemetry.close(now)
        self._save()
        for seating in self.seatings:
            seating.card.close()
