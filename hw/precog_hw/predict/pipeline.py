"""Registers behind values: delay chains, memoised, so that a value can be asked for at any later
stage.
"""

from typing import Any

from amaranth.hdl import Module, Signal, Value

__all__ = ["Delays"]


class Delays:
    """Registers behind values. Asking twice for the same delay gives the same register.

    Never ask inside a `Module.If`: the registers would then stop with its condition.

    Parameters
    ----------
    m : Module
        Gets the registers, in its ``sync`` domain.

    Usage
    -----
    ::

        delayed = Delays(m)
        m.d.comb += multiplier.a.eq(delayed(word, 3))
    """

    def __init__(self, m: Module) -> None:
        self._m = m
        self._chains: dict[int, tuple[Any, list[Any]]] = {}

    def __call__(self, value: Any, cycles: int, *, reset: bool = False) -> Any:
        """`value`, `cycles` later. Data is not reset; `reset` makes the chain start at zero.

        Raises
        ------
        ValueError
            `cycles` is negative.
        """
        if cycles < 0:
            raise ValueError(f"a delay must not be negative, not {cycles!r}")
        _, chain = self._chains.setdefault(id(value), (value, [value]))
        while len(chain) <= cycles:
            shape = value.shape()
            name = getattr(Value.cast(value), "name", "value")
            later = Signal(shape, name=f"{name}_d{len(chain)}", reset_less=not reset)
            self._m.d.sync += later.eq(chain[-1])
            chain.append(later)
        return chain[cycles]
