"""Instructions of the processor that numba has no name for, and what threads share by them."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from precog_sim.network.jit import inlined

__all__ = [
    "add",
    "exchange",
    "load",
    "lock",
    "prefetch",
    "rest",
    "trailing_zeros",
    "unchecked",
    "unlock",
]

_PREFETCH = "llvm.prefetch.p0i8"
_YIELD = "sched_yield"  # of the C library


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


@intrinsic
def unchecked(_context: Any, table: Any, width: Any) -> Any:
    """The same table with rows of `width` words and, by its shape, no rows.

    Where the compiler sees that, an index costs neither a test of its sign nor a product with a
    number from memory. `width` of a table of one dimension does not matter.
    """

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        made = context.make_array(sig.args[0])(context, builder, args[0])
        size = made.itemsize.type
        word = ir.Constant(size, context.get_abi_sizeof(context.get_data_type(sig.args[0].dtype)))
        none = ir.Constant(size, 0)
        two = sig.args[0].ndim == 2
        strides = [builder.mul(args[1], word), word] if two else [word]
        made.shape = cgutils.pack_array(builder, [none, args[1]] if two else [none])
        made.strides = cgutils.pack_array(builder, strides)
        made.nitems = none
        made.itemsize = word
        return made._getvalue()

    return table(table, types.int64), codegen


@intrinsic
def add(_context: Any, table: Any, at: Any, value: Any) -> Any:
    """Add to a word of a contiguous table that other threads change, too; returns the old one."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        where = _word(context, builder, sig, args)
        return builder.atomic_rmw("add", where, args[2], "seq_cst")

    return types.int64(table, types.int64, types.int64), codegen


@intrinsic
def exchange(_context: Any, table: Any, at: Any, value: Any) -> Any:
    """Write a word of a contiguous table that other threads write, too; returns the old one."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        where = _word(context, builder, sig, args)
        return builder.atomic_rmw("xchg", where, args[2], "seq_cst")

    return types.int64(table, types.int64, types.int64), codegen


@intrinsic
def load(_context: Any, table: Any, at: Any) -> Any:
    """A word of a contiguous table that another thread may write."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load_atomic(_word(context, builder, sig, args), "acquire", 8)

    return types.int64(table, types.int64), codegen


@intrinsic
def rest(_context: Any) -> Any:
    """Let another thread have the processor."""

    def codegen(context: Any, builder: Any, _sig: Any, _args: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(32), [])
        function = builder.module.globals.get(_YIELD) or ir.Function(builder.module, kind, _YIELD)
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), codegen


def _word(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Address of word args[1] of table args[0]."""
    made = context.make_array(sig.args[0])(context, builder, args[0])
    return builder.gep(made.data, [args[1]])


@inlined
def lock(table: NDArray[np.int64], at: int) -> None:
    """Wait until the word is 0, and make it 1: what is done till `unlock`, one thread does."""
    while exchange(table, at, 1) != 0:
        rest()


@inlined
def unlock(table: NDArray[np.int64], at: int) -> None:
    """The end of what one thread does at a time."""
    exchange(table, at, 0)
