"""Congestion controls by name: what ``--law`` takes.

The names below, or ``module:attribute``: a `CongestionControl`, or what makes one without
arguments; modules of the current folder are found, too. Other packages add names through the entry
point group ``precog.laws``.
"""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from inspect import getsourcefile
from pathlib import Path

from precog_sim.network.congestion import (
    CongestionControl,
    Dcqcn,
    Dctcp,
    Fixed,
    Hpcc,
    Pid,
    Timely,
)

__all__ = ["ENTRY_POINT_GROUP", "NAMES", "law", "law_sources"]

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
    if os.getcwd() not in sys.path:  # as `python -m` does: a file beside the command
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(import_module(module), attribute)
    except (Exception, SystemExit) as error:  # whatever a foreign module does
        raise ValueError(f"law {text} cannot be imported: {_told(error)}") from error
    return _made(found, text)


def _made(found: object, text: str) -> CongestionControl:
    try:
        made = found() if callable(found) else found
    except (Exception, SystemExit) as error:
        raise ValueError(f"law {text} cannot be made without arguments: {_told(error)}") from error
    if not isinstance(made, CongestionControl):
        raise ValueError(f"law {text} must be a CongestionControl, not {type(made).__name__}")
    return made


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def law_sources(text: str) -> bytes:
    """What stands for the law in the key of a result: its settings, and the folder of its module.

    Raises
    ------
    ValueError
        As `law`.
    """
    made = law(text)
    parts = [repr(made).encode()]
    modules = {text.partition(":")[0], *(kind.__module__ for kind in type(made).__mro__)}
    for name in sorted(modules & sys.modules.keys()):
        try:
            source = getsourcefile(sys.modules[name])
        except TypeError:  # a built-in one
            continue
        if source is not None and not name.startswith("precog_"):
            parts += [path.read_bytes() for path in sorted(Path(source).parent.glob("*.py"))]
    return b"\0".join(parts)
