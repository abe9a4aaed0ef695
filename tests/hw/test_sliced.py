# amaranth: UnusedElaboratable=no
"""Deep rows in slices hold what one memory would, and their Verilog clears them by loops."""

import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, unsigned
from amaranth.hdl._ir import PortDirection
from amaranth.lib import data
from amaranth.lib.memory import Memory

from precog_hw.export import port_map
from precog_hw.rows import RowUpdate, plain_memory, sliced_memory
from precog_hw.sliced import SlicedMemory, slice_width
from precog_hw.verilog import verilog_text
from precog_sim.rtl.verilate import verilator_environment

from .packet.bench import run

ROW = data.StructLayout({"low": 7, "high": 14})


@pytest.mark.parametrize(
    ("depth", "width"),
    [(1024, None), (2048, 9), (4096, 4), (8192, 2), (16384, 1), (131072, 1)],
)
def test_one_ram_holds_a_slice(depth: int, width: int | None) -> None:
    assert slice_width(depth) == width


def test_few_or_narrow_rows_stay_whole() -> None:
    assert isinstance(sliced_memory(ROW, 1024), Memory)
    assert isinstance(sliced_memory(unsigned(4), 4096), Memory)
    assert isinstance(sliced_memory(unsigned(5), 4096), SlicedMemory)
    assert isinstance(plain_memory(ROW, 4096), Memory)
    with pytest.raises(ValueError, match=r"depth must be 2048 or more.*not 1024: take Memory"):
        SlicedMemory(ROW, 1024, {})


@pytest.mark.parametrize("depth", [2048, 4096, 8192])
def test_rows_are_those_of_one_memory(depth: int, seed: int) -> None:
    """Two readers, of which one stands still at times, and a writer at rows of its own."""
    rng, m = random.Random(seed), Module()
    m.submodules.rows = rows = sliced_memory(ROW, depth)
    write, first, second = rows.write_port(), rows.read_port(), rows.read_port()
    picks = [0, 1, depth // 2, depth - 1, *(rng.randrange(depth) for _ in range(4))]

    async def drive(ctx: Any) -> None:
        held: dict[int, int] = {}
        shown = {first: 0, second: 0}
        for _ in range(600):
            writes, row, word = rng.random() < 0.5, rng.choice(picks), rng.getrandbits(21)
            ctx.set(write.en, writes)
            ctx.set(write.addr, row)
            ctx.set(write.data, ROW.from_bits(word))
            for port in (first, second):
                reads = port is second or rng.random() < 0.7
                of = rng.choice([n for n in picks if n != row])
                ctx.set(port.en, reads)
                ctx.set(port.addr, of)
                if reads:
                    shown[port] = held.get(of, 0)
            if writes:
                held[row] = word
            await ctx.tick()
            for port in (first, second):
                assert ctx.get(port.data).as_bits() == shown[port]

    run(m, drive, cycles=700)


def test_changes_of_sliced_rows_see_those_before(seed: int) -> None:
    rng, dut = random.Random(seed), RowUpdate(data.StructLayout({"n": 12}), 4096, sliced=True)
    m = Module()
    m.submodules.dut = dut
    m.d.comb += dut.new.n.eq(dut.old.n + 1)
    counts = dict.fromkeys([0, 7, 4095], 0)

    async def drive(ctx: Any) -> None:
        seen = 0
        for cycle in range(400):
            ctx.set(dut.i_stb, cycle < 390 and rng.random() < 0.8)
            ctx.set(dut.i_row, rng.choice(list(counts)))
            if ctx.get(dut.stb):
                row = ctx.get(dut.row)
                assert ctx.get(dut.old.n) == counts[row]
                counts[row] += 1
                seen += 1
            await ctx.tick()
        assert seen > 200

    run(m, drive, cycles=500)


def _stored(depth: int, init: list[int]) -> str:
    """Verilog of a memory of nine bits and of one with contents."""
    m = Module()
    if init:
        m.submodules.rows = rows = Memory(shape=9, depth=depth, init=init)
    else:
        m.submodules.rows = rows = sliced_memory(unsigned(9), depth)
    write, read = rows.write_port(), rows.read_port()
    inputs = {"en": write.en, "row": write.addr, "word": write.data, "of": read.addr}
    ports: dict[str, Any] = {n: (value, PortDirection.Input) for n, value in inputs.items()}
    ports["shown"] = (read.data, PortDirection.Output)
    return verilog_text(m, name="top", ports=ports)


@pytest.mark.parametrize(("depth", "loops"), [(1024, 0), (4096, 3), (16384, 9)])
def test_deep_rows_are_cleared_by_a_loop(depth: int, loops: int) -> None:
    text = _stored(depth, [])
    assert text.count(f"cleared_row <= {depth - 1};") == loops
    assert text.count("\n") < 300 or not loops


def test_contents_are_written_out() -> None:
    text = _stored(2048, [0, 5])
    assert "rows[1] = 9'h005;" in text
    assert "cleared_row" not in text


@pytest.mark.cosim
def test_verilator_finds_nothing_to_warn_of_in_loops(tmp_path: Path) -> None:
    dut = RowUpdate(data.StructLayout({"n": 3}), 2048)  # has a signal `row`
    ports = {"given" if name == "new" else name: of for name, of in port_map(dut).items()}
    texts = {"slices": _stored(4096, []), "top": verilog_text(dut, name="top", ports=ports)}
    assert all("cleared_row" in text for text in texts.values())
    for name, text in texts.items():
        _lint(text, name, tmp_path)


def _lint(text: str, name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.v").write_text(text)
    done = subprocess.run(
        ["verilator", "--lint-only", "-Wall", f"{name}.v", "--top-module", "top"],
        cwd=tmp_path,
        env=verilator_environment(),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
