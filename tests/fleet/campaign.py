"""``python -m tests.fleet.campaign``: a fleet under faults at random, run after run.

Each run draws its faults from its seed: kills of agents, router and trainer, also in the middle of
a write; partitions, clocks that are off, full disks, cards that fail, slow consumers, damaged
Parquet, training and releases in between. After each slice of a run, and in the end, when all is
healed, it checks what `Checks` says.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from precog_fleet.assignments import Drift
from precog_host.transport import DeviceError
from precog_models.durable import write_durably
from precog_sim.commit import commit_name
from precog_sim.targets import new_file
from precog_spec.markdown import table

from .breaking import Disk, breaking
from .checks import Checks
from .site import ROUTER, TRAINER, Site
from .support import NOW

__all__ = ["KINDS", "Faults", "main", "one_run"]

AGENTS = 4
SLICES = 8
_STEPS = 12  # of durable writes, until a member is killed in one
#: What may happen, in the words of the page.
KINDS = {
    "kill": "agent killed",
    "router": "router killed",
    "trainer": "trainer killed",
    "write": "next writer killed in a write",
    "cut": "agent or trainer cut off",
    "skew": "clock off by up to 29 s",
    "disk": "disk of any member full for a while",
    "card": "card does not answer",
    "slow": "agent slow, its trace overflows",
    "rot": "Parquet damaged, agent killed",
    "ask": "agent asks for new models: training, release, rollout",
}


class Faults:
    """What happens to a site."""

    def __init__(self, of: Site, rng: random.Random) -> None:
        self.of, self.rng = of, rng
        self.done: list[str] = []

    def one(self) -> None:
        """A fault of any kind."""
        kind = self.rng.choice([*KINDS, "ask", "trainer", "write"])
        name = self.rng.choice(self.of.names)
        self.done.append(f"{kind} {name}")
        getattr(self, f"_{kind}")(name)

    def heal(self, share: float = 1.0) -> None:
        """End partitions and full disks, each with a probability."""
        for name in sorted(self.of.full):
            if self.rng.random() < share:
                self.of.fill(name, False)
        for link in (self.of.trainer_link, *(a.link for a in self.of.agents.values())):
            if self.rng.random() < share:
                link.cut = False  # type: ignore[attr-defined]

    def _any(self, name: str) -> str:
        return self.rng.choice([name, ROUTER, TRAINER])

    def _kill(self, name: str) -> None:
        self.of.kill(name)

    def _router(self, name: str) -> None:
        self.of.kill(ROUTER)

    def _trainer(self, name: str) -> None:
        self.of.kill(TRAINER)

    def _write(self, name: str) -> None:
        self.of.disk.kill_after = self.rng.randrange(_STEPS)

    def _cut(self, name: str) -> None:
        link = self.rng.choice([self.of.agents[name].link, self.of.trainer_link])
        link.cut = True  # type: ignore[attr-defined]

    def _skew(self, name: str) -> None:
        self.of.skew[name] = self.rng.randrange(-29_000, 29_000)

    def _disk(self, name: str) -> None:
        self.of.fill(self._any(name), True)

    def _card(self, name: str) -> None:
        card = self.of.agents[name].seatings[0].card
        if card.device is not None:
            card._fail(DeviceError("no answer"), self.of.now)
            self.of.disturbed.add(name)

    def _slow(self, name: str) -> None:
        self.of.traffic[name].run(300)

    def _rot(self, name: str) -> None:
        parts = sorted((self.of.folder / name / "telemetry").glob("*.parquet"))
        if parts:
            path = self.rng.choice(parts)
            path.write_bytes(path.read_bytes()[: self.rng.randrange(path.stat().st_size)])
            self.of.spoilt.add(path)
        self.of.kill(name)

    def _ask(self, name: str) -> None:
        agent = self.of.agents[name]
        wish = Drift(0, 500, 90_000, 100_000)
        agent.speaker.say(f"drift/{name}", wish, self.of.now + self.of.skew.get(name, 0), 600_000)


def one_run(folder: Path, seed: int) -> dict[str, Any]:
    """One run; its figures.

    Raises
    ------
    AssertionError
        Something was lost, or did not converge: which, and after which faults.
    """
    began = time.process_time()
    with breaking() as disk:
        found = _run(folder, seed, disk)
    return {"seed": seed, **found, "cpu_s": round(time.process_time() - began, 2)}


def _run(folder: Path, seed: int, disk: Disk) -> dict[str, Any]:
    of = Site(folder, AGENTS, disk, seed=seed, start=NOW)
    campaign = Faults(of, random.Random(seed))
    checks = Checks(of)
    try:
        of.run(12, periods=6)
        for _ in range(SLICES):
            for _ in range(campaign.rng.randrange(1, 4)):
                campaign.one()
            of.run(4, periods=8)
            checks.always()
            campaign.heal(0.3)
        disk.kill_after = None
        campaign.heal()
        checks.converges(lambda: of.run(1, periods=1))
        checks.goes_on(lambda: campaign._ask(of.names[0]), lambda: of.run(1, periods=1))
        checks.at_last()
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, after {', '.join(campaign.done)}: {error}") from error
    return {
        "faults": dict(Counter(one.split()[0] for one in campaign.done)),
        "deaths": dict(of.deaths),
        "acknowledged": len(of.acknowledged),
        "parts": len(of.parts),
        "rows": of.seen["rows"],
        "evicted": of.seen["parts_evicted"],
        "damaged": len(of.spoilt),
        "refused_writes": disk.refused,
        "jobs": dict(Counter(row["what"] for row in of.loop.history)),
        "releases": len(of.loop.repository.releases()),
        "converged_ms": checks.converged_ms,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0; 1 if a run failed."""
    parser = argparse.ArgumentParser(prog="tests.fleet.campaign", description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, help="of the first run; drawn by default")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--out", type=new_file, default="build/soak/faults.json")
    parser.add_argument("--page", type=new_file, help="where the page goes; by default nowhere")
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = parser.parse_args(given)
    for name in ("runs", "workers"):
        if getattr(asked, name) < 1:
            parser.error(f"{name} must be at least 1, not {getattr(asked, name)}")
    seed = random.SystemRandom().randrange(2**32) if asked.seed is None else asked.seed
    print(f"seed: {seed} (repeat with --seed {seed})", flush=True)
    told: dict[str, Any] = {
        "command": f"python -m tests.fleet.campaign {' '.join(given)}".strip(),
        "commit": commit_name("sw", "models", "tests/fleet"),
        "seed": seed,
        "agents": AGENTS,
        "failed": {},
        "runs": [],
    }
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    with get_context("spawn").Pool(asked.workers) as pool:
        for one, found in pool.imap(_attempt, range(seed, seed + asked.runs)):
            if isinstance(found, str):
                told["failed"][str(one)] = found
                print(found, flush=True)
            else:
                told["runs"].append(found)
            asked.out.write_text(json.dumps(told, indent=1) + "\n")
    print(f"{len(told['runs'])} runs passed, {len(told['failed'])} failed", flush=True)
    if asked.page is not None:
        write_durably(asked.page, page(told, str(asked.out)).encode(), made=True)
    return 1 if told["failed"] else 0


def _attempt(seed: int) -> tuple[int, dict[str, Any] | str]:
    """A run's figures, or why it failed; the others go on."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return seed, one_run(Path(folder), seed)
        except Exception as error:
            return seed, f"{type(error).__name__}: {error}"


def page(told: dict[str, Any], record: str) -> str:
    """The record as a page of Markdown."""
    runs = told["runs"]
    faults: Counter[str] = Counter()
    deaths: Counter[str] = Counter()
    for run in runs:
        faults.update(run["faults"])
        deaths.update(run["deaths"])
    agents = sum(count for name, count in deaths.items() if name not in (ROUTER, TRAINER))
    total = {
        name: sum(run[name] for run in runs)
        for name in ("acknowledged", "parts", "rows", "evicted", "refused_writes", "releases")
    }
    late = sorted(run["converged_ms"] for run in runs)
    rows = [
        (
            "every card runs models of a version that was shipped or released",
            f"{len(runs) * SLICES} looks",
        ),
        (
            "a router's high-water mark is at what it acknowledged, or above",
            f"{total['acknowledged']} pairs of origin and key",
        ),
        (
            "an acknowledged part of telemetry is there, byte for byte, or counted as evicted",
            f"{total['parts']} parts, {total['rows']} rows, {total['evicted']} evicted",
        ),
        (
            "a release is whole or absent for a reader, and never changes",
            f"{total['releases']} releases",
        ),
        ("windows = rows written + waiting + lost, at every agent", f"{total['rows']} rows"),
        ("records that a trace had no room for = those that its agent misses", "each run"),
        ("writes that full disks refused = those that agents counted", "each run"),
        ("no honest record is refused", "each run"),
        ("all agents hold all reports and the trainer's rollout", "each run"),
        ("the trainer trains again when it is asked", "each run"),
    ]
    return "\n".join(
        [
            "# A fleet under faults",
            "",
            f"Made by `{told['command']}` from commit {told['commit']}; do not edit. "
            f"For machines: `{record}`.",
            "",
            f"{len(runs) + len(told['failed'])} runs of {told['agents']} agents with emulated "
            f"cards, a router and a trainer, seeds from {told['seed']}: "
            f"**{len(told['failed'])} failed**. Each has {SLICES} to "
            f"{3 * SLICES} faults, drawn at random; then all is healed.",
            "",
            table(["fault", "times"], ([text, faults[kind]] for kind, text in KINDS.items())),
            "",
            f"Killed, in a write or between two: agents {agents} times, the router "
            f"{deaths[ROUTER]}, the trainer {deaths[TRAINER]}. "
            f"Full disks refused {total['refused_writes']} writes.",
            "",
            table(["what holds after every slice, or at last", "of"], rows),
            "",
            f"Simulated time from healing to convergence: median {late[len(late) // 2] / 1000:g} "
            f"s, at most {late[-1] / 1000:g} s. CPU time of a run: "
            f"{sum(run['cpu_s'] for run in runs) / len(runs):.1f} s.",
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
