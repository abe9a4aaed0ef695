"""The shape of the sources: packages, who imports whom, lengths of functions, widths of calls.

Usage::

    python -m tests.structure                    # as `make test` prints it
    python -m tests.structure --before FOLDER    # and lines of another checkout
"""

import argparse
import ast
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from precog_spec.markdown import table
from precog_spec.registers.blocks import BLOCKS

__all__ = [
    "ALLOWED",
    "LONG_FUNCTION",
    "PACKAGES",
    "PARTS",
    "ROOT",
    "arrows",
    "circle",
    "facts",
    "imports",
    "module_name",
    "report",
    "violations",
]

ROOT = Path(__file__).parents[1]
PARTS = ("hw", "models", "sim", "sw", "tests")
PACKAGES = {
    "precog_hw": ROOT / "hw/precog_hw",
    "precog_spec": ROOT / "models/precog_spec",
    "precog_models": ROOT / "models/precog_models",
    "precog_host": ROOT / "sw/precog_host",
    "precog_fleet": ROOT / "sw/precog_fleet",
    "precog_net": ROOT / "sim/precog_net",
    "precog_sim": ROOT / "sim/precog_sim",
    "precog_lab": ROOT / "sim/precog_lab",
    "precog_studies": ROOT / "sim/precog_studies",
}
#: Package: which of our modules it may import.
ALLOWED = {
    "precog_spec": ("precog_spec",),
    "precog_models": ("precog_models", "precog_spec"),
    "precog_hw": ("precog_hw", "precog_spec"),
    "precog_host": ("precog_host", "precog_models", "precog_spec"),
    "precog_fleet": ("precog_fleet", "precog_host", "precog_models", "precog_spec"),
    # The event loop is the only part of precog_sim that it needs.
    "precog_net": (
        "precog_net",
        "precog_fleet.errors",
        "precog_fleet.runner",  # other processes and machines
        "precog_host",
        "precog_models",
        "precog_sim.network",
        "precog_spec",
    ),
    "precog_sim": tuple(PACKAGES),
    "precog_lab": tuple(PACKAGES),
    "precog_studies": tuple(PACKAGES),
}
LONG_FUNCTION = 100  # lines
_LAYERS = ("option", "registers", "gateware", "model", "emulator", "driver", "command")


@dataclass(frozen=True)
class Facts:
    """What one file is made of.

    Attributes
    ----------
    lines : int
    functions : tuple of (int, str)
        Lines and name of each, decorators and docstring included.
    packed : tuple of int
        Lines with several assignments in one starred tuple: ``*(a.eq(b), c.eq(d))``.
    imported : tuple of (int, int, str)
        Line, dots, and module with name.
    by_place, by_name : int
        The most arguments of a call that are given by their place, and by their name.
    """

    lines: int
    functions: tuple[tuple[int, str], ...]
    packed: tuple[int, ...]
    imported: tuple[tuple[int, int, str], ...]
    by_place: int
    by_name: int


@cache
def facts(text: str) -> Facts:
    """Of a source text; a file's is parsed once for all tests."""
    functions: list[tuple[int, str]] = []
    packed: list[int] = []
    imported: list[tuple[int, int, str]] = []
    by_place = by_name = 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(made.lineno for made in node.decorator_list)])
            functions.append(((node.end_lineno or 0) - first + 1, node.name))
        elif isinstance(node, ast.Starred) and isinstance(node.value, ast.Tuple | ast.List):
            if any(_assigns(made) for made in node.value.elts):
                packed.append(node.lineno)
        elif isinstance(node, ast.Import):
            imported += [(node.lineno, 0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            of = node.module or ""
            imported += [
                (node.lineno, node.level, f"{of}.{alias.name}".lstrip(".")) for alias in node.names
            ]
        elif isinstance(node, ast.Call):
            by_place = max(by_place, len(node.args))
            by_name = max(by_name, len(node.keywords))
    return Facts(
        text.count("\n"),
        tuple(functions),
        tuple(packed),
        tuple(imported),
        by_place,
        by_name,
    )


def _assigns(made: ast.expr) -> bool:
    call = made.func if isinstance(made, ast.Call) else None
    return isinstance(call, ast.Attribute) and call.attr == "eq"


def module_name(path: Path) -> str:
    """Dotted name of a source file."""
    for name, folder in PACKAGES.items():
        if path.is_relative_to(folder):
            parts = path.relative_to(folder).with_suffix("").parts
            return ".".join((name, *(part for part in parts if part != "__init__")))
    raise ValueError(f"path must lie in a package, not {path}")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, absolute module) of everything that a file imports, at any depth."""
    own = module_name(path)
    package = own if path.name == "__init__.py" else own.rpartition(".")[0]
    for line, dots, module in facts(path.read_text()).imported:
        above = package.split(".")[: len(package.split(".")) - dots + 1] if dots else []
        yield line, ".".join((*above, module))


def violations(path: Path) -> list[str]:
    """What a file imports and must not."""
    allowed = ALLOWED[module_name(path).partition(".")[0]]
    ours = (*PACKAGES, "tests")
    return [
        f"{path}:{line} imports {module}"
        for line, module in imports(path)
        if module.split(".")[0] in ours
        and not any(module == ok or module.startswith(f"{ok}.") for ok in allowed)
    ]


def arrows() -> dict[str, set[str]]:
    """Module: those of ours that it imports, for type checkers and inside functions, too."""
    files = [path for folder in PACKAGES.values() for path in folder.rglob("*.py")]
    names = {module_name(path) for path in files}
    found = {}
    for path in files:
        reached = {name if name in names else name.rpartition(".")[0] for _, name in imports(path)}
        found[module_name(path)] = (reached & names) - {module_name(path)}
    return found


def circle(of: dict[str, set[str]]) -> list[str]:
    """A circle of modules that import each other; empty if there is none."""
    try:
        TopologicalSorter(of).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@dataclass(frozen=True)
class Part:
    """A package, or all tests."""

    name: str
    files: int
    lines: int
    functions: int
    long: int  #: functions of more than 100 lines
    longest: int  #: lines of the longest
    by_place: int  #: arguments of its widest call, by their place
    by_name: int  #: and by their name, as a record's


def _part(name: str, folder: Path) -> Part:
    found = [facts(path.read_text()) for path in folder.rglob("*.py")]
    sizes = [size for one in found for size, _ in one.functions]
    return Part(
        name=name,
        files=len(found),
        lines=sum(one.lines for one in found),
        functions=len(sizes),
        long=sum(size > LONG_FUNCTION for size in sizes),
        longest=max(sizes, default=0),
        by_place=max((one.by_place for one in found), default=0),
        by_name=max((one.by_name for one in found), default=0),
    )


def parts(root: Path) -> list[Part]:
    """Packages and tests of a checkout."""
    folders = {name: root / path.relative_to(ROOT) for name, path in PACKAGES.items()}
    made = folders | {"tests": root / "tests"}
    return [_part(name, folder) for name, folder in made.items() if folder.is_dir()]


def report(before: Path | None = None) -> str:
    """Tables in Markdown; `before` is another checkout, whose lines stand in a column."""
    found = arrows()
    between = Counter(
        (name.partition(".")[0], other.partition(".")[0])
        for name, reached in found.items()
        for other in reached
    )
    exceptions = sum(
        len(violations(path)) for folder in PACKAGES.values() for path in folder.rglob("*.py")
    )
    old = {one.name: one for one in parts(before)} if before is not None else {}
    head = ["package", "files", "lines", *(["lines before"] if old else []), "functions"]
    head += ["over 100 lines", "longest", "widest call by place", "by name", "imports"]
    rows: list[list[object]] = []
    for one in parts(ROOT):
        row: list[object] = [one.name, one.files, one.lines]
        if old:
            row.append(old[one.name].lines if one.name in old else "")
        row += [one.functions, one.long, one.longest, one.by_place, one.by_name]
        names = [name for name in PACKAGES if name != one.name and (one.name, name) in between]
        rows.append([*row, ", ".join(name.removeprefix("precog_") for name in names)])
    text = [table(head, rows)]
    if old:
        lines = sum(one.lines for one in old.values())
        long = sum(one.long for one in old.values())
        wide = max(one.by_place for one in old.values())
        text += [
            "",
            f"Before: {lines} lines, {long} functions over 100 lines, widest call {wide} by place.",
        ]
    text += ["", f"{len(found)} modules, {sum(map(len, found.values()))} arrows between them,"]
    text += [f"{exceptions} exceptions, {len(circle(found))} modules in a circle.", ""]
    others = sum(len(block.other_names) for block in BLOCKS)
    text += [f"{len(BLOCKS)} blocks, {others} names that are not their block's:", ""]
    blocks = ([block.name, *(getattr(block, layer) for layer in _LAYERS)] for block in BLOCKS)
    return "\n".join([*text, table(["block", *_LAYERS], blocks)])


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m tests.structure", description=__doc__)
    parser.add_argument("--before", type=Path, help="root of another checkout")
    parser.add_argument("--json", action="store_true", help="packages alone, for machines")
    given = parser.parse_args()
    if given.before is not None and not (given.before / "hw").is_dir():
        parser.error(f"before must be a checkout of Precog, not {given.before}")
    if given.json:
        print(json.dumps([asdict(one) for one in parts(ROOT)], indent=1))
    else:
        print(report(given.before))


if __name__ == "__main__":
    main()
