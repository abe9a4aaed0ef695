"""Frames in and out of packet streams, beat by beat, with idles and back-pressure."""

import os
import random
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from amaranth.hdl import Elaboratable
from amaranth.sim import Simulator

from precog_sim.rtl.verilate import WAVES

__all__ = ["Sent", "beats", "receive_frames", "run", "send_frames"]


class Sent(NamedTuple):
    """A frame and what travels beside it."""

    data: bytes
    error: bool = False
    time: int = 0
    tag: int = 0


def beats(frame: Sent, width: int) -> list[dict[str, Any]]:
    """Payloads of `packet_signature(width)`; bytes that `keep` leaves out are not 0."""
    step = width // 8
    made = []
    for at in range(0, len(frame.data), step):
        part = frame.data[at : at + step]
        last = at + step >= len(frame.data)
        made.append(
            {
                "data": int.from_bytes(part.ljust(step, b"\xa5"), "little"),
                "keep": (1 << len(part)) - 1,
                "last": int(last),
                "user": {"error": int(frame.error and last), "time": frame.time, "tag": frame.tag},
            }
        )
    return made


def junk(rng: random.Random, width: int) -> dict[str, Any]:
    """What stands on a stream that is not valid."""
    user = {"error": rng.getrandbits(1), "time": rng.getrandbits(40), "tag": rng.getrandbits(8)}
    keep = (1 << rng.randrange(width // 8 + 1)) - 1
    return {"data": rng.getrandbits(width), "keep": keep, "last": rng.getrandbits(1), "user": user}


async def send_frames(
    ctx: Any, port: Any, width: int, frames: Sequence[Sent], rng: random.Random, idle: float
) -> None:
    """Send frames; before each beat, idle with probability `idle`, junk on the wires."""
    for frame in frames:
        for beat in beats(frame, width):
            while rng.random() < idle:
                ctx.set(port.payload, junk(rng, width))
                await ctx.tick()
            ctx.set(port.payload, beat)
            ctx.set(port.valid, 1)
            await ctx.tick().until(port.ready)
            ctx.set(port.valid, 0)


async def receive_frames(
    ctx: Any, port: Any, width: int, count: int, rng: random.Random, stall: float
) -> list[Sent]:
    """Take `count` frames, refusing a beat with probability `stall`; checks the stream's rules."""
    frames: list[Sent] = []
    data, offered = b"", None
    while len(frames) < count:
        accept = rng.random() >= stall
        ctx.set(port.ready, accept)
        _, _, valid, raw = await ctx.tick().sample(port.valid, port.payload)
        beat = (raw.data, raw.keep, raw.last, raw.user.error, raw.user.time, raw.user.tag)
        if offered is not None:
            assert (valid, beat) == (1, offered), "an offer must stay until it is taken"
        offered = beat if valid and not accept else None
        if not (valid and accept):
            continue
        word, keep, last, error, time, tag = beat
        size = keep.bit_count()
        assert keep == (1 << size) - 1, "keep must be contiguous from bit 0"
        assert size, "a beat must have a byte"
        assert last or size == width // 8, "only the last beat may be short"
        data += word.to_bytes(width // 8, "little")[:size]
        if last:
            frames.append(Sent(data, bool(error), time, tag))
            data = b""
    ctx.set(port.ready, 0)
    return frames


class _Prepared:
    """A simulator whose benches are given before each run: it is elaborated and compiled once."""

    def __init__(self, dut: Elaboratable, benches: int, background: int) -> None:
        self._simulator = Simulator(dut)
        self._simulator.add_clock(1e-8)
        self._benches: Sequence[Any] = ()
        self._cycles = 0
        self._has_run = False
        for n in range(benches + background):
            self._simulator.add_testbench(partial(self._bench, n), background=n >= benches)
        self._simulator.add_testbench(self._watchdog, background=True)

    async def _bench(self, n: int, ctx: Any) -> None:
        await self._benches[n](ctx)

    async def _watchdog(self, ctx: Any) -> None:
        await ctx.delay(1e-8 * self._cycles)
        raise AssertionError(f"the design hangs: no end after {self._cycles} cycles")

    def run(self, benches: Sequence[Any], cycles: int) -> None:
        """From the reset."""
        self._benches, self._cycles = benches, cycles
        if self._has_run:
            self._simulator.reset()
        self._has_run = True
        self._simulator.run()


_prepared = lru_cache(maxsize=16)(_Prepared)


def run(
    dut: Elaboratable,
    *benches: Any,
    background: Sequence[Any] = (),
    cycles: int,
    again: bool = False,
) -> None:
    """Simulate until all `benches` end; a design that hangs fails after `cycles`.

    `again`: this object is simulated often, by other tests too.
    """
    often = again and not os.environ.get(WAVES)  # of each run a waveform
    prepared = (_prepared if often else _Prepared)(dut, len(benches), len(background))
    try:
        prepared.run([*benches, *background], cycles)
    except BaseException:
        _prepared.cache_clear()  # benches may have stopped anywhere
        raise
