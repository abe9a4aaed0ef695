"""Short texts of the command line: ``name:key=value,…``, sizes such as ``500k``."""

import re
from collections.abc import Mapping

__all__ = ["amount", "options", "split_name"]

_SUFFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_MOST = 10**15
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([kMG]?)")


def split_name(text: str) -> tuple[str, str]:
    """What stands before the first colon, and after it."""
    name, _, rest = text.partition(":")
    return name, rest


def amount(text: str, what: str) -> int:
    """A whole number such as ``250``, ``500k`` or ``1.5M``; suffixes are decimal.

    Raises
    ------
    ValueError
        It is none, or not in 1..10^15.
    """
    found = _AMOUNT.fullmatch(text)
    value = round(float(found[1]) * _SUFFIXES[found[2]]) if found else 0
    if value < 1:
        raise ValueError(f"{what} must be a number above 0 such as 8, 500k or 1.5M, not {text!r}")
    if value > _MOST:
        raise ValueError(f"{what} must be at most {_MOST // 10**9}G, not {text!r}")
    return value


def options(text: str, known: Mapping[str, float], what: str) -> dict[str, float]:
    """Numbers by name of ``key=value,…``, and those of `known` that are not given.

    Raises
    ------
    ValueError
        A key is unknown or given twice, or a value is no number above 0.
    """
    values = dict(known)
    given: set[str] = set()
    for part in text.split(",") if text else ():
        key, equals, number = part.partition("=")
        if key not in known or not equals:
            names = ", ".join(f"{name}=" for name in known)
            raise ValueError(f"{what} option must be one of {names}, not {part!r}")
        if key in given:
            raise ValueError(f"{what} option {key} must be given once")
        given.add(key)
        try:
            values[key] = float(number)
        except ValueError:
            values[key] = -1.0
        if not 0 < values[key] < 1e9:
            raise ValueError(f"{what} {key} must be a number above 0, not {number!r}")
    return values
