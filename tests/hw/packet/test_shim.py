"""Shims encoded and decoded as the golden model does."""

import random
from typing import Any

import pytest
from amaranth.lib import wiring
from amaranth.sim import Simulator

from precog_hw.packet.shim import ShimDecode, ShimEncode
from precog_models.packet.shim import Shim, decode, encode
from precog_spec.frames.cps import SHIM, ShimFault, ShimType
from precog_spec.frames.crc import crc8


def evaluate(dut: wiring.Component, bench: Any) -> None:
    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()


def fields(shim: Shim | None, rng: random.Random) -> dict[str, int]:
    """SHIM_FIELDS; what is not valid is random."""
    shim = shim or Shim(ShimType.DATA)
    return {
        "type": shim.type,
        "score": rng.randrange(128) if shim.score is None else shim.score,
        "score_valid": shim.score is not None,
        "echo": rng.randrange(128) if shim.echo is None else shim.echo,
        "echo_valid": shim.echo is not None,
        "time": rng.getrandbits(24) if shim.time is None else shim.time,
        "time_valid": shim.time is not None,
        "senders": shim.senders,
    }


def random_shim(rng: random.Random) -> Shim:
    def perhaps(bound: int) -> int | None:
        return rng.choice((None, 0, bound - 1, rng.randrange(bound)))

    return Shim(
        rng.choice(tuple(ShimType)), perhaps(101), perhaps(101), perhaps(1 << 24), rng.randrange(16)
    )


def test_encode(seed: int) -> None:
    rng = random.Random(seed)
    dut = ShimEncode()

    async def bench(ctx: Any) -> None:
        for _ in range(500):
            shim = random_shim(rng)
            ctx.set(dut.i, fields(shim, rng))
            await ctx.delay(1e-9)
            assert ctx.get(dut.o).to_bytes(SHIM.size, "big") == encode(shim), shim

    evaluate(dut, bench)


def check(ctx: Any, dut: ShimDecode, raw: bytes) -> None:
    """The decoder says of `raw` what the golden model says."""
    fault, shim, clamped = decode(raw)
    got = ctx.get(dut.o)
    assert ctx.get(dut.fault) == fault, raw.hex()
    assert ctx.get(dut.clamped) == clamped, raw.hex()
    valid = {name: bool(got[f"{name}_valid"]) for name in ("score", "echo", "time")}
    if shim is None:
        assert not any(valid.values()), raw.hex()
        return
    read = {name: got[name] if there else None for name, there in valid.items()}
    assert Shim(ShimType(got.type), **read, senders=got.senders) == shim, raw.hex()


@pytest.mark.parametrize("name", ["score", "echo"])
def test_decode_every_score(name: str, seed: int) -> None:
    rng = random.Random(seed)
    dut = ShimDecode()

    async def bench(ctx: Any) -> None:
        for byte in range(256):
            drawn = {field: rng.getrandbits(8) for field in ("score", "echo")} | {name: byte}
            flags = {flag: rng.getrandbits(1) for flag in "vet"}
            body = SHIM.pack(
                version=1,
                type=rng.choice(tuple(ShimType)),
                **drawn,
                **flags,
                zero=rng.getrandbits(1),
                senders=rng.getrandbits(4),
                time=rng.getrandbits(24),
            )[:-1]
            raw = body + bytes([crc8(body)])
            ctx.set(dut.i, int.from_bytes(raw, "big"))
            await ctx.delay(1e-9)
            assert ctx.get(dut.fault) == ShimFault.NONE
            check(ctx, dut, raw)

    evaluate(dut, bench)


def test_decode_faults(seed: int) -> None:
    """Every first byte, every single bit changed, and bytes at random."""
    rng = random.Random(seed)
    dut = ShimDecode()
    whole = encode(random_shim(rng))
    bits = [int.from_bytes(whole, "big") ^ 1 << bit for bit in range(8 * SHIM.size)]
    raws = [value.to_bytes(SHIM.size, "big") for value in bits]
    for first in range(256):
        body = bytes([first]) + rng.randbytes(6)
        raws += [body + bytes([crc8(body)]), body + rng.randbytes(1)]

    async def bench(ctx: Any) -> None:
        faults = set()
        for raw in raws:
            ctx.set(dut.i, int.from_bytes(raw, "big"))
            await ctx.delay(1e-9)
            check(ctx, dut, raw)
            faults.add(ctx.get(dut.fault))
        assert faults == {ShimFault.NONE, ShimFault.VERSION, ShimFault.TYPE, ShimFault.CRC}

    evaluate(dut, bench)
