"""The CRC of a model's words, against zlib."""

import random
import zlib
from typing import Any

import pytest
from amaranth.sim import Simulator

from precog_hw.predict.word_crc import WordCrc

_LATENCY = {False: 1, True: 5}


@pytest.mark.parametrize("serial", [False, True])
def test_it_is_that_of_the_words_since_the_beginning(serial: bool, seed: int) -> None:
    rng = random.Random(seed)
    dut = WordCrc(serial=serial)

    async def main(ctx: Any) -> None:
        for _ in range(6):
            ctx.set(dut.begin, 1)
            await ctx.tick()
            ctx.set(dut.begin, 0)
            words = b""
            for _ in range(rng.randint(1, 9)):
                word = rng.randbytes(4)
                words += word
                ctx.set(dut.word, int.from_bytes(word, "little"))
                ctx.set(dut.valid, 1)
                await ctx.tick()
                ctx.set(dut.valid, 0)
                ctx.set(dut.word, rng.getrandbits(32))
                for _ in range(rng.randint(3, 8) if serial else rng.randint(0, 2)):
                    await ctx.tick()
            for _ in range(_LATENCY[serial] - 1):
                await ctx.tick()
            assert ctx.get(dut.crc) == zlib.crc32(words)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(main)
    sim.run()


def test_words_that_are_too_near_are_noticed() -> None:
    dut = WordCrc(serial=True)

    async def main(ctx: Any) -> None:
        ctx.set(dut.valid, 1)
        for _ in range(3):
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(main)
    with pytest.raises(AssertionError, match="words are apart"):
        sim.run()
