"""What was synthesised, on disk: a list of lines, each named by its block and its size."""

import json
from pathlib import Path
from typing import Any

__all__ = ["SIZES", "name_of", "recorded", "update"]

#: What a line's size is: each line has one of these.
SIZES = ("lanes", "width", "qps")


def name_of(line: dict[str, Any]) -> tuple[int, str, int]:
    """Kind, block and size of a line: its name, by which lines are sorted, too."""
    kind = next(i for i, size in enumerate(SIZES) if size in line)
    return kind, str(line["block"]), int(line[SIZES[kind]])


def recorded(path: Path) -> list[dict[str, Any]]:
    """The lines at `path`; none, if there is no such file.

    Raises
    ------
    ValueError
        It is no list of lines, each with a block and a size.
    """
    if not path.exists():
        return []
    try:
        lines: list[dict[str, Any]] = json.loads(path.read_text())
        for line in lines:
            name_of(line)
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise ValueError(
            f"{path} must be a list of lines, each with a block and one of {', '.join(SIZES)}: "
            "move it away, or write elsewhere"
        ) from error
    return lines


def update(path: Path, lines: list[dict[str, Any]]) -> None:
    """Put `lines` into the list at `path`; those that are not among them stay as they were.

    Raises
    ------
    ValueError
        As for `recorded`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    by_name = {name_of(line): line for line in [*recorded(path), *lines]}
    path.write_text(json.dumps([by_name[name] for name in sorted(by_name)], indent=1) + "\n")
