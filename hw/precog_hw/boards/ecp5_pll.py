"""Lattice ECP5's PLL: dividers found for exact frequencies, and the cell.

"ECP5 and ECP5-5G sysCLOCK PLL/DLL Design and Usage Guide" (FPGA-TN-02200) and the family's data
sheet (FPGA-DS-02012, sysCLOCK PLL timing): phase detector 10 to 400 MHz, VCO 400 to 800 MHz,
dividers 1 to 128. Feedback comes from the first output, so that

    output 0 = input * feedback / reference,    VCO = output 0 * divider 0.
"""

from dataclasses import dataclass
from fractions import Fraction

from amaranth.hdl import Const, Instance, Module, Signal, Value

__all__ = ["PllPlan", "plan_pll", "pll"]

_DETECTOR_MHZ = (10, 400)
_VCO_MHZ = (400, 800)
_MOST = 128
_OUTPUTS = ("OP", "OS", "OS2", "OS3")


@dataclass(frozen=True)
class PllPlan:
    """Dividers of a PLL.

    Attributes
    ----------
    reference, feedback : int
        CLKI_DIV and CLKFB_DIV.
    dividers : tuple of int
        One for each output.
    vco_mhz : Fraction
    """

    reference: int
    feedback: int
    dividers: tuple[int, ...]
    vco_mhz: Fraction


def plan_pll(input_mhz: Fraction | int, outputs_mhz: tuple[Fraction | int, ...]) -> PllPlan:
    """Dividers that give exactly these frequencies; the fastest phase detector, then VCO.

    Raises
    ------
    ValueError
        There are none, or more outputs than four.
    """
    if not 1 <= len(outputs_mhz) <= len(_OUTPUTS):
        raise ValueError(f"outputs_mhz must have 1 to 4 frequencies, not {len(outputs_mhz)}")
    source, outputs = Fraction(input_mhz), [Fraction(value) for value in outputs_mhz]
    for reference in range(1, _MOST + 1):
        detector = source / reference
        feedback = outputs[0] / detector
        if not _DETECTOR_MHZ[0] <= detector <= _DETECTOR_MHZ[1]:
            continue
        if feedback.denominator != 1 or not 1 <= feedback <= _MOST:
            continue
        for first in range(_MOST, 0, -1):
            vco = outputs[0] * first
            dividers = [vco / value for value in outputs]
            exact = all(d.denominator == 1 and 1 <= d <= _MOST for d in dividers)
            if _VCO_MHZ[0] <= vco <= _VCO_MHZ[1] and exact:
                whole = tuple(int(divider) for divider in dividers)
                return PllPlan(reference, int(feedback), whole, vco)
    asked = ", ".join(f"{float(value):g}" for value in outputs)
    raise ValueError(
        f"outputs_mhz must be made of {float(source):g} MHz by whole dividers with a VCO of 400 to "
        f"800 MHz, which {asked} are not"
    )


def pll(m: Module, plan: PllPlan, source: Value) -> tuple[list[Signal], Signal]:
    """Add the cell.

    Parameters
    ----------
    m : Module
        Gets it as submodule ``pll``.
    plan : PllPlan
    source : Value
        The input clock.

    Returns
    -------
    (list of Signal, Signal)
        A clock for each output, and whether they are locked. nextpnr derives their frequencies
        from the input's.
    """
    clocks = [Signal(name=f"pll_clock_{n}") for n in range(len(plan.dividers))]
    locked = Signal(name="pll_locked")
    parts: dict[str, object] = {}
    for name, divider, clock in zip(_OUTPUTS, plan.dividers, clocks, strict=False):
        parts |= {
            f"p_CLK{name}_ENABLE": "ENABLED",
            f"p_CLK{name}_DIV": divider,
            f"p_CLK{name}_CPHASE": divider - 1,  # no phase
            f"p_CLK{name}_FPHASE": 0,
            f"o_CLK{name}": clock,
        }
    m.submodules.pll = Instance(
        "EHXPLLL",
        # The loop filter that Lattice's generator gives for such frequencies.
        a_ICP_CURRENT="12",
        a_LPF_RESISTOR="8",
        a_MFG_ENABLE_FILTEROPAMP="1",
        a_MFG_GMCREF_SEL="2",
        p_PLLRST_ENA="DISABLED",
        p_INTFB_WAKE="DISABLED",
        p_STDBY_ENABLE="DISABLED",
        p_DPHASE_SOURCE="DISABLED",
        p_OUTDIVIDER_MUXA="DIVA",
        p_OUTDIVIDER_MUXB="DIVB",
        p_OUTDIVIDER_MUXC="DIVC",
        p_OUTDIVIDER_MUXD="DIVD",
        p_FEEDBK_PATH="CLKOP",
        p_CLKI_DIV=plan.reference,
        p_CLKFB_DIV=plan.feedback,
        i_CLKI=source,
        i_CLKFB=clocks[0],
        **{
            f"i_{name}": Const(0, 1)
            for name in ("RST", "STDBY", "PHASESEL0", "PHASESEL1", "PLLWAKESYNC", "ENCLKOP")
        },
        **{f"i_{name}": Const(1, 1) for name in ("PHASEDIR", "PHASESTEP", "PHASELOADREG")},
        o_LOCK=locked,
        **parts,
    )
    return clocks, locked
