"""What the tools are told of a board: pins and clocks as public documentation has them."""

import re

import pytest

from precog_hw.boards.board import BOARDS
from precog_hw.boards.top import Top

#: LOCATE COMP lines of a port (tx_clk, tx_ctl, tx_data, rx_clk, rx_ctl, rx_data): litex-boards'
#: platforms colorlight_5a_75b (7.0), versa_ecp5 and ecpix5, and the clock's frequency.
PINS = {
    "colorlight-5a-75b": (
        ["M2 M3 L1 L3 P2 L4 M1 N6 N1 M5 N5 M6", "M12 R15 T14 R12 R13 R14 M16 L15 P13 N13 P14 M15"],
        25e6,
    ),
    "versa-ecp5-5g": (
        ["P19 R20 N19 N20 P18 P20 L20 U19 T20 U20 T19 R18",
         "C20 E19 J17 J16 D19 D20 J19 F19 G18 G16 H18 H17"],
        100e6,
    ),
    "ecpix-5-85f": (["A12 C9 D8 C8 B8 A8 E11 A11 B11 A10 B10 A9"], 100e6),
}  # fmt: skip


@pytest.mark.parametrize("name", BOARDS)
def test_constraints(name: str, volume: int) -> None:
    if volume == 1 and name != "colorlight-5a-75b":
        pytest.skip("only with --volume: larger ones take up to 15 CPU s to elaborate")
    platform = BOARDS[name].platform()
    plan = platform.prepare(Top(BOARDS[name]), "top")
    lpf = plan.files["top.lpf"]
    text = lpf if isinstance(lpf, str) else lpf.decode()
    sites = dict(re.findall(r'LOCATE COMP "(\S+)" SITE "(\S+)";', text))
    ports, source = PINS[name]
    for n, pins in enumerate(ports):
        found = [site for port, site in sites.items() if port.startswith(f"port_{n}__")]
        assert found == pins.split()
    assert len([port for port in sites if port.startswith("port_")]) == 12 * len(ports)
    hertz = [float(value) for value in re.findall(r"FREQUENCY PORT \S+ (\S+) HZ", text)]
    assert sorted(hertz) == sorted([source, *[125e6] * len(ports)])
    rtlil = plan.files["top.il"]
    design = rtlil if isinstance(rtlil, str) else rtlil.decode()
    cells = {kind: len(re.findall(rf"cell \\{kind} ", design)) for kind in ("EHXPLLL", "DELAYG")}
    assert cells == {"EHXPLLL": 1, "DELAYG": 11 * len(ports)}
