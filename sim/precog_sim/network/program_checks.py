"""What the declarations of a law program must look like, and what is said if they do not."""

import math
import random
import re
from collections.abc import Callable, Mapping
from numbers import Real
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

__all__ = [
    "checked_presets",
    "checked_settings",
    "fields",
    "reason",
    "refuse_compiled",
    "refuse_draws",
    "rows",
]

_FORMATS = {"float": "f8", "int": "i8"}
_MOST_BYTES = 9000
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_PLACE = re.compile(r'File "[^"]*", line (\d+)')
_REASON_CHARACTERS = 300


def _bytes(value: Any) -> bool:
    return type(value) is int and 1 <= value <= _MOST_BYTES


def _marking(value: Any) -> bool:
    if value is None:
        return True
    if not (isinstance(value, tuple) and len(value) == 3 and all(map(number, value))):
        return False
    low, high, share = value
    return bool(0 <= low <= high and 0 <= share <= 1)


#: Whether a value is one of the setting's, and what is.
_SETTINGS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "WINDOWED": (lambda value: type(value) is bool, "True or False"),
    "TELEMETRY": (lambda value: value in ("", "int", "pint"), "int, pint or ''"),
    "HEADER": (_bytes, f"a whole number in 1..{_MOST_BYTES}"),
    "ACK_BYTES": (_bytes, f"a whole number in 1..{_MOST_BYTES}"),
    "CNP_US": (lambda value: number(value) and 0 <= value <= 1e6, "a number in 0..1000000"),
    "MARKING_BDP": (_marking, "None or (from, to, share), 0 <= from <= to, share in 0..1"),
    "BIT_RATES": (lambda value: type(value) is bool, "True or False"),
}


def number(value: object) -> bool:
    """Whether a value is a finite real number."""
    return isinstance(value, Real) and math.isfinite(value)


def checked_settings(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a program as they are.

    Raises
    ------
    ValueError
        One has a value that is none of its own.
    """
    for key, (right, wanted) in _SETTINGS.items():
        if not right(settings[key]):
            raise ValueError(f"law {name} {key} must be {wanted}, not {settings[key]!r}")
    return settings


def rows(name: str, what: str, given: Any, least: int) -> tuple[tuple[Any, ...], ...]:
    """The rows of a table of a program, checked for their form; a shape may stand behind.

    Raises
    ------
    ValueError
        A row has another form.
    """
    form = "(name, format, unit, default, meaning)" if least == 5 else "(name, format, meaning)"
    if not isinstance(given, tuple | list):
        raise ValueError(f"law {name} {what} must be a tuple of rows {form}, not {given!r}")
    for row in given:
        right = isinstance(row, tuple) and least <= len(row) <= least + 1
        right = right and isinstance(row[0], str) and row[0].isidentifier()
        if not right or row[1] not in tuple(_FORMATS):
            known = " or ".join(_FORMATS)
            raise ValueError(f"law {name} {what} must have rows {form} with {known}, not {row!r}")
    return tuple(given)


def fields(name: str, what: str, given: list[tuple[Any, ...]]) -> np.dtype[Any]:
    """The record type of a table; one without rows has a field that is not read.

    Raises
    ------
    ValueError
        A name stands twice, or a shape is none.
    """
    names = [row[0] for row in given]
    twice = sorted({one for one in names if names.count(one) > 1})
    if twice:
        raise ValueError(f"law {name} {what} must have {twice[0]} once: give it another name")
    try:
        return np.dtype([(row[0], _FORMATS[row[1]], *row[2:]) for row in given or [("_", "int")]])
    except (TypeError, ValueError) as error:
        raise ValueError(f"law {name} {what} must have shapes of arrays: {error}") from error


def checked_presets(
    name: str, given: Any, defaults: Mapping[str, Any]
) -> dict[str, Mapping[str, float]]:
    """Values by preset and parameter.

    Raises
    ------
    ValueError
        A preset has another form, or names a parameter that there is not.
    """
    if not isinstance(given, dict):
        raise ValueError(f"law {name} PRESETS must be a dict, not {given!r}")
    for key, one in given.items():
        right = isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], Mapping)
        if not right or not one[1].keys() <= defaults.keys():
            form = "(citation, {parameter: value}) with names of PARAMETERS"
            raise ValueError(f"law {name} preset {key} must be {form}, not {one!r}")
    return {key: values for key, (_, values) in given.items()}


def refuse_draws(name: str, function: FunctionType, space: Mapping[str, Any]) -> None:
    """Refuse a function that draws random numbers: a run would not repeat by its seed.

    Raises
    ------
    ValueError
        It draws some.
    """
    names = function.__code__.co_names
    for key in names:
        value = space.get(key)
        owner = getattr(value, "__self__", None)
        drawn = value is random or value is np.random or (value is np and "random" in names)
        if drawn or isinstance(owner, random.Random | np.random.RandomState):
            raise ValueError(
                f"law {name} {function.__name__} must draw no random numbers, as {key} does: a run "
                "would not repeat by its seed; mix e.flow and e.seq"
            )


def refuse_compiled(name: str, function: FunctionType) -> None:
    """Refuse a call of a function that others compiled: the run counts no turns of its loops.

    Raises
    ------
    ValueError
        It calls one that is none of Precog's.
    """
    names = _names(function.__code__)
    for key in names:
        value = function.__globals__.get(key)
        members = (
            [getattr(value, one, None) for one in names] if isinstance(value, ModuleType) else []
        )
        for called in (value, *members):
            if not isinstance(called, Dispatcher):
                continue
            code = called.py_func.__code__
            if not called.py_func.__module__.startswith("precog_"):
                raise ValueError(
                    f"law {name} {function.__name__} must call plain functions of its file, not "
                    f"{called.py_func.__name__} ({Path(code.co_filename).name}, line "
                    f"{code.co_firstlineno}), which numba compiled: Precog could not end its "
                    "loops; leave out its @njit, and move it into the law's file"
                )


def _names(code: CodeType) -> list[str]:
    """Globals and attributes that a function and its inner functions name."""
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return [*code.co_names, *(name for one in inner for name in _names(one))]


def reason(error: BaseException) -> str:
    """Why numba refuses a function: its words without colours and stages, and the line."""
    text = _COLOURS.sub("", str(error))
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("Failed in")]
    ends = ("During:", "File ", "There are ", "Enable logging", "^")
    end = next((k for k, line in enumerate(lines) if k and line.startswith(ends)), len(lines))
    places = _PLACE.findall(text)
    where = f" (line {places[-1]})" if places else ""
    return " ".join(lines[:end])[:_REASON_CHARACTERS] + where
