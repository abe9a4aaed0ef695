"""Commands for the editor and what they must do, from headers' layouts alone."""

import random
from typing import Any

from precog_hw.packet.layouts import Edit
from precog_spec.frames.cps import SHIM
from precog_spec.frames.headers import BTH, ETHERNET, IPV4, IPV6, UDP, VLAN
from precog_spec.frames.layout import Header

__all__ = ["CASES", "behind_udp", "command", "edited", "random_command"]

CASES = [(ipv6, tags) for ipv6 in (0, 1) for tags in (0, 1, 2)]
_WORDS = (
    *("ip_head", "ip_length", "ip_checksum"),
    *("udp_port", "udp_length", "udp_checksum", "resv"),
)


def command(edit: Edit, ipv6: int, tags: int, **others: int) -> dict[str, Any]:
    """An EDIT; what is not named is 0."""
    flags = {"lengths": 0, "checksum": 0, "reserved": 0, "dscp": 0}
    words = dict.fromkeys((*_WORDS, "shim"), 0)
    return {"edit": edit, "ipv6": ipv6, "tags": tags, **flags, **words, **others}


def random_command(
    rng: random.Random, edit: Edit | None = None, case: tuple[int, int] | None = None
) -> dict[str, Any]:
    """Any command, or one of a kind or for a header case."""
    kind = rng.choice(tuple(Edit)) if edit is None else edit
    ipv6, tags = case or rng.choice(CASES)
    return command(
        kind,
        ipv6,
        tags,
        lengths=rng.getrandbits(1),
        checksum=rng.getrandbits(1),
        reserved=rng.getrandbits(1) if kind is not Edit.REMOVE else 0,
        dscp=rng.getrandbits(1),
        shim=rng.getrandbits(8 * SHIM.size),
        **{name: rng.getrandbits(16) for name in _WORDS},
    )


def behind_udp(edit: dict[str, Any]) -> int:
    """Byte behind the UDP header."""
    return _l4(edit) + UDP.size


def edited(frame: bytes, edit: dict[str, Any]) -> bytes | None:
    """What becomes of a frame of any length; None: nothing."""
    if edit["edit"] is Edit.DROP:
        return None
    out = bytearray(frame)
    l3, l4, at = _l3(edit), _l4(edit), behind_udp(edit)
    if edit["lengths"]:
        _put(
            out,
            l3,
            *((IPV6, "payload_length") if edit["ipv6"] else (IPV4, "total_length")),
            edit["ip_length"],
        )
        _put(out, l4, UDP, "destination_port", edit["udp_port"])
        _put(out, l4, UDP, "length", edit["udp_length"])
    if edit["dscp"]:
        _put(out, l3, IPV4, "version", edit["ip_head"])
    if not edit["ipv6"] and (edit["lengths"] or edit["dscp"]):
        _put(out, l3, IPV4, "checksum", edit["ip_checksum"])
    if edit["checksum"]:
        _put(out, l4, UDP, "checksum", edit["udp_checksum"])
    if edit["reserved"]:
        _put(out, at, BTH, "fecn", edit["resv"])
    if edit["edit"] is Edit.INSERT and len(out) > at:
        out[at:at] = edit["shim"].to_bytes(SHIM.size, "big")
    if edit["edit"] is Edit.REMOVE:
        del out[at : at + SHIM.size]
    return bytes(out)


def _l3(edit: dict[str, Any]) -> int:
    return ETHERNET.size + edit["tags"] * VLAN.size


def _l4(edit: dict[str, Any]) -> int:
    return _l3(edit) + (IPV6 if edit["ipv6"] else IPV4).size


def _put(out: bytearray, at: int, header: Header, name: str, value: int) -> None:
    """A 16-bit word over the bytes from a field's first on; what the frame lacks is left out."""
    first = at + header[name].byte
    word = value.to_bytes(2, "big")[: max(0, len(out) - first)]
    out[first : first + len(word)] = word
