"""A trainer as a process: its folder, its session, and what other commands ask of it.

One process at a time works on a trainer's folder. While one runs, `rollback` leaves a request
there, which that process executes.
"""

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from precog_models.durable import write_durably

from .assignments import Drift, Rollout
from .bodies import Skill
from .clock import now_ms
from .errors import FleetError
from .gossip import Gossip
from .hosting import check_role, member_of_role, opened_store, write_status
from .mesh_config import MeshConfig
from .places import BusyError, claimed
from .rollouts import Rollouts, Stages
from .shelf import Shelf
from .speaking import Identity, Speaker
from .timing import Cadence, Timing
from .trainer import Trainer
from .uplink import Uplink
from .watching import Watch

__all__ = ["TrainerNode", "ask_for_rollback", "in_background"]

_INTEREST = tuple(f"{kind.PREFIX}/" for kind in (Skill, Drift, Rollout))
_REQUEST = "rollback.request"
_ASK_MS = 500
_SAVE_MS = 1000
_ANSWER_S = 15.0


def in_background(work: Callable[[], Path]) -> "Future[Path]":
    """Do the work in a thread that does not keep the process: a job goes on with the next one."""
    future: Future[Path] = Future()

    def done() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=done, name="job", daemon=True).start()
    return future


class TrainerNode:
    """A trainer's member of the mesh, and its rollouts.

    Parameters
    ----------
    folder : Path
        The member's.
    stages : Stages, optional

    Attributes
    ----------
    store : Store
    rollouts : Rollouts
    trainer : Trainer or None
        The loop, if one has been given.

    Raises
    ------
    ValueError
        The folder is not a trainer's.
    BusyError
        Another process works on it.
    """

    def __init__(self, folder: Path, stages: Stages | None = None) -> None:
        member = member_of_role(folder, "trainer")
        self.folder = folder
        self.trainer: Trainer | None = None
        self._asked_at = self._saved_at = 0
        with ExitStack() as opening:
            opening.enter_context(claimed(folder))
            self._shelf = opening.enter_context(Shelf(member.store_path))
            self.store = opened_store(member, self._shelf, now_ms())
            check_role(member, self.store, "trainer")
            info = member.info
            config = MeshConfig(info.fleet, member.name, folder, False, (), info.routers)
            self.uplink = Uplink(config, Gossip(self.store, _INTEREST, origin=member.name))
            opening.callback(self.uplink.close)
            identity = Identity(member.name, member.key, info.public)
            self._speaker = Speaker(identity, self.store, self.uplink, self._shelf)
            self.rollouts = Rollouts(
                folder / "rollouts.json", self.store, self._speaker.say, stages
            )
            self._stack = opening.pop_all()
        self._news: list[str] = []
        self._watch = Watch(self._news.append)
        self._health = f"health/{member.name}"
        self._cadence = Cadence(Timing(), self.store, member.name)

    def turn(self, wait_s: float = 0.1) -> list[str]:
        """One turn; what happened."""
        now = now_ms()
        try:
            self.uplink.pump(now, wait_s)
            if not 0 <= now - self._asked_at < _ASK_MS:
                self._asked_at = now
                self.uplink.ask(now)
        except FleetError as error:
            if self.trainer is not None:
                self.trainer.errors["link"] = str(error)
        events = self._requested(now)
        if self.trainer is not None:
            events += self.trainer.step(now)
        elif event := self.rollouts.step(now):
            events.append(event)
        if not 0 <= now - self._saved_at < _SAVE_MS:
            self._saved_at = now
            self.store.expire(now)
            if self.uplink.mesh is not None and self._cadence.due(self._health, now):
                life = self._cadence.life(self._health)
                self._speaker.say(self._health, self._speaker.health(), now, life)
            self._watch.see("identity", self._speaker.twin, "")
            events += self._news
            self._news.clear()
            self._save()
            if self.trainer is not None:
                write_status(self.folder / "status.json", self.trainer.status(now))
        return events

    def _save(self) -> None:
        """A full disk ends nothing: rollouts and jobs have files of their own."""
        self._shelf.try_to_keep(self.store)
        self._watch.see("store of records", self._shelf.error)

    def _requested(self, now: int) -> list[str]:
        """Do what another command has asked for."""
        path = self.folder / _REQUEST
        if not path.exists():
            return []
        try:
            release = self.rollouts.rollback(now, path.read_text(errors="replace")[:200])
            done = f"rolled back to release {release}, by request"
        except FleetError as error:
            done = str(error)
        except OSError:  # the disk does not take it: the request stays
            return []
        path.unlink(missing_ok=True)
        return [done]

    def wait_until_heard(self, limit_s: float) -> bool:
        """Turn until a router acknowledges all that was said; False: not in that time."""
        end = time.monotonic() + limit_s
        began = now_ms()
        while time.monotonic() < end:
            self.turn()
            mesh = self.uplink.mesh
            if mesh is None or self.rollouts.status(now_ms())["unsaid"]:
                continue
            if any(at > began for at in mesh.acknowledged_at.values()):
                return True
        return False

    def be_heard(self, limit_s: float) -> None:
        """Turn until a router acknowledges what is decided.

        Raises
        ------
        FleetError
            None does in that time.
        """
        if not self.wait_until_heard(limit_s):
            last = self.rollouts.history[-1]
            raise FleetError(
                f"release {last['release']} is {last['what']}, but no router has heard of it: "
                f"{self.uplink.error or 'wait'}; start the trainer or repeat the command"
            )

    def close(self) -> None:
        """Leave the mesh and the folder."""
        self._save()
        self._stack.close()


def ask_for_rollback(folder: Path, why: str, *, limit_s: float = _ANSWER_S) -> dict[str, Any]:
    """Roll back, by the process that works on the folder if there is one; the state after it.

    What has been rolled back already is said again: no router may have heard of it.

    Raises
    ------
    FleetError
        There is nothing to roll back, or no member heard of it.
    """
    try:
        node = TrainerNode(folder)
    except BusyError:
        return _asked(folder, why, limit_s)
    try:
        if not node.rollouts.withdrawn:
            node.rollouts.rollback(now_ms(), why)
        node.be_heard(limit_s)
        return node.rollouts.status(now_ms())
    finally:
        node.close()


def _asked(folder: Path, why: str, limit_s: float) -> dict[str, Any]:
    path, state = folder / _REQUEST, folder / "rollouts.json"
    write_durably(path, why.encode())
    end = time.monotonic() + limit_s
    try:
        while path.exists():
            if time.monotonic() > end:
                raise FleetError(f"process that works on {folder} did not answer in {limit_s:g} s")
            time.sleep(0.05)
    finally:  # no process may act later on a request whose command has ended
        path.unlink(missing_ok=True)
    told: dict[str, Any] = json.loads(state.read_bytes()) if state.exists() else {"history": []}
    if not told["history"] or told["history"][-1]["what"] != "rolled back":
        raise FleetError("rollout must have been made before it can be rolled back")
    return told
