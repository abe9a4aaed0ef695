"""A table of 64 words in Lattice ECP5's LUTs: one 6-input function a bit.

Left to itself, synthesis shares logic between the bits of a table and makes it eight LUTs deep.
"""

from collections.abc import Sequence

from amaranth.hdl import Const, Instance, Module, Signal, Value

__all__ = ["rom64"]


def rom64(m: Module, name: str, addr: Value, words: Sequence[int], width: int) -> Value:
    """Add a table: 4 LUT4 and their multiplexers for each bit.

    Parameters
    ----------
    m : Module
        Gets the cells as submodules ``name_...``.
    addr : Value
        6 bits.
    words : sequence of int
        64 words.
    width : int
        Bits of a word.

    Returns
    -------
    Value
        The addressed word, in the same cycle.
    """
    out = Signal(width, name=name)
    for bit in range(width):
        luts, halves = Signal(4, name=f"{name}_lut_{bit}"), Signal(2, name=f"{name}_half_{bit}")
        for quarter in range(4):
            init = sum((words[quarter * 16 + n] >> bit & 1) << n for n in range(16))
            m.submodules[f"{name}_lut_{bit}_{quarter}"] = Instance(
                "LUT4",
                p_INIT=Const(init, 16),
                i_A=addr[0],
                i_B=addr[1],
                i_C=addr[2],
                i_D=addr[3],
                o_Z=luts[quarter],
            )
        for half in range(2):
            m.submodules[f"{name}_half_{bit}_{half}"] = Instance(
                "PFUMX",
                i_BLUT=luts[2 * half],
                i_ALUT=luts[2 * half + 1],
                i_C0=addr[4],
                o_Z=halves[half],
            )
        m.submodules[f"{name}_whole_{bit}"] = Instance(
            "L6MUX21", i_D0=halves[0], i_D1=halves[1], i_SD=addr[5], o_Z=out[bit]
        )
    return out
