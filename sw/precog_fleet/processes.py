"""Agents and routers as processes: folders, sessions and signals around the plain objects."""

import json
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

from precog_host.device import Device
from precog_host.emulator import Emulator
from precog_models.image import pretrained

from .agent import Agent, Timing
from .bodies import Membership
from .card import Card
from .clock import now_ms
from .errors import FleetError
from .gossip import EVERYTHING, Gossip
from .health import Health
from .lineup import Rules
from .member import Member
from .mesh import Mesh, MeshConfig
from .modelset import ModelSet
from .practice import Practice
from .releases import Releases
from .shelf import Shelf
from .speaking import Identity, Speaker, refusals
from .store import Store
from .telemetry import Telemetry
from .uplink import Uplink

__all__ = ["SHIPPED_MODEL", "AgentProcess", "RouterProcess", "until_stopped"]

SHIPPED_MODEL = "queue-4rtt"
_WAIT_S = 0.1  # for messages, in a turn that has nothing else to do
_PERIODS_A_SECOND = 40  # of practice
_STATUS_MS = 1000
_COUNTERS_MS = 5000
_ASK_MS = 500
_SAVE_MS = 1000
_LIFE_MS = 30_000


def until_stopped(turn: Callable[[], None]) -> None:
    """Repeat a turn until SIGINT or SIGTERM."""
    stop = threading.Event()
    before = {s: signal.signal(s, lambda *_: stop.set()) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        while not stop.is_set():
            turn()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def opened_store(
    member: Member, shelf: Shelf, now: int, bases: Callable[[], Iterable[int]] | None = None
) -> Store:
    """The member's records: those of its disk, and memberships that came with its credentials."""
    store = Store(member.info.public, bases=bases)
    for frame in member.memberships():
        store.receive(frame, now)
    store.outcomes.clear()
    store.restore(shelf.rows(), now)
    return store


def _role(member: Member, store: Store, role: str) -> None:
    known = store.members.get(member.name)
    if not isinstance(known, Membership) or known.role != role:
        raise FleetError(
            f"{member.folder} must be a member of role {role}, not "
            f"{known.role if known else 'none'}: enroll another folder with --role {role}"
        )


def _write_status(path: Path, status: dict[str, Any]) -> None:
    """For who looks at the folder; a lost one is no loss, so nothing is synced."""
    part = path.with_suffix(f".{os.getpid()}.part")
    with suppress(OSError):
        part.write_text(json.dumps(status, sort_keys=True))
        part.replace(path)


class AgentProcess:
    """An agent on a member's folder.

    Parameters
    ----------
    folder : Path
    devices : sequence of str
        URIs.
    model : ModelSet, optional
        What cards run before the first release; the shipped one if not given.
    releases : str, optional
        Where releases come from, a folder or a server.
    root : bytes, optional
        The repository's first root.
    max_bytes : int
        Of telemetry.
    practice : bool
        Let queues of emulated devices swing.
    qps : sequence of int, optional
        Queue pairs with queue models.
    destinations : mapping of int to str, optional
        Where queue pairs of each device lead; what the device's packet path says if not given.
    rules, timing : Rules, Timing, optional

    Attributes
    ----------
    agent : Agent
    uplink : Uplink
    snapshot : dict
        The status of a second ago at most; replaced as a whole.

    Raises
    ------
    FleetError, ValueError, OSError
        The folder is not an agent's, is in use, or the repository is none.
    """

    def __init__(
        self,
        folder: Path,
        devices: Sequence[str],
        *,
        model: ModelSet | None = None,
        releases: str | None = None,
        root: bytes | None = None,
        max_bytes: int = 1 << 30,
        practice: bool = False,
        qps: Sequence[int] | None = None,
        destinations: Mapping[int, str] | None = None,
        rules: Rules | None = None,
        timing: Timing | None = None,
    ) -> None:
        if not devices or len(set(devices)) < len(devices):
            raise ValueError(f"devices must be at least one and differ, not {list(devices)}")
        member = Member(folder)
        self._stack = ExitStack()
        with ExitStack() as opening:
            shelf = opening.enter_context(Shelf(member.store_path))
            store = opened_store(member, shelf, now_ms(), self._bases)
            _role(member, store, "agent")
            source = (
                None if releases is None else Releases(folder / "releases", releases, root=root)
            )
            telemetry = Telemetry(folder / "telemetry", member.name, max_bytes=max_bytes)
            info = member.info
            config = MeshConfig(info.fleet, member.name, folder, False, (), info.routers)
            self.uplink = Uplink(config, Gossip(store, ()))
            opening.callback(self.uplink.close)
            pool = opening.enter_context(ThreadPoolExecutor(1, thread_name_prefix="releases"))
            self._practices: dict[str, Practice] = {}
            opener = self._practised if practice else Device.open
            self._qps = list(qps or range(4)) if practice else qps
            if practice and destinations is None:
                destinations = {qp: f"10.0.0.{qp}" for qp in self._qps or ()}
            self.agent = Agent(
                Identity(member.name, member.key, info.public),
                store,
                self.uplink,
                [Card(uri, partial(opener, uri), destinations) for uri in devices],
                telemetry,
                shelf,
                folder,
                model or ModelSet(pretrained(SHIPPED_MODEL)),
                source=source,
                rules=rules,
                timing=timing,
                submit=pool.submit,
                qps=self._qps,
            )
            self._stack = opening.pop_all()
        self._path = folder / "status.json"
        self._counters: dict[str, dict[str, int]] = {}
        self._status_at = self._counters_at = 0
        self.snapshot: dict[str, Any] = self.agent.status(now_ms()) | {"counters": {}}
        self._full = False
        self._practised_at = now_ms()

    def _bases(self) -> set[int]:
        """Before the first turn there are none."""
        return self.agent.bases() if hasattr(self, "agent") else set()

    def _practised(self, uri: str) -> Device:
        """An emulated device stays when it is opened again, as a card does."""
        if uri not in self._practices:
            device = Device.open(uri)
            if not isinstance(device.transport, Emulator):
                raise FleetError(f"practice needs an emulated device, not {uri}")
            self._practices[uri] = Practice(
                device.transport, self._qps or (), seed=os.getpid() + len(self._practices)
            )
        return Device(self._practices[uri].emulator)

    def turn(self) -> None:
        """One turn: work, or wait a little for messages."""
        now = now_ms()
        for practice in self._practices.values():
            periods = (now - self._practised_at) * _PERIODS_A_SECOND // 1000
            practice.run(min(max(periods, 0), _PERIODS_A_SECOND))
        self._practised_at = now
        read = self.agent.step(now, 0.0 if self._full else _WAIT_S)
        self._full = read >= self.agent.timing.batch
        if not 0 <= now - self._status_at < _STATUS_MS:
            self._status_at = now
            self._snap(now)

    def _snap(self, now: int) -> None:
        """What others look at; counters of the devices less often, for they are many reads."""
        if not 0 <= now - self._counters_at < _COUNTERS_MS:
            self._counters_at = now
            cards = [seating.card for seating in self.agent.seatings]
            self._counters = {card.name: card.counters(now) for card in cards}
        mesh = self.uplink.mesh
        self.snapshot = self.agent.status(now) | {
            "counters": self._counters,
            "mesh": {} if mesh is None else dict(mesh.counts),
            "link": self.uplink.error or "up",
        }
        _write_status(self._path, self.snapshot)

    def close(self) -> None:
        """End in order: what waits is written."""
        self.agent.close(now_ms())
        self._stack.close()


class RouterProcess:
    """A router on a member's folder.

    Parameters
    ----------
    folder : Path
    listen : str, optional
        Endpoint; that of the fleet's only router if not given.

    Attributes
    ----------
    store : Store
    mesh : Mesh
    snapshot : dict
        The status of a second ago at most; replaced as a whole.

    Raises
    ------
    FleetError, ValueError, OSError
        The folder is not a router's, or the endpoint cannot be listened at.
    """

    def __init__(self, folder: Path, listen: str | None = None) -> None:
        member = Member(folder)
        routers = member.info.routers
        if listen is None and len(routers) != 1:
            raise ValueError(
                f"listen must be given where a fleet has {len(routers)} routers: --listen"
            )
        self.listen = routers[0] if listen is None else listen
        self._stack = ExitStack()
        with ExitStack() as opening:
            self._shelf = opening.enter_context(Shelf(member.store_path))
            self.store = opened_store(member, self._shelf, now_ms())
            _role(member, self.store, "router")
            others = tuple(one for one in routers if one != self.listen)
            config = MeshConfig(
                member.info.fleet, member.name, folder, True, (self.listen,), others
            )
            self.mesh = Mesh(config, Gossip(self.store, EVERYTHING))
            opening.callback(self.mesh.close)
            self._stack = opening.pop_all()
        identity = Identity(member.name, member.key, member.info.public)
        self.speaker = Speaker(identity, self.store, self.mesh, self._shelf)
        self.name = member.name
        self._path = folder / "status.json"
        self._asked = self._saved = self._said = 0
        self._began = time.monotonic()
        self.snapshot = self.status(now_ms())

    def turn(self) -> None:
        """One turn: answer, ask another router, write what is new."""
        now = now_ms()
        self.mesh.pump(now, _WAIT_S)
        if not 0 <= now - self._asked < _ASK_MS:
            self._asked = now
            self.mesh.ask(now)
        if not 0 <= now - self._saved < _SAVE_MS:
            self._saved = now
            self.store.expire(now)
            self.speaker.say(f"health/{self.name}", self.health(), now, _LIFE_MS)
            self._save()
            self.snapshot = self.status(now)
            _write_status(self._path, self.snapshot)

    def _save(self) -> None:
        """A full disk ends nothing: peers hold the records, too."""
        try:
            self._shelf.save(self.store.changed())
        except sqlite3.Error:
            self.mesh.counts["unsaved"] += 1

    def health(self) -> Health:
        """As an agent without cards."""
        return Health(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, refusals(self.store))

    def status(self, now: int) -> dict[str, Any]:
        """JSON data."""
        return {
            "name": self.name,
            "role": "router",
            "at": now,
            "uptime_s": round(time.monotonic() - self._began),
            "records": len(self.store),
            "members": len(self.store.members),
            "peers": sorted(self.mesh.peers),
            "mesh": dict(self.mesh.counts),
            "outcomes": {str(o): n for o, n in sorted(self.store.outcomes.items())},
        }

    def close(self) -> None:
        """Leave the mesh; what is new is written."""
        self._save()
        self._stack.close()
