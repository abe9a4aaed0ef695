"""Two instructions of the processor that numba has no name for."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["prefetch", "trailing_zeros"]

_PREFETCH = "llvm.prefetch.p0i8"


@intrinsic
def trailing_zeros(_context: Any, word: Any) -> Any:
    """Trailing zero bits of a non-zero 64-bit word."""

    def codegen(_ctx: Any, builder: Any, _sig: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), codegen


@intrinsic
def prefetch(_context: Any, table: Any, at: Any) -> Any:
    """Bring the cache line of word `at` of a contiguous table near; a wrong `at` does no harm."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        made = context.make_array(sig.args[0])(context, builder, args[0])
        byte = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        where = builder.bitcast(builder.gep(made.data, [args[1]]), byte)
        function = builder.module.globals.get(_PREFETCH)
        if function is None:
            kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
            function = ir.Function(builder.module, kind, _PREFETCH)
        to_write, keep, data = (ir.Constant(word, value) for value in (1, 3, 1))
        builder.call(function, [where, to_write, keep, data])
        return context.get_dummy_value()

    return types.void(table, types.int64), codegen
