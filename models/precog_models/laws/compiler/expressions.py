"""Expressions become steps: numbers and conditions are two kinds, and never mixed."""

import ast
import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from precog_spec.engine.isa import Op, Space

from .builder import Builder, assigned
from .ir import Block, Const, Mem, Operand, Var
from .load import Source
from .ranges import WORD_RANGE, Range

__all__ = ["Expressions"]

_BINARY = {ast.Add: Op.ADD, ast.Sub: Op.SUB, ast.Mult: Op.MUL, ast.LShift: Op.SHL}
_BINARY |= {ast.RShift: Op.SHR, ast.BitAnd: Op.AND}
_INSTEAD = {
    ast.Div: "write fraction(a, b), or multiply by reciprocal(b)",
    ast.FloorDiv: "write fraction(a, b), a >> n, or multiply by reciprocal(b)",
    ast.Mod: "write wrap(a, n) or a & (2**n - 1)",
    ast.Pow: "write the product, or 1 << n",
    ast.BitOr: "write + of numbers that have no bit in common, or `or` of conditions",
    ast.BitXor: "write a comparison",
    ast.MatMult: "write *",
}
_CONSTANT: dict[Op, Callable[[int, int], int]] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.SHL: lambda a, b: a << b,
    Op.SHR: lambda a, b: a >> b,
    Op.AND: lambda a, b: a & b,
}
_SHIFTS = 62


class Expressions(Builder):
    """The expression half of lowering."""

    #: The expression that is a statement's whole right side: a call there may change the state.
    whole: ast.expr | None = None
    #: Expressions under way of which the present one is a part: none of them may change the state.
    parts = 0

    @contextmanager
    def part(self) -> Iterator[None]:
        """What is lowered here is a part of an expression."""
        self.parts += 1
        yield
        self.parts -= 1

    def called(self, node: ast.Call) -> Any:
        """What a call calls: a primitive, a builtin or a function of the language."""
        raise NotImplementedError

    def call(self, node: ast.Call, out: Var | None) -> Operand:
        """Lower a call that gives one number."""
        raise NotImplementedError

    def condition(self, node: ast.expr, yes: Block, no: Block) -> None:
        """Lower a condition: go to `yes` or to `no`."""
        raise NotImplementedError

    # --- kinds and names --------------------------------------------------------------------------
    def kind(self, node: ast.expr) -> str:
        """Whether an expression is a number or a condition, "int" or "bool"."""
        if isinstance(node, ast.Compare | ast.BoolOp):
            return "bool"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return "bool"
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return "bool"
        if isinstance(node, ast.IfExp):
            return self.kind(node.body)
        if isinstance(node, ast.Name):
            return self.scope.kinds.get(node.id, "int")
        if isinstance(node, ast.Call):
            source = self.called(node)
            if isinstance(source, Source) and isinstance(source.tree.returns, ast.Name):
                return "bool" if source.tree.returns.id == "bool" else "int"
        return "int"

    def named(self, node: ast.Name) -> Any:
        """What a name of the file stands for."""
        if node.id in assigned(self.scope.source.tree):
            self.refuse(node, "name has no value yet; assign it before, or choose another name")
        if node.id in self.scope.source.names:
            return self.scope.source.names[node.id]
        builtin = {"min": min, "max": max, "abs": abs}.get(node.id)
        if builtin is None and hasattr(builtins, node.id):
            self.refuse(node, "of Python's own functions only abs, max and min are in the language")
        if builtin is None:
            self.refuse(node, "name must be defined before it is used")
        return builtin

    def number_of(self, node: ast.expr, out: Var | None = None) -> Operand:
        """Lower a number; into `out`, if it takes a step."""
        if self.kind(node) == "bool":
            self.refuse(node, "a condition is no number; write 1 if ... else 0")
        if isinstance(node, ast.Constant):
            return self.number(node, node.value)
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Subscript):
            return self._table(node, out)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node, out)
        if isinstance(node, ast.BinOp):
            return self._binary(node, out)
        if isinstance(node, ast.IfExp):
            return self.chosen(node, out)
        if isinstance(node, ast.Call):
            return self.call(node, out)
        self.refuse(node, "expression is not in the language; see precog_models.laws")

    def chosen(self, node: ast.IfExp, out: Var | None) -> Var:
        """Lower ``x if c else y``."""
        whole = node is self.whole
        yes, no, after = Block(), Block(), Block()
        with nullcontext() if whole else self.part():
            self.condition(node.test, yes, no)
        # The alternatives may read what `out` was before.
        target = out if out is not None and not self._reads(node, out) else self.fresh()
        for block, one in ((yes, node.body), (no, node.orelse)):
            self.start(block)
            self.whole = one if whole else None
            value = self.number_of(one, target)
            if value != target:
                self.step(one, Op.MOV, value, out=target)
            self.jump(after)
        self.start(after)
        return target

    def _reads(self, node: ast.expr, out: Var) -> bool:
        """Whether an expression may read a variable."""
        parts = list(ast.walk(node))
        name = out.name.rpartition(".")[2]
        names = {one.id for one in parts if isinstance(one, ast.Name)}
        names |= {one.attr for one in parts if isinstance(one, ast.Attribute)}
        if any(self.scope.known.get(one) == out for one in names):
            return True  # an argument that is the caller's variable
        return name in names or any(isinstance(one, ast.Call) for one in parts)

    def _name(self, node: ast.Name) -> Operand:
        if node.id in self.scope.records:
            self.refuse(node, "a record is no number; write the name of a word behind it")
        if node.id in self.scope.known:
            return self.scope.known[node.id]
        return self.number(node, self.named(node))

    def _attribute(self, node: ast.Attribute) -> Operand:
        record = self.scope.records.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if record is None:
            self.refuse(node, "only p, s and e have attributes; give a constant a name of the file")
        words: dict[str, dict[str, Any]] = {
            "p": dict(self.parameters),
            "s": dict(self.state),
            "e": dict(self.words),
        }
        known = words[record]
        if node.attr not in known:
            self.refuse(node, f"word of {record} must be one of {', '.join(known) or 'none'}")
        if record == "s":
            return Var(f"s.{node.attr}")
        if record == "e":
            return self.word("e", node.attr, self.words[node.attr])
        one = self.parameters[node.attr]
        if one.length:
            self.refuse(node, "a table must have an index")
        return self.word("p", node.attr, one.format)

    def _table(self, node: ast.Subscript, out: Var | None) -> Operand:
        table = self._table_of(node)
        index = self.number_of(node.slice)
        if isinstance(index, Const) and table.values:
            if not 0 <= index.value < table.length:
                self.refuse(node, f"index must be in 0..{table.length - 1}, not {index.value}")
            return Const(table.values[index.value])
        return self.step(node, Op.LDX, index, table, out=out)

    def _table_of(self, node: ast.Subscript) -> Mem:
        base = node.value
        if isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
            one = self.parameters.get(base.attr)
            if self.scope.records.get(base.value.id) == "p" and one is not None and one.length:
                form = one.format
                return Mem(Space.SLOT, f"p.{one.name}", form.min, form.max, one.length)
        if isinstance(base, ast.Name) and base.id not in self.scope.known:
            values = self.named(base)
            if isinstance(values, tuple) and values:
                numbers = tuple(self.number(base, value).value for value in values)
                low, high = min(numbers), max(numbers)
                if not Range(low, high).within(WORD_RANGE):
                    self.refuse(base, f"numbers of a table must be in {WORD_RANGE}")
                return Mem(Space.SLOT, base.id, low, high, len(numbers), numbers)
        self.refuse(node, "only a tuple of integers or a table parameter has an index")

    # --- operators --------------------------------------------------------------------------------
    def _unary(self, node: ast.UnaryOp, out: Var | None) -> Operand:
        if isinstance(node.op, ast.Invert):
            self.refuse(node, "~ is not in the language; write -x - 1")
        value = self.number_of(node.operand)
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(value, Const):
            return self.number(node, -value.value)
        return self.step(node, Op.RSB, value, Const(0), out=out)

    def _binary(self, node: ast.BinOp, out: Var | None) -> Operand:
        if type(node.op) not in _BINARY:
            instead = _INSTEAD.get(type(node.op), "write it with + - * << >>")
            self.refuse(node, f"operator is not in the language; {instead}")
        op = _BINARY[type(node.op)]
        fused = self._fused(node, out) if op is Op.SHR else None
        if fused is not None:
            return fused
        a, b = self.number_of(node.left), self.number_of(node.right)
        if isinstance(a, Const) and isinstance(b, Const):
            if op in (Op.SHL, Op.SHR) and not 0 <= b.value <= _SHIFTS:
                self.refuse(node, f"shift must be in 0..{_SHIFTS}, not {b.value}")
            return self.number(node, _CONSTANT[op](a.value, b.value))
        return self.step(node, op, a, b, out=out)

    def _fused(self, node: ast.BinOp, out: Var | None) -> Operand | None:
        """``(a * b) >> n`` and ``(a * b + (1 << (n - 1))) >> n`` as one step."""
        shift = self._constant(node.right)
        left = node.left
        if shift is None or not 0 < shift <= _SHIFTS or not isinstance(left, ast.BinOp):
            return None
        if isinstance(left.op, ast.Mult):
            return self._product(node, left, Op.MUL, shift, out)
        if isinstance(left.op, ast.Add) and isinstance(left.left, ast.BinOp):
            half = self._constant(left.right)
            if isinstance(left.left.op, ast.Mult) and half == 1 << (shift - 1):
                return self._product(node, left.left, Op.MLR, shift, out)
        return None

    def _product(
        self, node: ast.AST, factors: ast.BinOp, op: Op, shift: int, out: Var | None
    ) -> Operand:
        a, b = self.number_of(factors.left), self.number_of(factors.right)
        if isinstance(a, Const) and isinstance(b, Const):
            half = 1 << (shift - 1) if op is Op.MLR else 0
            return Const(self.number(node, a.value * b.value + half).value >> shift)
        return self.step(node, op, a, b, shift, out)

    def _constant(self, node: ast.expr) -> int | None:
        """The value of an expression of constants; None: it is another one."""
        names = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
        values = {name: self.scope.source.names.get(name) for name in names}
        nodes = (ast.BinOp, ast.Constant, ast.Name, ast.operator, ast.Load)
        own = self.scope.known.keys() | assigned(self.scope.source.tree)
        if names & own or not all(isinstance(x, nodes) for x in ast.walk(node)):
            return None
        if not all(type(value) is int for value in values.values()):
            return None
        constants = [x.value for x in ast.walk(node) if isinstance(x, ast.Constant)]
        if not all(type(value) is int and abs(value) < 1 << _SHIFTS for value in constants):
            return None
        depth = len(list(ast.walk(node)))
        if depth > _SHIFTS or any(isinstance(x, ast.Pow) for x in ast.walk(node)):
            return None
        result = self.number_of(node)
        return result.value if isinstance(result, Const) else None
