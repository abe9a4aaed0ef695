"""XOR networks against the functions that they were made from."""

import random
from collections.abc import Callable

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator, SimulatorContext

from precog_hw.packet.linear import xor_network
from precog_spec.frames.crc import crc8, remainder

_POLY = 0x11EDC6F41


def _crc8(value: int) -> int:
    return crc8(value.to_bytes(7, "big"))


def _crc4(value: int) -> int:
    return remainder(value.to_bytes(7, "big"), 0x13)


def _crc32(value: int) -> int:
    return remainder(value.to_bytes(7, "big"), _POLY)


@pytest.mark.parametrize(("function", "bits"), [(_crc4, 4), (_crc8, 8), (_crc32, 32)])
@pytest.mark.parametrize("fold", [False, True])
def test_the_network_is_the_function(
    function: Callable[[int], int], bits: int, fold: bool, seed: int
) -> None:
    rng = random.Random(seed)
    value, result = Signal(56), Signal(bits)
    m = Module()
    m.d.comb += result.eq(xor_network(function, value, bits, fold=fold))

    async def bench(ctx: SimulatorContext) -> None:
        for _ in range(200):
            drawn = rng.getrandbits(56)
            ctx.set(value, drawn)
            await ctx.delay(1e-9)
            assert ctx.get(result) == function(drawn)

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


def test_results_must_fit() -> None:
    with pytest.raises(ValueError, match="must fit 4 bits"):
        xor_network(_crc8, Signal(56), 4)
