"""Checks of a law program's functions, on the intermediate code that numba compiles.

What they refuse would compile and then misbehave silently:

* a store to anything but the flow's state and the event's `WRITTEN` words: flows and threads share
  parameters, and the network's facts stay wrong for all later events;
* a variable that is read where some path has not set it: numba reads what is in the register;
* a constant index beyond the end of an array. The run checks the other indices;
* a function that calls itself, at once or through others. The run counts turns of loops only.

Views are followed through variables and through calls of functions of the same file, not through
results and not into functions of other modules.
"""

import dis
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from numba.core import ir
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.compiler import run_frontend
from numba.core.errors import NotDefinedError, NumbaError, UnsupportedBytecodeError

from precog_sim.network.program_checks import reason

__all__ = ["WRITTEN", "check_bodies"]

#: Words of an event that a law sets in place.
WRITTEN = ("due", "prediction")

_ITEM = "[]"
_DEEPEST = 4  # levels of a view that are followed; recursion could make endless ones
_RETURNED = ("rate", "window")
_WRITERS = ("fill", "sort", "partition", "itemset")

#: A record's letter, a field, and an _ITEM for each index.
_Way = tuple[str, ...]
_Records = Mapping[str, np.dtype[Any]]


def check_bodies(
    name: str, functions: Mapping[str, FunctionType], events: Collection[str], records: _Records
) -> None:
    """Check the functions of a file.

    Parameters
    ----------
    name : str
        The law.
    functions : dict of str to function
    events : collection of str
        Those of them that the network calls, with the records in order.
    records : dict of str to dtype
        By letter: p, s, e and t.

    Raises
    ------
    ValueError
        One does what it must not; the message names the function, the line and the remedy.
    """
    bodies = {key: _Body(name, one, records) for key, one in functions.items()}
    for key, body in bodies.items():
        body.check_set()
        body.refuse_calls([one for one in bodies if key in _reached(bodies, one)])
    for key in events:
        bodies[key].given = [{(letter,)} for letter in records]
    waiting = list(events)
    while waiting:
        for callee, place, ways in bodies[waiting.pop()].followed(functions):
            given = bodies[callee].given
            if place < len(given) and not ways <= given[place]:
                given[place] |= ways
                waiting.append(callee)


def _reached(bodies: Mapping[str, "_Body"], first: str) -> set[str]:
    """A function, and those of the file that it calls, at once or through others."""
    found, waiting = {first}, [first]
    while waiting:
        more = (bodies[waiting.pop()].callees() & bodies.keys()) - found
        found |= more
        waiting += more
    return found


class _Body:
    """One function: what its variables may be views of, and what it does to them."""

    def __init__(self, law: str, function: FunctionType, records: _Records) -> None:
        code = function.__code__
        self.given: list[set[_Way]] = [set() for _ in range(code.co_argcount)]
        self._names = code.co_varnames[: code.co_argcount]
        self._who = f"law {law}: {function.__name__}"
        self._file = Path(code.co_filename).name
        self._records = records
        _refuse_inner_stores(self._who, code)
        try:
            self._blocks = run_frontend(function).blocks
        except NotDefinedError as error:
            raise ValueError(self._unset(error.name, error.loc)) from error
        except (NumbaError, UnsupportedBytecodeError) as error:
            raise ValueError(f"{self._who} cannot be compiled: {reason(error)}") from error
        self._values = {
            one.target.name: one.value
            for block in self._blocks.values()
            for one in block.body
            if isinstance(one, ir.Assign)
        }

    def check_set(self) -> None:
        """Refuse a variable that some path to its use has not set."""
        graph = compute_cfg_from_blocks(self._blocks)
        own = {one.unversioned_name for one in self._targets() if not one.is_temp}
        at_end = dict.fromkeys(self._blocks, own)  # the most; falls to what is certain
        changed = True
        while changed:
            changed = False
            for label, block in self._blocks.items():
                known = self._known(graph, at_end, label)
                known |= {one.unversioned_name for one in _assigned(block)}
                if known & own != at_end[label]:
                    at_end[label] = known & own
                    changed = True
        for label, block in self._blocks.items():
            known = self._known(graph, at_end, label)
            for one in block.body:
                for variable in _read(one):
                    if variable.unversioned_name in own - known:
                        raise ValueError(self._unset(variable.unversioned_name, one.loc))
                if isinstance(one, ir.Assign):
                    known.add(one.target.unversioned_name)

    def _unset(self, variable: str, place: ir.Loc) -> str:
        return (
            f"{self._who} must set {variable} on every path before it reads it "
            f"({self._at(place)}): set it above the if or the loop"
        )

    def _known(self, graph: Any, at_end: Mapping[int, set[str]], label: int) -> set[str]:
        """Variables that every path to a block has set."""
        before = [at_end[one] for one, _ in graph.predecessors(label)]
        return set.intersection(*before) if before else set()

    def _targets(self) -> Iterator[Any]:
        for block in self._blocks.values():
            yield from _assigned(block)

    def followed(self, own: Mapping[str, FunctionType]) -> Iterator[tuple[str, int, set[_Way]]]:
        """Check stores and indices; yield what functions of the file get: name, place, views."""
        ways = self._ways()
        for block in self._blocks.values():
            for one in block.body:
                for way, index in self._touched(one, ways):
                    self._check_index(way, index, one)
                for way in self._written(one, ways):
                    self._check_store(way, one)
                yield from self._calls(one, ways, own)

    def _ways(self) -> dict[str, set[_Way]]:
        """Views by variable."""
        found: dict[str, set[_Way]] = {}
        changed = True
        while changed:
            changed = False
            for block in self._blocks.values():
                for one in block.body:
                    if isinstance(one, ir.Assign):
                        held = found.setdefault(one.target.name, set())
                        more = self._made(one.value, found) - held
                        held |= more
                        changed = changed or bool(more)
        return found

    def _made(self, value: Any, found: Mapping[str, set[_Way]]) -> set[_Way]:
        """What an assigned value is a view of."""
        if isinstance(value, ir.Arg):
            return self.given[value.index] if value.index < len(self.given) else set()
        if isinstance(value, ir.Var):
            return found.get(value.name, set())
        kind = _op(value)
        if kind in ("getiter", "pair_first", "cast", "exhaust_iter"):
            return found.get(value.value.name, set())
        if kind in ("getattr", "getitem", "static_getitem", "iternext"):
            step = value.attr if kind == "getattr" else _ITEM
            return {(*one, step)[:_DEEPEST] for one in found.get(value.value.name, set())}
        return found.get(value.lhs.name, set()) if kind == "inplace_binop" else set()

    def _touched(self, one: Any, ways: Mapping[str, set[_Way]]) -> Iterator[tuple[_Way, Any]]:
        """Views that a statement indexes, and with what."""
        if isinstance(one, ir.SetItem):
            array, index = one.target, one.index
        elif isinstance(one, ir.Assign) and _op(one.value) == "getitem":
            array, index = one.value.value, one.value.index
        else:
            return
        for way in ways.get(array.name, ()):
            yield way, index

    def _written(self, one: Any, ways: Mapping[str, set[_Way]]) -> Iterator[_Way]:
        """Views that a statement writes."""
        if isinstance(one, ir.SetAttr):
            yield from ((*way, one.attr) for way in ways.get(one.target.name, ()))
        elif isinstance(one, ir.SetItem):
            yield from ((*way, _ITEM) for way in ways.get(one.target.name, ()))
        elif isinstance(one, ir.Assign) and _op(one.value) == "inplace_binop":
            for way in ways.get(one.value.lhs.name, ()):
                if self._shape(way):  # a number is copied, an array is changed in place
                    yield way
        elif isinstance(one, ir.Assign) and _op(one.value) == "call":
            for way in ways.get(one.value.func.name, ()):
                if way[-1] in _WRITERS:
                    yield way[:-1]

    def _calls(
        self, one: Any, ways: Mapping[str, set[_Way]], own: Mapping[str, FunctionType]
    ) -> Iterator[tuple[str, int, set[_Way]]]:
        """What functions of the file get from a statement."""
        callee = self._callee(one)
        if callee not in own:
            return
        names = own[callee].__code__.co_varnames
        named = [(names.index(key), value) for key, value in one.value.kws if key in names]
        places = [*enumerate(one.value.args), *named]
        for place, argument in places:
            yield callee, place, ways.get(argument.name, set())

    def _callee(self, one: Any) -> str:
        """The global function that a statement calls; empty: none."""
        if not isinstance(one, ir.Assign) or _op(one.value) != "call":
            return ""
        called = self._values.get(one.value.func.name)
        return str(called.name) if isinstance(called, ir.Global) else ""

    def callees(self) -> set[str]:
        """Global functions that it calls."""
        return {self._callee(one) for block in self._blocks.values() for one in block.body}

    def refuse_calls(self, callees: Collection[str]) -> None:
        """Refuse a call of one of the functions, which call this one."""
        for block in self._blocks.values():
            for one in block.body:
                callee = self._callee(one)
                if callee in callees:
                    raise ValueError(
                        f"{self._who} must not call itself, here by {callee} "
                        f"({self._at(one.loc)}): write a loop with a bound"
                    )

    def _check_store(self, way: _Way, one: Any) -> None:
        letter, *fields = way
        if letter == "s" or (letter == "e" and fields and fields[0] in WRITTEN):
            return
        remedy = {
            "p": "all flows share parameters; keep what changes in s, with a row of STATE",
            "e": "the network sets it; keep your own value in s, with a row of STATE",
            "t": "it is the packet's; keep your own value in s, with a row of STATE",
        }[letter]
        if letter == "e" and fields and fields[0] in _RETURNED:
            remedy = "return it"
        raise ValueError(f"{self._who} must not write {_text(way)} ({self._at(one.loc)}): {remedy}")

    def _check_index(self, way: _Way, index: Any, one: Any) -> None:
        for value, length in zip(self._constants(index), self._shape(way), strict=False):
            if value is not None and not -length <= value < length:
                raise ValueError(
                    f"{self._who} must index {_text(way)} in 0..{length - 1}, not {value} "
                    f"({self._at(one.loc)}): change the index, or the length in its row"
                )

    def _shape(self, way: _Way) -> tuple[int, ...]:
        """Lengths of an array; none of a number, or where they are not known."""
        fields: Mapping[str, Any] = self._records[way[0]].fields or {}
        if len(way) != 2 or way[1] not in fields:
            return ()
        return tuple(fields[way[1]][0].shape)

    def _constants(self, index: Any) -> list[int | None]:
        """Values of an index by dimension; None where it is not constant."""
        value: Any = self._values.get(index.name)
        if _op(value) == "build_tuple":
            return [part for one in value.items for part in self._constants(one)]
        constant = index.is_temp and isinstance(value, ir.Const | ir.Global)
        return [value.value if constant and isinstance(value.value, int) else None]

    def _at(self, place: ir.Loc) -> str:
        return f"{self._file}, line {place.line}"


def _op(value: Any) -> str:
    return str(value.op) if isinstance(value, ir.Expr) else ""


def _refuse_inner_stores(who: str, code: CodeType) -> None:
    """Refuse functions within a function that store: their variables are not followed."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            _refuse_inner_stores(who, inner)
            for one in dis.get_instructions(inner):
                if one.opname in ("STORE_ATTR", "STORE_SUBSCR"):
                    raise ValueError(
                        f"{who} must not write {one.argval or 'an item'} in its inner function "
                        f"{inner.co_name} ({Path(inner.co_filename).name}, line "
                        f"{inner.co_firstlineno}): move that function out of it"
                    )


def _assigned(block: Any) -> Iterator[Any]:
    return (one.target for one in block.body if isinstance(one, ir.Assign))


def _read(one: Any) -> Iterator[Any]:
    """Variables that a statement reads."""
    if isinstance(one, ir.Del):
        return
    target = one.target if isinstance(one, ir.Assign) else None
    yield from (variable for variable in one.list_vars() if variable is not target)


def _text(way: _Way) -> str:
    """A view as a program names it."""
    return ".".join(way).replace(f".{_ITEM}", "[…]")
