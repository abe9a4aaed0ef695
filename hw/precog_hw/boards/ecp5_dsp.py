"""Lattice ECP5's multiplier block MULT18X18D with its registers in use.

"ECP5 and ECP5-5G sysDSP Usage Guide" (FPGA-TN-02205): the input and pipeline registers are chosen
by ``REG_*_CLK``; ``"NONE"`` bypasses one. The register in the block's middle is not used alone:
nextpnr 0.11 then times the whole block as a path without registers.
"""

from amaranth.hdl import ClockSignal, Const, Instance, Module, Signal, Value, signed

__all__ = ["mult18x18d"]

_BITS = 18


def mult18x18d(m: Module, a: Value, b: Value, *, input_register: bool) -> Value:
    """Add a block that multiplies two signed values of at most 18 bits.

    Parameters
    ----------
    m : Module
        Gets the cell as submodule ``mult``.
    a, b : Value
        Signed operands.
    input_register : bool
        Register the operands inside the block too.

    Returns
    -------
    Value
        The product, signed(36), registered inside the block.
    """
    wide_a, wide_b = Signal(signed(_BITS)), Signal(signed(_BITS))
    m.d.comb += [wide_a.eq(a), wide_b.eq(b)]
    product = Signal(signed(2 * _BITS))
    clock_in = "CLK0" if input_register else "NONE"
    ports: dict[str, object] = {}
    for n in range(_BITS):
        ports[f"i_A{n}"] = wide_a[n]
        ports[f"i_B{n}"] = wide_b[n]
        ports[f"i_C{n}"] = Const(0, 1)
    for n in range(2 * _BITS):
        ports[f"o_P{n}"] = product[n]
    for n in range(4):
        ports[f"i_CLK{n}"] = ClockSignal() if n == 0 else Const(0, 1)
        ports[f"i_CE{n}"] = Const(1 if n == 0 else 0, 1)
        ports[f"i_RST{n}"] = Const(0, 1)
    m.submodules.mult = Instance(
        "MULT18X18D",
        p_REG_INPUTA_CLK=clock_in,
        p_REG_INPUTB_CLK=clock_in,
        p_REG_INPUTC_CLK="NONE",
        p_REG_PIPELINE_CLK="NONE",
        p_REG_OUTPUT_CLK="CLK0",
        p_GSR="DISABLED",
        p_RESETMODE="SYNC",
        i_SIGNEDA=Const(1, 1),
        i_SIGNEDB=Const(1, 1),
        i_SOURCEA=Const(0, 1),
        i_SOURCEB=Const(0, 1),
        **ports,
    )
    return product
