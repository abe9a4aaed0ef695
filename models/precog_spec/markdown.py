"""Tables of the pages in Markdown that programs write."""

from collections.abc import Iterable

__all__ = ["row", "table"]


def row(cells: Iterable[object]) -> str:
    """One line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def table(head: Iterable[object], rows: Iterable[Iterable[object]], sides: str = "") -> str:
    """A table, without a newline at its end.

    `sides` has a letter for each column from the first on: `r` moves its cells to the right side.
    """
    titles = list(head)
    rule = ("---:" if side == "r" else "---" for side in sides.ljust(len(titles)))
    return "\n".join([row(titles), row(rule), *map(row, rows)])
