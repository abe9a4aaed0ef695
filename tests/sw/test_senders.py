"""The count of senders behind its registers: driver, commands, and the golden card."""

import json
from typing import Any

import pytest

from precog_host import cli
from precog_host.device import Device
from precog_host.driver.senders import SendersDriver, SendersParameters, Sending, Told
from precog_host.emulator.device import Emulator
from precog_host.transport import DeviceError
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import load
from precog_models.packet.card import Card, CardConfig
from precog_models.packet.senders import SendersConfig
from precog_spec.config import NicConfig
from precog_spec.law_fields import LEVEL_ALONE, SENDERS_AT, EventKind

from ..models.packet.frames import A_ADDRESS, A_QP, B_QP, packet

_URI = "emu:qps=4,sets=2,width=64,senders=1"


def _run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(list(words))
    return int(ended.value.code or 0)


def _device() -> tuple[Emulator, Device, SendersDriver]:
    """With queue pairs 0..2 to B, the last one's shims not wanted."""
    emulator = Emulator(NicConfig(qps=4, sets=2, width=64, senders=True))
    device = Device(emulator)
    assert device.senders is not None
    assert device.packet is not None
    for slot in range(3):
        device.packet.bind(slot, "10.1.200.77", remote_qp=B_QP + slot, local_qp=A_QP + slot)
    return emulator, device, device.senders


def _data(slot: int, payload: int = 64) -> bytes:
    return packet(bytes(payload), opcode=0x01, back=True, bth={"dqpn": A_QP + slot})


def test_parameters_in_real_units() -> None:
    _, device, senders = _device()
    assert senders.parameters() == SendersParameters(
        say=False, heed=False, own=True, epoch_us=16.384, least=100_000, hold_us=500.0
    )
    senders.set_parameters(say=True, epoch_us=0.3, least=7, hold_us=20)
    assert senders.parameters() == SendersParameters(
        say=True, heed=False, own=True, epoch_us=0.512, least=7, hold_us=20.0
    )
    senders.set_parameters(heed=True, own=False)
    assert senders.parameters().own is False
    now = senders.parameters()
    for values, message in (
        ({"epoch_us": 0.0}, r"epoch_us must be above 0, and 8388\.61 at most, not 0\.0"),
        ({"epoch_us": 9000.0}, r"epoch_us must be above 0, and 8388\.61 at most, not 9000\.0"),
        ({"least": 1 << 32}, r"least must be in 0\.\.4294967295 bytes, not 4294967296"),
        (
            {"hold_us": 1e9, "say": False},
            r"hold_us must be in 0\.\.4\.29497e\+06, not 1000000000\.0",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            senders.set_parameters(**values)
    assert senders.parameters() == now
    assert device.sizes.senders


def test_the_count_rises_with_data_and_ends_with_its_epochs() -> None:
    emulator, device, senders = _device()
    assert emulator.packets is not None
    for slot in (0, 1, 1, 2):
        emulator.packets.receive(_data(slot), 100 + slot)
    assert senders.count() == Sending(3, 2)
    assert senders.counters() == {"joined": 3, "heard": 0, "risen": 0, "outnumbered": 0}
    assert device.packet is not None
    device.packet.unbind(2)  # forgets it
    assert senders.count() == Sending(2, 1)
    emulator.packets.sweep(16_384 + 50)
    assert senders.count().count == 2
    emulator.packets.receive(_data(0), 16_384 + 60)
    emulator.packets.sweep(2 * 16_384)
    assert senders.count() == Sending(1, 0)
    emulator.packets.receive(_data(1), 2 * 16_384)
    senders.set_parameters(epoch_us=30)
    assert senders.count() == Sending(0, 0)
    device.reset.begin(["counters"])
    assert senders.counters()["joined"] == 0


def test_a_reset_of_the_rtts_forgets_who_sent() -> None:
    emulator, device, senders = _device()
    assert emulator.packets is not None
    emulator.packets.receive(_data(0), 100)
    device.reset.begin(["rtt"])
    assert senders.count() == Sending(0, 0)


def _peer(score: int | None = None) -> Card:
    """A card to which three queue pairs send, and which says so."""
    peer = Card(4, CardConfig(senders=True))
    assert peer.senders is not None
    peer.senders.config = SendersConfig(say=True)
    for slot in range(3):
        peer.add(slot, A_ADDRESS, A_QP + slot, B_QP + slot, score=score)
        peer.receive(packet(bytes(64), opcode=0x01, bth={"dqpn": B_QP + slot}), 5, 5)
    assert peer.senders.count(6) == 3
    return peer


def test_levels_of_the_peer_are_heeded_if_the_host_says_so() -> None:
    emulator, _, senders = _device()
    assert emulator.packets is not None
    peer = _peer()
    answer = peer.transmit(_data(0), 7, 7).frame
    assert emulator.packets.receive(answer, 8).senders is None
    senders.set_parameters(heed=True)
    assert [emulator.packets.receive(answer, 9).senders for _ in range(2)] == [2, None]
    assert senders.counters() == {"joined": 1, "heard": 2, "risen": 1, "outnumbered": 0}


def test_a_level_counts_as_0_where_the_own_flows_are_more_than_half() -> None:
    emulator, device, senders = _device()
    assert emulator.packets is not None
    peer = _peer()
    senders.set_parameters(heed=True)
    answer = peer.transmit(_data(0), 7, 7).frame  # three senders: 2
    for slot in range(2):
        emulator.packets.transmit(packet(bytes(64), opcode=0x01, bth={"dqpn": B_QP + slot}), 8)
    assert senders.own() == Sending(2, 1)
    assert emulator.packets.receive(answer, 9).senders == 2
    emulator.packets.transmit(packet(bytes(64), opcode=0x01, bth={"dqpn": B_QP + 2}), 10)
    assert senders.own() == Sending(3, 2)
    answer = peer.transmit(_data(1), 11, 11).frame
    assert emulator.packets.receive(answer, 12).senders is None
    assert senders.counters()["outnumbered"] == 1
    senders.set_parameters(own=False)
    assert emulator.packets.receive(answer, 13).senders == 2
    device.reset.begin(["rtt"])
    assert senders.own() == Sending(0, 0)


def test_a_believed_level_is_replaced_by_the_first_word() -> None:
    emulator, _, senders = _device()
    assert emulator.packets is not None
    golden = emulator.packets.card.senders
    assert golden is not None
    with pytest.raises(DeviceError, match=r"a device that heeds levels: .* set --heed"):
        senders.believe(1, 3)
    assert golden.said(1) == 0
    senders.set_parameters(heed=True)
    senders.believe(1, 3)
    assert golden.said(1) == 3
    for wrong, message in (
        ((4, 3), r"slot must be in 0\.\.3, not 4"),
        ((1, 16), r"level must be in 0\.\.15, not 16"),
    ):
        with pytest.raises(ValueError, match=message):
            senders.believe(*wrong)
    senders.registers.write_fields("SENDERS", "BELIEF", qp=5, level=7)  # there is no such slot
    assert [golden.said(slot) for slot in range(4)] == [0, 3, 0, 0]
    peer = Card(4, CardConfig(senders=True))
    peer.add(1, A_ADDRESS, A_QP + 1, B_QP + 1)
    answer = peer.transmit(_data(1), 7, 7).frame
    assert senders.told(1) == Told(3, believed=True, most=0)
    assert emulator.packets.receive(answer, 9).senders == 0
    assert golden.said(1) == 0
    assert senders.told(1) == Told(0, believed=False, most=0)


def test_what_a_receiver_has_said_is_read_until_its_reset() -> None:
    emulator, device, senders = _device()
    assert emulator.packets is not None
    assert device.packet is not None
    senders.set_parameters(heed=True, hold_us=1)
    peer = _peer()
    emulator.packets.receive(peer.transmit(_data(0), 7, 7).frame, 9)
    assert [senders.told(slot) for slot in range(2)] == [Told(2, False, 2), Told(0, False, 0)]
    assert peer.senders is not None
    peer.senders.config = SendersConfig(say=True, epoch=7)  # counts begin anew
    emulator.packets.receive(peer.transmit(_data(0), 5000, 5000).frame, 9000)
    assert senders.told(0) == Told(0, believed=False, most=2)
    senders.set_parameters(heed=False)
    assert senders.told(0).most == 2
    device.packet.unbind(0)
    assert senders.told(0) == Told(0, believed=False, most=0)
    with pytest.raises(ValueError, match=r"slot must be in 0\.\.3, not 4"):
        senders.told(4)
    with pytest.raises(DeviceError, match="range"):
        senders._command("SENDERS", 4, fetch=1)


@pytest.mark.parametrize("receiver", [False, True])
def test_with_the_receiver_s_block_levels_are_events_of_their_own(
    receiver: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores leave the receiver later, as commands that bear the level in force."""
    made = compile_law(load("lockstep_hints"))
    peer = _peer(score=40)
    config = NicConfig(qps=4, sets=2, width=64, senders=True, law_cores=1, receiver=receiver)
    emulator = Emulator(config)
    device = Device(emulator)
    heard: list[list[int]] = []
    assert device.senders is not None
    assert device.packet is not None
    assert device.law is not None
    assert emulator.packets is not None
    for slot in range(2):
        device.packet.bind(slot, "10.1.200.77", remote_qp=B_QP + slot, local_qp=A_QP + slot)
    device.law.load(made.program, made.law.integers("default", 1000), slot=0)
    device.qp(0).configure(preset="precog", enable=True, algorithm="law:0")
    device.senders.set_parameters(heed=True)
    happen = emulator.happen

    def note(event: Any) -> Any:
        heard.append(event.tolist())
        return happen(event)

    monkeypatch.setattr(emulator, "happen", note)
    level = 2 << SENDERS_AT
    for slot in range(2):  # the second one runs no program
        emulator.packets.receive(peer.transmit(_data(slot), 7, 7).frame, 9)
    scored = heard.pop()
    assert scored[:2] == [EventKind.SCORE, 0]
    assert scored[3] % 256 == 40
    assert scored[3] >> SENDERS_AT == 2
    alone = [EventKind.SCORE, 0, 9, LEVEL_ALONE | level]
    assert heard == ([alone] if receiver else [])
    device.senders.believe(0, 5)
    assert heard[-1] == [EventKind.SCORE, 0, 9, LEVEL_ALONE | 5 << SENDERS_AT]


def test_a_device_without_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with Device.open("emu:width=64") as device:
        assert device.senders is None
        with pytest.raises(DeviceError, match="does not count senders: it was built without"):
            SendersDriver(device.registers)
    assert _run("packet", "senders", "show", "-d", "emu:width=64") == 2
    assert "try emu:width=64,senders=1" in capsys.readouterr().err
    with pytest.raises(ValueError, match="senders needs width, which is off"):
        NicConfig(senders=True)


def test_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("packet", "senders", "show", "-d", _URI, "-j") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["now"] == {"count": 0, "level": 0}
    assert shown["own"] == {"count": 0, "level": 0}
    assert set(shown["counters"]) == {"joined", "heard", "risen", "outnumbered"}
    words = [
        "--say",
        "--no-heed",
        "--no-own",
        "--epoch-us",
        "20",
        "--least",
        "9",
        "--hold-us",
        "30",
    ]
    assert _run("packet", "senders", "set", *words, "-d", _URI, "-j") == 0
    assert json.loads(capsys.readouterr().out)["parameters"] == {
        "say": True,
        "heed": False,
        "own": False,
        "epoch_us": 32.768,
        "least": 9,
        "hold_us": 30.0,
    }
    assert _run("packet", "senders", "believe", "1", "2", "-d", _URI) == 2
    assert "senders set --heed" in capsys.readouterr().err
    assert _run("packet", "senders", "show", "1", "3", "-d", _URI, "-j") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["told 1"] == shown["told 3"] == {"level": 0, "believed": False, "most": 0}
    assert _run("packet", "senders", "show", "4", "-d", _URI) == 2
    assert "slot must be in 0..3, not 4" in capsys.readouterr().err
    assert _run("packet", "senders", "show", "-d", _URI) == 0
    assert "epoch_us" in capsys.readouterr().out
