"""The small processor: each instruction on random numbers, and the cycles that it takes."""

import random
from collections.abc import Callable
from typing import Any

from amaranth.sim import Simulator

from precog_hw.micro.isa import WORD_BITS, Assembler, Kind, Op, Operand, WordMap
from precog_hw.micro.machine import Machine
from precog_hw.micro.program import OUTPUTS, PORTS, WAITS, Program
from precog_hw.micro.registers import Place
from precog_hw.micro.writer import Writer
from precog_spec.registers.model import Access, Field

_BEGIN, _DECIDED = (WAITS.index(name) for name in ("begin", "decided"))
_ADDRESS_BITS = 10
#: Parameters as registers have them: with a sign, and a bit above a number.
PLACES = {
    "signed": Place(5, Field("signed", 17, Access.RW, "", signed=True)),
    "number": Place(9, Field("number", 16, Access.RW, "")),
    "flag": Place(9, Field("flag", 1, Access.RW, "", lsb=16), 0xFFFF),
}
_END = 1 << (WORD_BITS - 1)


def wrapped(value: int) -> int:
    """Of the accumulator's width."""
    return (value + _END) % (2 * _END) - _END


class Bench:
    """A program between the waits for `begin` and `decided`."""

    def __init__(self, write: Callable[[Writer, Assembler, WordMap], None], qps: int = 4) -> None:
        words = WordMap(qps, ("kept",))
        assembler = Assembler(_ADDRESS_BITS)
        writer = Writer(words, assembler, PORTS, OUTPUTS, WAITS, PLACES)
        writer.label("begin")
        writer.wait("begin")
        write(writer, assembler, words)
        writer.wait("decided")
        writer.jump("begin")
        self.dut = Machine(Program(assembler.words(), _ADDRESS_BITS, words.initial(), words))

    async def run(self, ctx: Any, qp: int = 0, **ports: int) -> int:
        """Cycles between the waits."""
        dut = self.dut
        for name, value in ports.items():
            ctx.set(dut.ports[name], value)
        ctx.set(dut.qp, qp)
        ctx.set(dut.there, 1 << _BEGIN)
        await ctx.tick().until(dut.waits[_BEGIN])
        ctx.set(dut.there, 0)
        cycles = 0
        while not ctx.get(dut.waits[_DECIDED]):
            cycles += 1
            assert cycles < 1000, "the program must come to its end"
            await ctx.tick()
        ctx.set(dut.there, 1 << _DECIDED)
        await ctx.tick()
        ctx.set(dut.there, 0)
        return cycles

    def value(self, ctx: Any, name: str) -> int:
        return int(ctx.get(self.dut.values[name]))


def simulated(bench: Bench, main: Callable[[Any], Any]) -> None:
    sim = Simulator(bench.dut)
    sim.add_clock(1e-8)
    sim.add_testbench(main)
    sim.run()


def number(rng: random.Random, bits: int) -> int:
    """Of up to so many bits with the sign, ends included."""
    size = 1 << (rng.randint(1, bits) - 1)
    return rng.choice([-size, size - 1, rng.randrange(-size, size)])


def test_sums_and_words(seed: int) -> None:
    rng = random.Random(seed)

    def write(w: Writer, _: Assembler, words: WordMap) -> None:
        w.ld(w.port("rtt"))
        w.add(w.port("t"))
        w.st(w.word("sum"))
        w.out("rate")
        w.ld(w.port("rtt"))
        w.sub(w.port("t"))
        w.add(77)
        w.out("window")
        w.sub(w.word("sum"))
        w.out("target")

    bench = Bench(write)

    async def main(ctx: Any) -> None:
        for _ in range(60):
            a, b = number(rng, WORD_BITS), number(rng, WORD_BITS)
            cycles = await bench.run(ctx, rtt=a, t=b)
            assert bench.value(ctx, "rate") == wrapped(a + b)
            assert bench.value(ctx, "window") == wrapped(a - b + 77)
            assert bench.value(ctx, "target") == wrapped(77 - 2 * b)
            # Ten instructions, and the first two cycles of the wait behind them.
            assert cycles == 3 * 10 + 2

    simulated(bench, main)


def test_products_and_shifts(seed: int) -> None:
    rng = random.Random(seed)
    left, right = rng.randint(1, 20), rng.randint(1, 56)

    def write(w: Writer, _: Assembler, words: WordMap) -> None:
        w.ld(w.port("rtt"))
        w.mul(w.port("out"))
        w.out("rate")
        w.shl(left)
        w.out("window")
        w.shr(right)
        w.out("target")

    bench = Bench(write)

    async def main(ctx: Any) -> None:
        for _ in range(60):
            a, b = number(rng, 35), number(rng, 18)
            cycles = await bench.run(ctx, rtt=a, out=b)
            assert bench.value(ctx, "rate") == a * b
            assert bench.value(ctx, "window") == wrapped(a * b << left)
            assert bench.value(ctx, "target") == wrapped(a * b << left) >> right
            assert cycles == 3 * 4 + 5 + (2 + left) + (2 + right) + 2

    simulated(bench, main)


def test_a_number_is_brought_up_and_another_one_as_far(seed: int) -> None:
    rng = random.Random(seed)

    def write(w: Writer, assembler: Assembler, words: WordMap) -> None:
        w.ld(w.port("rtt"))
        assembler.number(Op.NORM, 0)
        w.out("rate")
        w.ld(w.port("t"))
        assembler.number(Op.SHLN, 0)
        w.out("window")

    bench = Bench(write)

    async def main(ctx: Any) -> None:
        for n in range(60):
            a = 1 << 31 if n == 0 else rng.randrange(1, 1 << rng.randint(1, 32)) or 1
            b, places = number(rng, 25), 32 - a.bit_length()
            cycles = await bench.run(ctx, rtt=a, t=b)
            assert bench.value(ctx, "rate") == a << places
            assert bench.value(ctx, "window") == b << places
            assert cycles == 3 * 4 + (3 + places) + max(3, 2 + places) + 2

    simulated(bench, main)


def test_jumps_flags_rows_and_tables(seed: int) -> None:
    """A row is its queue pair's; flags are of this run alone."""
    rng = random.Random(seed)

    def write(w: Writer, assembler: Assembler, words: WordMap) -> None:
        w.ld(w.row("kept"))
        w.out("base")
        w.ld(w.port("rtt"))
        w.st(w.row("kept"))
        w.if_negative("below")
        w.flag(3)
        w.if_not_negative("end")
        w.flag(7)
        w.label("below")
        w.flag(5)
        w.label("end")
        w.ld(w.port("t"))
        w.indexed()
        w.ld(Operand(Kind.TABLE, 512))
        w.out("x")

    bench = Bench(write)
    kept = [0] * 4
    inverse = bench.dut._program.memory[512:768]

    async def main(ctx: Any) -> None:
        for _ in range(60):
            qp, a, n = rng.randrange(4), number(rng, WORD_BITS), rng.randrange(256)
            await bench.run(ctx, qp=qp, rtt=a, t=n)
            assert bench.value(ctx, "base") == kept[qp]
            assert bench.value(ctx, "x") == inverse[n]
            assert ctx.get(bench.dut.flags) == (1 << 5 if a < 0 else 1 << 3)
            kept[qp] = a

    simulated(bench, main)


def test_parameters_come_from_their_registers(seed: int) -> None:
    rng = random.Random(seed)

    def write(w: Writer, _: Assembler, words: WordMap) -> None:
        w.parameter("signed")
        w.out("rate")
        w.bit("flag")
        w.out("target")
        w.above("flag", "number")
        w.out("base")

    bench = Bench(write)

    async def main(ctx: Any) -> None:
        dut, wait = bench.dut, WAITS.index("register")
        asked: list[int] = []
        for _ in range(60):
            value, low, flag = number(rng, 17), rng.randrange(1 << 16), rng.randrange(2)
            words = {5: value & 0x1FFFF, 9: low | flag << 16}
            ctx.set(dut.there, 1 << _BEGIN)
            await ctx.tick().until(dut.waits[_BEGIN])
            asked.clear()
            while not ctx.get(dut.waits[_DECIDED]):
                here = bool(ctx.get(dut.waits[wait])) and rng.random() < 0.3
                ctx.set(dut.there, int(here) << wait)
                if here:
                    asked.append(ctx.get(dut.register))
                    ctx.set(dut.ports["register"], words[asked[-1]])
                await ctx.tick()
            ctx.set(dut.there, 1 << _DECIDED)
            await ctx.tick()
            ctx.set(dut.there, 0)
            assert asked == [5, 9, 9]
            assert bench.value(ctx, "rate") == value
            assert (bench.value(ctx, "target") < 0) == flag
            assert bench.value(ctx, "base") == low - (0 if flag else 1 << 16)

    simulated(bench, main)
