"""A synthesised netlist with our cell models behaves as its source, cycle by cycle."""

import ctypes
from pathlib import Path

import pytest
from amaranth.back import verilog
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.dsp import Multiplier
from precog_hw.near import near
from precog_sim.rtl.verilate import shared_library
from precog_sim.synth.netlist import simulation_source
from precog_sim.synth.place import synthesise

pytestmark = [pytest.mark.synth, pytest.mark.cosim]

#: Runs the source and the netlist side by side and counts the cycles in which they differ.
HARNESS = """
#include "verilated.h"
#include "model.h"
#include <cstdint>
extern "C" __attribute__((visibility("default"))) int64_t differences(uint64_t seed, int64_t n) {
    VerilatedContext context;
    Model top{&context, "pair"};
    uint64_t s = seed * 2685821657736338717ull + 1;
    int64_t bad = 0, moved = 0;
    uint64_t last = 0;
    for (int64_t i = 0; i < n; ++i) {
        s ^= s >> 12; s ^= s << 25; s ^= s >> 27;
        top.a = s * 2685821657736338717ull;
        top.rst = i < 2;
        top.clk = 0; top.eval();
        top.clk = 1; top.eval();
        bad += top.want != top.got;
        moved += top.want != last;
        last = top.want;
    }
    return moved < n / 2 ? -1 : bad;
}
"""


class Everything(wiring.Component):
    """Each kind of cell: block and distributed RAM, multipliers, carry, reset, own registers."""

    a: In(64)
    want: Out(64)

    def __init__(self, dsp: str) -> None:
        super().__init__()
        self._dsp = dsp

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a = self.a
        m.submodules.wide = wide = memory.Memory(shape=72, depth=512, init=range(7, 300))
        write = wide.write_port(granularity=9)
        read = wide.read_port()
        m.d.comb += [
            write.addr.eq(a[:4]),
            write.data.eq(Cat(a, a[:8])),
            write.en.eq(a[50:58]),
            read.addr.eq(a[4:8]),
            read.en.eq(a[8]),
        ]
        m.submodules.narrow = narrow = memory.Memory(shape=17, depth=1024, init=[])
        write = narrow.write_port()
        read_through = narrow.read_port(transparent_for=(write,))
        m.d.comb += [
            write.addr.eq(a[10:14]),
            write.data.eq(a[20:37]),
            write.en.eq(a[38]),
            read_through.addr.eq(a[11:15]),
        ]
        m.submodules.small = small = memory.Memory(
            shape=9, depth=16, init=range(16), attrs={"ram_style": "distributed"}
        )
        small_write = small.write_port()
        small_read = small.read_port(domain="comb")
        m.d.comb += [
            small_write.addr.eq(a[40:44]),
            small_write.data.eq(a[:9]),
            small_write.en.eq(a[39]),
            small_read.addr.eq(a[44:48]),
        ]
        near_a = near(m, "near_a", a[:8].as_signed(), dsp=self._dsp)
        near_b = near(m, "near_b", a[:8].as_signed(), dsp=self._dsp)
        forced = near(m, "forced", a[16:24], dsp=self._dsp, when=a[30] & a[31], to=0x5A)
        products = []
        for name, bits, registered in (("late", 18, True), ("soon", 11, False)):
            unit = Multiplier(bits, 8, dsp=self._dsp, input_register=registered)
            m.submodules[name] = unit
            m.d.comb += [unit.a.eq(a[3 : 3 + bits].as_signed()), unit.b.eq(a[30:38].as_signed())]
            products.append(unit.p)
        total = Signal(40, init=12345)
        with m.If(a[9]):
            m.d.sync += total.eq(total + a[:40])
        m.d.comb += self.want.eq(
            (read.data[:64] ^ read.data[64:])
            ^ (read_through.data << 20)
            ^ (small_read.data << 50)
            ^ products[0]
            ^ (products[1] << 31)
            ^ total
            ^ (near_a + (near_b << 9))
            ^ (forced << 40)
        )
        return m


def test_the_netlist_behaves_as_its_source(tmp_path: Path, seed: int) -> None:
    source = str(verilog.convert(Everything("generic"), name="source", emit_src=False))
    mapped = str(verilog.convert(Everything("ecp5"), name="mapped", emit_src=False))
    netlist = synthesise(mapped, "mapped", tmp_path)
    for cell in ("DP16KD", "MULT18X18D", "TRELLIS_DPR16X4", "CCU2C", "TRELLIS_FF"):
        assert netlist.cells.get(cell), f"the netlist must hold a {cell}"
    pair = """
        module pair(input clk, input rst, input [63:0] a,
                    output [63:0] want, output [63:0] got);
            source s(.clk(clk), .rst(rst), .a(a), .want(want));
            mapped m(.clk(clk), .rst(rst), .a(a), .want(got));
        endmodule
    """
    library = shared_library(
        "\n".join((pair, source, simulation_source(netlist))),
        HARNESS,
        {},
        top="pair",
        label="netlist and source",
        quiet=True,
    )
    function = ctypes.CDLL(str(library)).differences
    function.restype = ctypes.c_int64
    function.argtypes = [ctypes.c_uint64, ctypes.c_int64]
    assert function(seed | 1, 20_000) == 0
