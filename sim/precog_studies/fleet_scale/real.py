"""The same hosts on the real mesh: keys, certificates, Zenoh over TLS and routers, in one process.

One loop gives all members their turns, as `precog fleet demo` does, and its `Watch` measures.
"""

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from precog_fleet.authority import Authority
from precog_fleet.clock import now_ms
from precog_fleet.demo.watch import Watch
from precog_fleet.gossip import Gossip
from precog_fleet.hosting import opened_store
from precog_fleet.member import Credentials, Member
from precog_fleet.mesh import Mesh
from precog_fleet.mesh_config import MeshConfig
from precog_fleet.router_process import RouterProcess
from precog_fleet.shelf import Shelf
from precog_fleet.speaking import Identity, Speaker
from precog_fleet.timing import Timing

from .host import Host, Outside
from .world import Fleet

__all__ = ["Real", "measured"]

_IDLE_S = 0.002
_LIMIT_S = 120.0


@dataclass(frozen=True)
class _Link:
    gossip: Gossip
    mesh: Mesh | None


@dataclass
class _Seat:
    """A host and what its turns have taken."""

    agent: Host
    uplink: _Link
    cpu_s: float = 0.0


class Real:
    """A fleet on the loopback.

    Parameters
    ----------
    folder : Path
        A new one.
    fleet : Fleet
    timing : Timing

    Attributes
    ----------
    agents : dict of str to _Seat
    routers : list of RouterProcess
    """

    def __init__(self, folder: Path, fleet: Fleet, timing: Timing) -> None:
        self.fleet = fleet
        self._timing = timing
        self.folder = folder
        self._ends = tuple(_free_endpoint() for _ in range(fleet.racks))
        self._authority = Authority.create(folder / "authority", "scale", self._ends)
        self.agents: dict[str, _Seat] = {}
        self.routers: list[RouterProcess] = []
        self._stack = ExitStack()
        with ExitStack() as opening:
            names = [(f"r{n}", "router") for n in range(fleet.racks)]
            names += [(f"a{n}", "agent") for n in range(fleet.agents)]
            members = [self._member(*one) for one in names]
            for member, end in zip(members, self._ends, strict=False):
                router = RouterProcess(member.folder, end)
                opening.callback(router.close)
                self.routers.append(router)
            for number, member in enumerate(members[fleet.racks :]):
                self._seat(member, number, opening)
            self._stack = opening.pop_all()
        self.router_cpu_s = 0.0

    @property
    def router(self) -> RouterProcess:
        """The first one."""
        return self.routers[0]

    def _member(self, name: str, role: str) -> Member:
        folder = self.folder / name
        asked = Member.enroll(folder, name, role, ("127.0.0.1",) if role == "router" else ())
        self._authority.approve(asked, now_ms()).save(folder / "credentials.json")
        return Member.join(folder, Credentials.load(folder / "credentials.json"))

    def _seat(self, member: Member, number: int, stack: ExitStack) -> _Seat:
        shelf = stack.enter_context(Shelf(member.store_path))
        store = opened_store(member, shelf, now_ms())
        end = self._ends[self.fleet.rack_of(number) % self.fleet.racks]
        config = MeshConfig(member.info.fleet, member.name, member.folder, False, (), (end,))
        gossip = Gossip(store, ())
        mesh = Mesh(config, gossip)
        stack.callback(mesh.close)
        identity = Identity(member.name, member.key, member.info.public)
        speaker = Speaker(identity, store, mesh, shelf)
        keys = self.fleet.destinations[number % self.fleet.agents]
        host = Host(identity, store, mesh, speaker, keys, self.fleet.seed, self._timing)
        mesh.follow(host.interest())
        host.spread(Outside(self.fleet), now_ms())
        seat = self.agents[member.name] = _Seat(host, _Link(gossip, mesh))
        return seat

    def newcomer(self) -> Host:
        """One more agent."""
        name = f"a{self.fleet.agents}"
        return self._seat(self._member(name, "agent"), self.fleet.agents, self._stack).agent

    def turn(self) -> None:
        """A turn of all members."""
        for seat in self.agents.values():
            began = time.thread_time()
            seat.agent.step(now_ms())
            seat.cpu_s += time.thread_time() - began
        began = time.thread_time()
        for router in self.routers:
            router.turn(0.0)
        self.router_cpu_s += time.thread_time() - began
        time.sleep(_IDLE_S)

    def settled(self) -> bool:
        """Whether all members know all, and routers hold what their racks follow."""
        members = self.fleet.agents + self.fleet.racks
        stores = [seat.agent.store for seat in self.agents.values()]
        stores += [router.store for router in self.routers]
        heard = all(
            seat.agent.store.voices(key) == self.fleet.reporters[key]
            for seat in self.agents.values()
            for key in seat.agent.keys
        )
        return heard and all(len(store.members) == members for store in stores)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _free_endpoint() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tls/127.0.0.1:{probe.getsockname()[1]}"


def _totals(real: Real) -> dict[str, dict[str, float]]:
    """Counts of all agents, and of all routers."""
    agents = list(real.agents.values())
    meshes = [seat.uplink.mesh for seat in agents if seat.uplink.mesh is not None]
    said = [seat.agent.said() for seat in agents]
    judged = [seat.agent.store.outcomes.total() for seat in agents]
    routers = real.routers
    return {
        "agent": {
            "bytes_in_s": sum(mesh.counts["bytes_in"] for mesh in meshes),
            "bytes_out_s": sum(mesh.counts["bytes_out"] for mesh in meshes),
            "records_s": sum(judged) - sum(said),
            "said_s": sum(said),
            "exchanges_s": sum(mesh.counts["rounds"] for mesh in meshes),
            "cpu_percent": 100 * sum(seat.cpu_s for seat in agents),
        },
        "router": {
            "bytes_in_s": sum(router.mesh.counts["bytes_in"] for router in routers),
            "bytes_out_s": sum(router.mesh.counts["bytes_out"] for router in routers),
            "records_s": sum(
                router.store.outcomes.total() - router.speaker.counts["published"]
                for router in routers
            ),
            "said_s": sum(router.speaker.counts["published"] for router in routers),
            "exchanges_s": sum(router.mesh.counts["rounds"] for router in routers),
            "cpu_percent": 100 * real.router_cpu_s,
        },
    }


def measured(folder: Path, fleet: Fleet, timing: Timing, seconds: float) -> dict[str, Any]:
    """Figures as `scenario.steady`'s, and what a newcomer takes."""
    with Real(folder, fleet, timing) as real:
        end = time.monotonic() + _LIMIT_S
        while not real.settled():
            if time.monotonic() > end:
                raise RuntimeError(f"fleet must settle in {_LIMIT_S:g} s, but has not")
            real.turn()
        watch = Watch(real)
        began, cpu, before = time.monotonic(), time.process_time(), _totals(real)
        turns = 0
        while time.monotonic() < began + seconds:
            real.turn()
            watch.look()
            turns += 1
        took, after = time.monotonic() - began, _totals(real)
        count = {"agent": len(real.agents), "router": len(real.routers)}
        found: dict[str, Any] = {
            group: {
                name: (value - before[group][name]) / took / count[group]
                for name, value in values.items()
            }
            for group, values in after.items()
        }
        found["all"] = watch.converge_s()
        found["bytes_per_agent_s"] = watch.bytes_per_agent_s()
        found["process_cpu_percent"] = 100 * (time.process_time() - cpu) / took
        found["turn_ms"] = 1000 * took / turns
        found["newcomer"] = _joined(real)
        return found


def _joined(real: Real) -> dict[str, float | None]:
    began = time.monotonic()
    host = real.newcomer()
    members = real.fleet.agents + real.fleet.racks + 1
    twin = real.agents["a0"].agent.store
    waits: dict[str, Callable[[], bool]] = {
        "destinations_s": lambda: all(
            host.store.voices(key) >= twin.voices(key) > 1 for key in host.keys
        ),
        "members_s": lambda: len(host.store.members) == members,
        "known_to_all_s": lambda: all(
            host.identity.name in seat.agent.store.members for seat in real.agents.values()
        ),
    }
    found: dict[str, float | None] = dict.fromkeys(waits)
    while waits and time.monotonic() < began + _LIMIT_S:
        real.turn()
        for what in [what for what, holds in waits.items() if holds()]:
            del waits[what]
            found[what] = time.monotonic() - began
    return found
