"""Errors of the build are said in the tool's words; nothing is built twice."""

from dataclasses import replace
from pathlib import Path

import pytest

from precog_hw import export
from precog_hw.activity import UNITS
from precog_hw.export import nic_verilog
from precog_sim.rtl import build
from precog_sim.rtl.build import TOP, late_reset, prepared, verilog_library
from precog_sim.rtl.verilate import VerilateError
from precog_spec.config import PRESETS, NicConfig

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


def test_a_late_reset_has_a_register_before_it() -> None:
    """Ports keep their names and widths, one of no bits, too."""
    source = (
        "module precog_block(clk, rst, none, q);\n  input clk;\n  input rst;\n"
        "  input [-1:0] none;\n  output q;\n  assign q = rst;\nendmodule\n"
    )
    text = late_reset(source, "precog_block")
    assert "always @(posedge clk) rst_late <= rst;" in text
    assert ".rst(rst_late)" in text
    assert "input [-1:0] none" in text.split("endmodule")[1]
    with pytest.raises(VerilateError, match="must have a module other"):
        late_reset(source, "other")


@pytest.mark.xdist_group("tiny")
def test_weight_memories_are_written_on_the_store_s_clock() -> None:
    verilog = nic_verilog(replace(PRESETS["tiny"], activity=True), name=TOP)
    text = prepared(verilog)
    store = f"(posedge {TOP}.unit_clk[{list(UNITS).index('store')}])"
    memories = verilog.count("_hit)\n")  # every write port is one `if`
    assert text.count(store) == 4 * memories > 0  # ... behind three registers
    with pytest.raises(VerilateError, match="write ports must be found"):
        prepared(verilog.replace("_hit", "_met").replace("_wh", "_h"))


def test_a_model_without_a_clock_is_refused(tmp_path: Path) -> None:
    source = "module precog_nic(input wire a, output wire b); assign b = a; endmodule"
    with pytest.raises(VerilateError, match="must have a clock called clk"):
        verilog_library(source, label="x", plain=True, root=tmp_path, quiet=True)


def test_wrong_ports_are_a_compile_error(unbuilt: Path) -> None:
    source = (
        "module precog_nic(input wire clk, output reg q); always @(posedge clk) q <= ~q; endmodule"
    )
    with pytest.raises(VerilateError, match=r"g\+\+ failed"):
        verilog_library(source, label="x", plain=True, root=unbuilt, quiet=True)


def test_verilog_is_kept_until_a_source_or_the_configuration_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[NicConfig] = []

    def elaborated(config: NicConfig, *, name: str) -> str:
        made.append(config)
        return f"module {name}(); endmodule // {len(made)}"

    monkeypatch.setattr(export, "nic_verilog", elaborated)
    tiny = PRESETS["tiny"]
    first = build._exported(tiny, tmp_path)
    assert build._exported(tiny, tmp_path) == first
    assert made == [tiny]
    larger = replace(tiny, qps=8)
    assert build._exported(larger, tmp_path) != first
    assert made == [tiny, larger]
    monkeypatch.setattr(build, "_sources", lambda: "another gateware")
    assert build._exported(tiny, tmp_path) != first
    assert made == [tiny, larger, tiny]


def test_the_digest_of_sources_has_every_file_of_the_gateware(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("precog_hw", "precog_spec"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "one.py").write_text("a = 1")
    monkeypatch.setattr(build.resources, "files", lambda name: tmp_path / name)
    digests = set()
    for number in range(3):
        digests.add(build._sources.__wrapped__())
        name = ("precog_hw", "precog_spec")[number % 2]
        (tmp_path / name / "deep" / "one.py").write_text(f"a = {number + 2}")
    assert len(digests) == 3
