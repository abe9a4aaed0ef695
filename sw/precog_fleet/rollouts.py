"""Rollouts by stages: a release goes to a share of agents, and on only if it does well there.

    start ─► stage 1 ─► stage 2 ─► all ─► done
               └──────────┴─────────┴──► rolled back: all members run what ran before

A stage waits until enough of its agents have told how the release does on their own traffic. The
median counts, of each agent's skill less that of what it ran before: some liars move it little. A
stage without reports is rolled back, too: silence proves nothing. The state is on disk
before anything is said, so that a successor says the same again. A decision that the disk does
not take is none.
"""

import json
import math
import random
import statistics
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from precog_models.durable import write_durably
from precog_models.limits import read_json

from .assignments import ALL, LIVE_KEY, SHIPPED, Rollout, skill_key
from .bodies import Skill
from .errors import FleetError
from .store import Store

__all__ = ["Rollouts", "Stages"]

_FORMAT = 1
_LIFE_MS = 90 * 86_400_000
_SAY_MS = 86_400_000  # how often a rollout that stands is said again
_HISTORY = 50
_NO_DIGEST = bytes(32)


@dataclass(frozen=True)
class Stages:
    """How a rollout goes.

    Parameters
    ----------
    shares : tuple of int
        Thousandths of all agents, rising to 1000; a stage has one agent more than the one before,
        at least.
    dwell_ms : int
        Shortest time of a stage.
    patience_ms : int
        Longest time to wait for reports.
    quorum : float
        Share of a stage's agents that must have reported.
    tolerance : float
        By how much the median skill may fall.
    windows : int
        That a report must rest on.

    Raises
    ------
    ValueError
        A number is out of its range.
    """

    shares: tuple[int, ...] = (50, 250, ALL)
    dwell_ms: int = 60_000
    patience_ms: int = 3_600_000
    quorum: float = 0.5
    tolerance: float = 0.02
    windows: int = 100

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.shares, self.shares[1:], strict=False))
        if not self.shares or self.shares[0] < 1 or self.shares[-1] != ALL or not rising:
            raise ValueError(f"shares must rise from at least 1 to {ALL}, not {self.shares}")
        if not 0 <= self.dwell_ms <= self.patience_ms:
            raise ValueError(
                f"dwell must be at most the patience, {self.patience_ms / 1000:g} s, not "
                f"{self.dwell_ms / 1000:g} s"
            )
        if not 0.0 < self.quorum <= 1.0:
            raise ValueError(f"quorum must be above 0 and at most 1, not {self.quorum!r}")
        if not 0.0 <= self.tolerance < 1.0:
            raise ValueError(f"tolerance must be in 0..1, not {self.tolerance!r}")
        if self.windows < 1:
            raise ValueError(f"windows must be at least 1, not {self.windows!r}")


@dataclass(frozen=True)
class _Run:
    """A rollout that is under way."""

    stage: int
    since: int
    began: int


class Rollouts:
    """What the fleet's agents are to run.

    Parameters
    ----------
    path : Path
        File of the state.
    store : Store
        Agents' skill.
    say : callable
        Signs and publishes a record: key, body, time, life in ms; False: not sent yet.
    stages : Stages, optional
    rng : random.Random, optional
        Chooses the order of agents.

    Attributes
    ----------
    history : list of dict
        What happened, the newest last.

    Raises
    ------
    ValueError
        The state is damaged.
    """

    def __init__(
        self,
        path: Path,
        store: Store,
        say: Callable[[str, Rollout, int, int], bool],
        stages: Stages | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._path = path
        self._store = store
        self._say = say
        self.stages = stages or Stages()
        self._rng = rng or random.Random()
        self._order: Rollout | None = None
        self._run: _Run | None = None
        self.history: list[dict[str, Any]] = []
        self._said_at: int | None = None
        if path.exists():
            self._load()

    # --- state -----------------------------------------------------------------------------------

    def _load(self) -> None:
        try:
            told = read_json(self._path)
            if told["format"] != _FORMAT:
                raise ValueError(f"format must be {_FORMAT}")
            self._order = None if told["order"] is None else Rollout.parse(told["order"])
            self._run = None if told["run"] is None else _Run(**told["run"])
            self.history = list(told["history"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{self._path} must be the state of rollouts: {error}") from error

    def _save(self) -> None:
        told = {
            "format": _FORMAT,
            "order": None if self._order is None else self._order.plain(),
            "run": None if self._run is None else asdict(self._run),
            "history": self.history[-_HISTORY:],
        }
        write_durably(self._path, (json.dumps(told, indent=1, sort_keys=True) + "\n").encode())

    @property
    def running(self) -> bool:
        """Whether a rollout is under way."""
        return self._run is not None

    @property
    def withdrawn(self) -> bool:
        """Whether the last release was rolled back."""
        return self._order is not None and self._order.share == 0

    @property
    def live(self) -> tuple[int, bytes]:
        """Number and digest of the release that all agents run, but for a rollout under way."""
        order = self._order
        if order is None:
            return SHIPPED, _NO_DIGEST
        if self._run is None and order.share == ALL:
            return order.release, order.digest
        return order.previous, order.previous_digest

    # --- what is done ----------------------------------------------------------------------------

    def start(self, release: int, digest: bytes, now: int) -> None:
        """Begin with the first stage.

        Raises
        ------
        FleetError
            A rollout is under way, or the release is the one that runs, or there is no member.
        OSError
            The disk does not take it: nothing has changed.
        """
        if self._run is not None and self._order is not None:
            raise FleetError(
                f"rollout of release {self._order.release} must end first: wait, or roll it back"
            )
        live, live_digest = self.live
        if digest == live_digest:
            raise FleetError(f"release {release} must be a new one, but it runs everywhere already")
        if not self.agents():
            raise FleetError("fleet must have agents: no member of that role is known")
        salt = self._rng.getrandbits(32)
        order = Rollout(release, digest, live, live_digest, 1, salt)
        order = replace(order, share=self._share(order, 0))
        self._decide(now, order, _Run(0, now, now), "started", f"previous {live}")

    def rollback(self, now: int, why: str) -> int:
        """Let all members run what ran before; the number of that release.

        Raises
        ------
        FleetError
            There was nothing before.
        OSError
            The disk does not take it: nothing has changed.
        """
        order = self._order
        if order is None or self.withdrawn:
            raise FleetError("rollout must have been made before it can be rolled back")
        self._decide(now, replace(order, share=0), None, "rolled back", why)
        return order.previous

    def step(self, now: int) -> str | None:
        """Go on, if it is time; what happened, if anything did.

        Raises
        ------
        OSError
            The disk does not take it: nothing has changed.
        """
        if self._order is None:
            return None
        if self._said_at is None or not 0 <= now - self._said_at < _SAY_MS:
            self._send(now)
        if self._run is None:
            return None
        waited = now - self._run.since
        if waited < 0:  # the clock was set back
            self._run = replace(self._run, since=now)
            return None
        if waited < self.stages.dwell_ms:
            return None
        told = self.told()
        if told["reporters"] < told["needed"]:
            if waited < self.stages.patience_ms:
                return None
            return self._fail(
                now, f"only {told['reporters']} of {told['agents']} agents reported on it"
            )
        if not told["gain"] >= -self.stages.tolerance:
            return self._fail(now, f"median skill fell by {-told['gain']:.4f}")
        return self._advance(now, f"median skill changed by {told['gain']:+.4f}")

    def _fail(self, now: int, why: str) -> str:
        assert self._order is not None
        release = self._order.release
        self.rollback(now, why)
        return f"release {release} was rolled back: {why}"

    def _advance(self, now: int, why: str) -> str:
        assert self._order is not None
        assert self._run is not None
        stage = self._run.stage + 1
        if stage == len(self.stages.shares) or self._order.share == ALL:
            self._decide(now, replace(self._order, share=ALL), None, "done", why)
            return f"release {self._order.release} runs everywhere: {why}"
        share = self._share(self._order, stage)
        run = _Run(stage, now, self._run.began)
        self._decide(now, replace(self._order, share=share), run, "advanced", why)
        return f"release {self._order.release} goes to {share / 10:g} %: {why}"

    # --- what agents say -------------------------------------------------------------------------

    def agents(self) -> list[str]:
        """Names of the members that run models."""
        members = self._store.members.items()
        return sorted(name for name, of in members if of.role == "agent" and not of.revoked)

    def _share(self, order: Rollout, stage: int) -> int:
        """The share of a stage, or that of one agent more than the stage before has."""
        places = sorted(order.place(name) for name in self.agents())
        share = self.stages.shares[min(stage, len(self.stages.shares) - 1)]
        before = sum(place < order.share for place in places) if stage else 0
        if before >= len(places):
            return ALL
        return max(share, places[before] + 1)

    def told(self) -> dict[str, Any]:
        """What the agents of the stage say: how many must report and do, and the median gain."""
        order, run = self._order, self._run
        if order is None or run is None:
            return {"agents": 0, "needed": 0, "reporters": 0, "gain": math.nan, "skill": math.nan}
        chosen = [name for name in self.agents() if order.chosen(name)]
        new = self._skills(order.release, chosen, run.began)
        old = self._skills(order.previous, chosen, 0)
        # Without a figure of before, the release must at least beat persistence.
        gains = [new[name] - old.get(name, 0.0) for name in new]
        return {
            "agents": len(chosen),
            "needed": max(1, math.ceil(self.stages.quorum * len(chosen))),
            "reporters": len(new),
            "gain": statistics.median(gains) if gains else math.nan,
            "skill": statistics.median(new.values()) if new else math.nan,
        }

    def _skills(self, release: int, names: Iterable[str], since: int) -> dict[str, float]:
        """Skill over persistence that agents report of a release, by name."""
        found = {}
        for name in names:
            entry = self._store.entry(name, skill_key(release))
            if entry is None or not isinstance(entry.record.body, Skill):
                continue
            body = entry.record.body
            fresh = entry.record.t0 >= since and body.n >= self.stages.windows
            if fresh and body.reference:
                found[name] = 1.0 - body.score / body.reference
        return found

    # --- what is said ----------------------------------------------------------------------------

    def _decide(self, now: int, order: Rollout, run: _Run | None, what: str, why: str) -> None:
        """Change the state: on disk, then said; as it was if the disk does not take it."""
        before = self._order, self._run, self.history
        row = {"at": now, "release": order.release, "what": what, "share": order.share, "why": why}
        self._order, self._run, self.history = order, run, [*self.history, row]
        try:
            self._save()
        except OSError:
            self._order, self._run, self.history = before
            raise
        self._said_at = None
        self._send(now)

    def _send(self, now: int) -> None:
        assert self._order is not None
        if self._say(LIVE_KEY, self._order, now, _LIFE_MS):
            self._said_at = now

    def status(self, now: int) -> dict[str, Any]:
        """JSON data: what runs, the stage, what its agents say, and what happened."""
        release, digest = self.live
        order, run = self._order, self._run
        told = self.told()
        under_way = None
        if order is not None and run is not None:
            under_way = {
                "release": order.release,
                "digest": order.digest.hex(),
                "share": order.share,
                "stage": run.stage + 1,
                "stages": len(self.stages.shares),
                "seconds": (now - run.since) / 1000,
                **{name: None if value != value else value for name, value in told.items()},
            }
        return {
            "live": {"release": release, "digest": digest.hex()},
            "rollout": under_way,
            "unsaid": order is not None and self._said_at is None,
            "history": self.history,
        }
