"""Addresses at which members connect: host names and IP addresses, and endpoints made of them."""

import re
from ipaddress import ip_address

__all__ = ["checked_address", "checked_endpoint"]

_ENDPOINT = re.compile(r"tls/(?:\[([^\]]*)\]|([^\[\]]*)):([0-9]{1,9})")
_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_MAX_NAME = 253


def checked_address(text: str) -> str:
    """A host name such as ``rack0.example``, or an IPv4 or IPv6 address without brackets.

    Raises
    ------
    ValueError
        It is none.
    """
    if not (_is_ip(text) or _is_name(text)):
        raise ValueError(f"address must be a host name or an IP address, not {text!r}")
    return text


def _is_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_name(text: str) -> bool:
    labels = text.removesuffix(".").split(".")
    if len(text) > _MAX_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        return False
    return not labels[-1].isdecimal()  # an address with a slip, such as 10.0.0.256


def checked_endpoint(text: str) -> str:
    """An endpoint such as ``tls/10.0.0.1:7447`` or ``tls/[fe80::1]:7447``.

    Raises
    ------
    ValueError
        It is none: links without TLS are not offered.
    """
    found = _ENDPOINT.fullmatch(text)
    if not found:
        raise ValueError(f"endpoint must be tls/<address>:<port>, not {text!r}")
    inside, plain, port = found.groups()
    if plain is not None and ":" in plain:
        raise ValueError(
            "endpoint must be tls/[<address>]:<port>, as IPv6 addresses stand in brackets, "
            f"not {text!r}"
        )
    checked_address(str(plain if inside is None else inside))
    if inside is not None and ":" not in inside:
        raise ValueError(f"endpoint must have brackets for IPv6 addresses alone, not {text!r}")
    if not 1 <= int(port) <= 65535:
        raise ValueError(f"port must be in 1..65535, not {int(port)}, in endpoint {text!r}")
    return text
