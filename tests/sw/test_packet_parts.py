"""Devices whose packet path lacks a part (destinations, CNPs, ICRC check), from the host."""

import json

import pytest
from tests.command_line import Ran, ran
from tests.models.packet.frames import A_ADDRESS, A_QP, B_ADDRESS, B_QP, packet

from precog_host import cli
from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.transport import DeviceError
from precog_models.packet.card import Card, CardConfig
from precog_models.packet.cnp import CnpConfig
from precog_models.packet.cps_state import CpsConfig
from precog_spec.config import PACKET_PARTS, NicConfig
from precog_spec.frames.cps import Mode
from precog_spec.registers.identity import Identity
from precog_spec.registers.interrupt import causes_of
from precog_spec.registers.model import RegisterMap
from precog_spec.registers.packet import (
    ECHO_EVENTS,
    ECHOES_COUNTED_FROM,
    ECHOES_FROM,
    packet_events,
)
from precog_spec.registers.parts import lacking
from precog_spec.registers.precog import build_map
from precog_spec.registers.reset import resets_of

PEER = "10.0.0.7"


def names(regmap: RegisterMap) -> set[str]:
    """Every field of a map."""
    return {
        f"{placed.block.name}.{register.name}.{field.name}"
        for placed in regmap.blocks
        for register in placed.block.registers
        for field in register.fields
    }


def open_without(*parts: str) -> Device:
    sizes = NicConfig(width=64, qps=4, **dict.fromkeys(parts, False))
    device = Device(Emulator(sizes, tick_ps=16000))
    assert device.sizes == sizes
    assert device.packet is not None
    return device


@pytest.mark.parametrize(
    ("part", "gone"),
    [
        (
            "icrc",
            {
                *(f"INTERRUPT.{r}.icrc" for r in ("CAUSE", "ENABLE", "RAISE")),
                "PACKET.CONTROL.icrc_gate",
            },
        ),
        (
            "cnps",
            {
                *(f"PACKET.CNP.{f}" for f in ("enabled", "mode_c", "ecn", "dscp", "ttl")),
                "PACKET.CNP_INTERVAL.interval_ticks",
                *(f"PACKET.ACK.{f}" for f in ("ack_enabled", "ack_dscp", "echo_enabled")),
                *(f"PACKET_QP.PEER.{f}" for f in ("remote_qp", "remote_valid")),
            },
        ),
        (
            "destinations",
            {
                "PACKET_QP.CARRY.destination",
                *(f"RESET.{r}.statistics" for r in ("COMMAND", "STATE")),
            },
        ),
    ],
)
def test_what_belongs_to_a_part_goes_with_it(part: str, gone: set[str]) -> None:
    whole = build_map(NicConfig(width=64), Identity(0))
    less = build_map(NicConfig(width=64, **{part: False}), Identity(0))
    missing = names(whole) - names(less)
    assert {name for name in missing if not name.startswith("DESTINATION.")} == gone
    assert names(less) < names(whole)
    assert ("DESTINATION" in {b.block.name for b in less.blocks}) == (part != "destinations")
    built = less.block("ID").register("PACKETS")
    assert {p: built.field(f"no_{p}").get(built.reset) for p in PACKET_PARTS} == {
        p: int(p == part) for p in PACKET_PARTS
    }


def test_a_whole_device_says_what_it_said_before() -> None:
    """Before there was a choice ID.PACKETS ended with bit 18."""
    for width in (0, 64):
        register = build_map(NicConfig(width=width), Identity(0)).block("ID").register("PACKETS")
        assert register.reset == width | 1 << 18
    assert causes_of(NicConfig(width=64))[-1] == "icrc"
    assert "statistics" in resets_of(NicConfig(width=64))
    assert lacking(NicConfig(), "icrc") == "width"
    assert lacking(NicConfig(width=64, icrc=False), "icrc") == "icrc"


def test_without_destinations() -> None:
    device = open_without("destinations")
    path = device.packet
    assert path is not None
    message = r"device has no destinations: it was built without \(destinations=0\)"
    with pytest.raises(DeviceError, match=message):
        path.destination(0)
    with pytest.raises(DeviceError, match=message):
        path.enable_destination(0, enable=False)
    with pytest.raises(DeviceError, match=message):
        path.bind(1, PEER, remote_qp=B_QP, local_qp=A_QP, destination=3)
    assert path.bindings() == []
    path.bind(1, PEER, remote_qp=B_QP, local_qp=A_QP, score=9)
    path.set_score(1, 40)
    assert [(b.destination, b.score) for b in path.bindings()] == [(0, 40)]
    with pytest.raises(ValueError, match=r"not 'statistics': it was built without \(dest.*=0\)"):
        device.reset.reset(["statistics"])
    assert "cnp_sent" in path.counters()["events"]


def test_without_cnps() -> None:
    """A marked packet passes; nothing answers it, and nothing counts it."""
    emulator = Emulator(NicConfig(width=64, qps=4, cnps=False), tick_ps=16000)
    path = Device(emulator).packet
    assert path is not None
    assert emulator.packets is not None
    peer = (B_ADDRESS & 0xFFFF_FFFF).to_bytes(4, "big")
    path.bind(1, ".".join(map(str, peer)), remote_qp=B_QP, local_qp=A_QP, destination=3)
    with pytest.raises(DeviceError, match=r"device has no parameter ttl: .*built with cnps=0"):
        path.set_parameters(timeout=7, ttl=3)
    assert path.parameters()["timeout"] == 0
    path.set_parameters(timeout=7)
    frame = packet(bytes(100), psn=1, back=True, ip={"tos": 3})
    arrived = emulator.packets.receive(frame, 9)
    assert (arrived.received.frame, arrived.cnp) == (frame, None)
    counters = path.counters()
    assert (counters["rx"]["of_qp"], counters["events"]["icrc_ok"]) == (1, 1)
    assert not [name for name in counters["events"] if name.startswith("cnp_")]
    assert path.destination(3).marks == 1
    path.unbind(1)


def _before(block: str, minor: int) -> Emulator:
    """A card whose block has a version with so much less of a minor number."""

    class Old(Emulator):
        def read32(self, address: int) -> int:
            word = super().read32(address)
            return word - minor if address == version else word

    old = Old(NicConfig(width=64, qps=4), tick_ps=16000)
    version = next(b.base for b in old.map.blocks if b.block.name == block) + 4
    return old


def test_a_card_of_before_there_were_echoes() -> None:
    """It would take the bit and do nothing."""
    path = Device(_before("PACKET", ECHOES_FROM)).packet
    assert path is not None
    with pytest.raises(DeviceError, match=r"device echoes no marks: its PACKET block is 2\.0"):
        path.set_parameters(timeout=7, echo_enabled=1)
    assert path.parameters()["timeout"] == 0
    path.set_parameters(timeout=7, echo_enabled=0)
    assert path.parameters()["timeout"] == 7


def test_a_card_of_before_echoes_were_counted() -> None:
    """Its table ends before them."""
    old = _before("PACKET_COUNTERS", ECHOES_COUNTED_FROM)
    path = Device(old).packet
    assert path is not None
    events = packet_events(old.sizes)
    assert tuple(path.counters()["events"]) == events[: -len(ECHO_EVENTS)]
    assert events[-len(ECHO_EVENTS) :] == ECHO_EVENTS


def test_without_the_icrc_check() -> None:
    emulator = Emulator(NicConfig(width=64, qps=4, icrc=False), tick_ps=16000)
    device = Device(emulator)
    assert device.packet is not None
    assert emulator.packets is not None
    frame = bytearray(packet(bytes(100), psn=1, back=True))
    frame[-1] ^= 1
    assert emulator.packets.receive(bytes(frame), 9).received.frame == frame
    assert "icrc" not in device.interrupt.causes
    assert not [n for n in device.packet.counters()["events"] if n.startswith("icrc_")]
    with pytest.raises(ValueError, match=r"cause must be one of .* on this device, not 'icrc'"):
        device.interrupt.enable(["icrc"])


def test_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> Ran:
        return ran(capsys, *arguments, "-d", "emu:width=64,destinations=0,cnps=0,icrc=0")

    status, _, err = run("packet", "destination", "show", "0")
    assert status
    assert "device has no destinations: it was built without (destinations=0)" in err
    status, _, err = run("packet", "param", "set", "enabled=1")
    assert status
    assert "device has no parameter enabled: it was built with cnps=0" in err
    status, out, _ = run("packet", "param", "show", "-j")
    assert "mode_c" not in json.loads(out)
    status, out, _ = run(
        "packet", "binding", "add", "1", PEER, "--remote-qp", "1", "--local-qp", "2", "-j"
    )
    assert (status, json.loads(out)[0]["destination"]) == (0, 0)
    assert run("packet", "counter", "show")[:2] == (0, "all counters are 0\n")


@pytest.mark.parametrize("part", PACKET_PARTS)
def test_what_cannot_be_built(part: str) -> None:
    with pytest.raises(ValueError, match=f"{part} must be on without width: it is a part"):
        NicConfig(**{part: False})
    with pytest.raises(ValueError, match=f"{part} must be True or False, not 2"):
        NicConfig(width=64, **{part: 2})
    NicConfig(width=64, receiver=True, forecast=True, grants=True, wire=256, **{part: False})


def test_acknowledgements_get_their_dscp_by_the_registers() -> None:
    emulator = Emulator(NicConfig(width=64, qps=4), tick_ps=16000)
    path, packets = Device(emulator).packet, emulator.packets
    assert path is not None
    assert packets is not None
    ack = packet(opcode=0x11, aeth={"syndrome": 0x1F, "msn": 7}, ip={"tos": 1})
    assert packets.transmit(ack, 1).frame == ack
    path.set_parameters(ack_enabled=1)
    assert packets.transmit(ack, 2).frame[15] == 48 << 2 | 1
    path.set_parameters(ack_dscp=46)
    assert packets.transmit(ack, 3).frame[15] == 46 << 2 | 1
    path.set_parameters(ack_enabled=0)
    assert packets.transmit(ack, 4).frame == ack
    with pytest.raises(ValueError, match=r"ack_dscp must be in 0\.\.63, not 64"):
        path.set_parameters(ack_dscp=64)


def test_acknowledgements_echo_marks_by_the_registers() -> None:
    emulator = Emulator(NicConfig(width=64, qps=4), tick_ps=16000)
    path, packets = Device(emulator).packet, emulator.packets
    assert path is not None
    assert packets is not None

    def bind() -> None:
        path.bind(1, "10.1.200.77", remote_qp=B_QP, local_qp=A_QP, mode=Mode.OFF)

    bind()
    data = packet(bytes(100), back=True, ip={"tos": 3})
    ack = packet(opcode=0x11, aeth={"syndrome": 0x1F, "msn": 7})
    marked = packet(opcode=0x11, aeth={"syndrome": 0x1F, "msn": 7}, bth={"becn": 1})
    packets.receive(data, 1)
    assert packets.transmit(ack, 2).frame == ack
    path.set_parameters(echo_enabled=1)
    assert packets.transmit(ack, 3).frame == ack
    packets.receive(data, 4)
    packets.receive(data, 5)
    assert [packets.transmit(ack, t).frame for t in (6, 7)] == [marked, ack]
    packets.receive(data, 8)
    path.unbind(1)
    bind()
    assert packets.transmit(ack, 9).frame == ack
    packets.receive(data, 10)
    assert packets.transmit(marked, 11).frame == marked  # the transport had set it
    events = path.counters()["events"]
    assert (events["marks_heard"], events["marks_echoed"]) == (4, 1)
    with pytest.raises(ValueError, match=r"echo_enabled must be in 0\.\.1, not 2"):
        path.set_parameters(echo_enabled=2)


def test_the_command_for_the_dscp(capsys: pytest.CaptureFixture[str]) -> None:
    device = ("-d", "emu:width=64")
    _, out, _ = ran(capsys, "packet", "param", "set", "ack_enabled=1", "ack_dscp=46", "-j", *device)
    shown = json.loads(out)
    assert (shown["ack_enabled"], shown["ack_dscp"]) == (1, 46)
    _, out, _ = ran(capsys, "packet", "param", "set", "echo_enabled=1", "-j", *device)
    assert json.loads(out)["echo_enabled"] == 1
    status, _, err = ran(capsys, "packet", "param", "set", "ack_dscp=64", *device)
    assert status
    assert "ack_dscp must be in 0..63, not 64" in err


def test_a_card_without_cnps_enables_none() -> None:
    with pytest.raises(ValueError, match="cnps must be True with ack_enabled, not False"):
        CardConfig(CpsConfig(ack_enabled=True), cnps=False)
    with pytest.raises(ValueError, match="cnps must be True with echo_enabled, not False"):
        CardConfig(CpsConfig(echo_enabled=True), cnps=False)
    with pytest.raises(ValueError, match="cnps must be True with CNPs enabled, not False"):
        CardConfig(cnp=CnpConfig(enabled=True), cnps=False)


def test_a_strangers_shim_is_counted_and_stays(capsys: pytest.CaptureFixture[str]) -> None:
    """From the wire to `precog packet counter show`, by destination as the host enables it."""
    emulator = Emulator(NicConfig(width=64, qps=4), tick_ps=16000)
    path, packets = Device(emulator).packet, emulator.packets
    assert path is not None
    assert packets is not None
    peer = Card(4, CardConfig())
    peer.add(0, A_ADDRESS, A_QP, B_QP, score=64)
    frame = packet(bytes(100), back=True)
    shimmed = peer.transmit(frame, 0, 0).frame
    assert packets.receive(shimmed, 9).received.frame == shimmed
    address = ".".join(map(str, (B_ADDRESS & 0xFFFF_FFFF).to_bytes(4, "big")))
    path.bind(1, address, remote_qp=B_QP, local_qp=A_QP, destination=3)
    for n, enable in enumerate((True, False, True)):
        path.enable_destination(3, enable=enable)
        assert packets.receive(shimmed, 10 + n).received.frame == (frame if enable else shimmed)
    counters = path.counters()
    assert (counters["rx"]["shim_untrusted"], counters["events"]["extracted"]) == (2, 2)
    assert path.destination(3).score == 64
    with pytest.raises(SystemExit):
        cli.main(["packet", "counter", "show", "-j", "-d", "emu:width=64"])
    assert json.loads(capsys.readouterr().out)["rx"]["shim_untrusted"] == 0


def test_a_code_that_is_no_mode_shows_as_off() -> None:
    device = Device(Emulator(NicConfig(width=64, qps=4)))
    assert device.packet is not None
    device.packet.bind(1, "10.0.0.9", remote_qp=17, local_qp=18)
    device.registers.write_fields("PACKET_QP", "SELECT", index=1)
    device.registers.write_fields("PACKET_QP", "COMMAND", fetch=1)
    name, place = next(
        (register.name, field)
        for register in device.registers.registers("PACKET_QP")
        for field in register.fields
        if field.name == "mode"
    )
    device.registers.write(
        "PACKET_QP", name, place.put(device.registers.read("PACKET_QP", name), 3)
    )
    device.registers.write_fields("PACKET_QP", "COMMAND", apply=1)
    assert [binding.mode for binding in device.packet.bindings()] == [Mode.OFF]
