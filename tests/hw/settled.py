"""Test benches for Amaranth's simulator that settle the design once for all inputs of a cycle.

`ctx.set` evaluates the design after each input: nearly half of the time of a bench that sets ten
inputs in a cycle. No other bench runs before this one waits, so none sees the design in between.
"""

import types
from collections.abc import Callable, Coroutine, Generator, Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Shape, ShapeCastable, Signal, Value, ValueCastable
from amaranth.lib import data

__all__ = ["pack", "settled"]


def settled(bench: Callable[[Any], Coroutine[Any, Any, None]]) -> Callable[[Any], Any]:
    """The bench, for `Simulator.add_testbench`; it sees its inputs' effect as it would without."""

    async def run(ctx: Any) -> None:
        inputs = _Inputs(ctx)
        await _flushing(bench(inputs), inputs)

    return run


def pack(shape: Any, value: Any) -> int:
    """A value of a port as its bits: much faster than `layout.const`."""
    if isinstance(shape, data.StructLayout) and isinstance(value, Mapping):
        fields = ((shape[name], one) for name, one in value.items())
        return sum(pack(field.shape, one) << field.offset for field, one in fields)
    if not isinstance(value, int):
        if isinstance(shape, ShapeCastable):
            value = shape.const(value)
        value = Const.cast(value).value
    return int(value) & (1 << Shape.cast(shape).width) - 1


class _Inputs:
    """A context whose `set` waits until the bench looks at the design or waits itself."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._set: list[tuple[Value, int]] = []
        self._ports: dict[int, tuple[Any, Value, Any]] = {}  # expression, signal and shape by id
        self._whole: dict[tuple[int, ...], Value] = {}  # concatenations of signals

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def set(self, expression: Any, value: Any) -> None:
        """As Amaranth's."""
        found = self._ports.get(id(expression))
        if found is None:
            target = Value.cast(expression)
            castable = isinstance(expression, ValueCastable)
            found = expression, target, (expression if castable else target).shape()
            if isinstance(target, Signal):  # a bench may name a field anew each time
                self._ports[id(expression)] = found
        _, target, shape = found
        self._set.append((target, pack(shape, value)))

    def get(self, expression: Any) -> Any:
        """As Amaranth's."""
        self.flush()
        return self._ctx.get(expression)

    def flush(self) -> None:
        """Give the design its inputs, in their order, unless they have these values."""
        if not self._set:
            return
        bits = at = 0
        for one, value in self._set:
            bits |= value << at
            at += len(one)
        whole = self._concatenated()
        self._set.clear()
        if self._ctx.get(whole) != bits:
            self._ctx.set(whole, bits)

    def _concatenated(self) -> Value:
        """What is to be set."""
        key = tuple(id(one) for one, _ in self._set)
        if key in self._whole:
            return self._whole[key]
        whole = Cat(one for one, _ in self._set)
        if all(isinstance(one, Signal) for one, _ in self._set):
            self._whole[key] = whole
        return whole


@types.coroutine
def _flushing(bench: Coroutine[Any, Any, None], inputs: _Inputs) -> Generator[Any, None, None]:
    """The bench, its inputs given each time before it waits, whatever it waits for."""
    while True:
        try:
            waits = bench.send(None)
        except StopIteration:
            inputs.flush()
            return
        inputs.flush()
        yield waits
