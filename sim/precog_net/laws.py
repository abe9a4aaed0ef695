"""Congestion controls by name: what ``--law`` takes.

``hpcc``
    A name of `NAMES` or `RIVALS`, or of the entry point group ``precog.laws``.
``card:timely``
    A law of `precog_models.laws` as cards run it, in integers.
``mylaw.py``
    A file: a law program (`precog_sim.network.program`), or one of the cards' language.
``module:attribute``
    A module that is a program, a `CongestionControl`, or what makes one without arguments; modules
    of the current folder are found, too. Entry points may name the same.
``swift:preset=scaled,ai=0.1``
    Settings of a program: its preset, ``start_gbps``, and its parameters. Other laws have the start
    rate alone.
``hpcc+incast=swift``
    A law for each class of flows; the one without a class is for all others (`mixture`).
"""

import ast
import hashlib
import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from inspect import getsourcefile
from pathlib import Path
from types import ModuleType

from precog_models.laws.compiler.foreign import run_file
from precog_models.laws.compiler.load import law_names
from precog_models.laws.language import Field, Parameter
from precog_sim.network.congestion import (
    CongestionControl,
    Dcqcn,
    Dctcp,
    Fixed,
    Hpcc,
    Pid,
    Timely,
)
from precog_sim.network.program_law import Programmed

__all__ = ["ENTRY_POINT_GROUP", "NAMES", "RIVALS", "law", "law_sources", "mixture"]

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

#: Programs of `precog_net.rivals`.
RIVALS = ("dcqcn-barre", "hpcc-pint", "nscc", "powertcp", "swift", "theta-powertcp")

_CARD = "card:"
_SETTINGS = re.compile(r"(.+?):((?:[a-z]\w*=[^,=]+)(?:,[a-z]\w*=[^,=]+)*)")
_CLASSED = re.compile(r"([^:=+]+)=(.+)")


def mixture(text: str) -> dict[str, str]:
    """Laws by class of flows; the one under an empty name is for all other classes.

    Raises
    ------
    ValueError
        A class has two laws, or a part no law.
    """
    found: dict[str, str] = {}
    for part in text.split("+"):
        classed = _CLASSED.fullmatch(part)
        kind, name = (classed[1], classed[2]) if classed else ("", part)
        if kind in found or not name:
            who = f"class {kind}" if kind else "all other classes"
            raise ValueError(f"law {text} must have one law for {who}")
        found[kind] = name
    return found


def law(text: str) -> CongestionControl:
    """The congestion control that `text` names, for all flows alike.

    Raises
    ------
    ValueError
        There is none, or it is something else, or a setting is wrong.
    """
    settings = _SETTINGS.fullmatch(text)
    name, given = (settings[1], settings[2]) if settings else (text, "")
    found = _found(name)
    values: dict[str, str] = {}
    for part in given.split(",") if given else ():
        key, _, value = part.partition("=")
        if key in values:
            raise ValueError(f"law {name} {key} must be given once, not again as {part!r}")
        values[key] = value
    start = (
        _number(name, "start_gbps", values.pop("start_gbps")) if "start_gbps" in values else None
    )
    if isinstance(found, CongestionControl):
        if values:
            other = ", ".join(values)
            raise ValueError(f"law {name} must have no setting but start_gbps, not {other}")
        return found if start is None else replace(found, start_gbps=start)
    preset = values.pop("preset", None)
    numbers = {key: _number(name, key, value) for key, value in values.items()}
    return Programmed(module=found, preset=preset, values=numbers, start_gbps=start)


def _number(name: str, key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"law {name} {key} must be a number, not {text!r}") from None


def _found(name: str) -> CongestionControl | ModuleType | str | Path:
    """What a name stands for: a congestion control, or the source of a program."""
    if name in NAMES:
        return NAMES[name]()
    if name in RIVALS:
        return import_module(f"precog_net.rivals.{name.replace('-', '_')}")
    if name.startswith(_CARD):
        return name.removeprefix(_CARD)
    if name.endswith(".py"):
        return _file(Path(name))
    for point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        return _made(point.load(), name)
    module, colon, attribute = name.partition(":")
    if not colon:
        points = (point.name for point in entry_points(group=ENTRY_POINT_GROUP))
        cards = (_CARD + one for one in law_names())
        known = ", ".join([*sorted({*NAMES, *RIVALS, *points}), *cards])
        raise ValueError(f"law must be one of {known}, a file.py or module:name, not {name!r}")
    if os.getcwd() not in sys.path:  # as `python -m` does: a file in the current folder
        sys.path.insert(0, os.getcwd())
    try:
        found = _attribute(module, attribute)
    except (Exception, SystemExit) as error:  # whatever a foreign module does
        raise ValueError(f"law {name} cannot be imported: {_told(error)}") from error
    return _made(found, name)


def _attribute(module: str, attribute: str) -> object:
    """What a module has under a name; a package's module need not have been imported."""
    found = import_module(module)
    if not hasattr(found, attribute) and hasattr(found, "__path__"):
        return import_module(f"{module}.{attribute}")
    return getattr(found, attribute)


def _file(path: Path) -> ModuleType | Path:
    """A file's program: as a module, or, in the cards' language, as the path."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ValueError(f"law {path} must be a readable file: {error.strerror}") from error
    module = _executed(path, hashlib.blake2b(text).digest(), text)
    return path if _on_cards(module) else module


def _on_cards(module: ModuleType) -> bool:
    """Whether a law is in the cards' language."""
    tables = [getattr(module, name, ()) for name in ("PARAMETERS", "STATE")]
    rows = [row for table in tables if isinstance(table, tuple | list) for row in table]
    return any(isinstance(row, Parameter | Field) for row in rows)


@cache
def _executed(path: Path, _digest: bytes, text: bytes) -> ModuleType:
    """The file as a module; one object as long as the file stays the same."""
    try:
        return run_file(path, text)
    except (Exception, SystemExit) as error:  # whatever a foreign file does
        raise ValueError(f"law {path} cannot be run: {_told(error)}") from error


def _made(found: object, name: str) -> CongestionControl | ModuleType | Path:
    """The law that was found: a module of events, its file if cards run it, or an object."""
    if isinstance(found, ModuleType) and any(key.startswith("on_") for key in vars(found)):
        return Path(str(found.__file__)) if _on_cards(found) else found
    try:
        made = found() if callable(found) else found
    except (Exception, SystemExit) as error:
        raise ValueError(f"law {name} cannot be made without arguments: {_told(error)}") from error
    if not isinstance(made, CongestionControl):
        raise ValueError(f"law {name} must be a CongestionControl, not {type(made).__name__}")
    return made


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def law_sources(text: str) -> bytes:
    """What stands for the laws in the key of a result: settings, and the folders of their modules.

    Raises
    ------
    ValueError
        As `law`.
    """
    return b"\0".join(_sources(part) for part in mixture(text).values())


def _read_by(path: Path) -> list[Path]:
    """A law's file; with relative imports, every file of its folder."""
    nodes = ast.walk(ast.parse(path.read_bytes()))
    alone = not any(isinstance(node, ast.ImportFrom) and node.level for node in nodes)
    return [path] if alone else sorted(path.resolve().parent.glob("*.py"))


def _sources(text: str) -> bytes:
    made = law(text)
    parts = [repr(made).encode()]
    modules = {text.partition(":")[0], *(kind.__module__ for kind in type(made).__mro__)}
    if isinstance(made, Programmed):
        source = made.module
        if isinstance(source, ModuleType):
            modules.add(source.__name__)
            source = source.__file__ or ""
        if Path(source).is_file():
            parts += [path.read_bytes() for path in _read_by(Path(source))]
    for name in sorted(modules & sys.modules.keys()):
        try:
            found = getsourcefile(sys.modules[name])
        except TypeError:  # a built-in one
            continue
        if found is not None and not name.startswith("precog_"):
            parts += [path.read_bytes() for path in sorted(Path(found).parent.glob("*.py"))]
    return b"\0".join(parts)
