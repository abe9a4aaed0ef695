"""Fields of records, checked: integers within bounds, hexadecimal text, exactly the names given."""

import re
from dataclasses import fields
from typing import Any

__all__ = ["NAME", "WORD", "PoisonError", "bounded", "exactly", "hexadecimal"]

#: Names of members and of what keys are about: host names, IPv4 and IPv6 addresses.
NAME = re.compile(r"[a-z0-9][a-z0-9.:_-]{0,62}")
WORD = (1 << 32) - 1


class PoisonError(ValueError):
    """A number in a record lies outside of its bounds."""


def bounded(name: str, value: Any, low: int, high: int) -> int:
    """`value`, if it is an integer in low..high.

    Raises
    ------
    PoisonError
        It is not.
    """
    if type(value) is not int or not low <= value <= high:
        raise PoisonError(f"{name} must be an integer in {low}..{high}, not {value!r}")
    return value


def exactly(kind: type, data: Any) -> dict[str, Any]:
    """`data`, if it has the fields of the dataclass `kind` and no others.

    Raises
    ------
    ValueError
        It has not.
    """
    names = {field.name for field in fields(kind)}
    if type(data) is not dict or set(data) != names:
        raise ValueError(f"{kind.__name__.lower()} must have the fields {', '.join(sorted(names))}")
    return data


def hexadecimal(name: str, text: Any) -> bytes:
    """The bytes of lower-case hexadecimal text.

    Raises
    ------
    ValueError
        It is none.
    """
    if type(text) is not str or not re.fullmatch(r"([0-9a-f]{2})*", text):
        raise ValueError(f"{name} must be lower-case hexadecimal, not {text!r}")
    return bytes.fromhex(text)
