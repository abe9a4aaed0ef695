"""Values one cycle ago."""

from amaranth.hdl import Module, Signal, Value

__all__ = ["Past"]


class Past:
    """A value one cycle ago, and whether there was such a cycle."""

    def __init__(self, m: Module) -> None:
        self._m = m
        self.known = Signal(name="past_known")
        m.d.sync += self.known.eq(1)

    def __call__(self, value: Value, name: str) -> Signal:
        held = Signal.like(value, name=f"past_{name}")
        self._m.d.sync += held.eq(value)
        return held
