"""Blocks without their memories' rows: what is read is free, like all that goes in."""

from typing import Any

from amaranth.hdl import Elaboratable, Module, ShapeLike, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Flow

from .peek import free

__all__ = ["Memories", "Ports", "any_inputs"]


class _Port:
    def __init__(self, shape: ShapeLike, depth: int) -> None:
        self.en, self.addr, self.data = Signal(), Signal(range(depth)), Signal(shape)


class Ports(Elaboratable):
    """A memory without its rows: any word is read.

    Attributes
    ----------
    write : _Port
    """

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        self.write, self._read = _Port(shape, depth), _Port(shape, depth)

    def write_port(self) -> _Port:
        return self.write

    def read_port(self) -> _Port:
        return self._read

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = Value.cast(self._read.data)
        m.d.comb += word.eq(free(len(word)))
        return m


class Memories:
    """Those that blocks are made with while `Memory` and `plain_memory` are patched."""

    def __init__(self) -> None:
        self.memories: list[Ports] = []

    def memory(self, *, shape: ShapeLike, depth: int, init: Any, attrs: Any = None) -> Elaboratable:
        """`Memory`; tables of constants stay what they are."""
        if len(init):
            return Memory(shape=shape, depth=depth, init=init, attrs=attrs)
        return self.rows(shape, depth)

    def rows(self, shape: ShapeLike, depth: int) -> Ports:
        """`plain_memory`."""
        self.memories.append(Ports(shape, depth))
        return self.memories[-1]


def any_inputs(m: Module, dut: Any) -> None:
    """Everything that goes in is free in every cycle."""
    for _, member, port in dut.signature.flatten(dut):
        if member.flow is Flow.In:
            value = Value.cast(port)
            m.d.comb += value.eq(free(len(value)))
