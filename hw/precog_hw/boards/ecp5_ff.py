"""A register of Lattice ECP5 that synthesis leaves alone.

Registers with equal inputs are one register to synthesis, however far apart their readers are.
"""

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Signal, Value

__all__ = ["own_register"]


def own_register(
    m: Module, name: str, value: Value, *, when: Value | None = None, to: int = 0
) -> Value:
    """Add flip-flops that are never merged with others; without reset.

    Parameters
    ----------
    m : Module
        Gets the cells as submodules ``name_...``.
    name : str
    value : Value
    when, to : Value, int
        What is taken instead of `value`, and when: by the cells' set and reset.

    Returns
    -------
    Value
        `value`, one cycle later.
    """
    forced = Const(0, 1) if when is None else when
    bits = []
    for n in range(len(value)):
        q = Signal(name=f"{name}_q{n}")
        m.submodules[f"{name}_{n}"] = Instance(
            "TRELLIS_FF",
            a_keep=1,
            p_GSR="DISABLED",
            p_CEMUX="1",
            p_CLKMUX="CLK",
            p_LSRMUX="LSR",
            p_REGSET="SET" if to >> n & 1 else "RESET",
            p_SRMODE="LSR_OVER_CE",
            i_CLK=ClockSignal(),
            i_LSR=forced,
            i_DI=value[n],
            o_Q=q,
        )
        bits.append(q)
    return Cat(bits)
