"""Calling C functions by address from compiled code.

The decision function's signature is ``int64 f(void *handle, int64 *sample, int64 *decision)``; the
fields are those of `contract.SAMPLE_FIELDS` and `contract.DECISION_FIELDS`. The address is an
argument, not a constant, so that the simulator's compiled form can be cached and serves every
function. Cost: one indirect call.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["call_decide", "call_law", "call_law_telemetry"]


@intrinsic
def call_decide(_context: Any, address: Any, handle: Any, sample: Any, decision: Any) -> Any:
    """``f(handle, sample, decision)`` with f at `address`; all arguments are int64 addresses."""

    def codegen(_ctx: Any, builder: Any, _sig: Any, args: Any) -> Any:
        word = ir.IntType(64)
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(word, [pointer, pointer, pointer])
        function = builder.inttoptr(args[0], kind.as_pointer())
        return builder.call(function, [builder.inttoptr(arg, pointer) for arg in args[1:]])

    return types.int64(types.int64, types.int64, types.int64, types.int64), codegen


def _law_call(arguments: int) -> Any:
    """An intrinsic ``f(a, b, …)`` without result, of the address f and that many others."""

    def codegen(context: Any, builder: Any, _sig: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer] * arguments)
        function = builder.inttoptr(args[0], kind.as_pointer())
        builder.call(function, [builder.inttoptr(arg, pointer) for arg in args[1:]])
        return context.get_dummy_value()

    return types.void(*(types.int64,) * (arguments + 1)), codegen


@intrinsic
def call_law(_context: Any, law: Any, parameters: Any, state: Any, event: Any) -> Any:
    """Let the code at `law` act on records at the addresses."""
    return _law_call(3)


@intrinsic
def call_law_telemetry(
    _context: Any, law: Any, parameters: Any, state: Any, event: Any, telemetry: Any
) -> Any:
    """The same with telemetry."""
    return _law_call(4)
