"""Flows in a file: CSV with the columns start_ns, src, dst, bytes and perhaps class and law.

A column ``incast`` of 0 and 1 stands for the classes normal and incast.
"""

import csv
import gzip
import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .arrivals import MOST_FLOWS
from .traffic import Traffic

__all__ = ["read_flows"]

_NEEDED = ("start_ns", "src", "dst", "bytes")
_CLASS = "normal"
_MOST_DIGITS = 15
_MOST_NAME = 64
_MOST_TEXT = 1 << 30


def read_flows(path: Path, hosts: int) -> Traffic:
    """The flows in `path`, plain or ``.gz``.

    Raises
    ------
    ValueError
        A column is missing, or a line has no flow between two of `hosts` hosts: the message names
        the line, the value and what it must be.
    OSError
        It cannot be read.
    """
    rows = csv.DictReader(io.StringIO(_text(path)))
    try:
        names = rows.fieldnames or []
    except csv.Error as error:
        raise ValueError(f"file {path}, line 1: must be CSV: {error}") from error
    if len(set(names)) < len(names):
        raise ValueError(f"file {path} must have each column once, not {', '.join(names)[:200]}")
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise ValueError(f"file {path} must have the columns {', '.join(_NEEDED)}: no {missing[0]}")
    table: list[tuple[int, ...]] = []
    kinds: list[str] = []
    laws: list[str] = []
    try:
        for row in rows:
            if len(table) == MOST_FLOWS:
                raise ValueError(f"file {path} must have at most {MOST_FLOWS} flows")
            table.append(_flow(row, hosts, f"file {path}, line {rows.line_num}"))
            kinds.append(_kind(row, f"file {path}, line {rows.line_num}"))
            laws.append((row.get("law") or "").strip())
    except csv.Error as error:
        raise ValueError(f"file {path}, line {rows.line_num}: must be CSV: {error}") from error
    if not table:
        raise ValueError(f"file {path} must have at least one flow, not none")
    start_ps, src_, dst_, size_ = np.array(table, dtype=np.int64).T
    return Traffic(start_ps, src_, dst_, size_, tuple(kinds), law=tuple(laws))


def _flow(row: Mapping[str, str | None], hosts: int, where: str) -> tuple[int, int, int, int]:
    if None in row:
        raise ValueError(f"{where}: must have as many fields as there are columns, not more")
    start, src, dst, size = (_number(row[name], name, where) for name in _NEEDED)
    for name, value in (("src", src), ("dst", dst)):
        if value >= hosts:
            raise ValueError(f"{where}: {name} must be a host in 0..{hosts - 1}, not {value}")
    if src == dst:
        raise ValueError(f"{where}: dst must differ from src, not {dst} twice")
    if size == 0:
        raise ValueError(f"{where}: bytes must be at least 1, not 0")
    return start * 1000, src, dst, size


def _kind(row: Mapping[str, str | None], where: str) -> str:
    incast = (row.get("incast") or "0").strip() not in ("0", "")
    kind = (row.get("class") or "").strip() or ("incast" if incast else _CLASS)
    if not kind.isprintable() or len(kind) > _MOST_NAME:
        raise ValueError(
            f"{where}: class must be at most {_MOST_NAME} printable characters, not {kind[:80]!r}"
        )
    return kind


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise ValueError(f"file {path} must be a regular file")
    with path.open("rb") as raw:
        data = raw.read(_MOST_TEXT + 1)
    if path.suffix == ".gz":
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = file.read(_MOST_TEXT + 1)
        except (OSError, EOFError) as error:
            raise ValueError(f"file {path} must be gzip: {error}") from error
    if len(data) > _MOST_TEXT:
        raise ValueError(f"file {path} must have at most {_MOST_TEXT} bytes")
    return data.decode(errors="replace")


def _number(text: str | None, name: str, where: str) -> int:
    text = (text or "").strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise ValueError(f"{where}: {name} must be a whole number from 0 on, not {text[:40]!r}")
    return int(text)
