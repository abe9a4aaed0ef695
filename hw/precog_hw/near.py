"""Copies of signals that have readers all over the device."""

from amaranth.hdl import Module, Mux, Signal, Value

__all__ = ["near"]


def near(
    m: Module, name: str, value: Value, *, dsp: str, when: Value | None = None, to: int = 0
) -> Value:
    """`value`, one cycle later, in a register for the caller alone.

    For signals with readers all over the device: a copy can be placed next to each reader.

    Parameters
    ----------
    m : Module
        Gets the register, in its ``sync`` domain; not reset.
    name : str
    value : Value
    dsp : str
        `NicConfig.dsp`.
    when, to : Value, int
        What is taken instead of `value`, and when. On ECP5 that puts no logic behind `value`.
    """
    if dsp == "ecp5":
        from precog_hw.boards.ecp5_ff import own_register

        copy = own_register(m, name, value, when=when, to=to)
        return copy.as_signed() if value.shape().signed else copy
    register = Signal(value.shape(), name=name, reset_less=True)
    m.d.sync += register.eq(value if when is None else Mux(when, to, value))
    return register
