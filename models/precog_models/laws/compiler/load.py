"""Reads a law's file: its declarations, checked, and the syntax trees of its functions."""

import ast
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from keyword import iskeyword
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from precog_spec.contract import Q
from precog_spec.engine.events import EVENTS, ROW_OUTPUTS
from precog_spec.engine.isa import ROW_WORDS, WORD

from ..language import Field, Parameter, Preset, integers
from .errors import LawError
from .foreign import run_file

__all__ = ["Law", "Source", "law_names", "load", "source_of"]

_HOME = Path(__file__).parents[1]
_NOT_LAWS = ("__init__", "language", "library", "lockstep_signs")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_STATE_MOST = ROW_WORDS - len(ROW_OUTPUTS)
_RECORDS = ["p", "s", "e"]


@dataclass(frozen=True)
class Source:
    """A function of the language: its syntax tree, its file, and what its names stand for."""

    tree: ast.FunctionDef
    file: str
    names: Mapping[str, Any]


@dataclass(frozen=True)
class Law:
    """A law, its declarations checked.

    Attributes
    ----------
    name, file : str
        The file's name without its ending, and its path.
    parameters, state, windowed, presets
        Its declarations.
    events : dict
        Function by the name of its event.
    meaning : str
        The file's docstring.
    """

    name: str
    file: str
    parameters: tuple[Parameter, ...]
    state: tuple[Field, ...]
    windowed: bool
    presets: Mapping[str, Preset]
    events: Mapping[str, FunctionType]
    meaning: str

    def integers(
        self, preset: str, tick_ps: int, /, **changes: float
    ) -> dict[str, int | list[int]]:
        """Parameters of a preset with some changes; "default" is the preset without any values.

        Raises
        ------
        ValueError
            The preset or a parameter is unknown, or a value is none of its format.
        """
        if preset != "default" and preset not in self.presets:
            names = ", ".join(["default", *self.presets])
            raise ValueError(f"preset of {self.name} must be one of {names}, not {preset!r}")
        values = self.presets[preset].values if preset in self.presets else {}
        return integers(self.parameters, {**values, **changes}, tick_ps)

    def with_facts(
        self, values: Mapping[str, float], facts: Mapping[str, float]
    ) -> dict[str, float]:
        """`values`, and the parameters that are `facts`, unless `values` has them."""
        told = {one.name: facts[one.fact] for one in self.parameters if one.fact}
        return {**told, **values}


def law_names() -> list[str]:
    """Laws of this package."""
    return sorted(path.stem for path in _HOME.glob("*.py") if path.stem not in _NOT_LAWS)


def load(law: str | Path) -> Law:
    """The law of a file, or one of this package by its name.

    Raises
    ------
    LawError
        The file is no law; the message names the line.
    ValueError
        There is no such file or name.
    """
    path = Path(law)
    if path.suffix != ".py":
        path = _HOME / f"{law}.py"
        if not path.is_file() or path.stem in _NOT_LAWS:
            names = ", ".join(law_names())
            raise ValueError(f"law must be a file that ends in .py, or {names}, not {str(law)!r}")
    try:
        text = path.read_bytes()  # Python knows byte order marks and encodings
    except OSError as error:
        raise ValueError(f"law {path} must be a readable file: {error.strerror}") from error
    return _checked(path, _executed(path, text))


def _executed(path: Path, text: bytes) -> ModuleType:
    try:
        return run_file(path, text)
    except (Exception, SystemExit) as error:  # whatever a foreign file does
        line = max((n for name, n in _places(error) if name == str(path)), default=0)
        if isinstance(error, SyntaxError) and error.filename == str(path):
            raise LawError(str(path), error.lineno or 0, f"file must be Python: {error}") from error
        raise LawError(
            str(path), line, f"file must run: {type(error).__name__}: {error}"
        ) from error


def _places(error: BaseException) -> list[tuple[str, int]]:
    trace, found = error.__traceback__, []
    while trace is not None:
        found.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return found


def _declared(names: Mapping[str, Any], file: str, name: str, kind: type) -> tuple[Any, ...]:
    value = names.get(name)
    if not isinstance(value, tuple) or not all(isinstance(one, kind) for one in value):
        raise LawError(
            file,
            0,
            f"{name} must be a tuple of {kind.__name__}, not {value!r}; a law in real numbers "
            "runs in precog sim fabric only",
        )
    seen: set[str] = set()
    for one in value:
        named = isinstance(one.name, str) and _NAME.fullmatch(one.name)
        if not named or iskeyword(one.name) or one.name in seen:
            wanted = "distinct lower-case names that are no keywords"
            raise LawError(file, 0, f"{name} must have {wanted}, not {one.name!r}")
        if not isinstance(one.format, Q):
            raise LawError(file, 0, f"format of {one.name} must be a Q, not {one.format!r}")
        if one.format.width + (not one.format.signed) > WORD:
            most = f"{WORD} bits at most, {WORD - 1} unsigned"
            raise LawError(file, 0, f"format of {one.name} must have {most}, not {one.format!r}")
        seen.add(one.name)
    return value


def _checked(path: Path, module: ModuleType) -> Law:
    names, file = module.__dict__, str(path)
    parameters = _declared(names, file, "PARAMETERS", Parameter)
    state = _declared(names, file, "STATE", Field)
    if len(state) > _STATE_MOST:
        raise LawError(file, 0, f"STATE must have {_STATE_MOST} fields at most, not {len(state)}")
    windowed = names.get("WINDOWED")
    if not isinstance(windowed, bool):
        raise LawError(file, 0, f"WINDOWED must be True or False, not {windowed!r}")
    presets = names.get("PRESETS", {})
    if not isinstance(presets, dict) or not all(isinstance(x, Preset) for x in presets.values()):
        raise LawError(file, 0, f"PRESETS must be a dict of Preset, not {presets!r}")
    for preset in presets:
        if not isinstance(preset, str) or preset == "default":
            problem = f"PRESETS must be under texts other than 'default', not {preset!r}"
            raise LawError(file, 0, problem)
    events: dict[str, FunctionType] = {}
    for name in (name for name in names if name.startswith("on_")):
        function = names[name]
        if name not in EVENTS:
            raise LawError(file, 0, f"event must be one of {', '.join(EVENTS)}, not {name}")
        if not isinstance(function, FunctionType):
            raise LawError(file, 0, f"{name} must be a function, not {function!r}")
        if not _takes_records(function):
            line = function.__code__.co_firstlineno
            raise LawError(file, line, f"{name} must have plain arguments p, s, e and no other")
        events[name] = function
    if not events:
        raise LawError(file, 0, f"law must hear an event: define one of {', '.join(EVENTS)}")
    law = Law(
        path.stem,
        file,
        parameters,
        state,
        windowed,
        presets,
        events,
        (module.__doc__ or "").strip(),
    )
    for preset in ("default", *presets):
        try:
            law.integers(preset, 1000)
        except ValueError as error:
            raise LawError(file, 0, f"preset {preset}: {error}") from error
        except Exception as error:  # a function of the file makes a table
            told = f"{type(error).__name__}: {error}"
            raise LawError(file, 0, f"preset {preset}: tables must be made: {told}") from error
    return law


def _takes_records(function: FunctionType) -> bool:
    arguments = inspect.signature(function).parameters.values()
    plain = all(
        one.kind is one.POSITIONAL_OR_KEYWORD and one.default is one.empty for one in arguments
    )
    return plain and [one.name for one in arguments] == _RECORDS


@cache
def _trees(file: str, stamp: tuple[int, int]) -> dict[tuple[str, int], ast.FunctionDef]:
    """Functions at the top of a file as it was when it had this stamp."""
    tree = ast.parse(Path(file).read_bytes(), file)
    return {
        (node.name, min([node.lineno, *(one.lineno for one in node.decorator_list)])): node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


def source_of(function: FunctionType) -> Source | None:
    """The syntax tree of a function that stands at the top of its file; None: of another one."""
    code = function.__code__
    path = Path(code.co_filename)
    if not path.is_file():
        return None
    stat = path.stat()
    trees = _trees(str(path), (stat.st_mtime_ns, stat.st_size))
    tree = trees.get((code.co_name, code.co_firstlineno))
    if tree is None:
        return None
    return Source(tree, code.co_filename, function.__globals__)
