"""What follows ``?`` in a device URI: options by name."""

from collections.abc import Mapping
from urllib.parse import unquote_plus

from .transport import DeviceError

__all__ = ["number", "split_options"]


def split_options(argument: str, known: Mapping[str, str], what: str) -> tuple[str, dict[str, str]]:
    """What stands before ``?``, and the options after it.

    Parameters
    ----------
    argument : str
    known : mapping of str to str
        Names, and their values if they are not given.
    what : str
        The transport, for errors.

    Raises
    ------
    DeviceError
        A name is unknown or given twice.
    """
    place, _, query = argument.partition("?")
    values = dict(known)
    seen: set[str] = set()
    for part in query.split("&") if query else ():
        name, value = (unquote_plus(text) for text in part.partition("=")[::2])
        if name not in known:
            options = ", ".join(f"{option}=" for option in known)
            raise DeviceError(f"{what} option must be one of {options}, not {name!r}")
        if name in seen:
            raise DeviceError(f"{what} option {name} must be given once")
        seen.add(name)
        values[name] = value
    return place, values


def number(text: str, name: str, low: int, high: int) -> int:
    """A whole number, decimal or with 0x.

    Raises
    ------
    DeviceError
        It is none, or out of range.
    """
    try:
        value = int(text, 0) if text.isascii() and "_" not in text else None
    except ValueError:
        value = None
    if value is None or not low <= value <= high:
        raise DeviceError(f"{name} must be a whole number in {low}..{high}, not {text!r}")
    return value
