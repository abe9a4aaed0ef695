"""How studies end: figures for machines, a page for people."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from precog_models.durable import write_durably

__all__ = ["finish", "write_record"]


def write_record(record: Path, said: Mapping[str, Any]) -> None:
    """Write the figures, for machines.

    Raises
    ------
    ValueError
        A figure is not finite.
    OSError
        The disk does not take it; the file is then as it was.
    """
    text = json.dumps(said, indent=1, allow_nan=False) + "\n"
    write_durably(record, text.encode(), made=True)


def finish(record: Path, page: Path | None, text: Callable[[], str]) -> int:
    """Write `text` as the page, if there is one, and name the record. Exit status: 0."""
    if page is not None:
        write_durably(page, text().encode(), made=True)
    print(f"figures: {record}")
    return 0
