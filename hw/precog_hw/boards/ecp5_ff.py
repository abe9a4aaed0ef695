"""A register of Lattice ECP5 that synthesis leaves alone.

Registers with equal inputs are one register to synthesis, however far apart their readers are.
"""

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Signal, Value

__all__ = ["own_register"]


def own_register(m: Module, name: str, value: Value) -> Value:
    """Add flip-flops that are never merged with others; without reset.

    Parameters
    ----------
    m : Module
        Gets the cells as submodules ``name_...``.
    name : str
    value : Value

    Returns
    -------
    Value
        `value`, one cycle later.
    """
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
            p_REGSET="RESET",
            p_SRMODE="LSR_OVER_CE",
            i_CLK=ClockSignal(),
            i_LSR=Const(0, 1),
            i_DI=value[n],
            o_Q=q,
        )
        bits.append(q)
    return Cat(bits)
