# amaranth: UnusedElaboratable=no
"""The receiver against the golden MAC."""

import random
from collections import Counter

import pytest
from amaranth.sim import Simulator

from precog_hw.mac.receive import Receiver
from precog_models.mac import Arrived, Fault, Symbol, arrivals, line_bytes
from precog_spec.frames.line import PREAMBLE

from .bench import damaged_lines, idle

_STROBES = {"good": None, "runt": Fault.RUNT, "oversize": Fault.OVERSIZE, "damaged": Fault.FCS}
_LATENCY = 6


def received(line: list[Symbol], most_bytes: int) -> tuple[list[tuple[bytes, bool]], Counter, int]:
    """Frames with whether they are damaged, what was counted, and the first byte's latency."""
    dut = Receiver(most_bytes)
    frames: list[tuple[bytes, bool]] = []
    counted: Counter = Counter()
    first: list[int] = []

    async def bench(ctx):
        frame = bytearray()
        for n, symbol in enumerate([*line, *[Symbol(0, valid=False)] * 10]):
            ctx.set(dut.i, symbol._asdict())
            await ctx.tick()
            counted.update(fault for name, fault in _STROBES.items() if ctx.get(getattr(dut, name)))
            if ctx.get(dut.stb):
                first.append(n + 1)
                frame.append(ctx.get(dut.octet.data))
                if ctx.get(dut.octet.last):
                    frames.append((bytes(frame), bool(ctx.get(dut.octet.error))))
                    frame.clear()
        assert not frame

    simulator = Simulator(dut)
    simulator.add_clock(8e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return frames, counted, first[0] if first else 0


@pytest.mark.parametrize("most_bytes", [60, 157])
def test_any_line(most_bytes: int, seed: int, volume: int) -> None:
    rng = random.Random(seed)
    line = idle(rng, 1, 3) + damaged_lines(rng, 60 * volume, most_bytes)
    frames, counted, _ = received(line, most_bytes)
    expected = arrivals(line, most_bytes)
    assert frames == [(a.frame, a.fault is not None) for a in expected if a.frame]
    assert counted == Counter(a.fault for a in expected)
    assert len(counted) == len(_STROBES)


def test_latency_and_a_reset_amid_a_frame() -> None:
    """What is on the line when the clock begins is no frame, even if it looks like one."""
    frame = bytes(range(60))
    whole = [Symbol(octet) for octet in line_bytes(frame)]
    line = [*whole, Symbol(0, valid=False), *whole]
    frames, _, first = received(line, 60)
    assert frames == [(frame, False)]
    assert arrivals(whole, 60) == [Arrived(frame, None)]
    assert first == len(whole) + 1 + len(PREAMBLE) + 1 + _LATENCY


def test_constructor() -> None:
    for most in (59, 1 << 14):
        with pytest.raises(ValueError, match=rf"most_bytes must be in 60..16383, not {most}"):
            Receiver(most)
