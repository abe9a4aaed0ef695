"""Statements of Verilated code that differ in names only become loops over arrays.

A lane of an array of multipliers is, in Verilator's C++, some assignments to members of the model's
class, and the next lane is the same assignments to other members. A compiler translates each lane
by itself, since the members lie where Verilator's sorting put them. Here the members at one
place of such assignments become an array, and the assignments a loop, which it vectorises.

Nothing else changes: assignments are reordered only where none reads or writes what another one
writes, and code that is not understood stays as it is.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["reroll"]

#: Fewer assignments than this stay as they are.
SHORTEST = 4

_FUNCTION = re.compile(r"^void (\w+___\w+)\((\w+)\* vlSelf\) \{\n.*?^\}\n", re.M | re.S)
_MEMBER = re.compile(r"^ +(CData|SData|IData|QData)/\*\d+:0\*/ (\w+);\n", re.M)
_NAME = re.compile(r"\b[A-Za-z_]\w*\b(?!\s*\()")
_OURS = re.compile(r"vlSelfRef\.(\w+)\b")
_ASSIGNMENT = re.compile(r"vlSelfRef\.(\w+)\s+= (.*);", re.S)
_BODY = "    // Body\n"
_OTHER = {"vlSelfRef", "CData", "SData", "IData", "QData"}  # names of no variable
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
#: What looks like a call and changes none of its arguments; of Verilator's functions, those of
#: numbers of at most 64 bits.
_PURE = re.compile(r"[CSIQ]Data|if|VL_[A-Z]+_[IQ]+")
_CHANGE = re.compile(r"\+\+|--|[-+*/%&|^]=|<<=|>>=")
_INDEX = re.compile(r"\[[^][]*\]")
_TARGET = re.compile(r"\b(\w+)\s*=(?!=)")
#: What no other statement may pass: it may touch the model in ways that its text does not say.
_BARRIER = re.compile(r"\bvlSelf\b|\bvlSymsp\b|^\s*(?:const |auto|return|for|while|goto)")


@dataclass
class _Statement:
    """One statement at a function's top level.

    `target` is None for all but plain assignments to a scalar member; of those `shape` is the text
    without names and `names` are the members in their places, the target first.
    """

    text: str
    reads: set[str]
    writes: set[str]
    target: str | None = None
    shape: str = ""
    names: tuple[str, ...] = ()
    level: int = 0


@dataclass
class _Arrays:
    """Where members are that have become elements: array and index."""

    types: dict[str, str]
    place: dict[str, tuple[int, int]] = field(default_factory=dict)
    arrays: list[list[str]] = field(default_factory=list)

    def add(self, column: list[str]) -> None:
        """Make an array of the members of `column`, unless one of them is in one already."""
        names = list(dict.fromkeys(column))
        if len(names) < SHORTEST or any(name in self.place for name in names):
            return
        if len({self.types[name] for name in names}) > 1:
            return
        for index, name in enumerate(names):
            self.place[name] = len(self.arrays), index
        self.arrays.append(names)

    def follows(self, before: str, name: str) -> bool:
        """Whether `name` is the element after `before`."""
        if before not in self.place or name not in self.place:
            return False
        array, index = self.place[before]
        return self.place[name] == (array, index + 1)


def reroll(model: Path, prefix: str) -> int:
    """Rewrite the generated code in folder `model`; the number of assignments now in loops.

    Parameters
    ----------
    model : Path
        Verilator's output.
    prefix : str
        Of its files.
    """
    root = f"{prefix}___024root"
    header = model / f"{root}.h"
    text = header.read_text()
    types = {name: kind for kind, name in _MEMBER.findall(text)}
    fast = [path for path in model.glob(f"{root}__*.cpp") if "Slow" not in path.name]
    sources = {path: path.read_text() for path in fast}
    bodies = {}
    for source in sources.values():
        for function in _FUNCTION.finditer(source):
            parts = _parts(function[0], types)
            if parts:
                bodies[function[1]] = parts
    groups = [
        group
        for segments in bodies.values()
        for segment in segments
        for group in _groups(segment)
        if len(group) >= SHORTEST
    ]
    arrays = _Arrays(types)
    for group in sorted(groups, key=len, reverse=True):
        group.sort(key=lambda s: [arrays.place.get(s.names[0], (-1, 0)), _natural(s.names[0])])
        for column in zip(*(s.names for s in group), strict=True):
            arrays.add(list(column))
    count = 0

    def rewritten(function: re.Match[str]) -> str:
        nonlocal count
        if function[1] not in bodies:
            return function[0]
        lines = []
        for segment in bodies[function[1]]:
            for group in _groups(segment):
                made, looped = _emit(group, arrays)
                lines += made
                count += looped
        return function[0][: function[0].index(_BODY)] + _BODY + "\n".join(lines) + "\n}\n"

    new_names = {name: f"lanes_{array}[{index}]" for name, (array, index) in arrays.place.items()}

    def renamed(source: str) -> str:
        return re.sub(r"\b[A-Za-z_]\w*\b", lambda found: new_names.get(found[0], found[0]), source)

    for path in model.glob(f"{root}__*.cpp"):
        source = sources.get(path) or path.read_text()
        if path in sources:
            source = _FUNCTION.sub(rewritten, source)
        path.write_text(renamed(source))
    declared: set[int] = set()

    def declaration(member: re.Match[str]) -> str:
        if member[2] not in arrays.place:
            return member[0]
        array = arrays.place[member[2]][0]
        if array in declared:
            return ""
        declared.add(array)
        return f"        alignas(64) {member[1]} lanes_{array}[{len(arrays.arrays[array])}];\n"

    header.write_text(_MEMBER.sub(declaration, text))
    return count


def _parts(function: str, types: dict[str, str]) -> list[list[_Statement]] | None:
    """A function's statements, in segments across which nothing may move; None: leave it."""
    if _BODY not in function:
        return None
    body = function[function.index(_BODY) + len(_BODY) : -2]
    segments: list[list[_Statement]] = [[]]
    for text in _statements(body):
        if _BARRIER.search(text):
            segments += [[_Statement(text, set(), set())], []]
        else:
            segments[-1].append(_statement(text, types))
    if not any(s.target for segment in segments for s in segment):
        return None
    for segment in segments:
        _remove_dead(segment)
        _set_levels(segment)
    return segments


def _statements(body: str) -> list[str]:
    """`body` cut after each statement of its top level."""
    found, depth, start = [], 0, 0
    for token in re.finditer(r"[{};]", body):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth or token[0] == "{" or re.match(r"\s*else\b", body[token.end() :]):
            continue
        text = body[start : token.end()]
        if token[0] == "}" and re.match(r"\s*;", body[token.end() :]):
            continue
        found.append(text.strip("\n"))
        start = token.end()
    if body[start:].strip():
        found.append(body[start:].strip("\n"))
    return found


def _statement(text: str, types: dict[str, str]) -> _Statement:
    names = set(_NAME.findall(text)) - _OTHER
    if any(not _PURE.fullmatch(call) for call in _CALL.findall(text)) or _CHANGE.search(text):
        return _Statement(text, names, names)
    assignment = _ASSIGNMENT.fullmatch(text.strip())
    if assignment is None or assignment[1] not in types or ";" in text.strip()[:-1]:
        without, found = text, 1
        while found:
            without, found = _INDEX.subn("", without)
        return _Statement(text, names, set(_TARGET.findall(without)))
    target, source = assignment.groups()
    scalars = tuple(name for name in _OURS.findall(source) if name in types)
    shape = _OURS.sub(
        lambda found: f"@{types[found[1]]}" if found[1] in types else found[0], source
    )
    shape = f"{types[target]} = {' '.join(shape.split())}"
    reads = set(_NAME.findall(source)) - _OTHER
    return _Statement(text, reads, {target}, target, shape, (target, *scalars))


def _remove_dead(segment: list[_Statement]) -> None:
    """Drop assignments to what is assigned again before anyone reads it."""
    overwritten: set[str] = set()
    kept = []
    for statement in reversed(segment):
        if statement.target and statement.target in overwritten:
            continue
        kept.append(statement)
        if statement.target:
            overwritten.add(statement.target)
        overwritten -= statement.reads
    segment[:] = reversed(kept)


def _set_levels(segment: list[_Statement]) -> None:
    """Each statement's level is above that of all earlier ones that it must follow."""
    written: dict[str, int] = defaultdict(int)
    read: dict[str, int] = defaultdict(int)
    for statement in segment:
        before = [written[name] for name in statement.reads | statement.writes]
        before += [read[name] for name in statement.writes]
        statement.level = 1 + max(before, default=0)
        for name in statement.reads:
            read[name] = max(read[name], statement.level)
        for name in statement.writes:
            written[name] = statement.level


def _groups(segment: list[_Statement]) -> list[list[_Statement]]:
    """`segment` in an order that keeps its meaning, statements of one shape and level together."""
    found: dict[tuple[int, str], list[_Statement]] = defaultdict(list)
    for n, statement in enumerate(segment):
        found[statement.level, statement.shape or f"#{n}"].append(statement)
    return [found[key] for key in sorted(found, key=lambda key: key[0])]


def _natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts numbers in names as numbers."""
    parts = re.split(r"(\d+)", name.replace("__024", "$"))
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _emit(group: list[_Statement], arrays: _Arrays) -> tuple[list[str], int]:
    """The statements' text, runs of them as loops; how many are in loops."""
    if len(group) < SHORTEST or any(s.names[0] not in arrays.place for s in group):
        return [s.text for s in group], 0
    group = sorted(group, key=lambda s: arrays.place[s.names[0]])
    lines, looped, start = [], 0, 0
    while start < len(group):
        first = group[start]
        fixed: list[bool | None] = [None] * len(first.names)  # a place's member stays, or advances
        end = start + 1
        while end < len(group):
            steps = list(zip(group[end - 1].names, group[end].names, strict=True))
            kinds = [True if a == b else False if arrays.follows(a, b) else None for a, b in steps]
            if kinds[0] is not False or None in kinds:
                break
            if any(f is not None and f != k for f, k in zip(fixed, kinds, strict=True)):
                break
            fixed = list(kinds)
            end += 1
        if end - start >= SHORTEST:
            lines.append(_loop(first, end - start, fixed, arrays))
            looped += end - start
        else:
            lines += [s.text for s in group[start:end]]
        start = end
    return lines, looped


def _loop(first: _Statement, count: int, fixed: list[bool | None], arrays: _Arrays) -> str:
    """`count` statements like `first` as one loop.

    All is read before anything is decided: a compiler vectorises no load that a condition guards.
    """
    values: dict[str, tuple[str, str]] = {}  # what is read: its name and type
    places = iter(fixed[1:])

    def value(found: re.Match[str]) -> str:
        if found[1] not in arrays.types:
            return found[0]
        at = found[0]
        if not next(places):
            array, index = arrays.place[found[1]]
            at = f"vlSelfRef.lanes_{array}[{index} + lane]"
        return values.setdefault(at, (f"value_{len(values)}", arrays.types[found[1]]))[0]

    source = _ASSIGNMENT.fullmatch(first.text.strip())
    assert source is not None
    result = _OURS.sub(value, source[2])
    array, index = arrays.place[first.names[0]]
    reads = [f"const {kind} {name} = {at};" for at, (name, kind) in values.items()]
    lines = [*reads, f"vlSelfRef.lanes_{array}[{index} + lane] = {result};"]
    body = "\n        ".join(lines)
    return f"    for (int lane = 0; lane < {count}; ++lane) {{\n        {body}\n    }}"
