"""Runs inside the simulator: a board between two Gigabit lines, its host on the serial line."""

import logging
import os
import random
import struct
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv6Address

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer
from cocotbext.eth import GmiiFrame, GmiiSink, GmiiSource
from tests.integration.cocotb_nic import Recorder
from tests.integration.node_bench import CONFIGS, CORE_HZ
from tests.models.packet.frames import (
    A6_ADDRESS,
    A_ADDRESS,
    A_QP,
    B6_ADDRESS,
    B_ADDRESS,
    B_QP,
    packet,
)

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_models.mac import line_bytes
from precog_spec.frames.bridge import Command
from precog_spec.frames.cps import ShimType
from precog_spec.frames.headers import MIN_FRAME
from precog_spec.frames.line import PREAMBLE

FRAMES = 16 * int(os.environ["PRECOG_VOLUME"])
PORTS = int(os.environ["PRECOG_PORTS"])
TICK_PS = 10**12 // CORE_HZ
BIT_CYCLES = 4
UDP_BYTES = 8
RATE_GBPS, BURST = 0.25, 12
TAIL = 16  # bytes by which a frame is known again


class Serial:
    """The host's end of the line: UARTBone."""

    def __init__(self, dut) -> None:
        self._dut = dut
        dut.uart_rx.value = 1

    async def _send(self, octets: bytes) -> None:
        for octet in octets:
            for bit in (0, *(octet >> n & 1 for n in range(8)), 1):
                self._dut.uart_rx.value = bit
                await ClockCycles(self._dut.clk, BIT_CYCLES)

    async def _receive(self, count: int) -> bytes:
        octets = bytearray()
        for _ in range(count):
            await FallingEdge(self._dut.uart_tx)
            await ClockCycles(self._dut.clk, BIT_CYCLES // 2)
            octet = 0
            for n in range(8):
                await ClockCycles(self._dut.clk, BIT_CYCLES)
                octet |= int(self._dut.uart_tx.value) << n
            await ClockCycles(self._dut.clk, BIT_CYCLES)
            assert self._dut.uart_tx.value, "a byte without a stop bit"
            octets.append(octet)
        return bytes(octets)

    async def write(self, address: int, value: int) -> None:
        """A register."""
        await self._send(struct.pack(">BBII", Command.WRITE, 1, address // 4, value))

    async def read(self, address: int) -> int:
        """A register."""
        answer = cocotb.start_soon(self._receive(4))
        await self._send(struct.pack(">BBI", Command.READ, 1, address // 4))
        return int.from_bytes(await answer, "big")

    async def replay(self, log) -> None:
        """What the driver did; a read may have to be repeated while the hardware is busy."""
        for kind, address, value in log:
            if kind == "write":
                await self.write(address, value)
                continue
            for _ in range(50):
                seen = await self.read(address)
                if seen == value:
                    break
            assert seen == value, f"{address:#x} reads {seen:#x}, the emulator's {value:#x}"


def bound(b: bool) -> tuple[Emulator, Recorder, Device]:
    """A golden device, of host A or B, with its connections, and what the driver did for them."""
    config = replace(CONFIGS[PORTS], macs=PORTS)
    emulator = Emulator(config, tick_ps=TICK_PS)
    recorder = Recorder(emulator)
    device = Device(recorder)
    assert device.packet is not None
    four, six = (A_ADDRESS, A6_ADDRESS) if b else (B_ADDRESS, B6_ADDRESS)
    remote, local = (A_QP, B_QP) if b else (B_QP, A_QP)
    mapped = IPv6Address(four).ipv4_mapped
    into = {"destination": 3} if config.destinations else {}
    device.packet.bind(1, str(mapped), remote_qp=remote, local_qp=local, score=37, **into)
    if config.ipv6:
        device.packet.bind(2, IPv6Address(six), remote_qp=remote, local_qp=local, score=80)
    device.packet.set_parameters(enabled=1)
    return emulator, recorder, device


def traffic(rng: random.Random, *, back: bool) -> list[bytes]:
    """RoCEv2 over IPv4 and IPv6 of known and of unknown queue pairs, and what is no RoCE."""
    frames = []
    for psn in range(FRAMES):
        payload = rng.randbytes(4 * rng.choice((0, 1, 7, 256, rng.randrange(300))))
        kind = rng.randrange(6)
        if kind == 0:
            frames.append(rng.randbytes(12) + b"\x88\xb5" + rng.randbytes(rng.randrange(46, 1400)))
            continue
        other = {"dqpn": 0x123} if kind == 1 else {}
        tags = rng.randrange(3)
        frames.append(
            packet(payload, psn=psn, back=back, ipv6=bool(rng.getrandbits(1)), tags=tags, bth=other)
        )
    shortest = rng.randbytes(12) + b"\x88\xb5" + rng.randbytes(MIN_FRAME - 14)
    return [*frames, shortest]


def told_tick(frame: bytes) -> int | None:
    """When the RTL saw the packet, from the shim that it has put in."""
    at = 12
    while frame[at : at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    if frame[at : at + 2] not in (b"\x08\x00", b"\x86\xdd"):
        return None
    six = frame[at : at + 2] == b"\x86\xdd"
    shim = frame[at + 2 + (40 if six else 4 * (frame[at + 2] & 15)) + UDP_BYTES :]
    if shim[0] & 15 != ShimType.DATA and shim[0] >> 4 != ShimType.DATA:
        return None
    return int.from_bytes(shim[4:7], "big") * 1000 // TICK_PS


class Bench:
    """The board's clocks, lines and host."""

    def __init__(self, dut) -> None:
        self.dut = dut
        clocks = {dut.clk: TICK_PS}
        self.resets = [dut.rst]
        for n in range(PORTS):
            # In step with the others, which saves most of the simulator's work: the MAC's own test
            # lets clocks drift.
            clocks |= {getattr(dut, f"{way}{n}_clk"): 8000 for way in ("gmii", "rgmii")}
            self.resets.append(getattr(dut, f"gmii{n}_rst"))  # what is received has none
            for name in ("data", "valid", "error"):
                getattr(dut, f"rx_{name}_{n}").value = 0
        for clock, period in clocks.items():
            cocotb.start_soon(Clock(clock, period, unit="ps").start())
        self.serial = Serial(dut)

    async def start(self) -> None:
        for reset in self.resets:
            reset.value = 1
        await Timer(200, "ns")
        for reset in self.resets:
            reset.value = 0
        dut = self.dut
        self.sources, self.sinks = [], []
        for n in range(PORTS):
            rx = [getattr(dut, f"rx_{name}_{n}") for name in ("data", "error", "valid")]
            tx = [getattr(dut, f"tx_{name}_{n}") for name in ("data", "valid")]
            logging.getLogger(f"cocotb.{rx[0]._path}").setLevel(logging.WARNING)
            logging.getLogger(f"cocotb.{tx[0]._path}").setLevel(logging.WARNING)
            self.sources.append(GmiiSource(*rx, getattr(dut, f"rgmii{n}_clk")))
            self.sinks.append(GmiiSink(tx[0], None, tx[1], getattr(dut, f"gmii{n}_clk")))
        await Timer(200, "ns")

    async def through(self, source: int, sink: int, lines: list[bytes]) -> list[bytes]:
        """What leaves of these lines, preamble and FCS included."""
        for line in lines:
            await self.sources[source].send(GmiiFrame(line, [0] * len(line)))
        await self.sources[source].wait()
        await Timer(30, "us")
        got = self.sinks[sink]
        # The sink takes a frame's first byte as its beginning, and does not keep it.
        bodies = [got.recv_nowait(compact=False).data for _ in range(got.count())]
        return [PREAMBLE[:1] + bytes(octets) for octets in bodies]


def body(line: bytes) -> bytes:
    """A line without preamble and FCS."""
    assert line.startswith(PREAMBLE)
    return line[len(PREAMBLE) : -4]


def named(lines: list[bytes], frames: list[bytes]) -> Iterator[tuple[int, bytes]]:
    """Each line and which frame it is: those of known queue pairs wait, and are overtaken."""
    waiting = list(range(len(frames)))
    for line in lines:
        n = next(n for n in waiting if body(line).endswith(frames[n][-TAIL:]))
        waiting.remove(n)
        yield n, line


@cocotb.test(timeout_time=10 * int(os.environ["PRECOG_VOLUME"]), timeout_unit="ms", skip=PORTS != 2)
async def frames_pass_as_the_golden_card_has_them(dut):
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut)
    await bench.start()
    emulator, recorder, device = bound(b=False)
    peer, _, _ = bound(b=True)
    await bench.serial.replay(recorder.log)
    assert emulator.packets is not None
    assert peer.packets is not None

    # From the host to the network: shims with the time at which the RTL has seen the packet.
    frames = traffic(rng, back=False)
    bad = set(rng.sample(range(len(frames)), len(frames) // 8 + 1))
    lines = [line_bytes(frame, error=n in bad) for n, frame in enumerate(frames)]
    got = await bench.through(0, 1, lines)
    assert len(got) == len(frames)
    tick, marked = 0, list[int]()
    for n, line in named(got, frames):
        tick = (told_tick(body(line)) if len(body(line)) > len(frames[n]) else None) or tick
        sent = emulator.packets.transmit(frames[n], tick, error=n in bad)
        marked += [n] * (len(sent.frame) > len(frames[n]))
        assert line == line_bytes(sent.frame, error=n in bad)
    assert marked
    assert marked == sorted(marked)

    # From the network to the host, as another golden card has sent them: the original bytes.
    frames = traffic(rng, back=True)
    sent = [peer.packets.transmit(frame, 1000 + n).frame for n, frame in enumerate(frames)]
    got = await bench.through(1, 0, [line_bytes(frame) for frame in sent])
    for n, frame in enumerate(sent):
        arrived = emulator.packets.receive(frame, tick + n)
        assert arrived.received.frame == frames[n]
    assert got == [line_bytes(frame) for frame in frames]
    assert any(len(a) > len(b) for a, b in zip(sent, frames, strict=True))

    # The host reads what the golden device has: of the ports, what the lines had on them.
    assert emulator.macs is not None
    emulator.macs.happened(0, "received", len(lines) - len(bad))
    emulator.macs.happened(0, "damaged", len(bad))
    emulator.macs.happened(1, "received", len(sent))
    recorder.log.clear()
    assert device.packet is not None
    assert device.mac is not None
    device.packet.counters()
    counted = device.mac.counters()
    assert counted["host"]["damaged"] == len(bad) > 0
    await bench.serial.replay(recorder.log)
    recorder.log.clear()
    device.reset.reset(["counters"])
    assert not any(n for counts in device.mac.counters().values() for n in counts.values())
    await bench.serial.replay(recorder.log)


@cocotb.test(timeout_time=20, timeout_unit="ms", skip=not CONFIGS[PORTS].wire)
async def packets_wait_for_their_rate(dut):
    """A burst at the line's rate leaves at that of its queue pair."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut)
    await bench.start()
    _, recorder, device = bound(b=False)
    device.qp(1).configure(
        preset="precog", enable=True, algorithm="fixed", init_gbps=RATE_GBPS, min_gbps=0.001
    )
    await bench.serial.replay(recorder.log)
    frames = [packet(rng.randbytes(1000), psn=n) for n in range(BURST)]
    for frame in frames:
        line = line_bytes(frame)
        await bench.sources[0].send(GmiiFrame(line, [0] * len(line)))
    left = [await bench.sinks[-1].recv(compact=False) for _ in frames]
    for frame, sent in zip(frames, left, strict=True):
        assert bytes(sent.data)[:-4].endswith(frame[-TAIL:])
    charged = len(frames[0]) + 24  # preamble, FCS and gap
    wanted = (BURST - 1) * charged * 8 / RATE_GBPS * 1000
    took = left[-1].sim_time_start - left[0].sim_time_start
    assert abs(took - wanted) < 32 * TICK_PS, (took, wanted)


@cocotb.test(timeout_time=10 * int(os.environ["PRECOG_VOLUME"]), timeout_unit="ms", skip=PORTS != 1)
async def frames_come_back_with_a_shim(dut):
    """One port: what arrives for the host is sent as if it came from there."""
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut)
    await bench.start()
    emulator, recorder, device = bound(b=False)
    await bench.serial.replay(recorder.log)
    assert emulator.packets is not None
    # Frames as the endpoint would send them, so that their queue pairs are known on the way out.
    frames = traffic(rng, back=False)
    got = await bench.through(0, 0, [line_bytes(frame) for frame in frames])
    assert len(got) == len(frames)
    shims = tick = 0
    for n, line in named(got, frames):
        arrived = emulator.packets.receive(frames[n], tick).received.frame
        assert arrived is not None
        tick = (told_tick(body(line)) if len(body(line)) > len(arrived) else None) or tick
        sent = emulator.packets.transmit(arrived, tick).frame
        shims += len(sent) > len(arrived)
        assert line == line_bytes(sent)
    assert shims
    assert min(len(line) for line in got) == len(PREAMBLE) + MIN_FRAME + 4
    assert emulator.macs is not None
    assert device.mac is not None
    emulator.macs.happened(0, "received", len(frames))
    recorder.log.clear()
    assert list(device.mac.counters()) == ["network"]
    await bench.serial.replay(recorder.log)
    await RisingEdge(dut.clk)
