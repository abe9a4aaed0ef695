"""Wire mode's driver and its command, on the emulated device, where no packet waits."""

import json
import random

import pytest

from precog_host import cli
from precog_host.device import Device
from precog_host.driver.wire import WireDriver
from precog_host.emulator.device import Emulator
from precog_host.transport import DeviceError
from precog_models.store.packet_store import Outcome, Packet, PacketStore
from precog_spec.config import NicConfig
from precog_spec.frames.opcodes import CNP
from precog_spec.receiver_fields import BASE_QUOTA

from ..models.packet.frames import A_QP, B4, B_QP, packet

WITH = "emu:width=64,grants=1,wire=256"


def made() -> tuple[Device, WireDriver, Emulator]:
    emulator = Emulator(NicConfig(qps=4, sets=2, width=64, grants=True, wire=256))
    device = Device(emulator)
    assert device.wire is not None
    return device, device.wire, emulator


def test_parameters_are_read_back_and_checked() -> None:
    _, waiting, _ = made()
    expiry = {"expiry": 1_000_000}
    assert waiting.parameters() == {"hold": 0, "acks_pass": 0, "quota": 64, "limit": 128, **expiry}
    waiting.set_parameters(hold=True, quota=30, limit=256)
    waiting.set_parameters(acks_pass=True)
    waiting.set_parameters(expiry=7)
    with pytest.raises(ValueError, match=r"expiry must be in 1\.\.4294967295 ticks, not 0"):
        waiting.set_parameters(hold=False, expiry=0)
    wanted = {"hold": 1, "acks_pass": 1, "quota": 30, "limit": 256, "expiry": 7}
    assert waiting.parameters() == wanted
    for name, value in (("quota", 0), ("quota", 257), ("limit", -1), ("limit", 300)):
        with pytest.raises(ValueError, match=rf"{name} must be in \d\.\.256 cells, not {value}"):
            waiting.set_parameters(hold=False, **{name: value})
    assert waiting.parameters()["hold"] == 1
    sizes = NicConfig(qps=4, sets=2, width=64, grants=True, wire=256, receiver=True)
    other = Device(Emulator(sizes)).wire
    assert other is not None
    with pytest.raises(ValueError, match="precog qp receiver set <slot> --quota 30"):
        other.set_parameters(hold=True, quota=30)
    assert other.parameters()["hold"] == 0
    with pytest.raises(ValueError, match=r"QP must be in 0\.\.3, not 4"):
        waiting.row(4)
    assert waiting.row(3) == dict.fromkeys(("packets", "own", "borrowed", "queued", "drops"), 0)
    assert waiting.memory() == {"cells": 256, "cell_bytes": 128, "free": 256, "shared": 0}


def test_at_reset_a_burst_fits_and_leaves_room() -> None:
    """16 frames of 1,082 bytes of one queue pair, then one of another."""
    _, waiting, _ = made()
    at_reset, memory = waiting.parameters(), waiting.memory()
    store = PacketStore(8, memory["cell_bytes"], 4096)
    quota, limit = at_reset["quota"], at_reset["limit"]
    for n in range(17):
        qp, packet = n // 16, Packet(9 * n, 1082)
        assert store.append(qp, packet, quota=quota, limit=limit) is Outcome.STORED
    assert quota == BASE_QUOTA
    assert sum(row.own + row.borrowed for row in store.rows) == 17 * 9
    assert store.shared == 16 * 9 - quota


def test_the_emulated_device_counts_who_would_wait(seed: int) -> None:
    rng = random.Random(seed)
    device, waiting, emulator = made()
    assert device.packet is not None
    assert emulator.packets is not None
    for qp in (1, 2):
        device.packet.bind(qp, B4, remote_qp=B_QP + qp, local_qp=A_QP + qp)
    device.qp(1).configure(preset="precog", enable=True, algorithm="fixed", init_gbps=8.0)
    frames = [packet(rng.randbytes(50), bth={"dqpn": B_QP + n}) for n in (1, 2, 3)]
    frames.append(packet(rng.randbytes(16), opcode=CNP, bth={"dqpn": B_QP + 1}))
    for frame in frames:
        emulator.packets.transmit(frame, 10)
    counters = waiting.counters()
    shown = {name: n for name, n in counters.items() if n}
    assert shown == {"stored": 2, "sent": 2, "unpaced": 1, "bypassed": 2}
    ack = packet(opcode=0x11, aeth={"syndrome": 0x1F, "msn": 1}, bth={"dqpn": B_QP + 1})
    emulator.packets.transmit(ack, 20)
    waiting.set_parameters(acks_pass=True)
    emulator.packets.transmit(ack, 30)
    assert waiting.counters() == counters | {"stored": 3, "sent": 3, "bypassed": 3}


def test_the_emulated_profiler_hears_of_packets(seed: int) -> None:
    """Whoever passes by is in no queue; the beginning of a connection is no event of one."""
    rng = random.Random(seed)
    emulator = Emulator(NicConfig(qps=4, sets=2, width=64, grants=True, wire=256, profile=True))
    device = Device(emulator)
    assert device.packet is not None
    assert device.profiler is not None
    assert device.pacer is not None
    assert emulator.packets is not None
    device.profiler.set_parameters(every=2)
    device.packet.bind(1, B4, remote_qp=B_QP + 1, local_qp=A_QP + 1)
    device.qp(1).configure(preset="precog", enable=True, algorithm="fixed", init_gbps=8.0)
    frames = [packet(rng.randbytes(rng.randrange(400)), bth={"dqpn": B_QP + 1}) for _ in range(3)]
    for n, frame in enumerate(frames):
        emulator.packets.transmit(frame, 100 * n)
        emulator.packets.transmit(packet(bth={"dqpn": B_QP + 3}), 100 * n + 7)
        device.pacer.begin(1, psn=n)
    status = device.profiler.queue(1)
    sizes = [len(frame) for frame in frames]
    assert (status.arrivals, status.departures, status.occupancy) == (3, 3, 0)
    assert (status.bytes_in, status.bytes_out) == (sum(sizes), sum(sizes))
    assert (status.size, status.peak) == (sizes[-1], max(sizes))
    tick_us = device.identity.tick_ps / 1e6
    assert (status.inter_arrival_us, status.service_us) == (100 * tick_us, 0)
    assert device.profiler.counters() == {"events": 6, "samples": 3, "samples_merged": 0}


def test_sizes_that_cannot_be_built() -> None:
    for sizes, why in (
        ({"width": 64, "grants": True, "wire": 100}, r"power of two in 128\.\.32768"),
        ({"width": 64, "wire": 128}, "wire needs grants, which is off"),
        ({"grants": True, "wire": 128}, "wire needs width, which is off"),
    ):
        with pytest.raises(ValueError, match=why):
            NicConfig(**sizes)
    with pytest.raises(DeviceError, match=r"built without \(wire=0\)"):
        WireDriver(Device(Emulator(NicConfig(qps=4, sets=2))).registers)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        cli.main(["packet", "wire", *arguments])
    assert isinstance(left.value.code, int)
    return left.value.code


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("set", "--quota", "20", "--hold", "-d", WITH, "-j") == 0
    shown = json.loads(capsys.readouterr().out)
    wanted = {"hold": 1, "acks_pass": 0, "quota": 20, "limit": 128, "expiry": 1_000_000}
    assert shown["parameters"] == wanted
    assert run("show", "1", "-d", WITH, "-j") == 0
    assert json.loads(capsys.readouterr().out)["queue_pairs"][0]["qp"] == 1
    assert run("show", "-d", WITH) == 0
    assert "dropped_quota" in capsys.readouterr().out
    for device, arguments, why in (
        ("emu:", ("show",), "packets do not wait in device emu:"),
        (WITH, ("set", "--limit", "999"), "limit must be in 0..256 cells, not 999"),
    ):
        assert run(*arguments, "-d", device) != 0
        assert why in capsys.readouterr().err
