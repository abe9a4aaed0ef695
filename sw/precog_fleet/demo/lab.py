"""Router, trainer and agents with emulated cards, all in this process; links, disks, releases real.

Every member has its folder, keys and Zenoh session as an operator's would; what is shared is the
loop that gives them their turns.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_models.image import pretrained

from ..agent_process import SHIPPED_MODEL, AgentProcess
from ..clock import now_ms
from ..evaluate import ClosedLoop, Limits
from ..lineup import Rules
from ..modelset import ModelSet
from ..repository import Repository
from ..rollouts import Stages
from ..router_process import RouterProcess
from ..runner import Pool
from ..timing import Timing
from ..train import FleetRecipe
from ..trainer import Job, Trainer
from ..trainer_process import TrainerNode, in_background
from ..trial import Trial
from .traffic import Replay, destinations, emulated

__all__ = ["Lab", "Pace"]


def _opened(emulator: Emulator, _: str) -> Device:
    """An emulated card stays when it is opened again."""
    return Device(emulator)


@dataclass(frozen=True)
class Pace:
    """How fast the demo goes: what takes hours in a fleet takes seconds here.

    Parameters
    ----------
    periods : int
        Of traffic in a turn.
    stages : Stages
    rules : Rules
    timing : Timing
    recipe : FleetRecipe
    limits : Limits
    window_ms : int
        How old windows to train on may be.
    pause_ms : int
        From one job to the next.
    part_ms : int
        How long rows of telemetry wait for their part.
    workers : int
        That train.
    """

    periods: int
    stages: Stages
    rules: Rules
    timing: Timing
    recipe: FleetRecipe
    limits: Limits
    window_ms: int
    pause_ms: int
    part_ms: int = 2000
    workers: int = 1


class Lab:
    """The fleet.

    Parameters
    ----------
    folder : Path
        A new one.
    agents : int
    queues : int
        Of each card.
    period : int
        Ticks from a sample of a queue to its next one.
    loop : callable
        The closed loop of the evaluation.
    pace : Pace
    asks : int
        Agents that must ask for new models.

    Attributes
    ----------
    agents : dict of str to AgentProcess
    cards : dict of str to Replay
    router : RouterProcess
    node : TrainerNode
    trainer : Trainer
    repository : Repository
    events : list of dict
        What the trainer did: time in ms, and a sentence.

    Raises
    ------
    FleetError, ValueError, OSError
        The folder is in use, or cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        agents: int,
        queues: int,
        period: int,
        loop: ClosedLoop,
        pace: Pace,
        asks: int,
    ) -> None:
        self.folder, self.pace = folder, pace
        self.events: list[dict[str, int | str]] = []
        qps = range(queues)
        trial = Trial(folder, agents)
        trainer = Path(trial.member("trainer0", "trainer"))
        self.repository = Repository.create(folder / "repository", folder / "keys", now_ms)
        self.agents: dict[str, AgentProcess] = {}
        self.cards: dict[str, Replay] = {}
        self._stack = ExitStack()
        with ExitStack() as opening:
            router, *hosts = map(Path, trial.members)
            self.router = RouterProcess(router)
            opening.callback(self.router.close)
            for host in hosts:
                emulator = emulated(queues)
                self.cards[host.name] = Replay(emulator, qps, period)
                process = AgentProcess(
                    host,
                    ["card0"],
                    opener=partial(_opened, emulator),
                    releases=str(self.repository.folder),
                    root=self.repository.root_bytes,
                    part_ms=pace.part_ms,
                    qps=qps,
                    destinations=destinations(qps),
                    rules=pace.rules,
                    timing=pace.timing,
                )
                opening.callback(process.close)
                self.agents[host.name] = process
            self.node = TrainerNode(trainer, pace.stages)
            opening.callback(self.node.close)
            runner = Pool(pace.workers)
            opening.callback(runner.close)
            job = Job(tuple(hosts), pace.recipe, runner, loop, pace.limits, pace.limits.seeds)
            self.trainer = self.node.trainer = Trainer(
                trainer / "trainer",
                self.node.store,
                self.node.rollouts,
                self.repository,
                job,
                ModelSet(pretrained(SHIPPED_MODEL)),
                in_background,
                asks=asks,
                pause_ms=pace.pause_ms,
                window_ms=pace.window_ms,
            )
            self._stack = opening.pop_all()

    def turn(self, periods: int | None = None) -> list[str]:
        """A turn of all members, after this many periods of traffic; what the trainer did."""
        for name, process in self.agents.items():
            self.cards[name].run(self.pace.periods if periods is None else periods)
            process.agent.step(now_ms(), 0.0)
        self.router.turn(0.0)
        events = self.node.turn(0.0)
        self.events += [{"at": now_ms(), "what": event} for event in events]
        return events

    def connected(self) -> bool:
        """Whether all members have a session, and the trainer knows all agents."""
        links = [process.uplink for process in self.agents.values()]
        up = all(link.mesh is not None for link in [*links, self.node.uplink])
        return up and set(self.node.rollouts.agents()) == set(self.agents)

    def windows(self) -> int:
        """Fewest windows that an agent has seen."""
        return min(process.agent.health().windows for process in self.agents.values())

    def running(self, release: int) -> int:
        """Agents on whose card a release is live."""
        healths = [process.agent.health() for process in self.agents.values()]
        return sum(one.release == release for one in healths)

    def decided(self, release: int) -> bool:
        """Whether every agent has judged a release that goes to all: it runs, or was refused."""
        lineups = [process.agent.seatings[0].lineup for process in self.agents.values()]
        digest = self.node.rollouts.live[1]
        return all(
            digest in one.refused or (one.live is not None and one.live.release == release)
            for one in lineups
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
