"""Slots, keys and laws for queue pairs that the kernel's RDMA stack has (`rdma_list`).

The list has no addresses: the caller says which peer a queue pair talks to.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from precog_spec.frames.cps import Mode
from precog_spec.frames.headers import PATH_MTUS

from .device import Device
from .driver.packet import Binding
from .rdma_list import RdmaQp

__all__ = ["Plan", "Planned", "apply", "check", "plan"]

_DESTINATIONS = 256


@dataclass(frozen=True)
class Planned:
    """A queue pair, the slot that it gets and its peer; None where the device has no packets."""

    slot: int
    qp: RdmaQp
    remote: IPv4Address | IPv6Address | None
    destination: int


@dataclass(frozen=True)
class Plan:
    """What an import does, and what it leaves out and why."""

    planned: tuple[Planned, ...]
    skipped: dict[str, int]


def plan(
    device: Device,
    qps: Collection[RdmaQp],
    skipped: Counter[str],
    *,
    remote: IPv4Address | IPv6Address | None = None,
    peers: Mapping[str, IPv4Address | IPv6Address] | None = None,
    first_slot: int = 0,
) -> Plan:
    """Give each queue pair a slot that is neither enabled nor bound.

    Parameters
    ----------
    device : Device
    qps : collection of RdmaQp
    skipped : Counter
        What has been left out so far; it is not changed.
    remote : address, optional
        Peer of all that `peers` does not name. Without packets none is needed.
    peers : mapping, optional
        As `peers_of`.
    first_slot : int
        Slots below stay free.

    Raises
    ------
    ValueError
        `first_slot` does not exist, or `peers` names a queue pair that is not in `qps`.
    """
    peers = dict(peers or {})
    names = {name for qp in qps for name in (str(qp.lqpn), f"{qp.ifname}/{qp.lqpn}")}
    for key in peers:
        if key not in names:
            raise ValueError(f"peer of {key} must be of a queue pair that can be imported")
    if not 0 <= first_slot < device.sizes.qps:
        raise ValueError(f"first slot must be in 0..{device.sizes.qps - 1}, not {first_slot!r}")
    left = Counter(skipped)
    bindings = device.packet.bindings() if device.packet is not None else []
    bound = {(b.remote, b.remote_qp) for b in bindings}
    bound_here = {(b.remote, b.local_qp) for b in bindings}
    pairs = {(b.remote, b.remote_qp, b.local_qp) for b in bindings}
    destinations = {b.remote: b.destination for b in bindings}
    used = {b.slot for b in bindings}
    free = (
        slot
        for slot in range(first_slot, device.sizes.qps)
        if slot not in used and not device.qp(slot).status().enable
    )
    planned: list[Planned] = []
    for qp in qps:
        peer = peers.get(f"{qp.ifname}/{qp.lqpn}", peers.get(str(qp.lqpn), remote))
        if device.packet is None:
            peer = None
        elif peer is None:
            left["without a peer"] += 1
            continue
        elif (peer, qp.rqpn, qp.lqpn) in pairs:
            left["bound already"] += 1
            continue
        elif (peer, qp.rqpn) in bound or (peer, qp.lqpn) in bound_here:
            left["a key belongs to another slot"] += 1
            continue
        number = 0
        if peer is not None and device.sizes.destinations:
            taken = set(destinations.values())
            number = destinations.get(peer, -1)
            if number < 0:
                number = next((n for n in range(_DESTINATIONS) if n not in taken), 0)
        slot = next(free, None)
        if slot is None:
            left["no free slot"] += 1
            continue
        if peer is not None:
            destinations[peer] = number
            bound.add((peer, qp.rqpn))
            bound_here.add((peer, qp.lqpn))
        planned.append(Planned(slot, qp, peer, number))
    return Plan(tuple(planned), dict(sorted(left.items())))


def check(
    device: Device, wanted: Plan, *, preset: str, algorithm: str, mode: str, mtu: int
) -> None:
    """Refuse what `apply` could not do; nothing is written.

    Raises
    ------
    ValueError
        A preset, a law, a mode or an MTU is none, or a connection cannot be bound.
    DeviceError
        The device was built without what a connection needs.
    """
    device.qp(0).planned(preset=preset, enable=True, algorithm=algorithm)
    if mode.upper() not in Mode.__members__:
        raise ValueError(f"mode must be off, s or r, not {mode!r}")
    if mtu not in PATH_MTUS:
        raise ValueError(f"mtu must be one of {', '.join(map(str, PATH_MTUS))}, not {mtu!r}")
    if device.packet is not None:
        device.packet.check_bindings(
            Binding(
                slot=one.slot,
                remote=one.remote,
                remote_qp=one.qp.rqpn,
                local_qp=one.qp.lqpn,
                mode=Mode[mode.upper()],
                destination=one.destination,
                score=None,
                score_source="host",
                mtu=mtu,
            )
            for one in wanted.planned
            if one.remote is not None
        )


def apply(
    device: Device,
    wanted: Plan,
    *,
    preset: str,
    algorithm: str,
    mode: str,
    mtu: int,
) -> None:
    """Bind and enable what is planned, in its order.

    Raises
    ------
    ValueError, DeviceError
        As `check`; nothing is written then.
    """
    check(device, wanted, preset=preset, algorithm=algorithm, mode=mode, mtu=mtu)
    changes = [
        device.qp(one.slot).planned(preset=preset, enable=True, algorithm=algorithm)
        for one in wanted.planned
    ]
    for one, change in zip(wanted.planned, changes, strict=True):
        if device.packet is not None and one.remote is not None:
            device.packet.bind(
                one.slot,
                one.remote,
                remote_qp=one.qp.rqpn,
                local_qp=one.qp.lqpn,
                mode=Mode[mode.upper()],
                destination=one.destination,
                mtu=mtu,
            )
        device.qp(one.slot).apply(change)
