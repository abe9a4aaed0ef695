"""Mistakes in a file's text, one at a time, found in its syntax tree.

Only what functions compute is changed: no port's width (``__init__``), no message of an error or an
assertion, no annotation, no default, no name, nothing that only synthesis reads. A register gets no
wider: it would do the same.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Change", "changed", "changes"]

_BINARY: dict[type[ast.operator], tuple[str, str]] = {
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
_COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
}
_MORE = "one more"
_CONDITIONS = ("If", "Elif")
_SKIPPED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.arguments)
_NAMED = ("attrs", "name")
_SHAPED = ("DelayLine", "Signal", "signed", "unsigned")  # the first argument is a shape
_TOLD = ("Assert", "Assume", "Cover")


@dataclass(frozen=True)
class Change:
    """One mistake.

    Attributes
    ----------
    line : int
        From 1.
    start, end : int
        Bytes of the file that are replaced.
    new : str
        What stands there instead.
    kind : str
        The mistake in a word or two.
    """

    line: int
    start: int
    end: int
    new: str
    kind: str


def changed(source: str, change: Change) -> str:
    """The file's text with the mistake in it."""
    text = source.encode()
    return (text[: change.start] + change.new.encode() + text[change.end :]).decode()


def changes(source: str) -> list[Change]:
    """All mistakes that can be made in a file, in its order."""
    found = [*_Finder(source).of(ast.parse(source), inside=False)]
    return sorted(set(found), key=lambda change: (change.start, change.end, change.new))


class _Finder:
    def __init__(self, source: str) -> None:
        self._text = source.encode()
        self._lines = [0]
        for line in source.encode().splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def of(self, node: ast.AST, *, inside: bool) -> Iterator[Change]:
        """Mistakes in a node; `inside` a function."""
        if isinstance(node, _SKIPPED) or _called(node) in _TOLD:
            return
        if isinstance(node, ast.FunctionDef):
            if node.name == "__init__":
                return
            for statement in node.body:
                yield from self.of(statement, inside=True)
            return
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                yield from self.of(node.value, inside=inside)
            return
        if isinstance(node, ast.keyword) and node.arg in _NAMED:
            return
        if inside:
            yield from self._here(node)
        if isinstance(node, ast.Call) and _called(node) in _SHAPED:
            for n, part in enumerate([*node.args, *node.keywords]):
                found = self.of(part, inside=inside)
                yield from (one for one in found if n or one.kind != _MORE)
            return
        for child in ast.iter_child_nodes(node):
            yield from self.of(child, inside=inside)

    def _here(self, node: ast.AST) -> Iterator[Change]:
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            yield self._between(node.left, node.right, *_BINARY[type(node.op)])
        elif isinstance(node, ast.AugAssign) and type(node.op) in _BINARY:
            old, new = _BINARY[type(node.op)]
            if not _domain(node.target):
                yield self._between(node.target, node.value, f"{old}=", f"{new}=")
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
            yield self._between(node.left, node.comparators[0], *_COMPARED[type(node.ops[0])])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.Not):
            yield self._instead(node, f"({self._of(node.operand)})", "not negated")
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield self._instead(node, str(node.value + 1), _MORE)
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            yield self._between(node.values[0], node.values[1], old, new)
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            yield self._instead(node.test, f"(not ({self._of(node.test)}))", "the other way")
        elif isinstance(node, ast.Call):
            yield from self._call(node)

    def _call(self, node: ast.Call) -> Iterator[Change]:
        name, arguments = _called(node), node.args
        if name == "Mux" and len(arguments) == 3:
            test, one, other = (self._of(argument) for argument in arguments)
            yield self._instead(node, f"Mux({test}, {other}, {one})", "swapped")
        elif name in _CONDITIONS and len(arguments) == 1:
            yield self._instead(arguments[0], "1", "always")
        elif name == "eq" and isinstance(node.func, ast.Attribute) and len(arguments) == 1:
            yield self._instead(node, "[]", "left out")

    def _between(self, left: ast.AST, right: ast.AST, old: str, new: str) -> Change:
        start, end = self._span(left)[1], self._span(right)[0]
        at = start + self._text[start:end].decode().index(old)
        return Change(self._line(at), at, at + len(old), new, f"{new} for {old}")

    def _instead(self, node: ast.AST, new: str, kind: str) -> Change:
        start, end = self._span(node)
        return Change(self._line(start), start, end, new, kind)

    def _span(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, ast.expr)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._lines[node.lineno - 1] + node.col_offset,
            self._lines[node.end_lineno - 1] + node.end_col_offset,
        )

    def _of(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self._text[start:end].decode()

    def _line(self, at: int) -> int:
        return sum(start <= at for start in self._lines)


def _called(node: ast.AST) -> str:
    """The last name of what a call calls."""
    if not isinstance(node, ast.Call):
        return ""
    called = node.func
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def _domain(target: ast.AST) -> bool:
    """`m.d.sync` or `m.d.comb`, to which statements are added, or another name for one."""
    while isinstance(target, ast.Attribute):
        if target.attr == "d":
            return True
        target = target.value
    return False
