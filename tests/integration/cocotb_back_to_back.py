"""Runs inside the simulator: two NICs back to back, each on a clock of its own.

Frames go in and out through cocotbext-axi's AXI-Stream agents, registers through its AXI4-Lite
master; ends, wire, golden twins and books are those of `precog_sim.backtoback`.
"""

import json
import os
from collections.abc import Mapping, Sequence
from itertools import count

import cocotb
from cocotb.task import bridge, resume
from cocotb.triggers import Timer
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)

from precog_hw.stream.packet import USER
from precog_sim.backtoback.account import check
from precog_sim.backtoback.endpoint import EndpointSettings
from precog_sim.backtoback.rtl_node import RtlNode
from precog_sim.backtoback.run import BackToBack
from precog_sim.backtoback.wire import WireSettings
from precog_sim.rtl.packet_abi import Frames, Wire
from precog_sim.rtl.packet_block import Run
from precog_sim.rtl.packet_nic import PacketNic
from precog_spec.config import NicConfig

ASKED = json.loads(os.environ["PRECOG_BACK_TO_BACK"])
SOURCES = ("s_axis_tx", "s_axis_rx")
SINKS = ("m_axis_tx", "m_axis_rx")
AXIL_CYCLES = 200


class Watched:
    """A stream's transfers, as its pins show them."""

    def __init__(self, pin, name):
        self._valid, self._ready, self._last, self._user = (
            pin(f"{name}_{what}") for what in ("tvalid", "tready", "tlast", "tuser")
        )
        self.first, self.last, self.user = [], [], []
        self._open = False

    def look(self, cycle):
        """Whether a beat is taken in this cycle."""
        if not (self._valid.value and self._ready.value):
            return False
        if not self._open:
            self.first.append(cycle)
        self._open = not self._last.value
        if not self._open:
            self.last.append(cycle)
            self.user.append(int(self._user.value))
        return True

    def take(self):
        """Frames that are over, and forget them."""
        done = len(self.last)
        taken = self.first[:done], self.last[:done], self.user[:done]
        for rows in (self.first, self.last, self.user):
            del rows[:done]
        return taken


class Block:
    """What `PacketBlock` does, with the pins of one NIC of the top."""

    def __init__(self, dut, prefix, monitors):
        def pin(name):
            return getattr(dut, f"{prefix}_{name}")

        self.pin, self.cycles = pin, 0
        self._clk, self._seen = pin("clk"), pin("seen")
        clock = pin("clk"), pin("rst")
        self._axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, f"{prefix}_s_axil"), *clock)
        self._sources = {
            name: AxiStreamSource(AxiStreamBus.from_prefix(dut, f"{prefix}_{name}"), *clock)
            for name in SOURCES
        }
        self._sinks = {
            name: AxiStreamSink(AxiStreamBus.from_prefix(dut, f"{prefix}_{name}"), *clock)
            for name in SINKS
        }
        self._streams = {name: Watched(pin, name) for name in (*SOURCES, *SINKS)}
        self._monitors = {
            strobe: (pin(strobe), [pin(name) for name in names])
            for strobe, names in monitors.items()
        }
        self._events = {strobe: [] for strobe in monitors}
        self.read, self.write = resume(self._read), resume(self._write)
        self._running, self.tick = resume(self._run), resume(self._ticks)

    async def reset(self):
        """As the harness of the Verilated library does it."""
        self.pin("rst").value = 1
        await self._ticks(2)
        self.pin("rst").value = 0
        self.cycles = 0

    async def cycle(self):
        """One cycle, seen just before its edge; whether a beat of a frame was taken."""
        self._clk.value = 0
        await Timer(1, "ns")
        moved = bool(self._seen.value) and self._look()
        self._clk.value = 1
        await Timer(1, "ns")
        self.cycles += 1
        return moved

    def _look(self):
        """In a cycle with a strobe or a transfer; most have none, and pins are slow."""
        moved = [stream.look(self.cycles) for stream in self._streams.values()]
        for strobe, (up, pins) in self._monitors.items():
            if up.value:
                row = tuple(int(pin.value) for pin in pins)
                self._events[strobe].append((self.cycles, row))
        return any(moved)

    async def _ticks(self, cycles=1):
        for _ in range(cycles):
            await self.cycle()

    async def _until(self, task):
        for _ in range(AXIL_CYCLES):
            if task.done():
                return task.result()
            await self.cycle()
        raise TimeoutError(f"an access must be over within {AXIL_CYCLES} cycles")

    async def _read(self, address):
        answer = await self._until(cocotb.start_soon(self._axil.read(address, 4)))
        return int.from_bytes(answer.data, "little"), int(answer.resp)

    async def _write(self, address, value):
        data = value.to_bytes(4, "little")
        answer = await self._until(cocotb.start_soon(self._axil.write(address, data)))
        return int(answer.resp)

    async def _run(self, sources, sinks, settle, watchdog):
        start, quiet = self.cycles, 0
        for name, frames in sources.items():
            for wire in frames:
                self._sources[name].send_nowait(AxiStreamFrame(tdata=wire.data))
        due = sum(len(frames) for frames in sources.values())
        while True:
            quiet = 0 if await self.cycle() else quiet + 1
            sent = sum(len(self._streams[name].last) for name in sources)
            if sent == due and quiet >= settle:
                break
            if quiet >= watchdog:
                raise TimeoutError(f"nothing moved for {watchdog} cycles, {sent} of {due} sent")
        run = Run(self.cycles - start)
        for name, frames in sources.items():
            first, last, _ = self._streams[name].take()
            run.sources[name] = Frames(list(frames), first, last)
        for name in sinks:
            first, last, users = self._streams[name].take()
            frames = []
            for user in users:
                data = bytes((await self._sinks[name].recv()).tdata)
                beside = USER.from_bits(user)
                frames.append(Wire(data, bool(beside.error), beside.time, beside.tag))
            run.sinks[name] = Frames(frames, first, last)
        for strobe, rows in self._events.items():
            run.events[strobe] = rows.copy()
            rows.clear()
        return run

    def run(
        self,
        sources: Mapping[str, Sequence[Wire]],
        sinks: Sequence[str],
        *,
        settle: int,
        watchdog: int = 20_000,
        **_,
    ) -> Run:
        return self._running(sources, sinks, settle, watchdog)

    def poke(self, **values):
        async def put():
            for name, value in values.items():
                if not name.startswith("s_axil_"):  # those are the master's
                    self.pin(name).value = value

        resume(put)()

    def peek(self, name):
        async def get():
            return int(self.pin(name).value)

        return resume(get)()

    def close(self):
        pass


class CocotbNic(PacketNic):
    """`PacketNic` on such a block, its registers behind cocotbext-axi's master."""

    def axil_read(self, address):
        return self.block.read(address)

    def axil_write(self, address, value):
        return self.block.write(address, value)


@cocotb.test()
async def everything_is_accounted_for(dut):
    """RTL = golden in every frame, sample, decision and counter, and each is as the wire says."""
    config, seed = NicConfig(**ASKED["config"]), ASKED["seed"]
    blocks = []
    for prefix in ("a", "b"):
        block = Block(dut, prefix, ASKED["monitors"])
        await block.reset()
        blocks.append(block)
    await bridge(talk)(blocks, config, seed)


def talk(blocks, config, seed):
    """All of it, outside of the simulator's own thread."""
    sides = count()

    def node(ends):
        nic = CocotbNic(config, tick_ps=ASKED["tick_ps"], block=blocks[next(sides)])
        return RtlNode(ends, config, ASKED["tick_ps"], nic)

    run = BackToBack(
        ASKED["packets"],
        seed,
        WireSettings(**ASKED["wire"]),
        EndpointSettings(**ASKED["endpoint"]),
        node,
    )
    run.run()
    check(run)
    assert run.differences == []
    frames = sum(wire.sent for wire in run.wires)
    lost = sum(wire.lost for wire in run.wires)
    print(f"{frames} frames, {lost} lost, {sum(block.cycles for block in blocks)} cycles")
    assert frames >= ASKED["packets"]
    assert sum(sum(seen.samples) for seen in run.seen) > 0
