"""Agents and router killed, cut off, out of disk, behind, at random: models stay, records converge.

Each run draws its faults from the seed; `--volume` makes more runs. What is asserted after each:
every card runs a model that was shipped or released, every record that the router ever acknowledged
is there or was replaced by a newer one, although a killed router loses what it had not saved, all
agents agree in the end, and every part can be read.
"""

import os
import random
from pathlib import Path

import pytest

from precog_fleet.agent import Agent
from precog_fleet.gossip import EVERYTHING, exchange
from precog_fleet.modelset import ModelSet
from precog_fleet.outcome import Pair
from precog_fleet.telemetry import Telemetry, read_part
from precog_host.device import Device
from precog_host.transport import DeviceError
from precog_models.image import Image, pretrained

from .flock import Flock, spoiled
from .support import NOW

AGENTS = 4
SLICES = 8
VERSIONS = {1, 5, 7}  # shipped, and the two that are released


def better() -> ModelSet:
    base = pretrained("queue-4rtt")
    weights = vars(base.weights) | {"version": 5}
    return ModelSet(Image(type(base.weights)(**weights), base.card))


class Faults:
    """What happens to a flock."""

    def __init__(self, of: Flock, rng: random.Random) -> None:
        self.of, self.rng = of, rng
        self.done: list[str] = []

    def one(self) -> None:
        """A fault of any kind."""
        kind = self.rng.choice(
            ["kill", "cut", "heal", "skew", "disk", "card", "rot", "slow", "roll", "router"]
        )
        name = self.rng.choice(self.of.names)
        self.done.append(f"{kind} {name}")
        getattr(self, f"_{kind}")(name, self.of.agents[name])

    def _kill(self, name: str, agent: Agent) -> None:
        """As kill -9: nothing is flushed or saved."""
        self._end(agent)
        self.of.agents[name] = self.of.start(name)

    def _end(self, agent: Agent) -> None:
        agent._shelf.close()
        os.close(agent.telemetry._lock)

    def _cut(self, name: str, agent: Agent) -> None:
        agent.link.cut = True  # type: ignore[attr-defined]

    def _heal(self, name: str, agent: Agent) -> None:
        for other in self.of.agents.values():
            other.link.cut = False  # type: ignore[attr-defined]

    def _skew(self, name: str, agent: Agent) -> None:
        """Its clock is set, within what the fleet allows."""
        step, by = agent.step, self.rng.randrange(-30_000, 30_000)
        agent.step = lambda now, wait_s=0.0: step(now + by, wait_s)  # type: ignore[method-assign]

    def _disk(self, name: str, agent: Agent) -> None:
        """Full: neither telemetry nor state can be written, for one slice."""

        def full(path: Path, data: bytes) -> None:
            raise OSError(28, "No space left on device", str(path))

        true, agent.telemetry._write = agent.telemetry._write, full
        self.of.run(5, periods=8)
        agent.telemetry._write = true

    def _card(self, name: str, agent: Agent) -> None:
        """It does not answer for a while."""
        card = agent.seatings[0].card
        if card.device is not None:
            card._fail(DeviceError("no answer"), self.of.now)

    def _rot(self, name: str, agent: Agent) -> None:
        """A part is damaged on disk, then the agent is killed."""
        parts = sorted(agent.telemetry.folder.glob("*.parquet"))
        if parts:
            path = self.rng.choice(parts)
            path.write_bytes(path.read_bytes()[: self.rng.randrange(path.stat().st_size)])
        self._kill(name, agent)

    def _slow(self, name: str, agent: Agent) -> None:
        """It has no turns while its card works on: the trace overflows."""
        self.of.traffic[name].run(400)

    def _router(self, name: str, agent: Agent) -> None:
        """As kill -9 of the router."""
        self.of.kill_hub()

    def _roll(self, name: str, agent: Agent) -> None:
        number = len(self.of.releases) + 1
        models = self.rng.choice([better(), spoiled(version=7)])
        self.of.roll_out(number, models)


def test_faults_at_random(tmp_path: Path, seed: int, pytestconfig: pytest.Config) -> None:
    for n in range(3 * pytestconfig.getoption("--volume")):
        faults(tmp_path / str(n), seed + n)


def faults(folder: Path, seed: int) -> None:
    of = Flock(folder, AGENTS, seed=seed, start=NOW)
    campaign = Faults(of, random.Random(seed))
    acknowledged: dict[Pair, int] = {}
    of.run(12, periods=8)
    for _ in range(SLICES):
        campaign.one()
        exchange(of.trainer, of.hub, of.now)
        of.run(3, periods=16)
        of.save_hub()
        of.run(1, periods=16)
        for pair, version in of.hub.store.pairs(EVERYTHING).items():
            acknowledged[pair] = max(version, acknowledged.get(pair, 0))
        for name, emulator in of.cards.items():
            live = {m.version for m in Device(emulator).models() if m.slots}
            assert live, (name, campaign.done)
            assert live <= VERSIONS, (name, campaign.done)
    campaign._heal("", of.agents["host0"])
    of.run(60, periods=4)  # closed cards are opened again after a second, then two, ...
    exchange(of.trainer, of.hub, of.now)
    for pair, version in acknowledged.items():
        assert of.hub.store.mark(*pair) >= version, campaign.done
    for qp in (0, 1):
        views = [
            {e.record.origin for e in agent.store.entries(f"dst/10.0.0.{qp}")}
            for agent in of.agents.values()
        ]
        assert views == [set(of.names)] * AGENTS, campaign.done
    for name, agent in of.agents.items():
        assert agent.health().up == 1, campaign.done
        assert agent.seatings[0].counts["unlike"] == 0
        agent.close(of.now)
        Telemetry(folder / name / "telemetry", name).close(of.now)  # sets aside what is damaged
        for part in (folder / name / "telemetry").glob("*.parquet"):
            assert len(read_part(part))
