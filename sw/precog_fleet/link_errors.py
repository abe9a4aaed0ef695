"""Zenoh's errors in plain words: which endpoint, what failed, and what to do.

Zenoh tells where in its own sources something failed, and of links to routers only that they timed
out, whatever the reason: a router refuses certificates without a word.
"""

import re
from collections.abc import Sequence

__all__ = ["connecting", "listening", "plain"]

_SOURCE = re.compile(r"\s+at /?[^\s:]+\.rs:\d+\.?")
_SYSTEM = re.compile(r"([^:]+) \(os error \d+\)")
_FILES = "if files of the folder are damaged, let it join again: precog fleet join"
_REMEDIES = {
    "Address already in use": "another process has that port: end it, or give another --listen",
    "Cannot assign requested address": "this host has no such address: give one of its own, "
    "as in --listen tls/ADDRESS:PORT",
    "Permission denied": "this user may not have that port: give one above 1023, --listen",
}


def plain(error: Exception) -> str:
    """What an error says, without places in Zenoh's sources."""
    return _SOURCE.sub("", str(error)).strip().rstrip(".")


def connecting(endpoints: Sequence[str], error: Exception) -> str:
    """Why no router was reached."""
    where = ", ".join(endpoints)
    if "imeout" in str(error) or "Unable to connect" in str(error):
        return (
            f"no router answers at {where}: see that one runs there (precog fleet router), that "
            "this host reaches it, and that both are members of one fleet"
        )
    return f"router at {where} cannot be reached: {plain(error)}; {_FILES}"


def listening(endpoints: Sequence[str], error: Exception) -> str:
    """Why a router could not begin."""
    text = plain(error)
    system = _SYSTEM.search(text)
    reason = system[1].strip() if system else text
    remedy = _REMEDIES.get(reason, f"{reason}; {_FILES}")
    return f"router cannot listen at {', '.join(endpoints)}: {remedy}"
