"""Check bits through the driver and the command line: the same on the golden NIC and on the RTL."""

import json

import numpy as np
import pytest
from tests.command_line import Ran, ran
from tests.sw.support import keep_emulator, random_image, random_samples

from precog_host.device import Device
from precog_host.driver.ecc import EccDriver
from precog_spec.secded import guarded_pairs


def guarded(device: Device, seed: int) -> EccDriver:
    """Two models, and two queue pairs that run them."""
    for slot in (0, 1):
        device.model.load(random_image(seed + slot), slot=slot, set=slot)
        device.qp(slot).configure(
            preset="thesis", enable=True, algorithm="predpid", model_slot=slot
        )
    assert device.ecc is not None
    return device.ecc


def test_single_errors_are_corrected_wherever_they_are(device: Device, seed: int) -> None:
    guarding = guarded(device, seed)
    rng = np.random.default_rng(seed)
    walk = guarded_pairs()
    places = [walk[n] for n in rng.choice(len(walk), 10, replace=False)]
    places += [(0, 31, 4), (1, 24, 0), (1, 26, 7)]
    golden = random_samples(seed, 30, [0, 1])
    with Device.open("emu:qps=4,sets=2") as twin:
        guarded(twin, seed)
        for number, (second, row, pair) in enumerate(places):
            word, bit = 2 * pair + int(rng.integers(2)), int(rng.integers(36))
            last = guarding.inject(number % 2, row, word, (bit,), second=bool(second))
            assert (last.set, last.row, last.word) == (number % 2, row, word)
            assert (last.second, last.bit, last.double) == (bool(second), bit, False)
            # Contexts are computed anew: decisions are those of a device without errors.
            assert (device.decide(golden) == twin.decide(golden)).all()
            golden[:, 2] += 100_000
    state = guarding.state()
    assert state.counters["corrected"] == state.counters["injected"] == len(places)
    assert state.counters["uncorrectable"] == state.counters["refused"] == 0
    assert [(one.set, one.disabled) for one in state.sets] == [(0, False), (1, False)]
    assert sum(one.corrected for one in state.sets) == len(places)
    assert device.registers.fields("ECC", "ERROR") == {
        "corrected": 1, "uncorrectable": 0, "refused": 0,
    }  # fmt: skip


def test_a_double_error_disables_its_set_alone(device: Device, seed: int) -> None:
    guarding = guarded(device, seed)
    device.model.map_slot(1, 0)  # two slots, one set
    device.model.map_slot(0, 0)
    device.qp(2).configure(preset="thesis", enable=True, algorithm="predpid", model_slot=1)
    rng = np.random.default_rng(seed)
    bits = rng.choice(36, 2, replace=False)
    before = device.decide(random_samples(seed, 8, [0, 1, 2]))
    assert (before[:, 3] != 0).any()
    last = guarding.inject(0, 17, 5, (int(bits[0]), int(bits[1])))
    assert (last.row, last.word, last.bit, last.double) == (17, 4, None, True)
    models = device.model.sets()
    assert (models[0].valid, models[0].slots) == (False, ())
    assert models[1].valid
    after = device.decide(random_samples(seed, 8, [0, 1, 2]))
    assert (after[:, 3] == 0).all()  # no prediction: the base law alone
    state = guarding.state()
    assert [(one.set, one.corrected, one.disabled) for one in state.sets] == [(0, 0, True)]
    assert device.registers.fields("ECC", "ERROR")["uncorrectable"]
    device.registers.write_fields("ECC", "ERROR", uncorrectable=1)
    assert not device.registers.fields("ECC", "ERROR")["uncorrectable"]
    with pytest.raises(ValueError, match="set 0 must hold a valid model: load one first"):
        guarding.inject(0, 0, 0, (1,))
    device.model.load(random_image(seed), slot=0, set=0)
    assert guarding.state().sets == ()
    assert (device.decide(random_samples(seed, 8, [0]))[:, 3] != 0).any()


def test_a_walk_checks_all_valid_sets(device: Device, seed: int) -> None:
    guarding = guarded(device, seed)
    guarding.configure(enable=False)
    before = guarding.state().counters
    guarding.scrub()
    after = guarding.state().counters
    assert after["scrubbed"] - before["scrubbed"] in (2 * 277, 2 * 277 + 1)  # one was at work
    assert after["passes"] == before["passes"] + 1
    assert after["corrected"] == after["uncorrectable"] == 0
    guarding.configure(period_cycles=77)
    assert (guarding.state().enabled, guarding.state().period_cycles) == (False, 77)
    guarding.configure(enable=True)
    assert (guarding.state().enabled, guarding.state().period_cycles) == (True, 77)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4, 0, 0, (1,)), "set must be in 0..3, not 4"),
        ((0, 32, 0, (1,)), "row must be in 0..31, not 32"),
        ((0, 0, 16, (1,)), "word must be in 0..15, not 16"),
        ((0, 0, 0, ()), "bits must be one, or two different ones"),
        ((0, 0, 0, (3, 3)), "bits must be one, or two different ones"),
        ((0, 0, 0, (36,)), "bit must be in 0..35, not 36"),
    ],
)
def test_what_does_not_exist_is_refused(
    emulated: Device, arguments: tuple[int, int, int, tuple[int, ...]], message: str
) -> None:
    assert emulated.ecc is not None
    with pytest.raises(ValueError, match=message):
        emulated.ecc.inject(*arguments)
    with pytest.raises(ValueError, match="period must be in 0"):
        emulated.ecc.configure(period_cycles=65536)
    assert emulated.ecc.state().counters["refused"] == 0


def test_words_that_are_not_stored_are_refused(device: Device, seed: int) -> None:
    """By the driver, and by the device, which does not rely on it."""
    guarding = guarded(device, seed)
    registers = device.registers
    for row, word, second in ((31, 10, False), (23, 0, True), (27, 0, True)):
        with pytest.raises(ValueError, match=f"stores, not {word} of row {row}"):
            guarding.inject(0, row, word, (1,), second=second)
        registers.write_fields("ECC", "PLACE", set=0, row=row, word=word, second=int(second))
        registers.write_fields("ECC", "COMMAND", inject=1)
        while registers.fields("ECC", "STATE")["busy"]:
            pass
        assert registers.fields("ECC", "ERROR")["refused"]
        registers.write_fields("ECC", "ERROR", refused=1)
    assert guarding.state().counters["refused"] == 3
    assert guarding.state().last is None


def test_commands(capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> Ran:
        return ran(capsys, "ecc", *arguments)

    model = ("--model", "rtt-incast")
    status, out, _ = run("inject", "1", "3", "5", "7", *model)
    assert (status, out.splitlines()[0]) == (0, "found in set 1, row 3, word 5: bit 7 corrected")
    status, out, _ = run("inject", "1", "24", "5", "7", "35", "--second", "-j", *model)
    told = json.loads(out)
    assert (status, told["found"]["double"]) == (0, True)
    assert told["state"]["sets"] == [{"set": 1, "corrected": 0, "disabled": True}]
    status, out, _ = run("set", "--off", "--period", "9")
    assert status == 0
    assert out.startswith("pairs are checked only on demand; 0 scrubbed, 0 passes")
    assert ", 1 passes" in run("scrub")[1]
    assert ", 0 passes" in run("show")[1]
    status, _, err = run("scrub", "-d", "emu:ecc=0")
    assert status != 0
    assert "device emu:ecc=0 has no check bits" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((8, 0, (1,)), "bank must be in 0..7, not 8"),
        ((0, 1542, (1,)), "word must be in 0..1541, not 1542"),
        ((0, 0, (40,)), "bit of word 0 must be in 0..39, not 40"),
        ((0, 1024, (56,)), "bit of word 1024 must be in 0..55, not 56"),
        ((0, 1541, (19,)), "bit of word 1541 must be in 0..18, not 19"),
        ((0, 0, (1, 36)), "bits must be of one half of the word, not .1, 36.: the first 32 data"),
        ((0, 0, (1, 1)), "bits must be one, or two different ones"),
        ((3, 0, (1,)), "bank 3 must hold a valid program: precog law load loads one"),
    ],
)
def test_words_of_programs_that_do_not_exist_are_refused(
    arguments: tuple[int, int, tuple[int, ...]], message: str
) -> None:
    with Device.open("emu:law_cores=1,qps=4,sets=2") as device:
        assert device.ecc is not None
        with pytest.raises(ValueError, match=message):
            device.ecc.inject_program(*arguments)
        with pytest.raises(ValueError, match=r"core must be in 0\.\.0, not 1"):
            device.ecc.inject_program(0, 0, (1,), core=1)
        assert device.ecc.state().counters["refused"] == 0


def test_a_device_without_a_law_engine_has_no_programs(emulated: Device) -> None:
    assert emulated.ecc is not None
    with pytest.raises(ValueError, match=r"bank must be of a law engine: .* \(law_cores=0\)"):
        emulated.ecc.inject_program(0, 0, (1,))
    assert "held" not in emulated.ecc.state().counters


def test_commands_on_programs(capsys: pytest.CaptureFixture[str]) -> None:
    device = ("--law", "swift", "-d", "emu:law_cores=1,qps=4,sets=2")
    words = ("ecc", "program", "inject", "0")
    status, out, _ = ran(capsys, *words, "17", "33", *device)
    assert status == 0
    assert out.splitlines()[0] == "found in bank 0, word 17, core 0: bit 33 corrected"
    assert ", 0 held" in out
    status, out, _ = ran(capsys, *words, "1030", "40", "55", *device, "-j")
    told = json.loads(out)
    assert (status, told["found"]["double"], told["found"]["bit"]) == (0, True, None)
    assert told["state"]["programs"] == [{"bank": 0, "corrected": 0, "disabled": True}]
    out = ran(capsys, *words, "1030", "40", "55", *device)[1]
    assert out.splitlines()[0] == "found in bank 0, word 1030, core 0: program disabled"


def test_a_slot_that_a_double_error_disabled(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it is loaded again, `precog law list` says why it has no law."""
    keep_emulator(monkeypatch, "law_cores=1,qps=4,sets=2")
    assert ran(capsys, "law", "load", "swift", "--slot", "2")[0] == 0
    bank = json.loads(ran(capsys, "law", "list", "-j")[1])["slots"][2]["bank"]
    assert ran(capsys, "ecc", "program", "inject", str(bank), "3", "1", "2")[0] == 0
    shown = ran(capsys, "law", "list")[1]
    assert "by a double error" in shown
    assert shown.startswith("1 core, ")
    slot = json.loads(ran(capsys, "law", "list", "-j")[1])["slots"][2]
    assert (slot["law"], slot["damaged"], slot["trapped"]) == (None, True, False)
    assert ran(capsys, "law", "load", "swift", "--slot", "2")[0] == 0
    slot = json.loads(ran(capsys, "law", "list", "-j")[1])["slots"][2]
    assert (slot["law"], slot["damaged"]) == ("swift", False)
    assert "by a double error" not in ran(capsys, "law", "list")[1]
