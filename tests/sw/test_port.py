"""Announced bytes behind their registers: driver, commands, and the golden card."""

import json
from dataclasses import replace

import pytest

from precog_host import cli
from precog_host.device import Device
from precog_host.driver.port import PortDriver, PortParameters
from precog_host.emulator.device import Emulator
from precog_host.transport import DeviceError
from precog_spec.config import NicConfig

from ..models.packet.frames import A_QP, B_QP, packet

_CONFIG = NicConfig(qps=4, sets=2, width=64, profile=True, forecast=True, port=True)
_URI = "emu:qps=4,sets=2,width=64,profile=1,forecast=1,port=1"


def _run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(list(words))
    return int(ended.value.code or 0)


def _device() -> tuple[Emulator, Device, PortDriver]:
    emulator = Emulator(_CONFIG)
    device = Device(emulator)
    assert device.port is not None
    assert device.packet is not None
    for slot in range(2):
        device.packet.bind(slot, "10.1.200.77", remote_qp=B_QP + slot, local_qp=A_QP + slot)
    return emulator, device, device.port


def _write(slot: int, announced: int) -> bytes:
    """The first packet of a message: 16 bytes of RETH, then 64 of data."""
    payload = bytes(12) + announced.to_bytes(4, "big") + bytes(64)
    return packet(payload, opcode=0x06, back=True, bth={"dqpn": A_QP + slot})


def test_parameters_in_real_units() -> None:
    _, _, port = _device()
    assert port.parameters() == PortParameters(
        enable=False, slot=0, epoch_us=16.384, most=(1 << 20) - 1
    )
    port.set_parameters(enable=True, slot=3, epoch_us=0.3, most=7)
    wanted = PortParameters(enable=True, slot=3, epoch_us=0.512, most=7)
    assert port.parameters() == wanted
    for values, message in (
        ({"slot": 4}, r"slot must be in 0\.\.3, not 4"),
        ({"slot": 1, "most": 1 << 24}, r"most must be in 0\.\.16777215, not 16777216"),
        ({"epoch_us": 0.0}, r"epoch_us must be above 0, and 8388\.61 at most, not 0\.0"),
    ):
        with pytest.raises(ValueError, match=message):
            port.set_parameters(**values)  # type: ignore[arg-type]
        assert port.parameters() == wanted


def test_the_profiler_s_numbers_of_the_slot_are_the_port_s() -> None:
    emulator, device, port = _device()
    assert emulator.packets is not None
    assert device.profiler is not None
    emulator.packets.receive(_write(0, 5000), 10)
    assert port.announced() == 0  # off
    port.set_parameters(enable=True, slot=3, epoch_us=0.256, most=6000)
    for slot, announced, wanted in ((0, 5000, 4936), (1, 1 << 31, 4936 + 5936)):
        emulator.packets.receive(_write(slot, announced), 20 + slot)
        assert port.announced() == wanted
        assert device.profiler.queue(3).occupancy == wanted
    emulator.packets.receive(packet(opcode=0x11, back=True, bth={"dqpn": A_QP}), 600)
    assert port.announced() == device.profiler.queue(3).occupancy == 0  # both were silent


def test_a_source_needs_the_port() -> None:
    device = Device(Emulator(replace(_CONFIG, port=False)))
    assert device.port is None
    assert device.packet is not None
    with pytest.raises(DeviceError, match=r"must be host, queue, rtt or max, not port: .*port=0"):
        device.packet.bind(0, "10.0.0.2", remote_qp=1, local_qp=2, score_source="port")
    with pytest.raises(DeviceError, match=r"built without \(port=0\)"):
        PortDriver(device.registers)


def test_commands(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--slot", "3", "--enable", "--most", "9", "-d", _URI, "--json")
    assert _run("packet", "port", "set", *words) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == {"announced": 0, "enable": True, "slot": 3, "epoch_us": 16.384, "most": 9}
    assert _run("packet", "port", "show", "-d", _URI) == 0
    assert "announced" in capsys.readouterr().out
    assert _run("packet", "port", "show", "-d", "emu:width=64") == 2
    assert "try emu:width=64,profile=1,forecast=1,port=1" in capsys.readouterr().err
