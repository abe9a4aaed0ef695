"""Resets of parts through the driver and the command line: the same on golden NIC and RTL."""

import json
import zlib

import numpy as np
import pytest
from tests.command_line import Ran, ran
from tests.sw.support import random_image, random_samples

from precog_host import opening
from precog_host.device import Device
from precog_host.driver.mac import MacDriver
from precog_host.emulator.device import Emulator
from precog_host.transport import DeviceError
from precog_spec.config import NicConfig
from precog_spec.registers.reset import RESET_BLOCKS, resets_of

PARTS = ("laws", "predictor", "counters")


def equipped(device: Device, seed: int) -> None:
    """Two models, and a queue pair for each."""
    for slot in (0, 1):
        device.model.load(random_image(seed + slot), slot=slot, set=slot)
        device.qp(slot).configure(
            preset="thesis", enable=True, algorithm="predpid", model_slot=slot, init_gbps=10.0
        )


def test_decisions_after_each_reset_are_the_golden_ones(device: Device, seed: int) -> None:
    rng = np.random.default_rng(seed)
    samples = random_samples(seed, 120, [0, 1])
    with Device.open("emu:qps=8,sets=4") as twin:
        for one in (device, twin):
            equipped(one, seed)
        for part in np.split(samples, 12):
            assert (device.decide(part) == twin.decide(part)).all()
            asked = rng.permutation(PARTS)[: rng.integers(1, 4)].tolist()
            for one in (device, twin):
                assert one.reset.reset(asked) == tuple(asked)
                assert one.reset.under_way() == ()
            assert device.counters() == twin.counters()
            if "counters" in asked:
                assert not any(device.counters().values())


def test_a_reset_brings_back_what_it_says_and_nothing_else(device: Device, seed: int) -> None:
    samples = random_samples(seed, 40, [0])
    equipped(device, seed)
    device.set_parameters(skill_monitor=0)
    first = device.decide(samples)
    shown, models = device.qp(0).status(), device.model.sets()
    device.reset.reset(["predictor"])
    assert device.qp(0).status() == shown
    assert device.model.sets() == models
    assert device.counters()["decisions"] == 40
    device.reset.reset(["laws"])
    samples[:, 2] += samples[-1, 2] - samples[0, 2] + 1
    assert device.qp(0).status() == shown  # the last decision is still the last
    again = device.decide(samples)
    rates = [column.tolist() for column in (first[:, 1], again[:, 1])]
    assert rates[0] == rates[1]  # from the initial rate, with an empty history


def test_a_load_goes_on_over_a_reset(device: Device, seed: int) -> None:
    """Nothing of it is lost, and nothing half-loaded becomes valid; live models stay."""
    rng = np.random.default_rng(seed)
    image, registers = random_image(seed + 9), device.registers

    def valid() -> list[bool]:
        return [one.valid for one in device.model.sets()][:2]

    def live(one: Device) -> None:
        one.model.load(random_image(seed), slot=0, set=0)
        one.qp(0).configure(preset="thesis", enable=True, algorithm="predpid", model_slot=0)

    live(device)
    registers.write_fields("MODEL", "SET", set=1)
    registers.write_fields("MODEL", "COMMAND", begin=1)
    breaks = set(rng.choice(512, 4, replace=False).tolist())
    for n, word in enumerate(np.frombuffer(image.payload, dtype="<u4").tolist()):
        registers.write_fields("MODEL", "DATA", data=word)
        if n in breaks:
            device.reset.reset(["predictor"])
            assert valid() == [True, False]
    registers.write_fields("MODEL", "CRC", crc=zlib.crc32(image.payload))
    registers.write_fields("MODEL", "COMMAND", commit=1)
    device.reset.reset(["predictor"])
    assert valid() == [True, True]
    with Device.open("emu:qps=8,sets=4") as twin:
        live(twin)
        twin.model.load(image, slot=1, set=1)
        device.model.map_slot(1, 1)
        for one in (device, twin):
            one.qp(1).configure(preset="thesis", enable=True, algorithm="predpid", model_slot=1)
        samples = random_samples(seed, 30, [0, 1])
        assert (device.decide(samples) == twin.decide(samples)).all()
    assert device.ecc is not None
    device.ecc.scrub()
    counters = device.ecc.state().counters
    assert (counters["corrected"], counters["uncorrectable"]) == (0, 0)


def test_a_reset_that_there_is_not_is_refused(emulated: Device) -> None:
    for asked, message in (
        (["law"], "part must be one of laws, predictor, counters on this device, not 'law'"),
        (["laws", "trace"], r"not 'trace': it was built without \(trace=0\)"),
        ([], "parts to be reset must be some of laws, predictor, counters, not none"),
    ):
        with pytest.raises(ValueError, match=message):
            emulated.reset.reset(asked)
    emulated.registers.fields = lambda *_: {"laws": 1}  # type: ignore[method-assign]
    with pytest.raises(DeviceError, match="reset of laws does not end within 100000 reads"):
        emulated.reset.reset(["laws"])


def test_parts_have_their_places_on_every_device() -> None:
    large = NicConfig(width=64, profile=True, trace=True, receiver=True, trials=True)
    assert resets_of(NicConfig()) == PARTS
    assert resets_of(large) == tuple(name for name, _, _ in RESET_BLOCKS)
    with Device.open("emu:width=64,profile=1,trace=1,receiver=1,trials=1") as device:
        for register in ("COMMAND", "STATE"):
            fields = {f.name: f.lsb for f in device.registers.register("RESET", register).fields}
            assert fields == {name: bit for bit, (name, _, _) in enumerate(RESET_BLOCKS)}


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> Ran:
        return ran(capsys, "device", *arguments)

    assert run("reset", "laws", "counters") == (0, "reset: laws, counters\n", "")
    status, out, _ = run("reset", "trace", "-j", "-d", "emu:trace=1")
    assert (status, json.loads(out)) == (0, {"reset": ["trace"]})
    told = json.loads(run("show", "-j", "-d", "emu:trace=1,qps=8")[1])
    assert set(told["parts"]) == {*PARTS, "trace"}
    assert (told["sizes"]["qps"], told["sizes"]["trace"], told["tick_ps"]) == (8, 1, 1000)
    status, out, _ = run("show")
    assert status == 0
    assert "LSTM engine" in out
    status, out, err = run("reset", "rtt")
    assert (status, out) == (2, "")
    assert "part must be one of laws, predictor, counters on this device, not 'rtt'" in err
    assert "built without (width=0)" in err


class StuckCard(Emulator):
    """Its QP window is busy, behind a stuck predictor, until that is restarted."""

    def __init__(self) -> None:
        super().__init__(NicConfig(qps=4, sets=2))
        at = {word.name: word.address for word in self.map.words()}
        self.busy_at, self.reset_at = at["QP.STATE"], at["RESET.COMMAND"]
        self.stuck = True

    def read32(self, address: int) -> int:
        return super().read32(address) | (self.stuck and address == self.busy_at)

    def write32(self, address: int, value: int) -> None:
        super().write32(address, value)
        if address == self.reset_at and value & 2:
            self.stuck = False


def test_a_card_with_a_stuck_predictor_is_opened_and_restarted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    card = StuckCard()
    monkeypatch.setattr(opening, "_BUILT_IN", {"emu": lambda _: card})
    refused = ran(capsys, "qp", "show")
    assert "QP window stays busy after 100000 reads: restart the predictor with" in refused.err
    assert ran(capsys, *refused.err.split("with precog ")[1].split(",")[0].split()).status == 0
    assert ran(capsys, "qp", "show").status == 0


def test_ports_of_a_board(capsys: pytest.CaptureFixture[str]) -> None:
    """Counters of the ports that there are, 64 bits, and nothing for a device without."""
    with Device.open("emu:width=64,macs=2") as device:
        emulator = device.transport
        assert isinstance(emulator, Emulator)
        assert emulator.macs is not None
        assert device.mac is not None
        emulator.macs.happened(0, "damaged", 3)
        emulator.macs.happened(1, "received", (1 << 40) + 5)
        counted = device.mac.counters()
        assert counted["host"] == {**dict.fromkeys(counted["host"], 0), "damaged": 3}
        assert counted["network"]["received"] == (1 << 40) + 5
        device.reset.reset(["counters"])
        assert not any(n for counts in device.mac.counters().values() for n in counts.values())
    with Device.open("emu:width=64") as device:
        assert device.mac is None
        with pytest.raises(DeviceError, match="no Gigabit ports: it was built without"):
            MacDriver(device.registers)
    for arguments, status, text in (
        (["-d", "emu:width=64,macs=1"], 0, "network"),
        (["-d", "emu:width=64"], 2, "device emu:width=64 has no Gigabit ports"),
        (["-d", "emu:macs=1"], 2, "macs needs width, which is off"),
        (["-d", "emu:width=64,macs=3"], 2, "macs must be in 0..2, not 3"),
    ):
        done = ran(capsys, "packet", "mac", "show", *arguments)
        assert done.status == status
        assert text in done.out + done.err


@pytest.mark.parametrize(
    ("words", "register", "bit", "message"),
    [
        ("ecc scrub", "ECC.STATE", 1, "device's scrubber stays busy after 100000 reads"),
        ("law load timely", "LAW.STATUS", 1 << 8, "loader of laws stays busy after 10000 reads"),
        ("model load rtt-incast", "MODEL.STATUS", 1 << 8, "model loader stays busy after 10000"),
    ],
)
def test_a_part_that_stays_busy_names_the_remedy(
    words: str,
    register: str,
    bit: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    card = Emulator(NicConfig(qps=4, sets=2, law_cores=1))
    busy = next(word.address for word in card.map.words() if word.name == register)
    read = card.read32
    monkeypatch.setattr(card, "read32", lambda at: read(at) | bit * (at == busy))
    monkeypatch.setattr(opening, "_BUILT_IN", {"emu": lambda _: card})
    refused = ran(capsys, *words.split())
    assert refused.status != 0
    assert message in refused.err
    assert "reads: reset the card" in refused.err
