"""The demo's course: telemetry, models, rollout, other traffic, models again, a bad release, lies.

Every step waits for the fleet to do it, and has a limit; what is reported was measured.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from precog_models.image import Image, pretrained
from precog_models.train.queue import QueueRecipe

from ..agent_process import SHIPPED_MODEL
from ..assignments import ALL, SHIPPED
from ..clock import now_ms
from ..errors import FleetError
from ..evaluate import ClosedLoop, Limits
from ..lineup import Rules
from ..looking import view
from ..modelset import MANIFEST, Manifest, ModelSet
from ..rollouts import Stages
from ..timing import Timing
from ..train import FleetRecipe
from .diary import Diary
from .figures import load_history
from .hostility import Hostility
from .lab import Lab, Pace
from .traffic import Network, Source, steps_of
from .verdict import failures, skills
from .watch import Watch

__all__ = ["FIRST", "LATER", "PACE", "Demo", "spoiled"]

FIRST = Network("incast", "dcqcn", 0.4)
LATER = Network("incast", "timely", 0.9)
QUEUES = 2
_HORIZON_US = 240_000.0  # enough for jobs whose release is rolled back, and for slow machines
_LIMIT_S = 900.0  # between events: on a busy machine a job of training took over 240
_WARM_UP = 400  # windows of every agent before the first job
_AFTER = 240  # windows of every agent, for figures after a release

PACE = Pace(
    periods=32,
    stages=Stages(shares=(150, 500, ALL), dwell_ms=1000, patience_ms=60_000, windows=60),
    rules=Rules(least=16, patience=20, kept=60, drift=0.2),
    timing=Timing(ask=1000, report=2000, skill=1500, drift=2000, models=500, save=2000),
    recipe=FleetRecipe(
        base=QueueRecipe(updates=200, batch=512, rate=2e-3, rounded_share=0.5), rounds=2
    ),
    limits=Limits(seeds=10, scenarios=("messages",)),  # others take too long for a demo
    window_ms=20_000,
    pause_ms=5000,
)

Say = Callable[[str], None]


def spoiled(models: ModelSet, seed: int) -> ModelSet:
    """Valid models that forecast badly: the head's outputs in another order."""
    weights = models.base.weights
    order = np.random.default_rng(seed).permutation(weights.outputs)
    order = np.concatenate([order, np.arange(weights.outputs, len(weights.bl))])
    swapped = {name: getattr(weights, name)[order] for name in ("wl", "bl", "sh_l")}
    changed = replace(weights, version=weights.version + 1, **swapped)
    return ModelSet(Image(changed, models.base.card))


class Demo:
    """One run.

    Parameters
    ----------
    folder : Path
        A new one.
    source : Source
        Of traffic.
    loop : ClosedLoop
        Of evaluations.
    agents : int
    seed : int
        Of traffic.
    pace : Pace
    say : callable
        Told what happens.

    Raises
    ------
    FleetError
        A step did not come to its end in time: which, and what the fleet said last.
    """

    def __init__(
        self,
        folder: Path,
        source: Source,
        loop: ClosedLoop,
        *,
        agents: int = 20,
        seed: int = 0,
        pace: Pace = PACE,
        say: Say = lambda _: None,
    ) -> None:
        self._seed, self._say, self._count = seed, say, agents
        self._began = time.monotonic(), time.process_time()
        self._runs = [
            net.runs(source, QUEUES, agents, seed * 100 + 10 * n, _HORIZON_US)
            for n, net in enumerate((FIRST, LATER))
        ]
        period = self._runs[0][0][0].base_rtt
        judged = partial(loop, delay_us=FIRST.delay_us)  # in links as long as the fleet's own
        self.lab = Lab(folder, agents, QUEUES, period, judged, pace, asks=-(-3 * agents // 4))
        self._shipped = ModelSet(pretrained(SHIPPED_MODEL))
        self._marks: dict[str, int] = {}

    # --- steps -----------------------------------------------------------------------------------

    def run(self) -> dict[str, Any]:
        """All steps; JSON data, whose ``failed`` lists what did not hold."""
        with self.lab as lab:
            self._play(0)
            self._until("all members are connected", lab.connected, periods=0)
            self.watch, self.diary = Watch(lab), Diary(lab)
            self._first()
            self._drift()
            rollback_s = self._bad()
            forged = self._lies()
            self._until("all members have heard everything", self._quiet, periods=0)
            found = {
                "agents": len(lab.agents),
                "lost_records": self.watch.lost_records(),
                "lost_of_cards": self.watch.lost_of_cards(),
                "converge_s": self.watch.converge_s(),
                "bytes_per_agent_s": self.watch.bytes_per_agent_s(),
                "forged": forged,
                "rollback_s": rollback_s,
                "members": view(lab.router.store, now_ms())["members"],
            }
            folders = [process.agent.telemetry.folder for process in lab.agents.values()]
            first, _ = lab.repository.models(self._first_release)
            rollouts = lab.node.rollouts.history
        history = load_history(folders, self._shipped)
        found |= skills(history, self._marks, self._shipped, first)
        wall, cpu = self._began
        found |= {
            "bad_release_ran": self._ran,
            "seed": self._seed,
            "events": lab.events,
            "jobs": lab.trainer.history,
            "rollouts": rollouts,
            "marks": self._marks,
            "runs": self.diary.runs,
            "hotspots": self.diary.hotspots,
            "wall_s": time.monotonic() - wall,
            "cpu_s": time.process_time() - cpu,
        }
        return found | {"failed": failures(found)}

    def _mark(self, name: str) -> None:
        self._marks[name] = now_ms()

    def _play(self, which: int) -> None:
        """Let all cards have the traffic of a network."""
        for n, card in enumerate(self.lab.cards.values()):
            card.switch(steps_of(self._runs[which], n))

    def _until(
        self, what: str, done: Callable[[], bool], *, periods: int | None = None
    ) -> list[str]:
        """Turns until something holds; what the trainer did meanwhile."""
        end = time.monotonic() + _LIMIT_S
        events: list[str] = []
        while not done():
            if time.monotonic() > end:
                last = self.lab.events[-1]["what"] if self.lab.events else "none"
                raise FleetError(
                    f"{what} must come within {_LIMIT_S:g} s of the last event ({last}): give "
                    f"fewer --agents than {self._count}, or end other work on this machine"
                )
            told = self.lab.turn(periods)
            if told:  # a busy machine may need longer for a step of many events
                end = time.monotonic() + _LIMIT_S
            for event in told:
                self._say(event)
            events += told
            if hasattr(self, "watch"):
                self.watch.look()
                self.diary.look()
        return events

    def _replaced(self, release: int) -> bool:
        """Whether another release runs everywhere instead of this one, and agents have judged it.

        Models that do not pass are not released, and agents ask again.
        """
        rollouts = self.lab.trainer.rollouts
        live = rollouts.live[0]
        return not rollouts.running and live != release and self.lab.decided(live)

    def _tell(self) -> None:
        """Say how many agents run the newest release."""
        live = self.lab.trainer.rollouts.live[0]
        self._say(f"{self.lab.running(live)} agents run release {live}")

    def _more(self, windows: int) -> None:
        """Let every agent see this many further windows."""
        goal = self.lab.windows() + windows
        self._until(f"{goal} windows of every agent", lambda: self.lab.windows() >= goal)

    def _first(self) -> None:
        """Telemetry, the first models by hand, and their rollout."""
        self._say(f"{len(self.lab.agents)} agents run what was shipped")
        self._more(_WARM_UP)
        self._mark("first job")
        self._say(self.lab.trainer.begin(now_ms(), "by hand"))
        self._until("the first release", lambda: self._replaced(SHIPPED))
        self._tell()
        self._mark("first release")
        self._more(_AFTER)

    def _drift(self) -> None:
        """Other traffic, and the loop closes without a person."""
        trainer = self.lab.trainer
        jobs, first = len(trainer.history), trainer.rollouts.live[0]
        self._first_release = first
        self._mark("drift")
        self._play(1)
        self._say("traffic is another now")
        self._until("agents ask for new models", lambda: len(trainer.history) > jobs)
        self._mark("second job")
        self._until("the second release", lambda: self._replaced(first))
        self._tell()
        self._mark("second release")
        self._more(_AFTER)
        self._mark("end of figures")

    def _bad(self) -> float:
        """A bad release by somebody with all keys, who asks no evaluation; seconds until undone."""
        lab = self.lab
        rollouts = lab.node.rollouts
        files = spoiled(lab.repository.models(rollouts.live[0])[0], self._seed).files()
        number = lab.repository.publish(files, {})
        digest = Manifest.parse(files[MANIFEST]).digest
        began = time.monotonic()
        before = rollouts.live
        rollouts.start(number, digest, now_ms())
        self._mark("bad release")
        self._say(f"release {number} is a bad one")
        ran = False

        def undone() -> bool:
            nonlocal ran
            ran |= lab.running(number) > 0
            return not rollouts.running and not lab.running(number)

        self._until("the bad release is rolled back", undone)
        if rollouts.live != before:
            raise FleetError(f"release {number} must be rolled back, but {rollouts.live[0]} runs")
        self._mark("rollback")
        self._ran = ran
        return time.monotonic() - began

    def _lies(self) -> dict[str, Any]:
        hostility = Hostility(self.lab, self._seed)
        hostility.send()
        self._until("all lies have arrived", hostility.arrived, periods=1)
        return hostility.told()

    def _quiet(self) -> bool:
        return not self.watch.waiting and not self.watch.lost_records()
