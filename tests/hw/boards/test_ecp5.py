# amaranth: UnusedElaboratable=no
"""PLL dividers against the data sheet's limits; delays; boards' names."""

import dataclasses
from fractions import Fraction

import pytest
from amaranth.hdl import Fragment, Instance

from precog_hw.boards.board import BOARDS, board
from precog_hw.boards.ecp5_pll import plan_pll
from precog_hw.boards.ecp5_rgmii import RgmiiReceiver, RgmiiTransmitter, delay_taps
from precog_hw.boards.node import Node
from precog_spec.config import PRESETS


@pytest.mark.parametrize("source", [12, 25, 48, 50, 100, 125])
@pytest.mark.parametrize("core", [Fraction(125, 2), Fraction(625, 9), Fraction(625, 8), 100, 125])
def test_dividers(source: int, core: Fraction) -> None:
    try:
        plan = plan_pll(source, (125, core))
    except ValueError:
        # 12 and 48 MHz do not make 125 MHz by whole dividers from 10 MHz on.
        assert source in (12, 48) or core == 100
        return
    assert plan.vco_mhz == Fraction(source, plan.reference) * plan.feedback * plan.dividers[0]
    assert 400 <= plan.vco_mhz <= 800
    assert Fraction(source, plan.reference) >= 10
    assert [plan.vco_mhz / divider for divider in plan.dividers] == [125, core]
    assert all(1 <= n <= 128 for n in (plan.reference, plan.feedback, *plan.dividers))


def test_frequencies_that_no_pll_makes() -> None:
    with pytest.raises(ValueError, match="outputs_mhz must be made of 25 MHz by whole dividers"):
        plan_pll(25, (125, Fraction(1, 3)))
    with pytest.raises(ValueError, match="outputs_mhz must have 1 to 4 frequencies, not 5"):
        plan_pll(25, (125,) * 5)


def test_delays() -> None:
    assert [delay_taps(ps) for ps in (0, 25, 2000, 3175)] == [0, 1, 80, 127]
    for make in (delay_taps, RgmiiReceiver, RgmiiTransmitter):
        for delay_ps in (-25, 30, 3200):
            with pytest.raises(ValueError, match=f"multiple of 25 below 3200, not {delay_ps}"):
                make(delay_ps)


def cells(fragment: Fragment, kind: str) -> list[Instance]:
    """Instances of the vendor's cell, in order."""
    found = [fragment] if isinstance(fragment, Instance) and fragment.type == kind else []
    return found + [cell for part, *_ in fragment.subfragments for cell in cells(part, kind)]


def test_every_pin_has_its_bits() -> None:
    """Vendor's cells have no insides to simulate: what is joined to them is looked at."""
    sent = Fragment.get(RgmiiTransmitter(0), None)
    clock, ctl, *bits = (
        [cell.ports[name][0] for name in ("D0", "D1")] for cell in cells(sent, "ODDRX1F")
    )
    assert [value.value for value in clock] == [1, 0]
    assert repr(ctl[0]) == repr(ctl[1])
    assert len({repr(value) for pair in bits for value in pair}) == 8
    received = Fragment.get(RgmiiReceiver(2000), None)
    ports = [cell.ports for cell in cells(received, "IDDRX1F")]
    assert [sorted(one) for one in ports] == 5 * [["D", "Q0", "Q1", "RST", "SCLK"]]
    assert len({id(one[name][0]) for one in ports for name in ("D", "Q0", "Q1")}) == 15
    delays = [cell.parameters["DEL_VALUE"] for cell in cells(received, "DELAYG")]
    assert delays == 5 * [80]


def test_boards() -> None:
    """A Gigabit port never starves; a board that is not known lists those that are."""
    for name, found in BOARDS.items():
        assert board(name) is found
        assert found.core_mhz * found.config.width >= 2 * 1000
        assert found.config.dsp == "ecp5"
    with pytest.raises(ValueError, match=r"board must be one of colorlight-5a-75b, versa-ecp5-5g"):
        board("ulx3s")


def test_nodes_that_do_not_work() -> None:
    config = PRESETS["ecp5-45"]
    with pytest.raises(ValueError, match="ports must be 1 or 2, not 3"):
        Node(config, ports=3, core_hz=62_500_000)
    for hertz in (62_499_999, 66_000_001):
        with pytest.raises(ValueError, match=rf"core_hz must be 62500000 or more.*not {hertz}"):
            Node(config, ports=2, core_hz=hertz)
    with pytest.raises(ValueError, match="width must be 64 or more on a board, not 8"):
        Node(dataclasses.replace(config, width=8), ports=2, core_hz=62_500_000)
