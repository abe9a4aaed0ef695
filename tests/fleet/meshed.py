"""A fleet on the loopback: an authority's folder, members' folders, sessions that are pumped."""

import socket
from collections.abc import Callable, Iterable
from pathlib import Path

from precog_fleet.authority import Authority
from precog_fleet.bodies import Report
from precog_fleet.clock import now_ms
from precog_fleet.gossip import EVERYTHING, Gossip
from precog_fleet.member import Credentials, Member
from precog_fleet.mesh import Mesh
from precog_fleet.mesh_config import MeshConfig
from precog_fleet.outcome import Outcome
from precog_fleet.records import Record, seal
from precog_fleet.store import Store

from .support import stats


def free_endpoint() -> str:
    """An endpoint whose port nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tls/127.0.0.1:{probe.getsockname()[1]}"


class Lab:
    """One fleet under a folder."""

    def __init__(self, folder: Path, routers: int = 1) -> None:
        self.folder = folder
        endpoints = tuple(free_endpoint() for _ in range(routers))
        self.authority = Authority.create(folder / "authority", "lab", endpoints)
        self.meshes: list[Mesh] = []

    def member(self, name: str, role: str = "agent") -> Member:
        """A member that the authority has approved."""
        folder = self.folder / name
        asked = Member.enroll(folder, name, role, ("127.0.0.1",) if role == "router" else ())
        self.authority.approve(asked, now_ms()).save(folder / "credentials.json")
        return Member.join(folder, Credentials.load(folder / "credentials.json"))

    def start(self, member: Member, interest: Iterable[str] = EVERYTHING, at: int = 0) -> Mesh:
        """Its session: as router `at`, or as a client of that one and, failing it, the others."""
        store = Store(member.info.public)
        for frame in member.memberships():
            store.receive(frame, now_ms())
        router = store.members[member.name].role == "router"
        ends = member.info.routers
        config = MeshConfig(
            "lab",
            member.name,
            member.folder,
            router,
            ends[at : at + 1] if router else (),
            ends[:at] if router else ends[at:] + ends[:at],
        )
        mesh = Mesh(config, Gossip(store, interest))
        self.meshes.append(mesh)
        return mesh

    def say(self, mesh: Mesh, member: Member, key: str, version: int = 1) -> None:
        """Publish a report."""
        frame = self.sealed(member, key, version)
        assert mesh.gossip.store.receive(frame, now_ms()) is Outcome.ACCEPTED
        mesh.publish(key, frame)

    def sealed(self, member: Member, key: str, version: int) -> bytes:
        """A report's frame."""
        now = now_ms()
        record = Record(member.name, key, version, now, now + 60_000, Report(stats()))
        return seal(record, member.key, member.info.public)

    def until(self, condition: Callable[[], bool], limit_s: float = 15.0) -> None:
        """Pump all sessions, with a question a tenth of a second, until something holds."""
        end, asked = now_ms() + 1000 * limit_s, 0
        while not condition():
            now = now_ms()
            assert now < end, "nothing happens"
            for mesh in self.meshes:
                mesh.pump(now, wait_s=0.002)
            if now > asked + 100:
                asked = now
                for mesh in self.meshes:
                    mesh.ask(now)
                    mesh.gossip.store.saved()  # as with a disk

    def stop(self, *meshes: Mesh) -> None:
        """End sessions: these, or all."""
        for mesh in meshes or tuple(self.meshes):
            mesh.close()
            self.meshes.remove(mesh)
