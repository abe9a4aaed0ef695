"""A bound for the loops of a user's law: an endless one would hold the run up for ever.

Native code cannot be interrupted. Each turn of a loop is therefore counted, by a pass of numba's
compiler, and the function raises after too many. Functions must not call themselves either
(`program_body`), so every event ends.
"""

import operator
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

from numba.core import ir
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import build_definitions
from numba.core.untyped_passes import InlineClosureLikes

__all__ = ["MOST_TURNS", "BoundedLoops", "EndlessLoopError", "counting"]

#: Turns of all loops in one call of a function: a law's event takes a few.
MOST_TURNS = 100_000


class EndlessLoopError(RuntimeError):
    """A loop has more than `MOST_TURNS`."""


@register_pass(mutates_CFG=True, analysis_only=False)
class _Counted(FunctionPass):
    """Counts turns at the head of each loop, and raises there."""

    _name = "counted_loops"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Whether the function has a loop."""
        blocks = state.func_ir.blocks
        heads = {loop.header for loop in compute_cfg_from_blocks(blocks).loops().values()}
        if not heads:
            return False
        first = blocks[min(blocks)]
        scope, loc = first.scope, first.loc
        turns, one, most = (scope.redefine(name, loc) for name in ("$turns", "$one", "$most"))
        for name, value in ((turns, 0), (one, 1), (most, MOST_TURNS)):
            first.prepend(ir.Assign(ir.Const(value, loc), name, loc))
        for label in sorted(heads):
            head = blocks[label]
            loc = head.loc
            late = scope.redefine("$late", loc)
            goes_on = max(blocks) + 1
            count = ir.Block(scope, loc)
            count.append(ir.Assign(ir.Expr.binop(operator.add, turns, one, loc), turns, loc))
            count.append(ir.Assign(ir.Expr.binop(operator.gt, turns, most, loc), late, loc))
            count.append(ir.Branch(late, goes_on + 1, goes_on, loc))
            end = ir.Block(scope, loc)
            end.append(ir.StaticRaise(EndlessLoopError, (), loc))
            blocks |= {label: count, goes_on: head, goes_on + 1: end}
        state.func_ir._definitions = build_definitions(blocks)
        return True


class BoundedLoops(CompilerBase):
    """numba's compiler, for `pipeline_class`; functions within functions are counted, too."""

    def define_pipelines(self) -> list[Any]:
        """The usual passes, and `_Counted` where inner functions have become part of the code."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_Counted, InlineClosureLikes)
        passes.finalize()
        return [passes]


def counting(file: str) -> Callable[[FrameType, str, Any], Any]:
    """A function for `sys.settrace`: a line of `file` that a call comes to too often raises."""

    def called(frame: FrameType, _kind: str, _value: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        visits: Counter[int] = Counter()

        def line(frame: FrameType, kind: str, _value: Any) -> Any:
            visits[frame.f_lineno] += kind == "line"
            if visits[frame.f_lineno] > MOST_TURNS:
                raise EndlessLoopError
            return line

        return line

    return called
