"""An agent as a process: a member's folder, devices and a session around the plain object."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from precog_host.device import Device
from precog_host.transport import QueueTransport
from precog_models.image import pretrained

from .addresses import checked_endpoint
from .agent import Agent
from .card import Card
from .clock import now_ms
from .gossip import Gossip
from .hosting import check_role, member_of_role, opened_store, write_status
from .lineup import Rules
from .mesh_config import MeshConfig
from .modelset import ModelSet
from .places import claimed
from .practice import Practice
from .releases import Releases
from .shelf import Shelf
from .speaking import Identity
from .telemetry import Telemetry
from .timing import Timing
from .uplink import Uplink
from .watching import Watch, start_all

__all__ = ["SHIPPED_MODEL", "AgentProcess"]

SHIPPED_MODEL = "queue-4rtt"
_WAIT_S = 0.1  # for messages, in a turn that has nothing else to do
_PERIODS_A_SECOND = 40  # of practice
_STATUS_MS = 1000
_COUNTERS_MS = 5000


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
    part_ms : int
        How long rows wait for their part at most.
    practice : bool
        Let queues of emulated and simulated devices swing.
    opener : callable, optional
        Opens a device by its name, instead of `Device.open`.
    qps : sequence of int, optional
        Queue pairs with queue models.
    destinations : mapping of int to str, optional
        Where queue pairs of each device lead; what the device's packet path says if not given.
    rules, timing : Rules, Timing, optional
    routers : sequence of str, optional
        Endpoints of this rack's; all of the fleet's if not given.
    report : callable
        Told in words, once, when a device or the link fails, and when it is back.

    Attributes
    ----------
    agent : Agent
    uplink : Uplink
    snapshot : dict
        The status of a second ago at most; replaced as a whole.

    Raises
    ------
    ValueError, OSError
        The folder is not an agent's, is in use, or the repository is none.
    DeviceError
        A device does not answer, or is not one that an agent can read.
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
        part_ms: int = 60_000,
        practice: bool = False,
        opener: Callable[[str], Device] | None = None,
        qps: Sequence[int] | None = None,
        destinations: Mapping[int, str] | None = None,
        rules: Rules | None = None,
        timing: Timing | None = None,
        routers: Sequence[str] | None = None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        if not devices or len(set(devices)) < len(devices):
            raise ValueError(f"devices must be at least one and differ, not {list(devices)}")
        member = member_of_role(folder, "agent")
        ends = tuple(map(checked_endpoint, routers or member.info.routers))
        self._stack = ExitStack()
        with ExitStack() as opening:
            opening.enter_context(claimed(folder))
            self._practices: dict[str, Practice] = {}
            opener = self._practised if practice else opener or Device.open
            self._qps = list(qps or range(4)) if practice else qps
            if practice and destinations is None:
                destinations = {qp: f"10.0.0.{qp}" for qp in self._qps or ()}
            self._cards = [Card(uri, partial(opener, uri), destinations) for uri in devices]
            for card in self._cards:
                opening.callback(card.close)
            start_all(self._cards, [*(self._qps or ()), *(destinations or ())])
            source = (
                None if releases is None else Releases(folder / "releases", releases, root=root)
            )
            shelf = opening.enter_context(Shelf(member.store_path))
            store = opened_store(member, shelf, now_ms(), self._bases)
            check_role(member, store, "agent")
            telemetry = Telemetry(
                folder / "telemetry", member.name, max_bytes=max_bytes, age_ms=part_ms
            )
            info = member.info
            config = MeshConfig(info.fleet, member.name, folder, False, (), ends)
            self.uplink = Uplink(config, Gossip(store, (), origin=member.name))
            opening.callback(self.uplink.close)
            pool = opening.enter_context(ThreadPoolExecutor(1, thread_name_prefix="releases"))
            self.agent = Agent(
                Identity(member.name, member.key, info.public),
                store,
                self.uplink,
                self._cards,
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
        self._watch = Watch(report)
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
        """Such a device stays when it is opened again, as a card does."""
        if uri not in self._practices:
            if not uri.startswith(("emu:", "sim:")):
                raise ValueError(f"practice needs an emulated or simulated device, not {uri}")
            device = Device.open(uri)
            assert isinstance(device.transport, QueueTransport)
            self._practices[uri] = Practice(
                device.transport, self._qps or (), seed=os.getpid() + len(self._practices)
            )
        return Device(self._practices[uri].card)

    def turn(self) -> None:
        """One turn: work, or wait a little for messages."""
        now = now_ms()
        for practice in self._practices.values():
            periods = (now - self._practised_at) * _PERIODS_A_SECOND // 1000
            practice.run(min(max(periods, 0), _PERIODS_A_SECOND))
        self._practised_at = now
        read = self.agent.step(now, 0.0 if self._full else _WAIT_S)
        self._full = read >= self.agent.timing.batch
        for card in self._cards:
            self._watch.see(f"device {card.name}", card.error)
        if self.uplink.tried:
            self._watch.see("link", self.uplink.error)
        self._watch.see("store of records", self.agent.shelf.error)
        self._watch.see("telemetry", self.agent.telemetry.error)
        self._watch.see("identity", self.agent.speaker.twin, "")
        if not 0 <= now - self._status_at < _STATUS_MS:
            self._status_at = now
            self._snap(now)

    def _snap(self, now: int) -> None:
        """What others look at; counters of the devices less often, for they are many reads."""
        if not 0 <= now - self._counters_at < _COUNTERS_MS:
            self._counters_at = now
            self._counters = {card.name: card.counters(now) for card in self._cards}
        mesh = self.uplink.mesh
        self.snapshot = self.agent.status(now) | {
            "counters": self._counters,
            "mesh": {} if mesh is None else dict(mesh.counts),
            "link": self.uplink.error or "up",
        }
        write_status(self._path, self.snapshot)

    def close(self) -> None:
        """End in order: waiting rows are written first."""
        self.agent.close(now_ms())
        self._stack.close()
