"""The receiver's driver and commands, and the golden receiver behind its registers."""

import json
from ipaddress import IPv6Address

import pytest
from tests.command_line import Run

from precog_host.device import Device
from precog_host.driver.receiver import ReceiverDriver, ReceivingQp
from precog_host.emulator.device import Emulator
from precog_host.transport import DeviceError
from precog_models.packet.card import Card, CardConfig
from precog_spec.config import NicConfig
from precog_spec.receiver_fields import BASE_QUOTA, RECEIVER_CONFIG, Act, Band
from precog_spec.receiver_fields import RECEIVER_PARAMETERS as GOLDEN_PARAMETERS
from precog_spec.registers.receiver import RECEIVER_EVENTS, RECEIVER_PARAMETERS, RECEIVER_QP_CONFIG

from ..models.packet.frames import A_ADDRESS, A_QP, B_ADDRESS, B_QP, packet


class Wired:
    """A device, and a peer whose packets bring scores for queue pair 1."""

    def __init__(self) -> None:
        self.emulator = Emulator(
            NicConfig(qps=4, sets=2, width=64, grants=True, trace=True, receiver=True)
        )
        self.device = Device(self.emulator)
        assert self.device.receiver is not None
        assert self.device.packet is not None
        assert self.device.trace is not None
        self.receiving = self.device.receiver
        self.tracing = self.device.trace
        remote = IPv6Address(B_ADDRESS).ipv4_mapped
        assert remote is not None
        self.device.packet.bind(1, remote, remote_qp=B_QP, local_qp=A_QP)
        self.device.packet.set_parameters(enabled=1)
        self.device.set_parameters(psched="precog", psched_skill=0)
        self.device.qp(1).configure(
            preset="precog", enable=True, algorithm="fixed", init_gbps=40.0, psched=True
        )
        self.peer = Card(4, CardConfig())
        self.peer.add(0, A_ADDRESS, A_QP, B_QP)

    def score(self, score: int, t: int) -> tuple[float, tuple[str, ...]]:
        """A packet with a score; rate and flags of the decision that it makes."""
        self.peer.cps.slots[0].score = score
        frame = self.peer.transmit(packet(bytes(9), psn=t % 1000, back=True), t, t).frame
        assert self.emulator.packets is not None
        self.emulator.packets.receive(frame, t)
        status = self.device.qp(1).status()
        return status.rate_gbps, status.flags


def test_registers_are_the_golden_models() -> None:
    shown = {field.name: field.bits for r in RECEIVER_PARAMETERS for field in r.fields}
    assert shown == dict(GOLDEN_PARAMETERS)
    row = [(field.name, field.bits) for r in RECEIVER_QP_CONFIG for field in r.fields]
    assert tuple(row) == RECEIVER_CONFIG
    assert RECEIVER_QP_CONFIG[1].fields[0].reset == BASE_QUOTA


def test_a_score_in_a_packet_acts_by_its_band() -> None:
    wired = Wired()
    receiving, emulator = wired.receiving, wired.emulator
    receiving.configure(1, commands=True, boosts=True, grows=True)
    receiving.set_parameters(boost=3, window_us=10.0, budget=500)
    wired.device.set_parameters(psched_threshold=90.0)
    wired.tracing.configure(kinds=["receiver"])
    assert emulator.receiver is not None
    assert emulator.pacer is not None
    rate, flags = wired.score(80, 5)  # below PSCHED's threshold: the command lowers nothing more
    assert rate == pytest.approx(40)
    assert "congested" in flags
    assert emulator.receiver.quotas == [64, 128, 64, 64]
    assert emulator.pacer.pacer.rows[1].level == 3
    rate, _ = wired.score(100, 6)
    assert rate == pytest.approx(40 * 0.9, rel=1e-3)
    rate, flags = wired.score(50, 7)  # held: PSCHED alone would raise
    assert rate == pytest.approx(40)
    assert "congested" not in flags
    assert emulator.receiver.quotas[1] == 64
    assert emulator.pacer.pacer.rows[1].level == 0
    rate, _ = wired.score(10, 8)  # no window is over yet
    assert rate == pytest.approx(40)
    rate, _ = wired.score(10, 20_000)
    assert rate == pytest.approx(44, rel=1e-3)
    assert emulator.packets is not None
    for n in range(3):
        emulator.packets.transmit(packet(bytes(300), psn=n), 25_000 + n)
    rate, _ = wired.score(10, 30_100)
    assert rate == pytest.approx(40)
    wired.score(90, 30_200)
    wired.receiving.configure(1, boosts=False)
    assert emulator.pacer.pacer.rows[1].level == 0
    wired.score(90, 30_300)
    wired.score(90, 30_400 + 300_000)  # the one before has aged
    counters = receiving.counters()
    expected = {"scores": 9, "to_high": 4, "to_medium": 1, "to_low": 1, "aged": 1, "reduced": 5}
    expected |= {"held": 3, "starved": 2, "boosted": 2, "restored": 2, "quotas": 6, "short": 0}
    assert {name: counters[name] for name in expected} == expected
    records = [*wired.tracing.drain()]
    assert [Band(record["band"]).name for record in records] == [
        *("HIGH", "HIGH", "MEDIUM", "LOW", "LOW", "LOW", "HIGH"),
        *("NONE", "HIGH", "NONE", "HIGH"),
    ]
    assert [record["score"] for record in records][:4] == [80, 100, 50, 10]
    assert Act(records[0]["flags"]) == Act.BAND | Act.COMMAND | Act.BOOST | Act.QUOTA
    assert (records[0]["boost"], records[0]["quota"]) == (3, 128)
    assert set(counters) == {name for name, _ in RECEIVER_EVENTS}
    assert wired.tracing.presented(records[0])["score"] == 80


def test_rows_and_parameters_are_read_back() -> None:
    wired = Wired()
    receiving = wired.receiving
    assert receiving.qp(3) == ReceivingQp(3, False, False, False, 64)
    receiving.configure(3, grows=True, base_quota=17)
    assert receiving.qp(3) == ReceivingQp(3, False, False, True, 17)
    assert wired.emulator.receiver is not None
    assert wired.emulator.receiver.quotas == [64, 64, 64, 17]
    parameters = receiving.parameters()
    assert (parameters["high"], parameters["low"], parameters["hysteresis"]) == (75, 25, 5)
    assert (parameters["score_us"], parameters["window_us"]) == (200.0, 10.0)
    receiving.set_parameters(high=80, low=20, score_us=1.5, limit=7)
    parameters = receiving.parameters()
    assert (parameters["high"], parameters["low"], parameters["score_us"]) == (80, 20, 1.5)
    assert wired.emulator.receiver.receiver.parameters["ticks"] == 1500
    with pytest.raises(ValueError, match=r"base_quota must be in 0\.\.65535, not 65536"):
        receiving.configure(3, base_quota=65536)
    with pytest.raises(ValueError, match=r"QP must be in 0\.\.3, not 4"):
        receiving.qp(4)
    with pytest.raises(ValueError, match=r"parameter 'ticks' must be one of high, "):
        receiving.set_parameters(ticks=1)
    with pytest.raises(ValueError, match=r"high must be in 0\.\.127, not 128"):
        receiving.set_parameters(limit=1, high=128)
    assert receiving.parameters() == parameters
    receiving.registers.write_fields("RECEIVER", "SELECT", index=4)
    receiving.registers.write_fields("RECEIVER", "COMMAND", apply=1)
    assert receiving.registers.fields("RECEIVER", "ERROR") == {"range": 1, "overrun": 0}


def test_a_device_without_a_receiver_says_so() -> None:
    with Device.open("emu:") as device:
        assert device.receiver is None
        with pytest.raises(DeviceError, match=r"device has no receiver: .* \(receiver=0\)"):
            ReceiverDriver(device.registers)
    with pytest.raises(DeviceError, match="receiver needs width, which is off: scores come in"):
        Device.open("emu:receiver=1")
    with pytest.raises(DeviceError, match="receiver needs laws, which is off"):
        Device.open("emu:width=64,laws=0,receiver=1")


def test_commands(run: Run) -> None:
    device = ("-d", "emu:width=64,receiver=1,qps=4")
    row = {"commands": True, "boosts": False, "grows": False, "base_quota": 9}
    _, out, _ = run("qp", "receiver", "set", "1", "2", "--commands", "--quota", "9", *device, "-j")
    assert json.loads(out) == [{"qp": qp, **row} for qp in (1, 2)]
    assert "base_quota" in run("qp", "receiver", "show", *device)[1]
    _, out, _ = run("cc", "receiver", "set", "high=90", "score_us=5", *device, "-j")
    shown = json.loads(out)
    assert (shown["parameters"]["high"], shown["parameters"]["score_us"]) == (90, 5.0)
    assert shown["counters"]["scores"] == 0
    assert "starved" in run("cc", "receiver", "show", *device)[1]
    for arguments, message in (
        (("qp", "receiver", "set", "--quota", "1", *device), "missing argument 'SLOT...'"),
        (("qp", "receiver", "set", "1", *device), "at least one option must be given: --comm"),
        (
            ("qp", "receiver", "show"),
            "device emu: has no receiver: it was built without one; try emu:wi",
        ),
        (("qp", "receiver", "show", "4", *device), "QP must be in 0..3, not 4"),
        (
            ("cc", "receiver", "set", "self=1", *device),
            "parameter 'self' must be one of high, ",
        ),
        (
            ("cc", "receiver", "set", "high=x", *device),
            "parameter 'high=x' must be <name>=<number>",
        ),
    ):
        status, _, err = run(*arguments)
        assert status
        assert message in err
