"""A router as a process: it relays for a rack, and holds its records.

Reports of destinations are by far the most records. A router holds those that members around it
ask for, and of all other kinds everything.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from .addresses import checked_endpoint
from .clock import now_ms
from .gossip import EVERYTHING, Gossip
from .hosting import check_role, member_of_role, opened_store, write_status
from .mesh import Mesh
from .mesh_config import MeshConfig
from .places import claimed
from .shelf import Shelf
from .speaking import Identity, Speaker
from .timing import Cadence, Timing
from .watching import Watch

__all__ = ["HELD", "LASTING", "RouterProcess"]

#: Kinds that a router always follows.
HELD = tuple(kind for kind in EVERYTHING if kind != "dst/")
#: What it asks other routers for; the rest is pushed, and renewed before long.
LASTING = ("member/", "rollout/")

_WAIT_S = 0.1
_ASK_MS = 500
_SAVE_MS = 1000


class RouterProcess:
    """A router on a member's folder.

    Parameters
    ----------
    folder : Path
    listen : str, optional
        Endpoint; that of the fleet's only router if not given.
    report : callable, optional
        Told what fails, in words.

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

    def __init__(
        self,
        folder: Path,
        listen: str | None = None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        member = member_of_role(folder, "router")
        routers = member.info.routers
        if listen is None and len(routers) != 1:
            raise ValueError(
                f"listen must be given where a fleet has {len(routers)} routers: --listen"
            )
        self.listen = routers[0] if listen is None else checked_endpoint(listen)
        self._stack = ExitStack()
        with ExitStack() as opening:
            opening.enter_context(claimed(folder))
            self._shelf = opening.enter_context(Shelf(member.store_path))
            self.store = opened_store(member, self._shelf, now_ms())
            check_role(member, self.store, "router")
            others = tuple(one for one in routers if one != self.listen)
            config = MeshConfig(
                member.info.fleet, member.name, folder, True, (self.listen,), others
            )
            gossip = Gossip(self.store, HELD, LASTING, origin=member.name)
            self.mesh = Mesh(config, gossip)
            opening.callback(self.mesh.close)
            self._stack = opening.pop_all()
        identity = Identity(member.name, member.key, member.info.public)
        self._cadence = Cadence(Timing(), self.store, member.name)
        self.speaker = Speaker(identity, self.store, self.mesh, self._shelf)
        self.name = member.name
        self._watch = Watch(report)
        self._path = folder / "status.json"
        self._asked = self._saved = 0
        self._began = time.monotonic()
        self.snapshot = self.status(now_ms())

    def turn(self, wait_s: float = _WAIT_S) -> None:
        """One turn: answer, ask another router, write what is new."""
        now = now_ms()
        self.mesh.pump(now, wait_s)
        if not 0 <= now - self._asked < _ASK_MS:
            self._asked = now
            self.mesh.ask(now)
        if not 0 <= now - self._saved < _SAVE_MS:
            self._saved = now
            self.store.expire(now)
            self.mesh.lend(now)
            key = f"health/{self.name}"
            if self._cadence.due(key, now):
                self.speaker.say(key, self.speaker.health(), now, self._cadence.life(key))
            self._watch.see("identity", self.speaker.twin, "")
            self._save()
            self._watch.see("store of records", self._shelf.error)
            self.snapshot = self.status(now)
            write_status(self._path, self.snapshot)

    def _save(self) -> None:
        """A full disk ends nothing: peers hold the records, too."""
        if not self._shelf.try_to_keep(self.store):
            self.mesh.counts["unsaved"] += 1

    def status(self, now: int) -> dict[str, Any]:
        """JSON data."""
        errors = {"identity": self.speaker.twin, "store": self._shelf.error}
        return {
            "name": self.name,
            "role": "router",
            "at": now,
            "uptime_s": round(time.monotonic() - self._began),
            "records": len(self.store),
            "members": len(self.store.members),
            "peers": sorted(self.mesh.peers),
            "mesh": dict(self.mesh.counts),
            "errors": {name: text for name, text in errors.items() if text},
            "outcomes": {str(o): n for o, n in sorted(self.store.outcomes.items())},
        }

    def close(self) -> None:
        """Leave the mesh; what is new is written."""
        self._save()
        self._stack.close()
