"""How a session of the mesh connects: endpoints, and mutual TLS on every link."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zenoh

from .errors import FleetError
from .link_errors import connecting, listening

__all__ = ["MeshConfig"]


@dataclass(frozen=True)
class MeshConfig:
    """How a session connects.

    Parameters
    ----------
    fleet, name : str
    folder : Path
        With link.key, link.pem and ca.pem.
    router : bool
        Relay for others, and answer their questions.
    listen, connect : sequence of str
        Endpoints.
    subscribes : bool
        Have new records sent as they come; otherwise only questions bring any.
    """

    fleet: str
    name: str
    folder: Path
    router: bool
    listen: Sequence[str] = ()
    connect: Sequence[str] = ()
    subscribes: bool = True

    def open(self, connect_ms: int) -> zenoh.Session:
        """A session; a client gives up after `connect_ms`.

        Raises
        ------
        FleetError
            No router answers, it refuses the certificate, or the endpoint cannot be listened at.
        """
        try:
            return zenoh.open(self.zenoh(connect_ms))
        except zenoh.ZError as error:
            if self.router:
                raise FleetError(listening(self.listen, error)) from error
            raise FleetError(connecting(self.connect, error)) from error

    def zenoh(self, connect_ms: int) -> zenoh.Config:
        """Zenoh's configuration: no multicast, mutual TLS on every link."""
        key, certificate = str(self.folder / "link.key"), str(self.folder / "link.pem")
        settings: dict[str, Any] = {
            "mode": "router" if self.router else "client",
            "listen/endpoints": list(self.listen),
            "connect/endpoints": list(self.connect),
            "connect/timeout_ms": -1 if self.router else connect_ms,
            "connect/exit_on_failure": not self.router,
            "scouting/multicast/enabled": False,
            "scouting/gossip/enabled": False,
            "transport/link/tls": {
                "root_ca_certificate": str(self.folder / "ca.pem"),
                "listen_private_key": key,
                "listen_certificate": certificate,
                "connect_private_key": key,
                "connect_certificate": certificate,
                "enable_mtls": True,
                "close_link_on_expiration": True,
            },
        }
        config = zenoh.Config()
        for name, value in settings.items():
            config.insert_json5(name, json.dumps(value))
        return config
