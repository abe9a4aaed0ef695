"""Runs inside the simulator: a PHY by cocotbext-eth on RGMII, its clock a little fast or slow."""

import logging
import os
import random
from itertools import pairwise

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from cocotbext.eth import GmiiFrame, RgmiiSink, RgmiiSource
from tests.hw.mac.port_loop import MOST_BYTES

from precog_models.mac import Fault, Symbol, arrivals, line_bytes
from precog_spec.frames.line import PREAMBLE
from precog_spec.registers.mac import MAC_EVENTS

VOLUME = int(os.environ["PRECOG_VOLUME"])
BYTE_PS = 8000


class Bench:
    """The design with its clocks and PHY."""

    def __init__(self, dut, rx_ps: int) -> None:
        self.dut = dut
        self.counted = dict.fromkeys((name for name, _ in MAC_EVENTS), 0)
        for name in ("rx_ctl", "rx_data"):
            getattr(dut, name).value = 0
        for clock, period in ((dut.clk, 16000), (dut.tx_clk, BYTE_PS), (dut.rx_clk, rx_ps)):
            cocotb.start_soon(Clock(clock, period, unit="ps").start())
        logging.getLogger("cocotb.port_loop.rx_data").setLevel(logging.WARNING)
        logging.getLogger("cocotb.port_loop.tx_data").setLevel(logging.WARNING)

    async def start(self) -> None:
        dut = self.dut
        for reset in (dut.rst, dut.tx_rst, dut.rx_rst):
            reset.value = 1
        await Timer(100, "ns")
        for reset in (dut.rst, dut.tx_rst, dut.rx_rst):
            reset.value = 0
        self.source = RgmiiSource(dut.rx_data, dut.rx_ctl, dut.rx_clk)
        self.sink = RgmiiSink(dut.tx_data, dut.tx_ctl, dut.sample_clk)
        cocotb.start_soon(self._sample_clock())
        cocotb.start_soon(self._count())
        await Timer(200, "ns")

    async def _sample_clock(self) -> None:
        """The clock that the PHY has delayed by 2 ns; it leaves in step with ours."""
        while True:
            await RisingEdge(self.dut.tx_clock)
            await Timer(2000, "ps")
            self.dut.sample_clk.value = 1
            await Timer(4000, "ps")
            self.dut.sample_clk.value = 0

    async def _count(self) -> None:
        while True:
            await FallingEdge(self.dut.clk)
            happened = int(self.dut.events.value)
            for n, name in enumerate(self.counted):
                self.counted[name] += happened >> n & 1

    async def sent(self, lines: list[GmiiFrame]) -> list[GmiiFrame]:
        """What leaves of these, until nothing comes any more."""
        for line in lines:
            await self.source.send(line)
        await self.source.wait()
        await Timer(2 * MOST_BYTES * BYTE_PS, "ps")
        return [self.sink.recv_nowait(compact=False) for _ in range(self.sink.count())]


def golden(line: GmiiFrame) -> tuple[bytes, str]:
    """What leaves of a line, preamble included, and what is counted."""
    (arrived,) = arrivals(
        [Symbol(d, error=bool(e)) for d, e in zip(line.data, line.error, strict=True)], MOST_BYTES
    )
    names = {None: "received", Fault.RUNT: "runt", Fault.OVERSIZE: "oversize", Fault.FCS: "damaged"}
    out = line_bytes(arrived.frame, error=arrived.fault is not None) if arrived.frame else b""
    return out, names[arrived.fault]


def frames_of(rng: random.Random, count: int) -> list[GmiiFrame]:
    """Whole and damaged lines."""
    lines = []
    for _ in range(count):
        size = rng.choice((60, 61, 64, 67, rng.randrange(60, MOST_BYTES), MOST_BYTES))
        octets = bytearray(line_bytes(rng.randbytes(size)))
        errors = [0] * len(octets)
        kind = rng.randrange(8)
        at = rng.randrange(len(PREAMBLE), len(octets))
        if kind == 0:
            octets[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            errors[at] = 1
        elif kind == 2:
            octets = octets[: len(PREAMBLE) + rng.randrange(64)]
            errors = errors[: len(octets)]
        elif kind == 3:
            octets += rng.randbytes(MOST_BYTES)
            errors += [0] * MOST_BYTES
        lines.append(GmiiFrame(octets, errors))
    return lines


async def check(bench: Bench, lines: list[GmiiFrame]) -> list[GmiiFrame]:
    """All of them as the golden MAC has them."""
    before = dict(bench.counted)
    got = await bench.sent(lines)
    expected = [golden(line) for line in lines]
    assert [bytes(frame.data) for frame in got] == [octets for octets, _ in expected if octets]
    for _, name in expected:
        before[name] += 1
    assert bench.counted == before
    return got


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def a_line_comes_back(dut):
    """Whole frames as they were, damaged ones damaged; clocks 100 ppm apart; gaps of all sizes."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut, BYTE_PS + rng.choice((-2, 2)))
    await bench.start()
    for gap in (12, rng.randrange(13, 400)):
        bench.source.ifg = gap
        await check(bench, frames_of(rng, 20 * VOLUME))


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def short_frames_at_line_rate(dut):
    """Back to back in, back to back out: 84 byte times each."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut, BYTE_PS)
    await bench.start()
    count = 60 * VOLUME
    octets = [line_bytes(rng.randbytes(60)) for _ in range(count)]
    lines = [GmiiFrame(line, [0] * len(line)) for line in octets]
    got = await check(bench, lines)
    starts = [frame.sim_time_start for frame in got]
    steps = {b - a for a, b in pairwise(starts)}
    assert steps == {84 * BYTE_PS}, f"{sorted(steps)} ps between frames"
