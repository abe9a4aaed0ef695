"""Errors of the build are said in the tool's words; nothing is built twice."""

from pathlib import Path

import pytest

from precog_sim.rtl.build import prepared, verilog_library
from precog_sim.rtl.verilate import VerilateError

pytestmark = pytest.mark.cosim


def test_a_broken_source_is_reported_with_the_tools_words(tmp_path: Path) -> None:
    with pytest.raises(VerilateError, match=r"verilator failed in .*(?s:.*)syntax error"):
        verilog_library(
            "module precog_nic(; endmodule", label="x", plain=True, root=tmp_path, quiet=True
        )


def test_preparing_keeps_ports_and_ties_the_reset() -> None:
    source = (
        "module precog_nic(clk, rst, a, q);\n  input clk;\n  input rst;\n  input [3:0] a;\n"
        "  output [7:0] q;\n  assign q = { a[3], a[3], a[3], a[3], a };\nendmodule\n"
    )
    text = prepared(source)
    assert "{ {4{a[3]}}, a }" in text
    assert ".rst(1'b0)" in text
    assert "input [3:0] a" in text
    with pytest.raises(VerilateError, match="must have a module precog_nic"):
        prepared("module other(); endmodule")


def test_a_model_without_a_clock_is_refused(tmp_path: Path) -> None:
    source = "module precog_nic(input wire a, output wire b); assign b = a; endmodule"
    with pytest.raises(VerilateError, match="must have a clock called clk"):
        verilog_library(source, label="x", plain=True, root=tmp_path, quiet=True)


def test_wrong_ports_are_a_compile_error(tmp_path: Path) -> None:
    source = (
        "module precog_nic(input wire clk, output reg q); always @(posedge clk) q <= ~q; endmodule"
    )
    with pytest.raises(VerilateError, match=r"g\+\+ failed"):
        verilog_library(source, label="x", plain=True, root=tmp_path, quiet=True)
