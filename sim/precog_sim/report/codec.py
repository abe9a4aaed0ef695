"""Frozen dataclasses to JSON and back, checked field by field.

A field whose name is a Python word carries a trailing underscore that JSON does not show
(``float_`` is the key ``"float"``). Every error names the key: ``mape.unseen.x must be ...``.
"""

import dataclasses
import math
import types
import typing
from typing import Any, TypeVar

__all__ = ["decode", "encode"]

T = TypeVar("T")


def _key(name: str) -> str:
    return name.removesuffix("_")


def encode(value: Any) -> Any:
    """The JSON form of a dataclass and of everything in it.

    Raises
    ------
    ValueError
        A number is not finite (JSON has no word for it).
    TypeError
        A value has no JSON form.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {_key(f.name): encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [encode(v) for v in value]
    if value is None or isinstance(value, str | bool):
        return value
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"a figure of the report must be finite, not {value!r}")
    if isinstance(value, int | float):
        return value
    raise TypeError(f"a figure of the report must be JSON data, not {type(value).__name__}")


def decode(kind: type[T], data: Any, where: str = "") -> T:
    """Build `kind` from JSON data.

    Parameters
    ----------
    kind : type
        A dataclass, or a type that its fields name: bool, int, float, str, ``X | None``,
        ``tuple[X, ...]``, ``dict[str, X]``, Any.
    data : object
        What ``json.loads`` gave.
    where : str
        Path of `data`, for messages.

    Raises
    ------
    ValueError
        A key is missing or unknown, or a value has the wrong type.
    """
    return typing.cast(T, _decode(kind, data, where))


def _refuse(where: str, what: str, data: Any) -> typing.NoReturn:
    text = repr(data)
    raise ValueError(f"{where or 'the result'} must be {what}, not {text[:60]}")


def _decode(kind: Any, data: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if kind is Any:
        return data
    if origin in (types.UnionType, typing.Union):
        if data is None:
            return None
        (inner,) = (k for k in typing.get_args(kind) if k is not type(None))
        return _decode(inner, data, where)
    if origin is tuple:
        if not isinstance(data, list):
            _refuse(where, "a list", data)
        inner = typing.get_args(kind)[0]
        return tuple(_decode(inner, v, f"{where}[{i}]") for i, v in enumerate(data))
    if origin is dict:
        if not isinstance(data, dict):
            _refuse(where, "an object", data)
        inner = typing.get_args(kind)[1]
        return {k: _decode(inner, v, f"{where}.{k}") for k, v in data.items()}
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(kind, data, where)
    return _decode_scalar(kind, data, where)


def _decode_dataclass(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        _refuse(where, "an object", data)
    hints = typing.get_type_hints(kind)
    prefix = f"{where}." if where else ""
    fields = {_key(f.name): f for f in dataclasses.fields(kind)}
    if unknown := sorted(set(data) - set(fields)):
        raise ValueError(f"{prefix}{unknown[0]} must be a known key, not an unknown one")
    values = {}
    for key, field in fields.items():
        if key not in data:
            raise ValueError(f"{prefix}{key} must be present, not missing")
        values[field.name] = _decode(hints[field.name], data[key], f"{prefix}{key}")
    return kind(**values)


def _decode_scalar(kind: Any, data: Any, where: str) -> Any:
    if kind is float and isinstance(data, int | float) and not isinstance(data, bool):
        return float(data)
    if kind is int and isinstance(data, int) and not isinstance(data, bool):
        return data
    if kind in (str, bool) and isinstance(data, kind):
        return data
    _refuse(where, {float: "a number", int: "an integer", str: "text"}.get(kind, "a boolean"), data)
