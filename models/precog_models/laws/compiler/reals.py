"""The float reference: the same steps over real numbers, with a bound on the integers' error.

Real numbers have no last place: shifts divide, products and quotients are exact. What decides takes
the integers' side: comparisons, masks, indices, leading zeros, shifts by variables. Each step's
bound follows from those of its operands and its own rounding, a running error analysis, and is
checked at every step.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from precog_spec.engine.events import EVENT_FIELDS
from precog_spec.engine.isa import FACTOR_BITS, Op

from .intervals import prove
from .ir import Block, Const, Function, Mem, Operand, Step, Var
from .load import Law
from .lower import lower
from .simplify import evaluate, holds

__all__ = ["Real", "Reals"]

_EPSILON = 2.0**-50  # of this evaluation itself
_TABLE_ERROR = 2.0**-16
_DISCRETE = (Op.AND, Op.SEQ, Op.SNE, Op.SLT, Op.SGE, Op.CLZ)


@dataclass(frozen=True)
class Real:
    """A result: the integer, the real number, and how far they may be apart."""

    integer: int
    real: float
    bound: float


def _exact(value: int) -> Real:
    return Real(value, float(value), 0.0)


def _product(a: Real, b: Real, c: int, rounding: float) -> tuple[float, float]:
    spread = abs(a.real) * b.bound + abs(b.real) * a.bound + a.bound * b.bound
    return a.real * b.real / 2.0**c, spread / 2.0**c + (rounding if c else 0.0)


def _fraction(a: Real, b: Real) -> tuple[float, float]:
    one = 2.0**FACTOR_BITS
    real = one if a.real >= b.real or b.real <= 0 else a.real / b.real * one
    if b.bound >= b.real:
        return real, one
    ratio = abs(a.real) / b.real
    spread = (a.bound + ratio * b.bound) / (b.real - b.bound) * one
    return real, min(spread + 1.0, one)


def _table(op: Op, a: Real, shift: int) -> tuple[float, float]:
    v = max(a.real, 1.0)
    left = 1.0 - min(a.bound / v, 0.99)
    if op is Op.RCP:
        real = 2.0 ** (48 - shift) / v
        spread = real * (1 / left - 1)
    else:
        real = 2.0 ** (32 - (shift >> 1)) / math.sqrt(v)
        spread = real * (1 / math.sqrt(left) - 1)
    return real, spread + real * _TABLE_ERROR + 1.0


def _step(op: Op, a: Real, b: Real, c: int) -> tuple[float, float]:
    """Real result and bound; the operation's integer result is known."""
    if op is Op.MOV:
        return a.real, a.bound
    if op is Op.ADD:
        return a.real + b.real, a.bound + b.bound
    if op is Op.SUB:
        return a.real - b.real, a.bound + b.bound
    if op is Op.RSB:
        return b.real - a.real, a.bound + b.bound
    if op is Op.ABS:
        return abs(a.real), a.bound
    if op in (Op.MIN, Op.MAX):
        pick = min if op is Op.MIN else max
        return pick(a.real, b.real), max(a.bound, b.bound)
    if op in (Op.MUL, Op.MLR):
        return _product(a, b, c, 1.0 if op is Op.MUL else 0.5)
    if op is Op.FRC:
        return _fraction(a, b)
    if op in (Op.SHL, Op.SLS):
        return a.real * 2.0**b.integer, a.bound * 2.0**b.integer
    if op is Op.SHR:
        return a.real / 2.0**b.integer, a.bound / 2.0**b.integer + (1.0 if b.integer else 0.0)
    return _table(op, a, evaluate(Op.CLZ, a.integer, 0, 0))


class Reals:
    """A law's events over real numbers.

    Parameters
    ----------
    law : Law
    parameters : mapping
        `Law.integers`.
    """

    def __init__(self, law: Law, parameters: Mapping[str, int | Sequence[int]]) -> None:
        self._law = law
        self._parameters = parameters
        self._functions: dict[str, Function] = {}
        for event in law.events:
            self._functions[event] = lower(law, event)
            prove(self._functions[event])

    def event(
        self, event: str, state: Mapping[str, int], words: Mapping[str, int]
    ) -> dict[str, Real]:
        """Results of an event: ``out.rate``, ``out.window``, and ``s.x`` of what was assigned.

        Parameters
        ----------
        event : str
            Name of a function that the law has.
        state, words : mapping of str to int
            The row before, and the event's words; those that are absent are 0.

        Raises
        ------
        ArithmeticError
            An integer lies further from the real number than its bound.
        """
        known: dict[str, int] = {f"e.{name}": 0 for name, _, _ in EVENT_FIELDS}
        known |= {f"e.{name}": value for name, value in words.items()}
        known |= {f"s.{one.name}": state.get(one.name, 0) for one in self._law.state}
        run = _Run(known, self._parameters)
        block: Block | None = self._functions[event].blocks[0]
        while block is not None:
            block = run.block(block)
        return run.stored


class _Run:
    def __init__(
        self, known: Mapping[str, int], parameters: Mapping[str, int | Sequence[int]]
    ) -> None:
        self._known = known
        self._parameters = parameters
        self._values: dict[Var, Real] = {}
        self.stored: dict[str, Real] = {}

    def block(self, block: Block) -> Block | None:
        """Run a block; the one behind it."""
        for step in block.steps:
            self._run(step)
        if block.branch is None:
            return block.jump
        a, b = self._of(block.branch.a), self._of(block.branch.b)
        taken = holds(block.branch.op, a.integer, b.integer)
        return block.branch.yes if taken else block.branch.no

    def _of(self, operand: Operand) -> Real:
        if isinstance(operand, Var):
            return self._values[operand]
        if isinstance(operand, Const):
            return _exact(operand.value)
        if operand.name.startswith("p."):
            value = self._parameters[operand.name[2:]]
            assert isinstance(value, int)
            return _exact(value)
        return _exact(self._known[operand.name])

    def _run(self, step: Step) -> None:
        a = self._of(step.a)
        if step.op is Op.ST:
            assert isinstance(step.b, Mem)
            self.stored[step.b.name] = a
            return
        assert step.out is not None
        if step.op is Op.LDX:
            assert isinstance(step.b, Mem)
            table = step.b.values or self._parameters[step.b.name[2:]]
            assert not isinstance(table, int)
            self._values[step.out] = _exact(table[a.integer])
            return
        b = a if step.b is None else self._of(step.b)
        integer = evaluate(step.op, a.integer, b.integer, step.c)
        if step.op in _DISCRETE:
            self._values[step.out] = _exact(integer)
            return
        real, bound = _step(step.op, a, b, step.c)
        bound += abs(real) * _EPSILON
        if abs(integer - real) > bound:
            raise ArithmeticError(
                f"{step.file}:{step.line}: {step.text}: {integer} must lie within {bound} of {real}"
            )
        self._values[step.out] = Real(integer, real, bound)
