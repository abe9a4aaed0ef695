"""Test benches for Amaranth's simulator, on a Verilated component: some hundred times as fast.

A bench is written against `ctx.set`, `ctx.get` and `ctx.tick`, and names signals of a component of
the same interface, which is never elaborated.
"""

from collections.abc import Callable, Collection, Coroutine, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amaranth.hdl import Value
from amaranth.hdl._ast import Slice
from amaranth.lib import data, wiring

from precog_hw.export import port_map
from precog_sim.rtl.block import Bits, RtlBlock

__all__ = ["Verilated"]

_MOST_SEEN = 4096  # values or expressions that are remembered

Bench = Callable[["_Context"], Coroutine[Any, Any, None]]


@dataclass
class _Wait:
    """What a bench waits for, and the values that it wants of the cycle before that edge.

    Attributes
    ----------
    sampled : sequence of expressions
    conditions : sequence of expressions
        The edge is that at the end of the first cycle in which one of them is not 0.
    edges : int
        Without conditions: the edge is this one from now on.
    """

    sampled: Sequence[Any]
    conditions: Sequence[Any] = ()
    edges: int = 1

    @property
    def is_long(self) -> bool:
        """Whether the next edge may concern nobody."""
        return bool(self.conditions) or self.edges > 1


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
        waits: dict[int, _Wait] = {n: run.send(None) for n, run in enumerate(runs)}
        end = self.cycles + cycles
        while self.cycles < end:
            self._pass(waits.values(), end - self.cycles - 1)
            sampled = {n: values for n, wait in waits.items() if (values := self._look(wait))}
            self._block.tick()
            for n, (values,) in sampled.items():
                try:
                    waits[n] = runs[n].send(values)
                except StopIteration:
                    del waits[n]
                    left.discard(n)
            if not left:
                self._block.close()
                return
        raise AssertionError(f"the design hangs: no end after {cycles} cycles")

    @property
    def cycles(self) -> int:
        """Cycles since the reset."""
        return self._block.cycles

    def _pass(self, waits: Collection[_Wait], most: int) -> None:
        """The cycles of which no bench wants to know: they need no Python."""
        if not all(wait.is_long for wait in waits):
            return
        counting = [wait for wait in waits if not wait.conditions]
        most = min([most, *(wait.edges - 1 for wait in counting)])
        conditions = [one for wait in waits for one in wait.conditions]
        passed = self._block.tick_until(self._context.bits(conditions), most)
        for wait in counting:
            wait.edges -= passed

    def _look(self, wait: _Wait) -> tuple[list[Any]] | None:
        """The values that a bench wants, if the next edge is its own."""
        get = self._context.get
        if wait.conditions:
            if not any(get(one) for one in wait.conditions):
                return None
        elif wait.edges > 1:
            wait.edges -= 1
            return None
        return ([get(one) for one in wait.sampled],)


@dataclass(frozen=True)
class _Look:
    """How a value is found among the bytes of a port; it keeps what it was asked for alive."""

    expression: Any
    name: str
    port: Any
    start: int
    width: int
    flips: int
    shape: data.Layout | None
    signed: bool
    seen: dict[int, Any] = field(default_factory=dict)  # values of a structure, by their bits

    def bits(self) -> list[tuple[str, int, bool]]:
        """Its bits: port, place, and the level there for which they are 1."""
        places = range(self.width)
        return [(self.name, self.start + n, not self.flips >> n & 1) for n in places]

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
        self._bits: dict[tuple[int, ...], tuple[Sequence[Any], Bits]] = {}

    def set(self, signal: Any, value: Any) -> None:
        """Give a port a value: an integer, fields by name, or elements."""
        port = Value.cast(signal)
        if isinstance(value, dict | list):
            value = int(signal.shape().const(value).as_bits())
        self._block.poke(**{self._name(port): int(value) & (1 << len(port)) - 1})

    def get(self, expression: Any) -> Any:
        """Value of a port, or of a field of one."""
        self._block.evaluate()
        return self._found(expression).value()

    def bits(self, expressions: Sequence[Any]) -> Bits:
        """The bits of which one is set if an expression is not 0."""
        key = tuple(map(id, expressions))
        if key not in self._bits:
            if len(self._bits) == _MOST_SEEN:
                self._bits.clear()
            looks = map(self._found, expressions)
            made = self._block.bits([bit for look in looks for bit in look.bits()])
            self._bits[key] = expressions, made  # these keep their ids
        return self._bits[key][1]

    def tick(self) -> "_Tick":
        """Until the next clock edge; awaited."""
        return _Tick()

    def _found(self, expression: Any) -> _Look:
        look = self._looks.get(id(expression))
        if look is None:
            if len(self._looks) == _MOST_SEEN:  # a bench may name a field anew in each cycle
                self._looks.clear()
            self._looks[id(expression)] = look = self._look(expression)
        return look

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
        name = self._names[id(value)]
        port = self._block.port(name)
        shape = expression.shape() if is_view else None
        return _Look(expression, name, port, start, width, flips, shape, signed)

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

    def __await__(self) -> Generator[_Wait, list[Any], tuple[Any, ...]]:
        values = yield _Wait(self._sampled)
        return True, False, *values

    async def repeat(self, count: int) -> None:
        """Some edges."""
        if count:
            await _Edge(_Wait((), edges=count))

    async def until(self, *conditions: Any) -> tuple[Any, ...]:
        """The edge at the end of the first cycle in which one holds; the sampled values."""
        return tuple(await _Edge(_Wait(self._sampled, conditions)))


@dataclass(frozen=True)
class _Edge:
    """An edge that is awaited; its value is what was sampled."""

    wait: _Wait

    def __await__(self) -> Generator[_Wait, list[Any], list[Any]]:
        return (yield self.wait)
