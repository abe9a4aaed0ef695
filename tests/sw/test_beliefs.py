"""A new queue pair believes what its peer told those before it."""

from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path

import pytest
from tests.command_line import ran

from precog_host import beliefs
from precog_host.beliefs import Beliefs
from precog_host.device import Device
from precog_host.driver.senders import Told
from precog_host.emulator.device import Emulator
from precog_host.rdma_follow import Follower
from precog_host.rdma_list import RdmaQp
from precog_host.transport import DeviceError
from precog_models.packet.card import Card, CardConfig
from precog_models.packet.senders import SendersConfig
from precog_spec.config import NicConfig

from ..models.packet.frames import A_ADDRESS, A_QP, B_QP, packet

_PEER, _OTHER = (ip_address(f"10.1.200.{n}") for n in (77, 78))


def _device() -> tuple[Emulator, Device]:
    emulator = Emulator(NicConfig(qps=4, sets=2, width=64, senders=True))
    device = Device(emulator)
    assert device.senders is not None
    device.senders.set_parameters(heed=True)
    return emulator, device


def _qps(*numbers: int) -> Sequence[RdmaQp]:
    return [RdmaQp("rxe0", 1, A_QP + n, B_QP + n, "RC", "RTS", "test") for n in numbers]


def _say(emulator: Emulator, n: int, senders: int) -> None:
    """The peer of queue pair `n` has so many senders, and says so in a packet of data."""
    assert emulator.packets is not None
    peer = Card(16, CardConfig(senders=True))
    assert peer.senders is not None
    peer.senders.config = SendersConfig(say=True)
    for slot in range(senders):
        peer.add(slot, A_ADDRESS, A_QP + slot, B_QP + slot)
        peer.receive(packet(bytes(64), opcode=0x01, bth={"dqpn": B_QP + slot}), 5, 5)
    data = packet(bytes(64), opcode=0x01, back=True, bth={"dqpn": A_QP + n})
    emulator.packets.receive(peer.transmit(data, 7, 7).frame, 9)


def test_the_next_queue_pair_believes_what_the_last_was_told() -> None:
    emulator, device = _device()
    assert device.senders is not None
    follower = Follower(device, mode="s", beliefs=Beliefs(device))
    assert follower.update(_qps(0, 1), remote=_PEER).believed == {}
    _say(emulator, 0, 9)
    _say(emulator, 1, 3)
    assert [device.senders.told(slot).most for slot in range(2)] == [4, 2]
    follower.update((), remote=_PEER)
    change = follower.update([*_qps(2, 3)], remote=_PEER, peers={f"rxe0/{A_QP + 3}": _OTHER})
    slots = {one.remote: one.slot for one in change.added}
    assert change.believed == {slots[_PEER]: 4}
    assert device.senders.told(slots[_PEER]) == Told(4, believed=True, most=0)
    assert device.senders.told(slots[_OTHER]) == Told(0, believed=False, most=0)
    _say(emulator, 2, 3)  # its own word counts from here on
    assert device.senders.told(slots[_PEER]) == Told(2, believed=False, most=2)
    follower.update((), remote=_PEER)
    assert follower.update(_qps(0), remote=_PEER).believed == {0: 2}


def test_a_peer_that_said_little_is_not_believed() -> None:
    emulator, device = _device()
    follower = Follower(device, mode="s", beliefs=Beliefs(device))
    for senders, believed in ((4, {0: 2}), (2, {}), (0, {})):
        follower.update(_qps(0), remote=_PEER)
        if senders:
            _say(emulator, 0, senders)
        follower.update((), remote=_PEER)
        assert follower.update(_qps(0), remote=_PEER).believed == believed


def test_those_that_ended_longest_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beliefs, "_DESTINATIONS", 2)
    emulator, device = _device()
    table = Beliefs(device)
    follower = Follower(device, mode="s")
    follower.update(_qps(0), remote=_PEER)
    _say(emulator, 0, 9)
    first, second, third = (ip_address(f"10.0.0.{n}") for n in range(3))
    for peer in (first, second, first, third):
        table.end([(0, peer), (1, None)])
    begun = table.begin([(0, first), (1, second), (2, third), (3, None)])
    assert {slot: one.belief for slot, one in begun.items()} == {0: 4, 1: None, 2: 4}


def test_a_device_that_cannot_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lists = tmp_path / "lists"
    lists.write_text("[]\n")
    follows = ["qp", "follow", "--remote", str(_PEER), "--from", str(lists), "--believe", "-d"]
    done = ran(capsys, *follows, "emu:width=64")
    assert done.status == 2
    assert "beliefs need a device that counts senders" in done.err
    done = ran(capsys, *follows, "emu:width=64,senders=1")
    assert done.status == 2
    assert "beliefs need a device that heeds levels: precog packet senders set" in done.err
    with Device.open("emu:width=64") as device, pytest.raises(DeviceError, match=r"senders=0"):
        Beliefs(device)
    with (
        Device.open("emu:qps=4,sets=2,width=64,senders=1") as device,
        pytest.raises(DeviceError, match="precog packet senders set --heed"),
    ):
        Beliefs(device)
