"""Boards with Gigabit Ethernet and a Lattice ECP5.

Pins are those of amaranth-boards. Delays between clock and data are those with which LiteX's
targets for the same boards work (litex-boards, ``tx_delay`` and ``rx_delay`` of `LiteEthPHYRGMII`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from precog_spec.config import PRESETS, NicConfig

__all__ = ["BOARDS", "Board", "board"]


def _colorlight() -> Any:
    from amaranth_boards.colorlight_5a75b_r7_0 import Colorlight_5A75B_R70Platform

    return Colorlight_5A75B_R70Platform()


def _versa() -> Any:
    from amaranth_boards.versa_ecp5_5g import VersaECP55GPlatform

    return VersaECP55GPlatform()


def _ecpix() -> Any:
    from amaranth_boards.ecpix5 import ECPIX585Platform

    return ECPIX585Platform()


@dataclass(frozen=True)
class Board:
    """A board.

    Attributes
    ----------
    title : str
    platform : callable
        Makes its platform of amaranth-boards.
    config : NicConfig
        What is inside.
    ports : int
        RGMII ports: 2, host and network, or 1, the network's.
    tx_clock_delay_ps, rx_data_delay_ps : int
        What its PHYs leave to the FPGA.
    core_mhz : Fraction
        Clock of the NIC.
    timing_weight : int, optional
        nextpnr places with `heap`, in which slow wires weigh this much against long ones; its own
        choice is 10. None: with `static`, which spreads cells over the device.
    joined_luts : bool
        yosys joins LUTs by their slices' multiplexers. There are more of them then, which nextpnr
        is less free to place; the MACs' CRCs are faster.
    """

    title: str
    platform: Callable[[], Any]
    config: NicConfig
    ports: int
    tx_clock_delay_ps: int
    rx_data_delay_ps: int
    core_mhz: Fraction = Fraction(125, 2)
    timing_weight: int | None = None
    joined_luts: bool = False


#: By the name that `precog synth --board` takes.
BOARDS: dict[str, Board] = {
    "colorlight-5a-75b": Board(
        "Colorlight 5A-75B revision 7.0",
        _colorlight,
        PRESETS["ecp5-25"],
        2,
        0,
        2000,
        timing_weight=5,  # with 10, seed 1 is not routed; static has a clock that is too slow
        joined_luts=True,
    ),
    "versa-ecp5-5g": Board(
        "Lattice Versa ECP5-5G",
        _versa,
        PRESETS["ecp5-45"],
        2,
        0,
        0,
        timing_weight=5,  # nearly full, too
        joined_luts=True,
    ),
    "ecpix-5-85f": Board(
        "LambdaConcept ECPIX-5 85F",
        _ecpix,
        PRESETS["ecp5-85"],
        1,
        2000,
        0,
    ),
}


def board(name: str) -> Board:
    """The board of this name.

    Raises
    ------
    ValueError
        There is none.
    """
    if name not in BOARDS:
        raise ValueError(f"board must be one of {', '.join(BOARDS)}, not {name!r}")
    return BOARDS[name]
