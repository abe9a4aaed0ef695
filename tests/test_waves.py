# amaranth: UnusedElaboratable=no
"""Waveforms of simulations, and what is said of a difference."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from precog_sim.rtl.block import RtlBlock, block_library

from .differing import same
from .wave_text import last_changes
from .waves import folder_of, waves

VERILOG = """\
module precog_block(clk, rst, a, q);
  input clk;
  input rst;
  input a;
  output q;
  reg q;
  always @(posedge clk) q <= a & ~rst;
endmodule
"""


class Counter(wiring.Component):
    """Counts while `en` is high."""

    en: In(1)
    q: Out(8)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inner = Signal(8, name="inner")
        with m.If(self.en):
            m.d.sync += inner.eq(inner + 1)
        m.d.comb += self.q.eq(inner)
        return m


def simulated(counter: Counter) -> None:
    async def bench(ctx: Any) -> None:
        ctx.set(counter.en, 1)
        await ctx.tick().repeat(3)
        assert ctx.get(counter.q) == 4

    sim = Simulator(counter)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()


def changes(text: str, name: str) -> list[int]:
    """A signal's values in a VCD file, in order."""
    (code,) = {found for found in re.findall(rf"\$var \w+ \d+ (\S+) {name}\b", text)}
    values = re.findall(rf"^b?([01]+) ?{re.escape(code)}$", text, re.M)
    return [int(value, 2) for value in values]


def test_a_simulation_that_fails_leaves_its_last_cycle(tmp_path: Path) -> None:
    with waves(tmp_path / "w"), pytest.raises(AssertionError):
        simulated(Counter())
    simulated_once = (tmp_path / "w/amaranth-1.vcd").read_text()
    assert changes(simulated_once, "inner") == [0, 1, 2, 3]
    (line,) = last_changes(tmp_path / "w/amaranth-1.vcd", r"\.inner$", count=2)
    assert re.fullmatch(r"[\w.]+\.inner: \d+=2 \d+=3", line)
    assert last_changes(tmp_path / "w/amaranth-1.vcd", "absent", count=2) == []
    lines = ("$scope module top $end", "$var string 1 % \\i.edit $end", "$var wire 1 z x $end")
    (tmp_path / "a.vcd").write_text("\n".join((*lines, "#0", "sKEEP %", "0z", "#5", "1z", "")))
    assert last_changes(tmp_path / "a.vcd", "", count=4) == ["top.i.edit: 0=KEEP", "top.x: 0=0 5=1"]
    layout = (tmp_path / "w/amaranth-1.gtkw").read_text()
    assert "en" in layout
    with pytest.raises(AssertionError):
        simulated(Counter())
    assert len(list((tmp_path / "w").glob("*.vcd"))) == 1


@pytest.mark.cosim
def test_a_verilated_block_leaves_its_last_cycle(tmp_path: Path, volume: int) -> None:
    if volume < 2:
        pytest.skip("the run-time library for tracing is built only with --volume 2")
    with waves(tmp_path / "w"):
        block = RtlBlock(block_library(VERILOG, "event_harness", label="t", root=tmp_path / "rtl"))
        block.poke(a=1)
        block.tick(3)
        (path,) = (tmp_path / "w").glob("*.vcd")
        assert changes(path.read_text(), "q") == [0, 1]
        block.close()


def test_a_folder_has_the_name_of_its_test() -> None:
    folder = folder_of("tests/hw/test_core.py::test_stream[0.1-a/b]")
    assert folder == Path("build/waves/hw_test_core.py_test_stream_0.1-a_b_")


class Answer(NamedTuple):
    qp: int
    rate: int


def test_a_difference_names_fields_inputs_and_state() -> None:
    same("rate.o", Answer(1, 5), Answer(1, 5))
    inputs = list(range(9))
    with pytest.raises(AssertionError) as caught:
        same("rate.o", Answer(1, 5), Answer(1, 6), at="cycle 7", inputs=inputs, state={"s": 3})
    assert str(caught.value).splitlines() == [
        "rate.o differs from the golden model at cycle 7:",
        "  rate: 5, golden 6",
        "  equal: qp=1",
        *(f"  input {n}: {n}" for n in range(4, 9)),
        "  state s: 3",
        "  waveforms: run this test again with --waves and the seed above",
    ]
    with pytest.raises(AssertionError, match=r"flags: 26, golden 58 \(bit 5\)"):
        same("rate.o", {"flags": 26}, {"flags": 58})
    with pytest.raises(AssertionError, match=r"\[1\]: 3, golden 2"):
        same("x", [1, 3], (1, 2))
