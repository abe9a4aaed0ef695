"""A library whose code is laid out by a practice run: what it does stays, and who fails is told."""

import ctypes
from pathlib import Path

import pytest

from precog_sim.rtl.verilate import EFFORT, VerilateError, shared_library

pytestmark = pytest.mark.cosim

_COUNTER = """
module counter(input clk, input [31:0] a, output reg [31:0] sum);
  initial sum = 0;
  always @(posedge clk) sum <= sum + (a[0] ? a : ~a);
endmodule
"""
_HARNESS = """
#include "verilated.h"
#include "clocks.h"
extern "C" __attribute__((visibility("default"))) uint32_t after(uint32_t cycles) {
    VerilatedContext context;
    Model top{&context, "counter"};
    top.clk = 0;
    top.a = 0;
    top.eval();
    Clocks clocks(top);
    for (uint32_t n = 0; n < cycles; ++n) {
        top.a = n * 2654435761u;
        clocks.changed = true;
        clocks.rise();
    }
    return top.sum;
}
"""
_RUN = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).after(1000), file=open({!r}, 'a'))"


@pytest.fixture(autouse=True)
def _with_practice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(EFFORT, raising=False)


def _library(root: Path, *practice: str) -> Path:
    return shared_library(
        _COUNTER,
        _HARNESS,
        {},
        top="counter",
        label="counter",
        root=root,
        practice=practice,
        quiet=True,
    )


def _after(library: Path, cycles: int) -> int:
    function = ctypes.CDLL(str(library)).after
    function.restype = ctypes.c_uint32
    return int(function(ctypes.c_uint32(cycles)))


def _expected(cycles: int) -> int:
    values = (n * 2654435761 & 0xFFFFFFFF for n in range(cycles))
    return sum(value if value & 1 else ~value for value in values) & 0xFFFFFFFF


def test_practice_runs_once_and_changes_no_result(unbuilt: Path) -> None:
    seen = unbuilt / "seen"
    practice = ("-c", _RUN.format(str(seen)))
    plain = _library(unbuilt)
    practised = _library(unbuilt, *practice)
    assert practised != plain
    assert _library(unbuilt, *practice) == practised  # not built again
    counted = seen.read_text().split()
    assert [int(value) & 0xFFFFFFFF for value in counted] == [_expected(1000)]
    for library in (plain, practised):
        assert _after(library, 12_345) == _expected(12_345)
        assert b"__gcov" not in library.read_bytes()  # nothing counts any more
    left = [path.name for path in practised.parent.rglob("*") if path.suffix in (".gcda", ".o")]
    assert left == []


def test_a_practice_that_fails_leaves_no_library(unbuilt: Path) -> None:
    with pytest.raises(VerilateError, match=r"the practice failed in (?s:.*)ValueError: no way"):
        _library(unbuilt, "-c", "raise ValueError('no way')")
    assert list(unbuilt.rglob("lib.so")) == []
