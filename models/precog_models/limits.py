"""Limits on files that others made, in one place.

The engine runs LSTMs of 16 hidden units and small trees: each limit is far above what a file for it
needs, and low enough that the worst file is refused within a second or two and some 100 MB.
"""

import reprlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = [
    "DEPTH",
    "DIGITS",
    "DIMENSIONS",
    "ELEMENTS",
    "FOREIGN_BYTES",
    "LIST_BYTES",
    "MODEL_BYTES",
    "NODES",
    "brief",
    "check_depth",
    "read_at_most",
]

MODEL_BYTES = 64 << 10  #: of a model image in its file
FOREIGN_BYTES = 1 << 20  #: of a file that another framework wrote
LIST_BYTES = 16 << 20  #: of a list of queue pairs: a hundred thousand of them
NODES = 4096  #: of a graph; as many stored tensors
ELEMENTS = 1 << 20  #: numbers in one tensor, and in all that are computed on the way to it
DIMENSIONS = 8  #: of a tensor
DEPTH = 32  #: of what is nested: JSON data, operators between a weight and what reads it
DIGITS = 18  #: of a whole number in text


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


def check_depth(data: Any, what: str) -> None:
    """Refuse JSON data that is nested deeper than `DEPTH`.

    Raises
    ------
    ValueError
        It is.
    """
    level = [data]
    for _ in range(DEPTH + 1):
        level = [child for one in level for child in _children(one)]
        if not level:
            return
    raise ValueError(f"{what} must be nested at most {DEPTH} deep")


def _children(data: Any) -> Iterator[Any]:
    if isinstance(data, dict):
        yield from data.values()
    elif isinstance(data, list):
        yield from data
