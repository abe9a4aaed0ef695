"""Test benches for Amaranth's simulator, on a Verilated component: some hundred times as fast.

A bench is written against `ctx.set`, `ctx.get` and `ctx.tick`, and names signals of a component of
the same interface, which is never elaborated.
"""

from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amaranth.hdl import Value
from amaranth.hdl._ast import Slice
from amaranth.lib import data, wiring

from precog_hw.export import port_map
from precog_sim.rtl.block import RtlBlock

__all__ = ["Verilated"]

_MOST_SEEN = 4096  # values or expressions that are remembered

Bench = Callable[["_Context"], Coroutine[Any, Any, None]]


class Verilated:
    """Runs benches in lockstep, as `amaranth.sim.Simulator` does: in their order in each cycle.

    Parameters
    ----------
    component : wiring.Component
        Whose signals the benches name; ports that the library lacks must not be used.
    library : Path
        Of a module with its ports (`precog_hw.export.port_map`).
    """

    def __init__(self, component: wiring.Component, library: Path) -> None:
        self._block = RtlBlock(library)
        self._context = _Context(component, self._block)

    def poke(self, **values: int) -> None:
        """Set inputs of the module that the component does not have."""
        self._block.poke(**values)

    def run(self, *benches: Bench, cycles: int, background: Sequence[Bench] = ()) -> None:
        """Until all benches have ended; those in the background come first, and need not end.

        Raises
        ------
        AssertionError
            They have not after so many cycles.
        """
        context = self._context
        runs = [bench(context) for bench in (*background, *benches)]
        left = set(range(len(background), len(runs)))
        wanted = {n: run.send(None) for n, run in enumerate(runs)}
        for _ in range(cycles):
            sampled = {n: [context.get(one) for one in some] for n, some in wanted.items()}
            self._block.tick()
            for n, values in sampled.items():
                try:
                    wanted[n] = runs[n].send(values)
                except StopIteration:
                    del wanted[n]
                    left.discard(n)
            if not left:
                self._block.close()
                return
        raise AssertionError(f"the design hangs: no end after {cycles} cycles")


@dataclass(frozen=True)
class _Look:
    """How a value is found among the bytes of a port; it keeps what it was asked for alive."""

    expression: Any
    port: Any
    start: int
    width: int
    flips: int
    shape: data.Layout | None
    signed: bool
    seen: dict[int, Any] = field(default_factory=dict)  # values of a structure, by their bits

    def value(self) -> Any:
        bits = int.from_bytes(self.port, "little") >> self.start & (1 << self.width) - 1
        bits ^= self.flips
        if self.shape is None:
            return bits - (1 << self.width) if self.signed and bits >> self.width - 1 else bits
        if bits not in self.seen:
            if len(self.seen) == _MOST_SEEN:
                self.seen.clear()
            self.seen[bits] = self.shape.from_bits(bits)
        return self.seen[bits]


class _Context:
    """What a bench sees of the simulation."""

    def __init__(self, component: wiring.Component, block: RtlBlock) -> None:
        self._block = block
        self._names = {id(value): name for name, (value, _) in port_map(component).items()}
        self._component = component  # its signals live as long as their ids are used
        self._looks: dict[int, _Look] = {}

    def set(self, signal: Any, value: Any) -> None:
        """Give a port a value: an integer, fields by name, or elements."""
        port = Value.cast(signal)
        if isinstance(value, dict | list):
            value = int(signal.shape().const(value).as_bits())
        self._block.poke(**{self._name(port): int(value) & (1 << len(port)) - 1})

    def get(self, expression: Any) -> Any:
        """Value of a port, or of a field of one."""
        self._block.evaluate()
        look = self._looks.get(id(expression))
        if look is None:
            if len(self._looks) == _MOST_SEEN:  # a bench may name a field anew in each cycle
                self._looks.clear()
            self._looks[id(expression)] = look = self._look(expression)
        return look.value()

    def tick(self) -> "_Tick":
        """Until the next clock edge; awaited."""
        return _Tick()

    def _look(self, expression: Any) -> _Look:
        value = Value.cast(expression)
        start, width, flips = 0, len(value), 0
        is_view = isinstance(expression, data.View)
        signed = not is_view and value.shape().signed
        while id(value) not in self._names:
            if isinstance(value, Slice):
                start, value = start + value.start, value.value
            else:
                if value.operator == "~":
                    flips ^= (1 << width) - 1
                (value,) = value.operands  # or a signed field of a structure
        port = self._block.port(self._names[id(value)])
        shape = expression.shape() if is_view else None
        return _Look(expression, port, start, width, flips, shape, signed)

    def _name(self, value: Value) -> str:
        if id(value) not in self._names:
            raise KeyError(f"signal must be a port of the component, not {value!r}")
        return self._names[id(value)]


class _Tick:
    """Clock edges, with values of the cycle before each, as `amaranth.sim`'s tick trigger."""

    def __init__(self, sampled: Sequence[Any] = ()) -> None:
        self._sampled = list(sampled)

    def sample(self, *values: Any) -> "_Tick":
        """With the values of signals; awaited: clock, reset and these."""
        return _Tick([*self._sampled, *values])

    def __await__(self) -> Generator[list[Any], list[Any], tuple[Any, ...]]:
        values = yield self._sampled
        return True, False, *values

    async def repeat(self, count: int) -> None:
        """Some edges."""
        for _ in range(count):
            await self

    async def until(self, condition: Any) -> tuple[Any, ...]:
        """The edge at the end of the first cycle in which something holds; the sampled values."""
        while True:
            _, _, *values, met = await self.sample(condition)
            if met:
                return tuple(values)
