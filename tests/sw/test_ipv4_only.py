"""A device that was built without IPv6 (`ipv6=0`), as its host sees it."""

from ipaddress import IPv6Address

import pytest
from tests.models.packet.frames import A_QP, B_ADDRESS, B_QP, packet

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.transport import DeviceError
from precog_spec.config import NicConfig
from precog_spec.frames.cps import SHIM

SIZES = NicConfig(width=64, qps=4, ipv6=False)


def test_a_queue_pair_has_an_ipv4_peer() -> None:
    with Device.open("emu:width=64,qps=4,ipv6=0") as device:
        assert device.sizes == NicConfig(width=64, qps=4, ipv6=False, laws=True, ecc=True)
        assert device.packet is not None
        with pytest.raises(DeviceError, match=r"IPv4 address, not fe80::1: .*ipv6=0"):
            device.packet.bind(1, "fe80::1", remote_qp=17, local_qp=18)
        device.packet.bind(1, "::ffff:10.0.0.7", remote_qp=17, local_qp=18)
        assert [str(b.remote) for b in device.packet.bindings()] == ["10.0.0.7"]
    with Device.open("emu:width=64,qps=4") as device:
        assert device.sizes.ipv6 == 1
        assert device.packet is not None
        device.packet.bind(1, "fe80::1", remote_qp=17, local_qp=18)


def test_ipv6_packets_pass() -> None:
    emulator = Emulator(SIZES, tick_ps=16000)
    device = Device(emulator)
    assert device.packet is not None
    assert emulator.packets is not None
    peer = str(IPv6Address(B_ADDRESS).ipv4_mapped)
    device.packet.bind(1, peer, remote_qp=B_QP, local_qp=A_QP, score=40)
    four, six = (packet(bytes(64), ipv6=ipv6) for ipv6 in (False, True))
    assert len(emulator.packets.transmit(four, 0).frame) == len(four) + SHIM.size
    assert emulator.packets.transmit(six, 0).frame == six


def test_a_cell_keeps_an_ipv4_address() -> None:
    """Whatever the words above it say; those of a free cell stand, too."""
    device = Device(Emulator(SIZES, tick_ps=16000))
    registers = device.registers
    for n, word in enumerate((0x0A000007, 0x12345678, 0x9ABCDEF0, 0xFE800000)):
        registers.write_fields("LOOKUP", f"REMOTE_{n}", **{f"remote_{n}": word})
    registers.write_fields("LOOKUP", "PLACE", way=0, row=0)
    registers.write_fields("LOOKUP", "CELL", valid=1)
    registers.write_fields("LOOKUP", "COMMAND", apply=1)
    registers.write_fields("LOOKUP", "COMMAND", fetch=1)
    words = [registers.read("LOOKUP", f"REMOTE_{n}") for n in range(4)]
    assert words == [0x0A000007, 0xFFFF, 0, 0]
    registers.write_fields("LOOKUP", "PLACE", way=0, row=1)
    registers.write_fields("LOOKUP", "COMMAND", fetch=1)
    assert [registers.read("LOOKUP", f"REMOTE_{n}") for n in range(4)] == [0, 0xFFFF, 0, 0]


def test_without_packets_there_is_no_form_without_ipv6() -> None:
    with pytest.raises(ValueError, match="ipv6 must be on without width"):
        NicConfig(ipv6=False)
