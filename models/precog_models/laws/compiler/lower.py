"""Statements of an event function become blocks of steps; helpers are inlined where they stand."""

import ast

from precog_spec.engine.events import ROW_OUTPUTS
from precog_spec.engine.isa import Op, Space

from .builder import Scope
from .calls import Calls, is_procedure
from .ir import Block, Function, Mem, Operand, Var
from .load import Law, Source, source_of

__all__ = ["lower"]

_INSTEAD = {
    ast.For: "loops are not in the language; write the steps out, or call a function for each",
    ast.While: "loops are not in the language; write the steps out, or call a function for each",
    ast.FunctionDef: "a function must stand at the top of the file",
    ast.Assert: "assert is not in the language; the compiler proves ranges, or write clamp",
    ast.Raise: "raise is not in the language; return a rate on every path",
    ast.Try: "try is not in the language; nothing here raises",
    ast.Import: "import must stand at the top of the file",
    ast.ImportFrom: "import must stand at the top of the file",
    ast.Global: "global is not in the language; declare a field of STATE",
    ast.Delete: "del is not in the language",
    ast.With: "with is not in the language",
    ast.Match: "match is not in the language; write if and elif",
}
_RECORDS = ("p", "s", "e")


class _Lowering(Calls):
    """Statements."""

    def event(self, source: Source) -> Function:
        """Lower an event function."""
        scope = Scope(source, "", {}, {}, {name: name for name in _RECORDS}, None)
        self.scopes.append(scope)
        for name in self.state:
            read = ast.copy_location(ast.parse(f"s.{name}", mode="eval").body, source.tree)
            self.step(read, Op.MOV, self._row(name), out=Var(f"s.{name}"))
        if self.body(source.tree.body):
            self.refuse(source.tree, "every path must end with return")
        return self.finished(source.tree.name)

    def _row(self, name: str) -> Mem:
        return self.word("s", name, self.state[name].format)

    def body(self, nodes: list[ast.stmt]) -> bool:
        """Lower statements; whether control can reach their end."""
        for at, node in enumerate(nodes):
            if not self._statement(node):
                if at + 1 < len(nodes):
                    self.refuse(nodes[at + 1], "statement is never reached; remove it")
                return False
        return True

    def _statement(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.Return):
            self._return(node)
            return False
        if isinstance(node, ast.If):
            return self._if(node)
        if isinstance(node, ast.Assign):
            if len(node.targets) != 1:
                self.refuse(node, "one assignment at a time; write a line for each")
            self._assign(node, node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node, node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            read = ast.copy_location(ast.parse(ast.unparse(node.target), mode="eval").body, node)
            whole = ast.BinOp(read, node.op, node.value)
            self._assign(
                node, node.target, ast.fix_missing_locations(ast.copy_location(whole, node))
            )
        elif isinstance(node, ast.Pass):
            pass
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if not isinstance(node.value.value, str):
                self.refuse(node, "statement has no effect; remove it")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            source = self.called(node.value)
            if not (isinstance(source, Source) and is_procedure(source.tree)):
                self.refuse(node, "only a function that is declared -> None can be called alone")
            self.inline(node.value, source)
        else:
            other = "statement is not in the language; write assignments, if and return"
            self.refuse(node, _INSTEAD.get(type(node), other))
        return True

    def _if(self, node: ast.If) -> bool:
        yes, no, after = Block(), Block(), Block()
        self.condition(node.test, yes, no)
        falls = []
        for block, nodes in ((yes, node.body), (no, node.orelse)):
            self.start(block)
            falls.append(self.body(nodes))
            if falls[-1]:
                self.jump(after)
        if any(falls):
            self.start(after)
        return any(falls)

    def _assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            self._assign_several(node, self._values(node, target), value)
            return
        kind = self.kind(value)
        if isinstance(target, ast.Name):
            self.assign(value, self._local(node, target.id, kind))
            return
        word = self._written(node, target)
        if kind == "bool":
            self.refuse(node, "a condition is no number; write 1 if ... else 0")
        into = Var(word.name)
        self.assign(value, into)
        self.store(node, word, into)

    def _values(self, node: ast.stmt, several: ast.Tuple) -> list[ast.expr]:
        if len(several.elts) == 1:
            self.refuse(node, "one value has no comma behind it")
        return several.elts

    def _assign_several(self, node: ast.stmt, names: list[ast.expr], value: ast.expr) -> None:
        values: list[tuple[Operand, str]]
        if isinstance(value, ast.Call) and isinstance(source := self.called(value), Source):
            values = self.inline(value, source)
        elif isinstance(value, ast.Tuple):
            values = []
            for one in value.elts:
                held = self.fresh()  # all are read before any is written
                self.assign(one, held)
                values.append((held, self.kind(one)))
        else:
            self.refuse(node, "several names take a tuple or what a function returns")
        if len(values) != len(names):
            self.refuse(node, f"{len(names)} names must take as many values, not {len(values)}")
        for one, (operand, kind) in zip(names, values, strict=True):
            if isinstance(one, ast.Name):
                self.step(node, Op.MOV, operand, out=self._local(node, one.id, kind))
            else:
                word = self._written(node, one)
                if kind == "bool":
                    self.refuse(node, "a condition is no number; write 1 if ... else 0")
                self.step(node, Op.MOV, operand, out=Var(word.name))
                self.store(node, word, Var(word.name))

    def _local(self, node: ast.stmt, name: str, kind: str) -> Var:
        if name in self.scope.records:
            self.refuse(node, f"{name} is a record; choose another name")
        if self.scope.kinds.get(name, kind) != kind:
            self.refuse(node, f"{name} must stay a number, or a condition; choose another name")
        self.scope.kinds[name] = kind
        into = Var(self.scope.prefix + name)
        self.scope.known[name] = into
        return into

    def _written(self, node: ast.stmt, target: ast.expr) -> Mem:
        """A word of the state that is assigned."""
        if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
            self.refuse(node, "only names and s.x can be assigned")
        record = self.scope.records.get(target.value.id)
        if record != "s":
            self.refuse(node, "only words of s can be assigned; p and e are the host's")
        if target.attr not in self.state:
            names = ", ".join(self.state) or "none"
            self.refuse(node, f"word of s must be declared in STATE: one of {names}")
        return self._row(target.attr)

    def _return(self, node: ast.Return) -> None:
        if is_procedure(self.scope.source.tree) and self.scope.exit is not None:
            if node.value is not None:
                self.refuse(node, "a function that is declared -> None must return nothing")
            self.jump(self.scope.exit.block)
            return
        if node.value is None:
            self.refuse(node, "return must give a value; or declare the function -> None")
        values = (
            self._values(node, node.value) if isinstance(node.value, ast.Tuple) else [node.value]
        )
        if self.scope.exit is None:
            self._result(node, values)
            return
        exit_ = self.scope.exit
        kinds = [self.kind(one) for one in values]
        if not exit_.results:
            exit_.results = [self.fresh() for _ in values]
            exit_.kinds = kinds
            if kinds == ["int"] and exit_.wanted is not None:
                exit_.results = [exit_.wanted]
        if exit_.kinds != kinds:
            self.refuse(node, "every return of a function must give as many values, of one kind")
        for one, into in zip(values, exit_.results, strict=True):
            self.assign(one, into)
        self.jump(exit_.block)

    def _result(self, node: ast.Return, values: list[ast.expr]) -> None:
        """Return of an event: the rate, and the window."""
        windowed = self.law.windowed
        if len(values) != 1 + windowed:
            wanted = "rate, window" if windowed else "the rate alone"
            self.refuse(node, f"event of a law with WINDOWED = {windowed} must return {wanted}")
        for value, (name, form) in zip(values, ROW_OUTPUTS, strict=False):
            if self.kind(value) == "bool":
                self.refuse(node, "a condition is no number; write 1 if ... else 0")
            held = Var(f"{name}.out")
            self.assign(value, held)
            self.store(node, Mem(Space.ROW, f"out.{name}", form.min, form.max), held)


def lower(law: Law, event: str) -> Function:
    """Blocks of the law's function for an event.

    Raises
    ------
    LawError
        A construct is not of the language.
    """
    lowering = _Lowering(law)
    source = source_of(law.events[event])
    if source is None:
        raise ValueError(f"function {event} of {law.file} must stand at the top of a file")
    return lowering.event(source)
