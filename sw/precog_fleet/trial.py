"""A fleet on one machine for a first try: authority, router and agents, each as an operator's.

Folders are made the first time, by the same steps that an operator takes; later the fleet starts
with what it had. Every member is a process of its own, which this one starts and ends.
"""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from . import places
from .authority import Authority
from .clock import now_ms
from .errors import FleetError
from .member import Credentials, Member, Request
from .places import claimed, require_new
from .practice import PRACTICE_URI

__all__ = ["Trial"]

_ROUTER = "rack0"
_GRACE_S = 20.0
_START_S = 300.0  # the first time each agent may wait for the compiler


class Trial:
    """A fleet under one folder.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    agents : int
    arguments : sequence of str
        Further arguments of each agent.
    metrics : int, optional
        Agent n serves metrics at this port plus n.

    Attributes
    ----------
    members : list of str
        Folders of the members, the router's first.

    Raises
    ------
    ValueError
        There are no agents, or the folder is something else; nothing is written then.
    BusyError
        The fleet runs already.
    """

    def __init__(
        self,
        folder: Path,
        agents: int,
        arguments: Sequence[str] = (),
        *,
        metrics: int | None = None,
    ) -> None:
        if agents < 1:
            raise ValueError(f"agents must be at least 1, not {agents!r}")
        self.folder = folder
        self._arguments = list(arguments)
        self._metrics = metrics
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._late = 0.0
        require_new(folder, places.FLEET)
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as opening:
            opening.enter_context(claimed(folder))
            authority = folder / "authority"
            if not (authority / places.AUTHORITY.marker).exists():
                Authority.create(authority, "trial", (f"tls/127.0.0.1:{_free_port()}",))
            self._authority = Authority(authority)
            self.members = [self.member(_ROUTER, "router")]
            self.members += [self.member(f"host{n}", "agent") for n in range(agents)]
            self._claim = opening.pop_all()

    def member(self, name: str, role: str) -> str:
        """The folder of a member, which is made and approved the first time."""
        folder = self.folder / name
        if not (folder / places.MEMBER.marker).exists():
            Member.enroll(folder, name, role, ("127.0.0.1",) if role == "router" else ())
        if not (folder / "link.pem").exists():  # nor where this was interrupted before
            asked = Request.load(folder / "request.json")
            given = folder / "credentials.json"
            self._authority.approve(asked, now_ms()).save(given)
            Member.join(folder, Credentials.load(given))
        return str(folder)

    def start(self) -> None:
        """Start the router and the first agent; `ready` starts the others, and says when all work.

        The first agent compiles the golden models for all, unless that was done before.
        """
        self._late = time.monotonic() + _START_S
        router, first, *_ = self.members
        self._run(router, "router", router)
        self._agent(first)

    def _agent(self, folder: str) -> None:
        arguments = ["-d", PRACTICE_URI, "--practice", *self._arguments]
        if self._metrics is not None:
            number = self.members.index(folder) - 1
            arguments += ["--metrics", f"127.0.0.1:{self._metrics + number}"]
        self._run(folder, "agent", folder, *arguments)

    def ready(self) -> bool:
        """Whether all members work; starts those that the first agent keeps waiting.

        Raises
        ------
        FleetError
            One of them has ended, or they take too long.
        """
        self.check()
        late = [folder for folder in self.members if not self._works(folder)]
        if not late:
            return True
        if self.members[1] not in late:
            for folder in late:
                if folder not in self._running:
                    self._agent(folder)
        if time.monotonic() > self._late:
            raise FleetError(
                f"members must start within {_START_S:g} s, but {', '.join(late)} have not: "
                f"see {Path(late[0]) / 'log'}"
            )
        return False

    def _works(self, folder: str) -> bool:
        return folder in self._running and (Path(folder) / "status.json").exists()

    def _run(self, folder: str, *arguments: str) -> None:
        (Path(folder) / "status.json").unlink(missing_ok=True)
        log = (Path(folder) / "log").open("ab")
        with log:
            self._running[folder] = subprocess.Popen(
                [sys.executable, "-m", "precog_fleet", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def check(self) -> None:
        """Whether all members still run.

        Raises
        ------
        FleetError
            One has ended.
        """
        for folder, process in self._running.items():
            if process.poll() is not None:
                said = (Path(folder) / "log").read_text(errors="replace").strip().splitlines()
                last = said[-1] if said else "nothing was said"
                raise FleetError(f"{folder} must run, but has ended: {last}")

    def stop(self) -> None:
        """End all members, agents before their router; who does not end is killed."""
        for folder in reversed(self._running):
            process = self._running[folder]
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        end = time.monotonic() + _GRACE_S
        for process in self._running.values():
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._running.clear()
        self._claim.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
