"""Runs inside the simulator: the driver's own register traffic, then samples under pressure."""

import json
import logging
import os
import random

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_sim.rtl.exactness import emulator_like
from precog_sim.rtl.stimulus import model_image, rtt_samples
from precog_spec.config import NicConfig
from precog_spec.contract import DECISION_FIELDS, QUEUE_EVENT_FIELDS, SAMPLE_FIELDS, QueueEvent

CONFIG = NicConfig(**json.loads(os.environ["PRECOG_CONFIG"]))
PRESSURE = [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.8, 0.8)]
SAMPLES = 15
QUEUE_EVENTS = 60


class Recorder:
    """A transport that passes everything to the emulator and remembers it."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self.log: list[tuple[str, int, int]] = []

    def read32(self, address: int) -> int:
        value = self._emulator.read32(address)
        self.log.append(("read", address, value))
        return value

    def write32(self, address: int, value: int) -> None:
        self._emulator.write32(address, value)
        self.log.append(("write", address, value))

    def close(self) -> None:
        pass


def pack(fields, values):
    """A payload from its fields, the first in the lowest bits."""
    word = lsb = 0
    for (_, bits), value in zip(fields, values, strict=True):
        word |= int(value) << lsb
        lsb += bits
    return word


def unpack(fields, word):
    """A payload's fields."""
    values = []
    for _, bits in fields:
        values.append(word & ((1 << bits) - 1))
        word >>= bits
    return values


async def replay(axil, log):
    """Do on the pins what the driver did; a read may have to be repeated while the RTL is busy."""
    for kind, address, value in log:
        if kind == "write":
            answer = await axil.write(address, value.to_bytes(4, "little"))
            assert answer.resp == AxiResp.OKAY, f"write of {address:#x}"
            continue
        for _ in range(200):
            answer = await axil.read(address, 4)
            assert answer.resp == AxiResp.OKAY, f"read of {address:#x}"
            seen = int.from_bytes(answer.data, "little")
            if seen == value:
                break
        assert seen == value, f"{address:#x} reads {seen:#x}, the emulator's {value:#x}"


async def offer(dut, samples, idle, rng):
    """Drive the sample stream; a payload holds until it is taken."""
    for sample in samples:
        while rng.random() < idle:
            await FallingEdge(dut.clk)
        dut.s_sample_tdata.value = pack(SAMPLE_FIELDS, sample)
        dut.s_sample_tvalid.value = 1
        while True:
            ready = dut.s_sample_tready.value
            await FallingEdge(dut.clk)
            if ready:
                break
        dut.s_sample_tvalid.value = 0


async def tell(dut, event):
    """Drive the stream of queues' events; it is always ready."""
    assert dut.s_queue_tready.value
    qp_bits = (CONFIG.qps - 1).bit_length()
    dut.s_queue_tdata.value = pack((("qp", qp_bits), *QUEUE_EVENT_FIELDS[1:]), event)
    dut.s_queue_tvalid.value = 1
    await FallingEdge(dut.clk)
    dut.s_queue_tvalid.value = 0


async def collect(dut, count, stall, rng):
    """Take decisions; while one is refused it must not change."""
    decisions, held = [], None
    while len(decisions) < count:
        ready = rng.random() >= stall
        dut.m_decision_tready.value = int(ready)
        valid = bool(dut.m_decision_tvalid.value)
        if held is not None:
            assert valid, "a refused decision disappeared"
            assert int(dut.m_decision_tdata.value) == held, "a refused decision changed"
        held = int(dut.m_decision_tdata.value) if valid and not ready else None
        if valid and ready:
            decisions.append(unpack(DECISION_FIELDS, int(dut.m_decision_tdata.value)))
        await FallingEdge(dut.clk)
    dut.m_decision_tready.value = 0
    return np.array(decisions)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_nic_decides_as_the_golden_model(dut):
    seed = cocotb.RANDOM_SEED
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    inputs = ("s_sample_tvalid", "s_sample_tdata", "s_queue_tvalid", "s_queue_tdata", "now")
    for name in (*inputs, "m_decision_tready"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    logging.getLogger("cocotb.precog_nic.s_axil").setLevel(logging.WARNING)
    axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await FallingEdge(dut.clk)

    emulator = emulator_like(CONFIG)
    recorder = Recorder(emulator)
    device = Device(recorder)
    device.apply_preset("thesis")
    device.model.write_set(1, model_image(numbers, "trained", CONFIG.steps))
    device.model.map_slot(0, 1)
    for qp in range(CONFIG.qps):
        device.qp(qp).configure(
            preset="thesis",
            enable=True,
            algorithm=("predpid", "pid")[qp % 2],
            win=bool(qp & 2),
            model_slot=0,
        )
    await replay(axil, recorder.log)
    await FallingEdge(dut.clk)  # the master left off at a rising edge

    for idle, stall in PRESSURE:
        samples = rtt_samples(numbers, CONFIG.qps, SAMPLES)
        want = emulator.decide(samples)
        cocotb.start_soon(offer(dut, samples, idle, rng))
        got = await collect(dut, len(want), stall, rng)
        assert np.array_equal(got, want), f"idle {idle}, stall {stall}"
    dut.m_decision_tready.value = 1
    for _ in range(400):
        await FallingEdge(dut.clk)
        assert not dut.m_decision_tvalid.value, "a decision too many"

    for n in range(QUEUE_EVENTS):
        kind = rng.choices((QueueEvent.ARRIVAL, QueueEvent.DEPARTURE, QueueEvent.RESET), (4, 4, 1))
        event = rng.randrange(CONFIG.qps), kind[0], rng.randrange(5000), 100 * n + rng.randrange(90)
        emulator.profiler.observe(*event)
        await tell(dut, event)

    # The registers tell the same story; what is not there is refused.
    recorder.log.clear()
    for qp in range(CONFIG.qps):
        device.profiler.queue(qp, clear=bool(qp % 2))
        device.profiler.queue(qp)
    device.profiler.counters()
    device.counters()
    for qp in range(CONFIG.qps):
        device.qp(qp).status()
    await replay(axil, recorder.log)
    assert (await axil.read(0xFFF0, 4)).resp == AxiResp.SLVERR
    assert (await axil.write(0xFFF0, b"\x00" * 4)).resp == AxiResp.SLVERR
