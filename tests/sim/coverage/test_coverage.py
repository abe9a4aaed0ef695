"""Counts of lines: files of a Verilated block, and how they are summed up."""

from pathlib import Path

import pytest

from precog_sim.coverage.__main__ import summary, table
from precog_sim.coverage.points import distinct, merged
from precog_sim.rtl.block import RtlBlock, block_library
from precog_sim.rtl.verilate import COVERAGE

VERILOG = """\
module precog_block(clk, rst, a, q);
  input clk;
  input rst;
  input a;
  output q;
  wire x;
  \\precog_block.part$3 inner (.clk(clk), .a(a), .q(q));
endmodule

module \\precog_block.part$3 (clk, a, q);
  input clk;
  input a;
  output reg q;
  always @(posedge clk) begin
    if (a) begin
      q <= 1'h1;
    end else begin
      q <= 1'h0;
    end
  end
endmodule
"""


def point(line: int, branch: str, count: int, *, column: int = 5) -> str:
    """As Verilator 5.48 writes it."""
    keys = (("f", "precog_block.v"), ("l", line), ("n", column), ("t", "branch"), ("o", branch))
    return f"C '{''.join(f'{chr(1)}{key}{chr(2)}{value}' for key, value in keys)}' {count}\n"


def test_counts_of_the_same_text_are_added(tmp_path: Path) -> None:
    """In two runs of one build, and in another build, where the module stands elsewhere."""
    counts = tmp_path / "counts"
    counts.mkdir()
    inner = VERILOG[VERILOG.index("module \\precog_block.part") :]
    for build, text in (("a", VERILOG), ("b", inner + "module precog_block(clk);\nendmodule\n")):
        (tmp_path / build).mkdir()
        (tmp_path / build / "precog_block.v").write_text(text)
    (counts / "a-1-1.dat").write_text(point(15, "if", 0) + point(15, "else", 4))
    (counts / "a-2-1.dat").write_text(point(15, "if", 0) + point(15, "else", 3))
    said = summary(merged(counts, tmp_path))
    assert said["modules"] == {
        "part": {"points": 2, "covered": 1, "missing": ["6: if: if (a) begin"]}
    }
    assert table(said).splitlines()[2:] == [
        "| **all** | 2 | 1 | 50.0% |",
        "| part | 2 | 1 | 50.0% |",
    ]
    (counts / "b-1-1.dat").write_text(point(6, "if", 2) + point(6, "else", 0))
    modules = merged(counts, tmp_path)
    (module,) = [module for module in modules if module.counts]
    assert module.counts == {(6, 5, "if"): 2, (6, 5, "else"): 7}
    assert summary(modules)["total"] == {"points": 2, "covered": 2}
    (counts / "a-3-1.dat").write_text(point(99, "if", 1))
    with pytest.raises(ValueError, match=r"precog_block\.v:99 must be in a module"):
        merged(counts, tmp_path)


def test_a_module_whose_names_alone_differ_counts_once(tmp_path: Path) -> None:
    """Wires are numbered as they come in each build; another constant is another module."""
    part = """\
module \\precog_block.part${n} (a, q);
  input a;
  output q;
  wire \\${n} ;
  assign q = \\${n}  ? {constant} : 1'h0;
endmodule
"""
    counts = tmp_path / "counts"
    counts.mkdir()
    for build, n, constant, passed in (("a", 3, "a", 0), ("b", 17, "a", 5), ("c", 4, "1'h1", 0)):
        (tmp_path / build).mkdir()
        text = part.format(n=n, constant=constant)
        (tmp_path / build / "precog_block.v").write_text(text)
        said = point(5, "cond_then", passed) + point(5, "cond_else", 1)
        (counts / f"{build}-1-1.dat").write_text(said)
    modules = merged(counts, tmp_path)
    assert len(modules) == 3
    assert sorted(module.covered for module in distinct(modules)) == [1, 2]
    assert summary(modules)["total"] == {"points": 4, "covered": 3}


def test_without_counts_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must have \.dat files of a run with PRECOG_COVERAGE"):
        merged(tmp_path, tmp_path)


@pytest.mark.cosim
def test_what_runs_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, volume: int) -> None:
    if volume < 2:
        pytest.skip("the run-time library for counting is built only with --volume 2")
    counts, root = tmp_path / "counts", tmp_path / "rtl"
    counts.mkdir()
    monkeypatch.setenv(COVERAGE, str(counts))
    path = block_library(VERILOG, "event_harness", label="test", root=root)
    block = RtlBlock(path)
    block.tick(5)
    block.close()
    said = summary(merged(counts, root))
    assert said["modules"]["part"]["missing"] == ["6: if: if (a) begin"]
    block = RtlBlock(path)
    block.poke(a=1)
    block.tick()
    block.close()
    assert len(list(counts.glob("*.dat"))) == 2
    modules = merged(counts, root)
    (inner,) = [module for module in modules if module.name == "part"]
    # Two resets of two cycles, five cycles and one: in the last a was up.
    assert sorted(inner.counts.values()) == [1, 9, 10]
    said = summary(modules)
    assert said["modules"]["part"]["missing"] == []
    assert "| part | 3 | 3 | 100.0% |" in table(said)
