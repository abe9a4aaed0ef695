"""The authority's memberships, brought to the routers of its fleet, which acknowledge them."""

from .authority import Authority
from .clock import now_ms
from .gossip import Gossip
from .mesh import Mesh, MeshConfig
from .records import AUTHORITY
from .store import Store

__all__ = ["announce"]

_WAIT_MS = 10_000
_CONNECT_MS = 5000


def announce(authority: Authority, *, wait_ms: int = _WAIT_MS) -> list[str]:
    """Tell every router that lives what the authority has signed.

    Returns
    -------
    list of str
        Routers that hold all of it now; they tell everybody else.

    Raises
    ------
    FleetError
        No router can be reached.
    """
    start = now_ms()
    store = Store(authority.info.public)
    for frame in authority.frames(start):
        store.receive(frame, start)
    config = MeshConfig(
        authority.info.fleet, AUTHORITY, authority.folder, False, (), authority.info.routers
    )
    mesh = Mesh(config, Gossip(store, ()), connect_ms=_CONNECT_MS)
    try:
        while (now := now_ms()) < start + wait_ms:
            mesh.pump(now, wait_s=0.05)
            behind = sorted(mesh.peers - set(mesh.equal_at))
            if behind:
                mesh.ask(now, behind[0])
            elif mesh.peers and now > start + 500:  # liveliness of further routers has come
                break
        return sorted(mesh.peers & set(mesh.equal_at))
    finally:
        mesh.close()
