"""Congestion controls by name: what ``--law`` takes.

The names below, or ``module:attribute``: a `CongestionControl`, or what makes one without
arguments. Other packages add names through the entry point group ``precog.laws``.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points

from precog_sim.network.congestion import (
    CongestionControl,
    Dcqcn,
    Dctcp,
    Fixed,
    Hpcc,
    Pid,
    Timely,
)

__all__ = ["ENTRY_POINT_GROUP", "NAMES", "law"]

ENTRY_POINT_GROUP = "precog.laws"

#: Laws in float, with the constants that the HPCC authors' simulator has, except `pid`: Precog's.
NAMES: dict[str, Callable[[], CongestionControl]] = {
    "dcqcn": Dcqcn,
    "dctcp": Dctcp,
    "fixed": Fixed,
    "hpcc": Hpcc,
    "pid": Pid,
    "timely": Timely,
}


def law(text: str) -> CongestionControl:
    """The congestion control that `text` names.

    Raises
    ------
    ValueError
        There is none, or it is something else.
    """
    if text in NAMES:
        return NAMES[text]()
    for point in entry_points(group=ENTRY_POINT_GROUP, name=text):
        return _made(point.load(), text)
    module, colon, attribute = text.partition(":")
    if not colon:
        known = sorted({*NAMES, *(point.name for point in entry_points(group=ENTRY_POINT_GROUP))})
        raise ValueError(f"law must be one of {', '.join(known)}, or module:name, not {text!r}")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"law {text} cannot be imported: {error}") from error
    return _made(found, text)


def _made(found: object, text: str) -> CongestionControl:
    try:
        made = found() if callable(found) else found
    except TypeError as error:
        raise ValueError(f"law {text} must need no arguments: {error}") from error
    if not isinstance(made, CongestionControl):
        raise ValueError(f"law {text} must be a CongestionControl, not {type(made).__name__}")
    return made
