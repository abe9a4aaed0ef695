"""What linters name is gone from the text, and nothing else; the machine's yosys has no say."""

from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal
from amaranth.hdl._ir import PortDirection

from precog_hw.verilog import verilog_text
from precog_hw.verilog_tidy import tidy

TEXT = r"""/* Generated */

module \top.child (a, y, spare);
  input [3:0] a;
  wire [3:0] a;
  output y;
  wire y;
  output spare;
  wire spare;
  wire [-1:0] none;
  wire \a.low ;
  (* enum_base_type = "Edit" *)
  (* enum_value_00 = "KEEP" *)
  wire \a.low.again ;
  assign \a.low  = a[0];
  assign \a.low.again  = \a.low ;
  assign y = a[2] ^ a[1];
  assign spare = 1'h0;
endmodule

(* keep =  1  *)
module top(clk, a, y);
  input clk;
  wire clk;
  input [3:0] a;
  wire [3:0] a;
  output [1:0] y;
  wire [1:0] y;
  reg [1:0] \state.one  = 2'h1;
  reg [1:0] \$next ;
  wire \child.y ;
  wire \child.spare ;
  wire [3:0] sum;
  reg [7:0] rows [0:3];
  assign sum = a + 4'h1;
  assign y = { \child.y , sum[3] };
  always @* begin
    \$next  = 2'h0;
    casez (\state.one )
      2'h1:
          \$next  = 2'h2;
    endcase
    $write("a.low is a word here");
  end
  always @(posedge clk)
    rows[\state.one ] <= { 6'h00, \$next  };
  \top.child  child (
    .a({ 2'h0, \state.one  }),
    .spare(\child.spare ),
    .y(\child.y )
  );
endmodule
"""


def test_what_is_never_read_goes_or_is_gathered() -> None:
    child, top = tidy(TEXT).split("endmodule\n")[:2]
    assert "low" not in child
    assert "none" not in child
    assert "Edit" not in child
    assert "KEEP" not in child
    assert "  wire unused = &{ 1'h0, a[0:0], a[3:3] };\n" in child
    assert "  wire unused = &{ 1'h0, \\child.spare , sum[2:0] };\n" in top


def test_registers_and_cases() -> None:
    text = tidy(TEXT)
    assert "  reg [1:0] \\state.one ;\n  initial \\state.one  = 2'h1;\n" in text
    assert "          \\$next  = 2'h2;\n      default: ;\n    endcase\n" in text


def test_the_rest_stays() -> None:
    text = tidy(TEXT)
    added = ("  wire unused", "  initial ", "      default: ;", "  reg [1:0] \\state.one")
    gone = ("a.low", "none", "enum_", "\\state.one  = 2'h1;")
    before = [line for line in TEXT.split("\n") if not any(word in line for word in gone)]
    before += ['    $write("a.low is a word here");']
    after = [line for line in text.split("\n") if not line.startswith(added)]
    assert sorted(after) == sorted(before)
    assert tidy(text) == text


def test_a_yosys_on_path_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Amaranth's default takes the machine's, and fails with it where it does not run."""
    broken = tmp_path / "yosys"
    broken.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    m = Module()
    a, y = Signal(4), Signal(4)
    m.d.comb += y.eq(a + 1)
    ports = {"a": (a, PortDirection.Input), "y": (y, PortDirection.Output)}
    assert "= a + 4'h1;" in verilog_text(m, name="plain", ports=ports)
