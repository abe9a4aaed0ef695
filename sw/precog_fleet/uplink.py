"""An agent's link that may be down: it connects in a thread while cards are read on."""

import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from .errors import FleetError
from .gossip import Gossip
from .mesh import Mesh
from .mesh_config import MeshConfig

__all__ = ["Uplink"]

_CONNECT_MS = 4000
_FIRST_PAUSE_MS = 500
_LAST_PAUSE_MS = 10_000


class Uplink:
    """A session that opens as soon as a router answers. Once open, Zenoh keeps it so by itself.

    Parameters
    ----------
    config : MeshConfig
        Of a client.
    gossip : Gossip

    Attributes
    ----------
    error : str
        Why it is not open; empty while it is.
    attempts : int
    """

    def __init__(self, config: MeshConfig, gossip: Gossip) -> None:
        self.config = config
        self.gossip = gossip
        self.error = "not tried yet"
        self.attempts = 0
        self._mesh: Mesh | None = None
        self._opening: Future[Mesh] | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="uplink")
        self._pause = _FIRST_PAUSE_MS
        self._failed_at = self._wait = 0

    @property
    def tried(self) -> bool:
        """Whether the first attempt is over."""
        return self._mesh is not None or self.attempts > (self._opening is not None)

    @property
    def mesh(self) -> Mesh | None:
        """The session; None while there is none."""
        return self._mesh

    def _try(self, now: int) -> None:
        if self._opening is None:
            if 0 <= now - self._failed_at < self._wait:  # a clock set back is no reason to wait
                return
            self.attempts += 1
            self._opening = self._pool.submit(
                Mesh, self.config, self.gossip, connect_ms=_CONNECT_MS
            )
            return
        if not self._opening.done():
            return
        opening, self._opening = self._opening, None
        try:
            self._mesh = opening.result()
            self.error = ""
            self._mesh.follow(self.gossip.interest)  # it may have changed meanwhile
        except FleetError as error:
            self.error = str(error)
            self._failed_at, self._wait = now, self._pause
            self._pause = min(2 * self._pause, _LAST_PAUSE_MS)

    def publish(self, key: str, frame: bytes) -> None:
        """Send a record to those who follow its key.

        Raises
        ------
        FleetError
            There is no session.
        """
        if self._mesh is None:
            raise FleetError(f"mesh took no record: {self.error}")
        self._mesh.publish(key, frame)

    def pump(self, now: int, wait_s: float = 0.0) -> int:
        """Handle events; without a session, wait as long as for the first one."""
        if self._mesh is None:
            self._try(now)
        if self._mesh is None:
            time.sleep(wait_s)
            return 0
        return self._mesh.pump(now, wait_s)

    def ask(self, now: int) -> bool:
        """Begin an exchange with a router."""
        return self._mesh is not None and self._mesh.ask(now)

    def follow(self, interest: Iterable[str]) -> None:
        """Change what is of interest."""
        if self._mesh is None:
            self.gossip.follow(interest)
        else:
            self._mesh.follow(interest)

    def close(self) -> None:
        """Leave the mesh."""
        self._pool.shutdown(wait=True)
        if self._opening is not None and self._opening.done() and not self._opening.exception():
            self._mesh = self._opening.result()
        if self._mesh is not None:
            self._mesh.close()
