"""Queue pairs of the kernel's RDMA stack, as ``rdma -j resource show qp`` (iproute2) lists them.

What versions write differs: numbers may be text, ``link`` may stand for ``ifname`` and ``port``,
devices may be lists in a list, keys come and go. Only what is needed is looked at; an entry that
cannot be used is counted with its reason, and stops nobody.

The list has no addresses: whoever imports says which peer a queue pair talks to.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from precog_models.packet.wire.cps import Mode
from precog_models.packet.wire.headers import PATH_MTUS

from .device import Device
from .transport import DeviceError

__all__ = [
    "Plan",
    "Planned",
    "RdmaQp",
    "apply",
    "check",
    "parse_address",
    "peers_of",
    "plan",
    "read_list",
]

_CONNECTED = ("RC", "XRC_INI")  # acknowledged, and sent by this host: there are RTTs and rates
_ALIVE = ("RTR", "RTS", "SQD")
_QPN = 1 << 24
_DESTINATIONS = 256


@dataclass(frozen=True)
class RdmaQp:
    """A queue pair that can be paced."""

    ifname: str  #: of the RDMA device, such as mlx5_0; empty if the list does not say
    port: int | None
    lqpn: int
    rqpn: int
    type: str
    state: str
    owner: str  #: name of the process, or [kernel module]


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


def read_list(
    text: str, *, ifname: str | None = None, port: int | None = None
) -> tuple[list[RdmaQp], Counter[str]]:
    """Queue pairs that can be paced, and how many cannot, by reason.

    Parameters
    ----------
    text : str
        What rdma printed.
    ifname : str, optional
        Only those of this RDMA device.
    port : int, optional
        Only those of this port.

    Raises
    ------
    ValueError
        The text is not a list in JSON.
    """
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"list must be what rdma -j resource show qp prints (-j: JSON), not {text[:40]!r}"
        ) from error
    if not isinstance(listed, list):
        raise ValueError(f"list must be a list in JSON, not {type(listed).__name__}")
    found: list[RdmaQp] = []
    skipped: Counter[str] = Counter()
    seen: set[tuple[str, int]] = set()
    for entry in _entries(listed):
        qp = _usable(entry)
        if isinstance(qp, str):
            skipped[qp] += 1
        elif ifname is not None and qp.ifname != ifname:
            skipped["of another device"] += 1
        elif port is not None and qp.port != port:
            skipped["of another port"] += 1
        elif (qp.ifname, qp.lqpn) in seen:
            skipped["listed twice"] += 1
        else:
            seen.add((qp.ifname, qp.lqpn))
            found.append(qp)
    return found, skipped


def _entries(listed: list[Any]) -> Iterator[Any]:
    for entry in listed:
        if isinstance(entry, list):
            yield from entry
        else:
            yield entry


def _usable(entry: Any) -> RdmaQp | str:
    """A queue pair, or why it is none that can be paced."""
    if not isinstance(entry, dict):
        return "not an object"
    kind, state = (str(entry.get(key, "")).upper() for key in ("type", "state"))
    if kind not in _CONNECTED:
        return f"type {kind}" if kind else "without a type"
    if state not in _ALIVE:
        return f"state {state}" if state else "without a state"
    lqpn, rqpn = _number(entry, "lqpn"), _number(entry, "rqpn")
    for name, value in (("lqpn", lqpn), ("rqpn", rqpn)):
        if value is None:
            return f"without {name}"
        if not 0 < value < _QPN:
            return f"{name} out of range"
    assert lqpn is not None
    assert rqpn is not None
    link, _, link_port = str(entry.get("link", "")).partition("/")
    port = _number(entry, "port")
    if port is None and link_port.isdecimal():
        port = int(link_port)
    ifname = str(entry.get("ifname", link))
    return RdmaQp(ifname, port, lqpn, rqpn, kind, state, str(entry.get("comm", "")))


def _number(entry: Mapping[str, Any], key: str) -> int | None:
    value = entry.get(key)
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20:
        return int(value)
    return value if isinstance(value, int) else None


def peers_of(assignments: Collection[str]) -> dict[str, IPv4Address | IPv6Address]:
    """Peers by local QPN, or device/QPN, of ``LQPN=IP`` texts.

    Raises
    ------
    ValueError
        One is not such a text, or a queue pair is given two.
    """
    found: dict[str, IPv4Address | IPv6Address] = {}
    for text in assignments:
        key, equals, address = text.partition("=")
        number = key.rpartition("/")[2]
        if not equals or not (number.isascii() and number.isdecimal()):
            raise ValueError(f"peer must be LQPN=IP or DEVICE/LQPN=IP, not {text!r}")
        if key in found:
            raise ValueError(f"peer of {key} must be given once")
        found[key] = parse_address(address)
    return found


def parse_address(text: str) -> IPv4Address | IPv6Address:
    """An IP address.

    Raises
    ------
    ValueError
        It is none.
    """
    try:
        return ip_address(text)
    except ValueError:
        raise ValueError(f"remote must be an IPv4 or IPv6 address, not {text!r}") from None


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
    bindings = device.packets.bindings() if device.packets is not None else []
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
        if device.packets is None:
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
        if peer is not None:
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


def check(device: Device, *, preset: str, algorithm: str, mode: str, mtu: int) -> None:
    """Refuse what `apply` could not do.

    Raises
    ------
    ValueError
        A preset, a law, a mode or an MTU is none.
    """
    device.qp(0).planned(preset=preset, enable=True, algorithm=algorithm)
    if mode.upper() not in Mode.__members__:
        raise ValueError(f"mode must be off, s or r, not {mode!r}")
    if mtu not in PATH_MTUS:
        raise ValueError(f"mtu must be one of {', '.join(map(str, PATH_MTUS))}, not {mtu!r}")


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
    ValueError
        As `check`; nothing is written then.
    DeviceError
        The device refused one; those before it are bound and enabled.
    """
    check(device, preset=preset, algorithm=algorithm, mode=mode, mtu=mtu)
    changes = [
        device.qp(one.slot).planned(preset=preset, enable=True, algorithm=algorithm)
        for one in wanted.planned
    ]
    for n, (one, change) in enumerate(zip(wanted.planned, changes, strict=True)):
        try:
            if device.packets is not None and one.remote is not None:
                device.packets.bind(
                    one.slot,
                    one.remote,
                    remote_qp=one.qp.rqpn,
                    local_qp=one.qp.lqpn,
                    mode=Mode[mode.upper()],
                    destination=one.destination,
                    mtu=mtu,
                )
            device.qp(one.slot).apply(change)
        except ValueError as error:
            raise DeviceError(
                f"{n} queue pairs are imported, then slot {one.slot}: {error}"
            ) from error
