"""Queue pairs of the kernel's RDMA stack, as ``rdma -j resource show qp`` (iproute2) lists them.

What versions write differs: numbers may be text, ``link`` may stand for ``ifname`` and ``port``,
devices may be lists in a list, keys come and go. Only what is needed is looked at; an entry that
cannot be used is counted with its reason, and stops no other.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from precog_models.limits import DIGITS, parse_json
from precog_spec.frames.qp_key import parse_address

__all__ = ["RdmaQp", "peers_of", "read_list"]

_CONNECTED = ("RC", "XRC_INI")  # acknowledged, and sent by this host: there are RTTs and rates
_ALIVE = ("RTR", "RTS", "SQD")
_QPN = 1 << 24
_PORTS = 1 << 32  # the kernel's numbers of ports have 32 bits
_HUGE = 10**DIGITS
_SHOWN = 24  # characters of a type or a state in the reason for leaving an entry out


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
        listed = parse_json(text, parse_int=_whole)
    except ValueError as error:
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
    kind, state = (_text(entry, key).upper() for key in ("type", "state"))
    if kind not in _CONNECTED:
        return f"type {kind[:_SHOWN]}" if kind else "without a type"
    if state not in _ALIVE:
        return f"state {state[:_SHOWN]}" if state else "without a state"
    lqpn, rqpn = _number(entry, "lqpn"), _number(entry, "rqpn")
    for name, value in (("lqpn", lqpn), ("rqpn", rqpn)):
        if value is None:
            return f"without {name}"
        if not 0 < value < _QPN:
            return f"{name} out of range"
    assert lqpn is not None
    assert rqpn is not None
    link, _, link_port = _text(entry, "link").partition("/")
    port = _number(entry, "port")
    if port is None:
        port = _number({"port": link_port}, "port")
    if port is not None and not 0 <= port < _PORTS:
        return "port out of range"
    ifname = _text(entry, "ifname") or link
    return RdmaQp(ifname, port, lqpn, rqpn, kind, state, _text(entry, "comm"))


def _text(entry: Mapping[str, Any], key: str) -> str:
    """Text of that name; numbers and what is nested are none."""
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def _number(entry: Mapping[str, Any], key: str) -> int | None:
    value = entry.get(key)
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return _whole(value)
    return value if isinstance(value, int) else None


def _whole(digits: str) -> int:
    """A whole number; one of too many digits is out of every range, and stops no other."""
    return int(digits) if len(digits) <= DIGITS else _HUGE


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
