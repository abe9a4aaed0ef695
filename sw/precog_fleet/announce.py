"""The authority's memberships, brought to the routers of its fleet, which acknowledge them."""

from collections import Counter

from .authority import Authority
from .clock import now_ms
from .gossip import Gossip
from .mesh import Mesh
from .mesh_config import MeshConfig
from .records import AUTHORITY
from .store import Store

__all__ = ["announce"]

_WAIT_MS = 10_000
_CONNECT_MS = 5000
_LIVELY_MS = 500  # until liveliness of all routers has come


def announce(authority: Authority, *, wait_ms: int = _WAIT_MS) -> list[str]:
    """Tell every router that lives what the authority has signed.

    Returns
    -------
    list of str
        Routers that have all of it on disk now; they tell all others.

    Raises
    ------
    FleetError
        No router can be reached.
    """
    start = now_ms()
    store = Store(authority.info.public)
    for frame in authority.frames(start):
        store.receive(frame, start)
    routers = {name for name, of in store.members.items() if of.role == "router" and not of.revoked}
    asked: Counter[str] = Counter()
    config = MeshConfig(
        authority.info.fleet, AUTHORITY, authority.folder, False, (), authority.info.routers
    )
    mesh = Mesh(config, Gossip(store, (), origin=AUTHORITY), connect_ms=_CONNECT_MS)
    try:
        while (now := now_ms()) < start + wait_ms:
            mesh.pump(now, wait_s=0.05)
            behind = mesh.peers & routers - set(mesh.acknowledged_at)
            if behind:  # in turn: one that is dead, or that a member poses as, holds up no other
                peer = min(sorted(behind), key=asked.__getitem__)
                asked[peer] += mesh.ask(now, peer)
            elif mesh.peers & routers and now > start + _LIVELY_MS:
                break
        return sorted(routers & set(mesh.acknowledged_at))
    finally:
        mesh.close()
