"""Functions of a package at random, without docstrings: say what each does, then open its file.

Run as ``python -m tests.reading hw``; ``--key`` shows where the same functions are.
"""

import argparse
import ast
import random
import textwrap
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_LEAST_LINES = 5

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(folder: Path) -> Iterator[tuple[Path, Function]]:
    """Functions and methods of at least five lines, by file."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, Function):
                continue
            if (node.end_lineno or 0) - node.lineno + 1 >= _LEAST_LINES:
                yield path, node


def bare(path: Path, node: Function) -> str:
    """Source of a function with its decorators and comments, without its docstring."""
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    kept = set(range(first, (node.end_lineno or 0) + 1))
    if ast.get_docstring(node) is not None:
        text = node.body[0]
        kept -= set(range(text.lineno, (text.end_lineno or 0) + 1))
    lines = path.read_text(encoding="utf-8").splitlines()
    return textwrap.dedent("\n".join(lines[n - 1] for n in sorted(kept)))


def main() -> None:
    """Draw and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", help="spec, models, hw, host, fleet, sim, net, lab or studies")
    parser.add_argument("--seed", type=int, default=28)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--key", action="store_true", help="file, line and name instead")
    asked = parser.parse_args()
    folders = sorted(_ROOT.glob(f"*/precog_{asked.package}"))
    if not folders:
        parser.error(f"package must be one of precog_..., not {asked.package!r}")
    found = list(functions(folders[0]))
    drawn = random.Random(f"{asked.package} {asked.seed}").sample(found, asked.count)
    for number, (path, node) in enumerate(drawn, 1):
        if asked.key:
            print(f"{number} {path.relative_to(_ROOT)}:{node.lineno} {node.name}")
        else:
            print(f"######## {number}\n{bare(path, node)}")


if __name__ == "__main__":
    main()
