"""Limits on files that others made, in one place.

The engine runs LSTMs of 16 hidden units and small trees: each limit is far above what a file for it
needs, and low enough that the worst file is refused within a second or two and some 100 MB.
"""

import json
import reprlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = [
    "DEPTH",
    "DIGITS",
    "DIMENSIONS",
    "ELEMENTS",
    "FIGURE",
    "FOREIGN_BYTES",
    "LIST_BYTES",
    "MODEL_BYTES",
    "NODES",
    "brief",
    "checked_number",
    "checked_object",
    "parse_json",
    "read_at_most",
    "read_json",
]

MODEL_BYTES = 64 << 10  #: of a model image in its file
FOREIGN_BYTES = 1 << 20  #: of a file that another framework wrote
LIST_BYTES = 16 << 20  #: of a list of queue pairs, a hundred thousand of them; of JSON
NODES = 4096  #: of a graph; as many stored tensors
ELEMENTS = 1 << 20  #: numbers in one tensor, and in all that are computed on the way to it
DIMENSIONS = 8  #: of a tensor
DEPTH = 32  #: of what is nested: JSON data, operators between a weight and what reads it
DIGITS = 18  #: of a whole number in text
FIGURE = 1e18  #: of what sums and differences take


class _Brief(reprlib.Repr):
    """Values in messages: one line, whatever they hold."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 60
        self.maxlevel = 3


_BRIEF = _Brief()


def brief(value: object) -> str:
    """The value's repr, cut where it is long or deep."""
    return _BRIEF.repr(value)


def checked_object(where: str, value: Any, names: Iterable[str] = ()) -> dict[str, Any]:
    """`value`, which a file has at `where`, if it is an object that has all of `names`.

    Raises
    ------
    ValueError
        It is not.
    """
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be an object, not {brief(value)}")
    missing = [name for name in names if name not in value]
    if missing:
        raise ValueError(f"{where} must have {', '.join(missing)}")
    return value


def checked_number(where: str, value: Any, most: float = FIGURE) -> float:
    """`value`, which a file has at `where`, if it is a number within ±`most`.

    Raises
    ------
    ValueError
        It is not; neither NaN, infinity nor a truth value is.
    """
    if type(value) not in (int, float) or not abs(value) <= most:
        raise ValueError(f"{where} must be a number within ±{most:g}, not {brief(value)}")
    return value  # type: ignore[no-any-return]


def read_at_most(path: str | Path, most: int) -> bytes:
    """A file's bytes; never more than `most` are read, whatever its size.

    Raises
    ------
    ValueError
        It has more.
    OSError
        It cannot be read.
    """
    with Path(path).open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{path} must have at most {most} bytes")
    return data


def read_json(path: str | Path, most: int = LIST_BYTES) -> Any:
    """The JSON data of a file of `most` bytes.

    Raises
    ------
    ValueError
        It has more, or as `parse_json`.
    OSError
        It cannot be read.
    """
    return parse_json(read_at_most(path, most))


def parse_json(text: str | bytes, parse_int: Callable[[str], Any] = int) -> Any:
    """JSON data, whose whole numbers `parse_int` reads.

    Raises
    ------
    ValueError
        The text is not JSON, or is nested deeper than `DEPTH`.
    """
    with suppress(RecursionError):
        level = [data := json.loads(text, parse_int=parse_int)]
        for _ in range(DEPTH + 1):
            level = [child for one in level for child in _children(one)]
            if not level:
                return data
    raise ValueError(f"JSON must be nested at most {DEPTH} deep")


def _children(data: Any) -> Iterator[Any]:
    if isinstance(data, dict):
        yield from data.values()
    elif isinstance(data, list):
        yield from data
