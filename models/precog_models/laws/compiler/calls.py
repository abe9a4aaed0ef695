"""Calls and conditions: primitives become instructions, functions of the language are inlined."""

import ast
from types import FunctionType
from typing import Any

from precog_spec.engine.isa import FACTOR_BITS, Op

from ...rate.engine import arithmetic
from .builder import Exit, Scope, assigned
from .expressions import Expressions
from .ir import Block, Const, Operand, Var
from .load import Source, source_of

__all__ = ["Calls", "is_procedure"]

#: Comparison: operation, whether its operands change places.
_COMPARE = {
    ast.Eq: (Op.BEQ, False),
    ast.NotEq: (Op.BNE, False),
    ast.Lt: (Op.BLT, False),
    ast.GtE: (Op.BGE, False),
    ast.Gt: (Op.BLT, True),
    ast.LtE: (Op.BGE, True),
}
_SET = {Op.BEQ: Op.SEQ, Op.BNE: Op.SNE, Op.BLT: Op.SLT, Op.BGE: Op.SGE}
_NAMES = ("align", "clamp", "fraction", "reciprocal", "rounded", "rsqrt", "scale", "wrap", "zeros")
_PRIMITIVES: dict[Any, str] = {getattr(arithmetic, name): name for name in _NAMES}
_PRIMITIVES |= {min: "min", max: "max", abs: "abs"}
_ARITY = {"align": 2, "clamp": 3, "fraction": 2, "reciprocal": 1, "rounded": 2, "rsqrt": 1}
_ARITY |= {"scale": 2, "wrap": 2, "zeros": 1, "abs": 1}
_ONE_OPERAND = {"abs": Op.ABS, "reciprocal": Op.RCP, "rsqrt": Op.RSQ, "zeros": Op.CLZ}
_LEAST = 2  # arguments of min and max
_SHIFTS = 62
_WRAPS = 47
_DEPTH = 32  # functions that are inlined in each other
_RECORDS = ("p", "s", "e")


def is_procedure(tree: ast.FunctionDef) -> bool:
    """Whether a function is declared to return nothing."""
    return isinstance(tree.returns, ast.Constant) and tree.returns.value is None


class Calls(Expressions):
    """The half of lowering that is about calls and conditions."""

    def body(self, nodes: list[ast.stmt]) -> bool:
        """Lower statements; whether control can reach their end."""
        raise NotImplementedError

    # --- calls ------------------------------------------------------------------------------------
    def called(self, node: ast.Call) -> Any:
        """Name of a primitive, or the source of a function."""
        if not isinstance(node.func, ast.Name) or node.func.id in self.scope.known:
            self.refuse(node, "only functions that have a name of the file can be called")
        value = self.named(node.func)
        if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
            self.refuse(node, "arguments must be given by position")
        try:
            primitive = _PRIMITIVES.get(value)
        except TypeError:  # it has no hash
            primitive = None
        if primitive is not None:
            return primitive
        source = source_of(value) if isinstance(value, FunctionType) else None
        if source is None:
            names = ", ".join((*_NAMES, "min", "max", "abs"))
            self.refuse(node, f"only {names} and plain functions of a file can be called")
        return source

    def call(self, node: ast.Call, out: Var | None) -> Operand:
        """Lower a call that gives one number."""
        callee = self.called(node)
        if isinstance(callee, Source):
            if node is not self.whole:
                self._refuse_state(node, callee)
            results = self.inline(node, callee, out)
            if len(results) != 1 or results[0][1] != "int":
                self.refuse(node, f"{callee.tree.name} must return one number here")
            return results[0][0]
        return self._primitive(node, callee, out)

    def _refuse_state(self, node: ast.Call, callee: Source) -> None:
        """Refuse a call that may change the state under an expression that has read it."""
        if any(one.arg == "s" for one in callee.tree.args.args):
            self.refuse(node, "a function that takes s must be called alone: give it a name")

    def _primitive(self, node: ast.Call, name: str, out: Var | None) -> Operand:
        count = len(node.args)
        if name in ("min", "max"):
            if count < _LEAST:
                self.refuse(node, f"{name} must have at least 2 arguments, not {count}")
        elif count != _ARITY[name]:
            self.refuse(node, f"{name} must have {_ARITY[name]} arguments, not {count}")
        if name in ("rounded", "wrap"):
            return self._of_bits(node, name, out)
        operands = [self.number_of(one) for one in node.args]
        if name in ("min", "max"):
            op = Op.MIN if name == "min" else Op.MAX
            result = operands[0]
            for n, operand in enumerate(operands[1:], 2):
                result = self.step(node, op, result, operand, out=out if n == count else None)
            return result
        if name == "clamp":
            raised = self.step(node, Op.MAX, operands[0], operands[1])
            return self.step(node, Op.MIN, raised, operands[2], out=out)
        if name in _ONE_OPERAND:
            return self.step(node, _ONE_OPERAND[name], operands[0], out=out)
        if name == "scale":
            return self.step(node, Op.MLR, operands[0], operands[1], FACTOR_BITS, out)
        op = Op.SLS if name == "align" else Op.FRC
        return self.step(node, op, operands[0], operands[1], out=out)

    def _of_bits(self, node: ast.Call, name: str, out: Var | None) -> Operand:
        """``rounded`` and ``wrap``, whose last argument is a constant."""
        bits = self.number_of(node.args[1])
        if not isinstance(bits, Const):
            self.refuse(node, f"the last argument of {name} must be a constant")
        most = _SHIFTS if name == "rounded" else _WRAPS
        least = 0 if name == "rounded" else 1
        if not least <= bits.value <= most:
            self.refuse(node, f"the last argument must be in {least}..{most}, not {bits.value}")
        value = node.args[0]
        if name == "wrap":
            mask = Const((1 << bits.value) - 1)
            return self.step(node, Op.AND, self.number_of(value), mask, out=out)
        if bits.value == 0:
            return self.number_of(value, out)
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            return self._product(node, value, Op.MLR, bits.value, out)
        raised = self.step(node, Op.ADD, self.number_of(value), Const(1 << (bits.value - 1)))
        return self.step(node, Op.SHR, raised, bits, out=out)

    def inline(
        self, node: ast.Call, source: Source, out: Var | None = None
    ) -> list[tuple[Operand, str]]:
        """Results of a called function, each with its kind; a single number goes to `out`."""
        tree = source.tree
        if any(one.source.tree is tree for one in self.scopes) or len(self.scopes) > _DEPTH:
            self.refuse(node, "recursion is not in the language; write the steps out")
        plain = tree.args
        if plain.vararg or plain.kwarg or plain.kwonlyargs or plain.defaults or plain.posonlyargs:
            self.refuse(node, f"{tree.name} must have plain arguments without defaults")
        names = [one.arg for one in plain.args]
        if len(names) != len(node.args):
            self.refuse(node, f"{tree.name} must have {len(names)} arguments, not {len(node.args)}")
        scope = Scope(source, self.prefix(tree.name), {}, {}, {}, Exit(Block(), out))
        for name, argument in zip(names, node.args, strict=True):
            self._pass(node, scope, name, argument)
        self.scopes.append(scope)
        falls = self.body(tree.body)
        exit_ = scope.exit
        assert exit_ is not None
        if falls:
            if not is_procedure(tree):
                self.refuse(tree, "every path must end with return")
            self.jump(exit_.block)
        self.scopes.pop()
        self.start(exit_.block)
        return list(zip(exit_.results, exit_.kinds, strict=True))

    def _pass(self, node: ast.Call, scope: Scope, name: str, argument: ast.expr) -> None:
        """Give an argument to a function; records keep their names."""
        record = self.scope.records.get(argument.id) if isinstance(argument, ast.Name) else None
        if record is not None or name in _RECORDS:
            if record != name:
                self.refuse(node, "arguments called p, s and e must be the records, and only they")
            scope.records[name] = name
            return
        into = Var(scope.prefix + name)
        kind = self.kind(argument)
        tree = scope.source.tree
        if kind == "int" and name not in assigned(tree):
            value = self.number_of(argument, into)
            # What a state's word was may differ from what it is when the function reads it.
            if not (isinstance(value, Var) and value.name.startswith("s.")):
                scope.known[name], scope.kinds[name] = value, kind
                return
        scope.known[name], scope.kinds[name] = into, kind
        with self.part():
            self.assign(argument, into)

    def assign(self, node: ast.expr, out: Var) -> None:
        """Lower an expression of either kind into `out`."""
        if self.kind(node) == "bool":
            self.truth(node, out)
            return
        self.whole = None if self.parts else node
        value = self.number_of(node, out)
        if value != out:
            self.step(node, Op.MOV, value, out=out)

    # --- conditions -------------------------------------------------------------------------------
    def truth(self, node: ast.expr, out: Var) -> None:
        """Lower a condition into 0 or 1."""
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            op, a, b = self._sides(node)
            self.step(node, _SET[op], a, b, out=out)
            return
        if isinstance(node, ast.Name):
            self.step(node, Op.MOV, self.scope.known[node.id], out=out)
            return
        if isinstance(node, ast.Call):
            self.step(node, Op.MOV, self._condition_called(node), out=out)
            return
        yes, no, after = Block(), Block(), Block()
        self.condition(node, yes, no)
        target = self.fresh()  # the condition may read what `out` was before
        for block, value in ((yes, 1), (no, 0)):
            self.start(block)
            self.step(node, Op.MOV, Const(value), out=target)
            self.jump(after)
        self.start(after)
        self.step(node, Op.MOV, target, out=out)

    def _condition_called(self, node: ast.Call) -> Operand:
        callee = self.called(node)
        if self.parts and isinstance(callee, Source):
            self._refuse_state(node, callee)
        results = self.inline(node, callee) if isinstance(callee, Source) else []
        if len(results) != 1 or results[0][1] != "bool":
            self.refuse(node, "a function that is declared -> bool must return one condition")
        return results[0][0]

    def _sides(self, node: ast.Compare) -> tuple[Op, Operand, Operand]:
        op, swapped = _COMPARE[type(node.ops[0])]
        a, b = self.number_of(node.left), self.number_of(node.comparators[0])
        return (op, b, a) if swapped else (op, a, b)

    def condition(self, node: ast.expr, yes: Block, no: Block) -> None:
        """Lower a condition: go to `yes` or to `no`."""
        if self.kind(node) == "int":
            self.refuse(node, "a number is no condition; compare it, as in x != 0")
        if isinstance(node, ast.BoolOp):
            for part in node.values[:-1]:
                between = Block()
                if isinstance(node.op, ast.And):
                    self.condition(part, between, no)
                else:
                    self.condition(part, yes, between)
                self.start(between)
            self.condition(node.values[-1], yes, no)
        elif isinstance(node, ast.UnaryOp):
            self.condition(node.operand, no, yes)
        elif isinstance(node, ast.Constant):
            self.jump(yes if node.value else no)
        elif isinstance(node, ast.Compare):
            if len(node.ops) > 1:
                self.refuse(node, "write a comparison of two numbers, and `and` between them")
            if type(node.ops[0]) not in _COMPARE:
                self.refuse(node, "comparison must be one of == != < <= > >=")
            op, a, b = self._sides(node)
            self.compare(node, op, a, b, yes, no)
        elif isinstance(node, ast.IfExp):
            left, right = Block(), Block()
            self.condition(node.test, left, right)
            self.start(left)
            self.condition(node.body, yes, no)
            self.start(right)
            self.condition(node.orelse, yes, no)
        else:
            value = self._truth_value(node)
            self.compare(node, Op.BNE, value, Const(0), yes, no)

    def _truth_value(self, node: ast.expr) -> Operand:
        if isinstance(node, ast.Call):
            return self._condition_called(node)
        assert isinstance(node, ast.Name)
        return self.scope.known[node.id]
