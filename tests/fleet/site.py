"""A flock with a real trainer and repository, whose disks can be full and whose members can die.

All of it lives in one process and in simulated time; only TUF's expiry is in real time. A member
that dies loses what was not on its disk, and starts again on its folder.
"""

import hashlib
import json
import os
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from precog_fleet.agent import Agent
from precog_fleet.clock import now_ms
from precog_fleet.collect import CARD, collect
from precog_fleet.evaluate import Limits
from precog_fleet.gossip import Gossip
from precog_fleet.modelset import BASE, MANIFEST, Manifest, ModelSet
from precog_fleet.outcome import Pair
from precog_fleet.record import RECORD
from precog_fleet.releases import EVALUATION, Releases
from precog_fleet.repository import Repository
from precog_fleet.rollouts import Rollouts, Stages
from precog_fleet.shelf import Shelf
from precog_fleet.speaking import Identity, Speaker
from precog_fleet.trainer import Trainer
from precog_models.durable import write_durably

from .breaking import Disk, Killed
from .flock import Flock, LocalLink, shipped, spoiled
from .released import model_set
from .support import ROOT, key_of
from .test_record import harmless

TRAINER = "trainer0"
ROUTER = "rack0"
_INTEREST = ("skill/", "drift/", "rollout/")
_STAGES = Stages(shares=(500, 1000), dwell_ms=500, patience_ms=3000, windows=8)


class Later(Future[Path]):
    """Work that is done after some turns, as by a thread."""

    def __init__(self, work: Callable[[], Path], turns: int) -> None:
        super().__init__()
        self._work, self._turns = work, turns

    def done(self) -> bool:
        if not super().done():
            self._turns -= 1
            if self._turns < 0:
                try:
                    self.set_result(self._work())
                except Exception as error:
                    self.set_exception(error)
        return super().done()


class QuickJob:
    """A job that collects true telemetry, but draws its models instead of training them."""

    limits = Limits(windows=1, seeds=1)

    def __init__(self, telemetry: list[Path], seed: int) -> None:
        self._telemetry, self._seed = telemetry, seed

    def __call__(self, folder: Path, live: ModelSet, since: int) -> Path:
        """As `trainer.Job`."""
        if not (folder / "set" / CARD).exists():
            collect(self._telemetry, folder / "set", since=since)
        models, number = folder / "models", int(folder.name)
        if not (models / MANIFEST).exists():
            rng = random.Random(self._seed + number)
            drawn = spoiled(200 + number, number) if rng.random() < 0.3 else self._drawn(number)
            drawn.save(models)
        if not (models / EVALUATION).exists():
            manifest = Manifest.parse((models / MANIFEST).read_bytes())
            record = harmless(manifest.files[BASE], seeds=1)
            write_durably(models / RECORD, json.dumps(record).encode())
            write_durably(models / EVALUATION, _evaluation(manifest.digest.hex()))
        return models

    def _drawn(self, number: int) -> ModelSet:
        return model_set(number, base=shipped().base)


def _evaluation(digest: str) -> bytes:
    skill = {"value": 0.5, "low": 0.4, "high": 0.6}
    forecast = {"windows": 100, "skill": skill, "skill_over_live": skill}
    return json.dumps({"digest": digest, "forecast": forecast}).encode()


class Site(Flock):
    """Agents, a router and a trainer.

    Parameters
    ----------
    folder : Path
    count : int
        Of agents.
    disk : Disk
        Under all durable writes.

    Attributes
    ----------
    acknowledged : dict of (str, str) to (int, int)
        Newest versions that the router has acknowledged to their origins, and their ends, ms.
    parts : dict of Path to str
        SHA-256 of parts of telemetry that were reported written.
    spoilt : set of Path
        Parts that the campaign itself has damaged.
    skew : dict of str to int
        By how much clocks are off, ms.
    seen : Counter of str
        Counters of all incarnations of agents that have ended.
    deaths : Counter of str
        By member.
    """

    def __init__(self, folder: Path, count: int, disk: Disk, *, seed: int, start: int) -> None:
        self.disk = disk
        self.acknowledged: dict[Pair, tuple[int, int]] = {}
        self.parts: dict[Path, str] = {}
        self.spoilt: set[Path] = set()
        self.skew: dict[str, int] = {}
        self.seen: Counter[str] = Counter()
        self.deaths: Counter[str] = Counter()
        self.disturbed: set[str] = set()  # agents whose trace began anew
        self.full: set[str] = set()  # members whose disk is
        self.refused: Counter[str] = Counter()  # writes, by folder
        self._job_seed = seed
        folder.mkdir(parents=True, exist_ok=True)
        made = Repository.create(folder / "repository", folder / "keys", now_ms)
        self.root = made.root_bytes
        super().__init__(folder, count, seed=seed, start=start)
        disk.full = self._is_full
        self.auditor = Releases(folder / "auditor", str(folder / "repository"), root=self.root)
        self.open_trainer()

    # --- members ---------------------------------------------------------------------------------

    def start(self, name: str, **options: object) -> Agent:
        """An agent with a client of the repository, and a disk that can be full."""
        source = Releases(
            self.folder / name / "releases", str(self.folder / "repository"), root=self.root
        )
        agent = super().start(name, source=source, **options)
        telemetry = agent.telemetry
        telemetry._write, telemetry._rows, telemetry._age = self._write, 60, 2000
        agent.link.said = self._heard  # type: ignore[attr-defined]
        return agent

    def _write(self, path: Path, data: bytes) -> None:
        write_durably(path, data)
        self.parts[path] = hashlib.sha256(data).hexdigest()

    def _is_full(self, path: Path) -> bool:
        owner = path.relative_to(self.folder).parts[0]
        full = (TRAINER if owner == "repository" else owner) in self.full
        self.refused[owner] += full
        return full

    def fill(self, name: str, full: bool) -> None:
        """A member's disk has no room, or has room again; of SQLite's files, too."""
        (self.full.add if full else self.full.discard)(name)
        shelf = {ROUTER: self.shelf, TRAINER: self.trainer_shelf}.get(name)
        shelf = shelf or self.agents[name].shelf
        shelf._db.execute(f"PRAGMA max_page_count = {1 if full else 1 << 30}")

    def _heard(self, gossip: Gossip) -> None:
        for entry in gossip.store.entries():
            record = entry.record
            if record.origin == gossip.origin and gossip._follows(record.key):
                self.acknowledged[record.origin, record.key] = record.version, record.t1

    def open_trainer(self) -> None:
        """Start the trainer on its folder."""
        folder = self.folder / TRAINER
        folder.mkdir(exist_ok=True)
        store = self._store()
        self.trainer_shelf = Shelf(folder / "store.sqlite")
        store.restore(self.trainer_shelf.rows(), self.now)
        self.trainer = Gossip(store, _INTEREST, origin=TRAINER)
        self.trainer_link = LocalLink(self.trainer, [self.hub], self.rng, lambda: self.now)
        self.trainer_link.said = self._heard
        identity = Identity(TRAINER, key_of(TRAINER), ROOT.public)
        speaker = Speaker(identity, store, self.trainer_link, self.trainer_shelf)
        path = folder / "rollouts.json"
        job: Any = QuickJob([self.folder / name for name in self.names], self._job_seed)
        self.loop = Trainer(
            folder,
            store,
            Rollouts(path, store, speaker.say, _STAGES, random.Random(self.rng.random())),
            Repository(self.folder / "repository", [self.folder / "keys"], now_ms),
            job,
            shipped(),
            lambda work: Later(work, self.rng.randrange(3)),
            pause_ms=500,
        )

    # --- ends ------------------------------------------------------------------------------------

    def kill(self, name: str) -> None:
        """As kill -9 of a member, and another start."""
        self.deaths[name] += 1
        self.disturbed.add(name)
        if name == ROUTER:
            self.kill_hub()
            self.held()  # at once: its members soon say again what it has lost
        elif name == TRAINER:
            self.trainer_shelf.close()
            self.open_trainer()
        else:
            agent = self.agents[name]
            self.note(agent)
            agent.shelf.close()
            os.close(agent.telemetry._lock)
            cut = agent.link.cut  # type: ignore[attr-defined]
            self.agents[name] = self.start(name)
            self.agents[name].link.cut = cut  # type: ignore[attr-defined]
        if name in self.full:
            self.fill(name, True)

    def held(self) -> None:
        """What the router has acknowledged it holds, unless that has expired."""
        for pair, (version, t1) in self.acknowledged.items():
            mark = self.hub.store.mark(*pair)
            assert mark >= version or t1 < self.now, f"{pair} was {version}, now {mark}"

    def note(self, agent: Agent) -> None:
        """Add the counters of an agent that ends."""
        for name in ("rows", "rows_lost", "parts_evicted", "failed"):
            self.seen[name] += agent.telemetry.counts[name]
        self.seen["waiting"] += agent.telemetry.waiting
        self.seen["unsaved"] += agent.seatings[0].counts["unsaved"]
        self.seen["unlike"] += agent.seatings[0].counts["unlike"]

    # --- time ------------------------------------------------------------------------------------

    def run(self, turns: int, periods: int = 24, ms: int = 250) -> None:
        """Turns of all members; a member that is killed in its turn starts again."""
        for _ in range(turns):
            self.now += ms
            for name in self.names:
                self.traffic[name].run(periods, remember=True)
                self._turn(name, lambda name=name: self._agent(name))  # type: ignore[misc]
            self._turn(TRAINER, self._train)
            if self.now % 1000 < ms:  # every second
                self._turn(ROUTER, self._route)

    def _turn(self, name: str, work: Callable[[], object]) -> None:
        try:
            work()
        except Killed:
            self.kill(name)

    def _agent(self, name: str) -> None:
        self.agents[name].step(self.now + self.skew.get(name, 0))

    def _route(self) -> None:
        with suppress(OSError, sqlite3.Error):  # as `RouterProcess`, which counts it
            self.save_hub()

    def _train(self) -> None:
        self.loop.step(self.now)
        if self.now % 500 < 250:
            self.trainer_link.ask(self.now)
        if self.now % 1000 < 250:
            with suppress(OSError, sqlite3.Error):  # as `TrainerNode`
                self.trainer_shelf.keep(self.trainer.store)
