"""A file of records: some of their fields as arrays, the others as JSON, in one ``.npz``."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..durable import write_durably

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["load_records", "save_records"]

_Record = TypeVar("_Record")


def save_records(
    path: str | Path,
    records: "Sequence[DataclassInstance]",
    columns: Mapping[str, str],
    heads: str,
) -> None:
    """Write records to a compressed ``.npz`` file.

    Parameters
    ----------
    path : str or Path
    records : sequence of dataclass instances
    columns : mapping of str to str
        Fields that are arrays, and the integers as which they are stored.
    heads : str
        The other fields' name in the file, by which one kind of file is told from another.
    """
    arrays: dict[str, NDArray[Any]] = {}
    others = []
    for i, record in enumerate(records):
        others.append({k: v for k, v in asdict(record).items() if k not in columns})
        for name, kind in columns.items():
            arrays[f"{name}_{i}"] = getattr(record, name).astype(kind)
    text = np.frombuffer(json.dumps(others).encode(), dtype=np.uint8)
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **{heads: text}, **arrays)
    write_durably(path, packed.getvalue())


def load_records(
    path: str | Path,
    make: Callable[..., _Record],
    columns: Mapping[str, str],
    heads: str,
    what: str,
) -> list[_Record]:
    """What `save_records` wrote.

    Parameters
    ----------
    path : str or Path
    make : callable
        Makes a record of its fields; arrays are int64.
    columns, heads
        As they were written.
    what : str
        For the error: what a file of these holds.

    Raises
    ------
    ValueError
        The file is not one of these, or a record is refused.
    """
    if Path(path).is_file() and not zipfile.is_zipfile(path):
        raise ValueError(f"{path} must be a file of {what}: it is no NumPy archive (.npz)")
    try:
        # Opened here, not by numpy, which leaves a file that it cannot read open.
        with Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            return [
                make(**head, **{name: file[f"{name}_{i}"].astype(np.int64) for name in columns})
                for i, head in enumerate(json.loads(file[heads].tobytes()))
            ]
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} must be a file of {what}: {error}") from error
