"""The trainer's loop: requests make a job, a job makes a release, a release goes out or back."""

import itertools
import random
import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from precog_fleet.assignments import Drift, Rollout, skill_key
from precog_fleet.bodies import Body, Skill
from precog_fleet.clock import now_ms
from precog_fleet.evaluate import Limits
from precog_fleet.following import at_once
from precog_fleet.modelset import ModelSet
from precog_fleet.outcome import Outcome
from precog_fleet.releases import Releases
from precog_fleet.repository import Repository
from precog_fleet.rollouts import Rollouts, Stages
from precog_fleet.runner import Here
from precog_fleet.store import Store
from precog_fleet.trainer import Job, Trainer
from precog_models.image import pretrained

from .breaking import Killed, breaking
from .jobs import SMALL
from .released import repository
from .support import membership, record, sealed, store
from .test_evaluate import loop
from .windows import telemetry

NOW = now_ms()
AGENTS = [f"host{k}" for k in range(3)]
SHIPPED = ModelSet(pretrained("queue-1rtt"))


class Lab:
    """A trainer, its repository, and agents whose skill is given."""

    def __init__(self, path: Path, hosts: Path) -> None:
        self.path, self.hosts = path, hosts
        self.now = NOW
        self.version = 0
        self.store: Store = store()
        for name in (*AGENTS, "trainer0"):
            role = "trainer" if name == "trainer0" else "agent"
            made = membership(name, role=role, t0=NOW)
            assert self.store.receive(made, NOW) is Outcome.ACCEPTED
        self.repository: Repository = repository(path)
        self.skill = {0: 0.1, 1: 0.4, 2: 0.4}
        self.limits = Limits(windows=100, seeds=2)
        self.submit: Callable[[Callable[[], Path]], Future[Path]] = at_once
        self.trainer = self.open()

    def open(self) -> Trainer:
        stages = Stages(shares=(300, 1000), dwell_ms=1000, patience_ms=5000)
        rollouts = Rollouts(self.path / "r.json", self.store, self.say, stages, random.Random(1))
        job = Job((self.hosts,), SMALL, Here(), loop, self.limits, seeds=2)
        return Trainer(
            self.path / "trainer",
            self.store,
            rollouts,
            self.repository,
            job,
            SHIPPED,
            lambda work: self.submit(work),
            pause_ms=20_000,
        )

    def put(self, name: str, key: str, body: Body) -> None:
        self.version += 1
        made = record(name, key, self.version, t0=self.now, body=body)
        assert self.store.receive(sealed(made), self.now) is Outcome.ACCEPTED

    def say(self, key: str, body: Rollout, now: int, life: int) -> bool:
        self.put("trainer0", key, body)
        return True

    def ask(self, *names: str, release: int = 0) -> None:
        for name in names:
            self.put(name, f"drift/{name}", Drift(release, 500, 90_000, 100_000))

    def run(self, seconds: int) -> list[str]:
        events = []
        for _ in range(seconds):
            self.now += 1000
            found = self.store.entry("trainer0", "rollout/live")
            for name in AGENTS:
                body = found.record.body if found else None
                release = body.assigned(name)[0] if isinstance(body, Rollout) else 0
                skill = Skill(500, round((1 - self.skill[release]) * 100_000), 100_000)
                self.put(name, skill_key(release), skill)
            events += self.trainer.step(self.now)
        return events


@pytest.fixture
def lab(tmp_path: Path, hosts: Path) -> Lab:
    return Lab(tmp_path, hosts)


def test_the_loop_closes_without_a_person(lab: Lab, tmp_path: Path) -> None:
    assert lab.run(3) == []
    lab.ask("host1")
    events = lab.run(8)
    assert events[0] == "job 1 began: asked by host1"
    assert events[1] == "job 1 released: release 1"
    assert events[-1].startswith("release 1 runs everywhere: median skill changed by +0.3000")
    assert lab.trainer.rollouts.live[0] == 1
    client = Releases(tmp_path / "m", str(lab.repository.folder), root=lab.repository.root_bytes)
    models = client.fetch(*lab.trainer.rollouts.live, "host0")
    assert models.base.crc32 != SHIPPED.base.crc32
    about = client.update()[1].about
    judged = {"evaluated", "loop_seeds", "scenarios"}  # as a release by hand signs them
    assert about.keys() == {"skill", "skill_over_live", "windows"} | judged
    assert client.evaluation(1)["passed"]


def test_a_pause_and_old_requests(lab: Lab) -> None:
    lab.ask("host0")
    lab.run(8)
    assert lab.trainer.rollouts.live[0] == 1
    lab.ask("host1", release=1)  # in the pause
    assert lab.run(5) == []
    lab.run(20)
    assert lab.trainer.history[-1]["job"] == 2
    assert lab.trainer.history[-2]["why"] == "asked by host1"


def test_who_refused_what_runs_elsewhere_may_ask(lab: Lab) -> None:
    lab.ask("host0")
    lab.run(8)
    assert lab.trainer.rollouts.live[0] == 1
    lab.ask("host2", release=0)  # it fell back to that
    lab.run(25)
    assert lab.trainer.history[-2]["why"] == "asked by host2"


def test_a_job_that_is_wanted_waits_for_the_rollout(lab: Lab) -> None:
    """It would train for minutes, and then not be released."""
    lab.trainer.rollouts.start(1, bytes([1]) * 32, lab.now)
    lab.trainer.wanted = "by hand"
    lab.run(1)
    assert lab.trainer.history == []
    lab.trainer.rollouts.rollback(lab.now, "bad")
    assert lab.run(2)[0] == "job 1 began: by hand"
    assert [row["what"] for row in lab.trainer.history] == ["began", "released"]


def test_models_that_do_not_pass_are_not_released(lab: Lab) -> None:
    lab.limits = replace(lab.limits, persistence=0.99)
    lab.trainer = lab.open()
    lab.ask("host1")
    events = lab.run(2)
    assert events[1].startswith("job 1 failed: models of ")
    assert "did not pass their evaluation: skill must be above 0.99" in events[1]
    assert lab.repository.releases() == {}
    assert lab.trainer.rollouts.live[0] == 0
    assert not lab.trainer.rollouts.running


def test_a_release_that_disappoints_goes_back(lab: Lab) -> None:
    lab.skill[1] = -0.2
    lab.ask("host1")
    events = lab.run(8)
    assert events[-1].startswith("release 1 was rolled back: median skill fell by 0.3000")
    assert lab.trainer.rollouts.live[0] == 0


def test_without_telemetry_the_job_fails_and_the_loop_goes_on(lab: Lab, tmp_path: Path) -> None:
    lab.hosts = tmp_path / "none"
    lab.trainer = lab.open()
    lab.ask("host1")
    assert "telemetry must be a folder that is there" in lab.run(2)[1]
    lab.hosts = tmp_path / "hosts"
    for k in range(3):
        telemetry(lab.hosts / f"host{k}", f"host{k}", k)
    lab.trainer = lab.open()
    lab.run(22)
    lab.ask("host2")
    lab.run(9)
    assert lab.trainer.rollouts.live[0] == 1


def test_jobs_do_not_fill_the_disk(lab: Lab) -> None:
    """One agent that asks for ever makes a job each pause, each with a training set."""
    lab.submit = lambda work: failing(lab.path / "trainer" / "jobs" / str(lab.trainer._number))
    for _ in range(7):
        lab.ask("host1")
        lab.run(22)
    kept = sorted(path.name for path in (lab.path / "trainer" / "jobs").iterdir())
    assert kept == ["4", "5", "6", "7"]


def failing(folder: Path) -> Future[Path]:
    """A job that leaves its folder and fails."""
    folder.mkdir(parents=True)
    future: Future[Path] = Future()
    future.set_exception(ValueError("too little telemetry"))
    return future


def test_a_killed_trainer_goes_on_with_its_job(lab: Lab) -> None:
    for point in itertools.count():
        steps = 0

        def dies(work: Callable[[], Path], limit: int = point) -> Future[Path]:
            nonlocal steps
            steps += 1
            if steps > limit:
                raise KeyboardInterrupt  # as a signal would
            return at_once(work)

        lab.submit = dies
        lab.ask("host1")
        try:
            lab.run(2)
            break
        except KeyboardInterrupt:
            lab.trainer = lab.open()
            assert lab.trainer.status(lab.now)["job"]["number"] == 1
    assert point == 1
    lab.run(9)
    assert [row["what"] for row in lab.trainer.history] == ["began", "released"]
    assert lab.trainer.rollouts.live[0] == 1


def test_a_trainer_killed_again_and_again_releases_once(
    lab: Lab, trained: Path, tmp_path: Path, seed: int
) -> None:
    """In the middle of its job, of the release, of the rollout: at any step of any write."""
    rng, kills = random.Random(seed), 0
    lab.ask("host1")
    client = Releases(tmp_path / "m", str(lab.repository.folder), root=lab.repository.root_bytes)
    with breaking() as disk:
        while lab.trainer.rollouts.live[0] != 1:
            assert kills < 500
            disk.kill_after = rng.randrange(rng.choice([8, 40]))  # a release takes 28 steps
            try:
                lab.run(1)
            except Killed:
                kills += 1
                disk.kill_after = None
                lab.repository = Repository(
                    lab.repository.folder, [lab.path / "keys"], lambda: lab.now
                )
                lab.trainer = lab.open()
            for number, one in client.update().items():
                client.fetch(number, one.digest, "host0")
        disk.kill_after = None
    assert kills >= 5
    assert [row["what"] for row in lab.trainer.history][-1] in ("began", "released")
    lab.run(2)
    assert [row["what"] for row in lab.trainer.history] == ["began", "released"]
    assert [row["what"] for row in lab.trainer.rollouts.history] == ["started", "advanced", "done"]
    assert list(lab.repository.releases()) == [1]
    made = lab.path / "trainer" / "jobs" / "1" / "models"
    assert ModelSet.load(made).files() == ModelSet.load(trained).files()


def test_a_full_disk_ends_neither_the_loop_nor_the_rollout(lab: Lab) -> None:
    """Every write is refused at first: nothing is decided then, and all is done at last."""
    lab.ask("host1")
    events: list[str] = []
    tries: Counter[Path] = Counter()

    def full(path: Path) -> bool:
        if "jobs" in path.parts:
            return False  # a job that fails is another test's
        tries[path] += 1
        state = path.name.startswith(("trainer.json", "r.json"))
        return tries[path] % 2 == 1 if state else tries[path] == 1

    with breaking() as disk:
        disk.full = full
        for _ in range(60):
            events += lab.run(1)
            again = lab.open()  # what another process would find: what was said is on disk
            assert again.rollouts.live == lab.trainer.rollouts.live
            assert again.rollouts.running == lab.trainer.rollouts.running
            assert again.history == lab.trainer.history
            if lab.trainer.rollouts.live[0]:
                break
    assert disk.refused == 5 + 7  # states of trainer and rollout, files of a release
    assert "No space left on device" in lab.trainer.errors["disk"]
    assert events[-1].startswith(f"release {lab.trainer.rollouts.live[0]} runs everywhere")
    started = [row for row in lab.trainer.rollouts.history if row["what"] == "started"]
    assert len(started) == 1


def test_a_crash_between_release_and_rollout_makes_no_second_release(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    lab.ask("host1")
    monkeypatch.setattr(lab.trainer.rollouts, "start", dies)
    with pytest.raises(KeyboardInterrupt):
        lab.run(3)
    lab.trainer = lab.open()
    lab.run(9)
    assert list(lab.repository.releases()) == [1]
    assert lab.trainer.rollouts.live[0] == 1


def test_the_repository_is_renewed(lab: Lab) -> None:
    now = NOW
    lab.repository = Repository(lab.repository.folder, [lab.path / "keys"], lambda: now)
    lab.trainer = lab.open()
    lab.trainer.step(now)
    stamp = lab.repository.folder / "metadata" / "timestamp.json"
    before = stamp.read_bytes()
    now += 60_000_000
    lab.trainer.step(now)
    assert stamp.read_bytes() != before
    shutil.rmtree(lab.path / "keys")
    now += 60_000_000
    lab.trainer.step(now)
    assert "snapshot needs 1 of its 1 keys, found 0" in lab.trainer.errors["repository"]


def test_a_damaged_state_and_bad_numbers(lab: Lab) -> None:
    for text in ("{}", '{"format": 1, "number": Infinity}', "[" * 100_000):
        (lab.path / "trainer" / "trainer.json").write_text(text)
        with pytest.raises(ValueError, match=r"trainer\.json must be the state of a trainer"):
            lab.open()
    with pytest.raises(ValueError, match="asks must be at least 1, not 0"):
        Trainer(
            lab.path / "t",
            lab.store,
            lab.trainer.rollouts,
            lab.repository,
            lab.trainer._job,
            SHIPPED,
            at_once,
            asks=0,
        )
