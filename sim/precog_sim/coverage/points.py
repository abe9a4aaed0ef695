"""Verilator's coverage files, and the modules of the Verilog that they are of.

A point is a branch or a block of statements (``--coverage-line``): the two sides of every ``?:``
and ``if``, every item of a ``case``. Amaranth's Verilog has a module for each component instance;
the same text in two builds, under the same name, is the same module.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

__all__ = ["Module", "Point", "distinct", "merged"]

_POINT = re.compile(r"C '(.*)' (\d+)")
_MODULE = re.compile(r"^module (?:\\(\S+) |(\w+))\(.*?^endmodule", re.M | re.S)

#: What yosys writes into every ``always @*``, so that simulators run it once, and choices by a
#: constant.
_EMPTY = re.compile(r"if \(\\\$auto\$verilog_backend\S+ \) begin end|= 1'h[01] \? ")

#: A name that yosys or Amaranth has numbered, or a path: two builds number their wires differently.
_NUMBERED = re.compile(r"\\\S+|\$\S+|\b[A-Za-z_]\w*\$\S*|\b_\d+_\b")
_SPACES = re.compile(r"\s+")

#: Line within the module from 1, column, which branch.
Point = tuple[int, int, str]


@dataclass
class Module:
    """One text of a module, with the counts of all builds that have it.

    Attributes
    ----------
    name : str
        Path of its instance, without the top.
    lines : list of str
    counts : Counter of Point
        How often each point was passed, zeros among them.
    """

    name: str
    lines: list[str]
    counts: Counter[Point] = field(default_factory=Counter)

    @property
    def covered(self) -> int:
        """Points that were passed."""
        return sum(count > 0 for count in self.counts.values())

    @cached_property
    def text(self) -> tuple[str, ...]:
        """Its lines without the names that builds number, sorted: their order depends on those."""
        body = "\n".join(self.lines[1:])
        return tuple(sorted(_SPACES.sub(" ", x) for x in _NUMBERED.sub("@", body).split("\n")))


def distinct(modules: Iterable[Module]) -> list[Module]:
    """Of modules that differ in numbered names alone, the one of which most was passed.

    Its points are a lower bound: which of them are another's is not known, so that what only the
    tests of another build pass does not count.
    """
    best: dict[tuple[str, tuple[str, ...]], Module] = {}
    for module in modules:
        key = module.name, module.text
        if key not in best or best[key].covered < module.covered:
            best[key] = module
    return list(best.values())


def merged(folder: Path, builds: Path) -> list[Module]:
    """All modules, with all counts in `folder`.

    Parameters
    ----------
    folder : Path
        Files ``<build>-<process>-<number>.dat``.
    builds : Path
        Folder of builds, each with its Verilog.

    Raises
    ------
    ValueError
        There are no counts, or a point is outside all modules of its build's Verilog.
    """
    found: dict[tuple[str, str], Module] = {}
    files = sorted(folder.glob("*.dat"))
    if not files:
        raise ValueError(f"{folder} must have .dat files of a run with PRECOG_COVERAGE={folder}")
    by_build: dict[str, list[Path]] = {}
    for path in files:
        by_build.setdefault(path.name.split("-")[0], []).append(path)
    for build, counted in by_build.items():
        (source,) = (builds / build).glob("*.v")
        places = _places(source.read_text(), found)
        for path in counted:
            for line, column, branch, count in _read(path.read_text()):
                if line not in places:
                    raise ValueError(f"{source}:{line} must be in a module, as {path} says")
                module, first = places[line]
                if _EMPTY.search(module.lines[line - first]):
                    continue
                module.counts[line - first + 1, column, branch] += count
    return sorted(found.values(), key=lambda module: module.name)


def _places(text: str, found: dict[tuple[str, str], Module]) -> dict[int, tuple[Module, int]]:
    """Line of a build's Verilog: its module and the line where that begins."""
    places: dict[int, tuple[Module, int]] = {}
    for match in _MODULE.finditer(text):
        name = match[1] or match[2]
        module = found.setdefault((name, match[0]), Module(_instance(name), match[0].splitlines()))
        first = text.count("\n", 0, match.start()) + 1
        places |= {first + n: (module, first) for n in range(len(module.lines))}
    return places


def _instance(name: str) -> str:
    """`top.core.rate$7` is the instance `core.rate`; the top, and the NIC in it, are `nic`."""
    path = ".".join(part.partition("$")[0] for part in name.split(".")[1:])
    return path.removeprefix("inner").lstrip(".") or "nic"


def _read(text: str) -> Iterator[tuple[int, int, str, int]]:
    for keys, count in _POINT.findall(text):
        told = dict(part.split("\2", 1) for part in keys.split("\1") if part)
        yield int(told["l"]), int(told["n"]), told["o"], int(count)
