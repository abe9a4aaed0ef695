# amaranth: UnusedElaboratable=no
"""The register bank against its map, in pysim."""

import itertools
import random
from typing import Any

import pytest
from amaranth.sim import Simulator
from tests.hw.csr import axil_driver
from tests.hw.csr.bench import BankBench
from tests.hw.csr.register_suite import OKAY, SLVERR, Suite

from precog_hw.csr.axil import AxiLiteFrontEnd
from precog_hw.regmap.model import Access, Block, Field, Register, RegisterMap, Table
from precog_hw.regmap.precog import Identity, Sizes, build_map

#: Every access kind, a loadable register, tables of odd counts and strides.
SMALL = RegisterMap(
    (
        Block(
            "A",
            "First.",
            id=7,
            version=(1, 2),
            registers=(
                Register(
                    "MIX",
                    "All kinds in one word.",
                    (
                        Field("rw", 5, Access.RW, "s", lsb=1, reset=0x13, signed=True),
                        Field("ro", 6, Access.RO, "s", lsb=8),
                        Field("w1c", 4, Access.W1C, "s", lsb=16),
                        Field("pulse", 3, Access.PULSE, "s", lsb=29),
                    ),
                ),
                Register(
                    "LOADED", "s", (Field("value", 32, Access.RW, "s", reset=9),), loadable=True
                ),
            ),
            tables=(
                Table("T", "s", (Register("E", "s", (Field("e", 9, Access.RW, "s"),)),), count=5),
                Table(
                    "U",
                    "s",
                    tuple(Register(name, "s", (Field("v", 32, Access.RO, "s"),)) for name in "XYZ"),
                    count=3,
                ),
            ),
        ),
        Block("B", "Last.", id=9, version=(3, 0), registers=()),
    )
)


def simulate(dut: Any, bench: Any) -> None:
    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize(
    "regmap", [SMALL, build_map(Sizes(qps=4, sets=2), Identity(0xC0FFEE))], ids=["small", "precog"]
)
def test_suite(regmap: RegisterMap, seed: int) -> None:
    rng = random.Random(seed)
    dut = BankBench(regmap, rng)

    async def bench(ctx: Any) -> None:
        async def read(address: int) -> tuple[int, int]:
            return await axil_driver.read(ctx, dut.axil, address, r_delay=rng.choice((0, 0, 3)))

        async def write(address: int, data: int, strb: int = 15) -> int:
            delays = {name: rng.choice((0, 0, 2)) for name in ("aw_delay", "w_delay", "b_delay")}
            return await axil_driver.write(ctx, dut.axil, address, data, strb=strb, **delays)

        await Suite(regmap, read, write, rng, dut.hardware).run()
        # Tables: every entry is its own.
        words = [w for w in regmap.words() if w.table and w.register and w.register.mask(Access.RW)]
        values = {}
        for word in words:
            assert word.register
            values[word.name] = rng.getrandbits(32) & word.register.mask(Access.RW)
            assert await write(word.address, values[word.name]) == OKAY
        for word in words:
            assert await read(word.address) == (OKAY, values[word.name])

    simulate(dut, bench)


def test_w1c_pulse_and_load(seed: int) -> None:
    rng = random.Random(seed)
    dut = BankBench(SMALL, rng)
    bank = dut.bank
    mix = SMALL.placed("A").base + SMALL.block("A").offset("MIX")
    loaded = SMALL.placed("A").base + SMALL.block("A").offset("LOADED")
    pulses: list[int] = []

    async def watch(ctx: Any) -> None:
        async for _, _, stb, value in ctx.tick().sample(bank.a_mix_stb, bank.a_mix_pulse):
            if stb:
                pulses.append(value)
            else:
                assert value == 0

    async def bench(ctx: Any) -> None:
        field = SMALL.block("A").register("MIX").field("w1c")
        ctx.set(bank.a_mix_w1c_set, 0b1011)
        await ctx.tick()
        ctx.set(bank.a_mix_w1c_set, 0)
        _, word = await axil_driver.read(ctx, dut.axil, mix)
        assert field.get(word) == 0b1011
        await axil_driver.write(ctx, dut.axil, mix, 0b0001 << 16 | 0b101 << 29)
        assert pulses == [0b101]
        _, word = await axil_driver.read(ctx, dut.axil, mix)
        assert field.get(word) == 0b1010
        assert word >> 29 == 0
        # A bit that is set while it is being cleared stays.
        ctx.set(bank.a_mix_w1c_set, 0b1000)
        await axil_driver.write(ctx, dut.axil, mix, 0xF << 16)
        ctx.set(bank.a_mix_w1c_set, 0)
        _, word = await axil_driver.read(ctx, dut.axil, mix)
        assert field.get(word) == 0b1000
        # A refused write starts nothing and clears nothing.
        assert await axil_driver.write(ctx, dut.axil, mix, 0xFFFF_FFFF, strb=7) == SLVERR
        assert pulses == [0b101, 0]

        ctx.set(bank.a_loaded_value_new, 0x1234_5678)
        ctx.set(bank.a_loaded_load, 1)
        await ctx.tick()
        ctx.set(bank.a_loaded_load, 0)
        assert await axil_driver.read(ctx, dut.axil, loaded) == (OKAY, 0x1234_5678)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.add_testbench(watch, background=True)
    sim.run()


def test_signed_reset_value_is_signed() -> None:
    dut = BankBench(SMALL, random.Random(1))

    async def bench(ctx: Any) -> None:
        assert ctx.get(dut.bank.a_mix_rw) == 0x13 - 32

    simulate(dut, bench)


def test_reads_and_writes_that_wait_together_alternate() -> None:
    """Neither direction starves the other, and an untaken response blocks only its own."""
    dut = BankBench(SMALL, random.Random(1))
    axil = dut.axil
    order: list[str] = []

    async def bench(ctx: Any) -> None:
        ctx.set(axil.awaddr, 0x10)
        ctx.set(axil.araddr, 0x10)
        ctx.set(axil.wstrb, 15)
        for signal in (axil.awvalid, axil.wvalid, axil.arvalid, axil.bready, axil.rready):
            ctx.set(signal, 1)
        for _ in range(100):
            *_, b, r = await ctx.tick().sample(axil.bvalid, axil.rvalid)
            order.extend(["w"] * b + ["r"] * r)
        assert len(order) >= 12
        assert all(a != b for a, b in itertools.pairwise(order))

        ctx.set(axil.bready, 0)  # the master forgets its write
        answered = 0
        for _ in range(100):
            *_, r = await ctx.tick().sample(axil.rvalid)
            answered += r
        assert answered >= 10

    simulate(dut, bench)


def test_front_end_latency() -> None:
    """Request to response in an idle slave: what the docstrings promise."""
    dut = BankBench(SMALL, random.Random(1))

    async def bench(ctx: Any) -> None:
        ctx.set(dut.axil.arvalid, 1)
        await ctx.tick()
        ctx.set(dut.axil.arvalid, 0)
        cycles = 0
        while not ctx.get(dut.axil.rvalid):
            cycles += 1
            await ctx.tick()
        assert cycles == 3 + 3 - 1

    simulate(dut, bench)


def test_address_bits_must_suffice() -> None:
    with pytest.raises(ValueError, match="address_bits must be at least 3, not 2"):
        AxiLiteFrontEnd(2)
