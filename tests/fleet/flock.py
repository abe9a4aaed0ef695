"""Agents with emulated or simulated cards in one process, made traffic, links that only gossip."""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from precog_fleet.agent import Agent
from precog_fleet.assignments import ALL, LIVE_KEY, Rollout
from precog_fleet.card import Card
from precog_fleet.errors import FleetError
from precog_fleet.gossip import EVERYTHING, Gossip, exchange
from precog_fleet.lineup import Rules
from precog_fleet.modelset import ModelSet
from precog_fleet.outcome import Outcome
from precog_fleet.practice import Practice
from precog_fleet.shelf import Shelf
from precog_fleet.speaking import Identity
from precog_fleet.store import Store
from precog_fleet.telemetry import Telemetry
from precog_fleet.timing import Timing
from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.transport import QueueTransport
from precog_models.image import Image, pretrained
from precog_spec.config import NicConfig

from .support import ROOT, key_of, membership, record, sealed, store

DAY = 86_400_000
PERIOD = 6000  # ticks of 1 ns
QPS = (0, 1)
SIZES = NicConfig(qps=4, sets=16, trace=True, forecast=True, profile=True)
RULES = Rules(least=8, patience=30, kept=100)


def shipped() -> ModelSet:
    """What cards run at first."""
    return ModelSet(pretrained("queue-4rtt"))


def spoiled(version: int = 9, seed: int = 0) -> ModelSet:
    """Valid models that forecast badly: outputs in another order."""
    base = pretrained("queue-4rtt")
    weights = base.weights
    order = np.random.default_rng(seed).permutation(weights.outputs)
    order = np.concatenate([order, np.arange(weights.outputs, len(weights.bl))])
    swapped = {name: getattr(weights, name)[order] for name in ("wl", "bl", "sh_l")}
    return ModelSet(Image(replace(weights, version=version, **swapped), base.card))


class LocalLink:
    """A link to peers of this process."""

    def __init__(
        self,
        gossip: Gossip,
        peers: list[Gossip],
        rng: random.Random,
        clock: Callable[[], int],
    ) -> None:
        self.gossip = gossip
        self.clock = clock
        self.cut = False
        self.sent = 0
        self.said: Callable[[Gossip], None] = lambda gossip: None  # after an acknowledgement
        self._peers = peers
        self._rng = rng

    def publish(self, key: str, frame: bytes) -> None:
        """To the hub, which others ask."""
        if self.cut:
            raise FleetError("mesh took no record: cut")
        self.sent += len(frame)
        for peer in self._peers:
            peer.take([frame], self.clock())

    def pump(self, now: int, wait_s: float = 0.0) -> int:
        """Nothing comes by itself."""
        return 0

    def ask(self, now: int) -> bool:
        """One exchange."""
        if self.cut or not self._peers:
            return False
        if exchange(self.gossip, self._rng.choice(self._peers), now).acknowledged:
            self.said(self.gossip)
        return True

    def follow(self, interest: Iterable[str]) -> None:
        """As the mesh."""
        self.gossip.follow(interest)


class Flock:
    """Agents ``host0`` and so on, a hub that holds all records, and a clock."""

    def __init__(
        self,
        folder: Path,
        count: int,
        *,
        seed: int,
        start: int,
        first: dict[str, ModelSet] | None = None,
        opener: Callable[[], Device] | None = None,
        cards: Mapping[str, QueueTransport] | None = None,
        **options: object,
    ):
        self.folder, self.now = folder, start
        self.first = first or {}
        self.opener = opener
        self.rng = random.Random(seed)
        self.names = [f"host{n}" for n in range(count)]
        folder.mkdir(parents=True, exist_ok=True)
        self.shelf = Shelf(folder / "hub.sqlite")
        self.hub = Gossip(self._store(), EVERYTHING)
        self.trainer = Gossip(self._store(), EVERYTHING)
        self.cards = cards or {name: Emulator(SIZES) for name in self.names}
        self.traffic = {
            name: Practice(card, QPS, seed + k, period=PERIOD)
            for k, (name, card) in enumerate(self.cards.items())
        }
        self._options = options
        self.releases: dict[bytes, ModelSet] = {}
        self._version = 0
        self.agents = {name: self.start(name) for name in self.names}

    def start(self, name: str, **options: object) -> Agent:
        """An agent on its folder and card, also once more after another has ended."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        shelf = Shelf(folder / "store.sqlite")
        agents: list[Agent] = []
        held = self._store(bases=lambda: agents[0].bases() if agents else ())
        held.restore(shelf.rows(), self.now)
        gossip = Gossip(held, ["dst/"], origin=name)
        transport = self.cards[name]
        card = Card(
            "card0",
            self.opener or (lambda: Device(transport)),
            {qp: f"10.0.0.{qp}" for qp in QPS},
            period_us=PERIOD / 1000,
        )
        made = Agent(
            Identity(name, key_of(name), ROOT.public),
            held,
            LocalLink(gossip, [self.hub], self.rng, lambda: self.now),
            [card],
            Telemetry(folder / "telemetry", name, rows=200, age_ms=5000),
            shelf,
            folder,
            self.first.get(name) or shipped(),
            qps=QPS,
            **({"rules": RULES, "timing": Timing(), "source": self} | self._options | options),  # type: ignore[arg-type]
        )
        agents.append(made)
        return made

    def _store(self, **options: object) -> Store:
        made = store(*self.names, **options)
        made.receive(membership("trainer0", role="trainer"), self.now)
        return made

    def roll_out(self, release: int, models: ModelSet, *, previous: int = 0) -> Rollout:
        """A trainer's record for everybody, and what its repository then offers."""
        digest = bytes([release]) * 32
        self.releases[digest] = models
        return self.announce(release, digest, previous)

    def announce(self, release: int, digest: bytes, previous: int = 0) -> Rollout:
        """The record alone."""
        before = bytes([previous]) * 32
        body = Rollout(release, digest, previous, before, ALL, 1)
        self._version += 1
        given = record("trainer0", LIVE_KEY, self._version, t0=self.now, body=body, life=DAY)
        for store_ in (self.trainer.store, self.hub.store):
            assert store_.receive(sealed(given), self.now) is Outcome.ACCEPTED
        return body

    def save_hub(self) -> None:
        """What a router does every second."""
        self.shelf.keep(self.hub.store)

    def kill_hub(self) -> None:
        """As kill -9 of a router and another start: what was not saved is gone."""
        store_ = self._store()
        store_.restore(self.shelf.rows(), self.now)
        Gossip.__init__(self.hub, store_, EVERYTHING)  # links go on to the one that starts

    def fetch(self, number: int, digest: bytes, origin: str) -> ModelSet:
        """As a repository."""
        return self.releases[digest]

    def run(self, turns: int, periods: int = 24, ms: int = 100) -> None:
        """Turns of all agents, with traffic between them."""
        for _ in range(turns):
            self.now += ms
            for name, agent in self.agents.items():
                self.traffic[name].run(periods, remember=True)
                agent.step(self.now)
