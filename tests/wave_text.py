"""The last changes of signals in a VCD file, as text: for machines without a display.

Run as ``python -m tests.wave_text FILE.vcd 'adjuster.states.*addr'``.
"""

import argparse
import re
from pathlib import Path

__all__ = ["last_changes"]


def last_changes(path: Path, pattern: str, count: int) -> list[str]:
    """Lines of a signal's path and its last changes, ``time=value``, times in the file's unit.

    Parameters
    ----------
    path : Path
    pattern : str
        Regular expression that is searched in the path of a signal, as ``top.adjuster.step``.
    count : int
        Most changes of a signal.
    """
    scope: list[str] = []
    names: dict[str, list[str]] = {}
    changes: dict[str, list[str]] = {}
    time = "0"
    for line in path.read_text().splitlines():
        words = line.split()
        if words[:1] == ["$scope"]:
            scope.append(words[2])
        elif words[:1] == ["$upscope"]:
            scope.pop()
        elif words[:1] == ["$var"]:
            # Amaranth escapes names with dots, and numbers those that occur twice.
            name = re.sub(r"\$\d+(?=\W|$)", "", words[4].lstrip("\\"))
            names.setdefault(words[3], []).append(".".join([*scope, name]))
        elif line.startswith("#"):
            time = line[1:]
        elif change := re.fullmatch(r"(?:b([01xz]+) |([01xz])|s(\S+) )(\S+)", line):
            vector, bit, word, code = change.groups()
            value = word or vector or bit
            if vector and set(vector) <= {"0", "1"}:
                value = str(int(vector, 2))
            changes.setdefault(code, []).append(f"{time}={value}")
    return [
        f"{name}: {' '.join(changes.get(code, [])[-count:])}"
        for code, those in names.items()
        for name in those
        if re.search(pattern, name)
    ]


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("pattern", help="regular expression, searched in each signal's path")
    parser.add_argument("--count", type=int, default=4, help="most changes of a signal")
    asked = parser.parse_args()
    print("\n".join(last_changes(asked.file, asked.pattern, asked.count)))


if __name__ == "__main__":
    main()
