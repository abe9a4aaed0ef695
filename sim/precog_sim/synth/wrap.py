"""A block with hundreds of port bits behind four pins, so that it can be placed and routed alone.

Every input bit comes from a register of a shift chain, every output bit ends in a register whose
successors fold into one pin. The block's own timing is therefore register to register; the chains'
cost is known (`WrapCost`) and subtracted from the report.

```text
si ─► shift chain ─► 2 ranks ─► block ─► 2 ranks ─► XOR shift chain ─► so
```
"""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Wrapped", "port_values"]


def port_values(component: wiring.Component) -> tuple[list[Value], list[Value]]:
    """All input and all output values of `component`, in the signature's order; no constants."""
    inputs: list[Value] = []
    outputs: list[Value] = []
    for _, member, value in component.signature.flatten(component):
        if isinstance(value, Const):  # `ready` of a stream that is always ready
            continue
        (inputs if member.flow is In else outputs).append(Value.cast(value))
    return inputs, outputs


@dataclass(frozen=True)
class WrapCost:
    """What the chains add.

    Attributes
    ----------
    ff : int
        Flip-flops.
    lut4 : int
        4-input tables.
    """

    ff: int
    lut4: int


class Wrapped(wiring.Component):
    """`block` between shift chains.

    Latency: three cycles before and three after the block. Cost: `cost`. Two ranks, so that a
    chain's order does not pull at the block's own registers.

    Parameters
    ----------
    block : wiring.Component

    Members
    -------
    si : In(1)
        Serial input of the stimulus chain.
    so : Out(1)
        All outputs, folded.
    """

    def __init__(self, block: wiring.Component) -> None:
        super().__init__({"si": In(1), "so": Out(1)})
        self._block = block
        inputs, outputs = port_values(block)
        self._in = Cat(inputs)
        self._out = Cat(outputs)
        # An output bit of constant value costs nothing; the count is an upper bound by those few.
        self.cost = WrapCost(ff=3 * len(self._in) + 3 * len(self._out), lut4=len(self._out))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.block = self._block
        chain = Signal(len(self._in), reset_less=True)
        far = Signal(len(self._in), reset_less=True)
        near = Signal(len(self._in), reset_less=True)
        taken = Signal(len(self._out), reset_less=True)
        seen = Signal(len(self._out), reset_less=True)
        fold = Signal(len(self._out), reset_less=True)
        m.d.sync += [
            chain.eq(Cat(self.si, chain)),
            far.eq(chain),
            near.eq(far),
            taken.eq(self._out),
            seen.eq(taken),
            fold.eq(seen ^ Cat(self.si, fold)),
        ]
        m.d.comb += [self._in.eq(near), self.so.eq(fold[-1])]
        return m
