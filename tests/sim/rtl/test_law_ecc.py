"""Check bits of programs in a NIC: RTL and emulator find, correct and disable the same."""

import random

import pytest
from tests.sim.rtl.law_twins import CONFIG, Twins

from precog_host.driver.ecc import EccDriver
from precog_host.transport import DeviceError
from precog_spec.secded import PROGRAM_ENTRIES, PROGRAM_SLOT, PROGRAM_WORDS, program_bits

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("law_engine")]

_LAWS = ("lockstep", "timely", "swift")


def guards(twins: Twins) -> tuple[EccDriver, EccDriver]:
    """Check bits of both, while three laws run; the walk goes on command only."""
    for slot, law in enumerate(_LAWS):
        twins.load(law, slot)
    for qp in range(CONFIG.qps):
        twins.configure(qp, f"law:{qp % len(_LAWS)}")
    rtl, golden = (device.ecc for device in twins.devices)
    assert rtl is not None
    assert golden is not None
    for one in (rtl, golden):
        one.configure(enable=False)
    return rtl, golden


def _start(driver: EccDriver) -> dict[str, int]:
    """Counters that the walk, which has been on, does not move."""
    counters = driver.state().counters
    return {name: counters[name] for name in counters if name not in ("scrubbed", "passes")}


def test_single_errors_are_corrected_in_every_copy(twins: Twins, seed: int) -> None:
    """Instructions, slot memory and entries of all banks and cores, any bit; decisions stay."""
    rtl, golden = guards(twins)
    rng, t = random.Random(seed), 1000
    places = [0, PROGRAM_SLOT - 1, PROGRAM_SLOT, PROGRAM_ENTRIES - 1, PROGRAM_ENTRIES]
    places += [PROGRAM_WORDS - 1, *(rng.randrange(PROGRAM_WORDS) for _ in range(14))]
    for number, word in enumerate(places):
        bit = rng.choice([rng.randrange(8) + program_bits(word), rng.randrange(program_bits(word))])
        bank, core = number % len(_LAWS), number % CONFIG.law_cores
        found = [one.inject_program(bank, word, (bit,), core=core) for one in (rtl, golden)]
        assert found[0] == found[1]
        assert (found[0].bit, found[0].double) == (bit, False)
        t = twins.traffic(rng, t, 20)
    twins.same()
    assert _start(rtl) == _start(golden)
    assert _start(rtl)["corrected"] == len(places)
    assert _start(rtl)["held"] == 0
    assert rtl.state().programs == golden.state().programs
    assert rtl.state().last_program == golden.state().last_program
    assert rtl.state().sets == ()


def test_a_double_error_disables_the_slots_of_its_bank(twins: Twins, seed: int) -> None:
    """Their queue pairs run the safe law; a program that is loaded again is whole."""
    rtl, golden = guards(twins)
    rng = random.Random(seed)
    for engine in twins.engines:
        engine._map(5, 1, enable=True)  # two slots, one bank
    twins.configure(3, "law:5")
    t = twins.traffic(rng, 1000, 60)
    safe = twins.engines[0].state().counters["safe"]
    word = rng.randrange(PROGRAM_SLOT)
    bits = (rng.randrange(32), 32 + rng.randrange(4))
    found = [one.inject_program(1, word, bits, core=CONFIG.law_cores - 1) for one in (rtl, golden)]
    assert found[0] == found[1]
    t = twins.traffic(rng, t, 60)
    twins.same()
    slots = twins.engines[0].slots()
    assert [(one.law, one.damaged, one.trapped) for one in (slots[1], slots[5])] == [
        (None, True, False)
    ] * 2
    assert slots[0].law == "lockstep"
    assert twins.engines[0].state().counters["safe"] > safe
    for device, one in zip(twins.devices, (rtl, golden), strict=True):
        assert [(n.bank, n.disabled) for n in one.state().programs] == [(1, True)]
        assert device.registers.fields("ECC", "ERROR")["uncorrectable"]
        with pytest.raises(ValueError, match="bank 1 must hold a valid program"):
            one.inject_program(1, 0, (1,))
        with pytest.raises(DeviceError, match="law slot 4 was refused: bank 1 is not valid"):
            device.law._map(4, 1, enable=True)
    twins.load("timely", 1)
    for one in (rtl, golden):
        assert one.state().programs == ()
    t = twins.traffic(rng, t, 60)
    twins.same()
    assert [one.damaged for one in twins.engines[0].slots()] == [False] * 5 + [True] + [False] * 2


def test_a_walk_checks_every_copy(twins: Twins) -> None:
    """Three banks of each core, no model."""
    for one in guards(twins):
        before = one.state().counters
        one.scrub()
        after = one.state().counters
        words = len(_LAWS) * CONFIG.law_cores * PROGRAM_WORDS
        assert after["scrubbed"] - before["scrubbed"] in (words, words + 1)  # one was at work
        assert after["passes"] - before["passes"] == 2
        assert after["corrected"] == after["uncorrectable"] == after["held"] == 0


def test_words_that_do_not_exist_are_refused(twins: Twins) -> None:
    """By the device, which does not rely on its driver; bits that do not exist do nothing."""
    guards(twins)
    for device in twins.devices:
        registers = device.registers
        for place in ({"word": PROGRAM_WORDS}, {"core": CONFIG.law_cores}, {"bank": 7}):
            registers.write_fields("ECC", "PROGRAM", **{"word": 0, "core": 0, "bank": 0} | place)
            registers.write_fields("ECC", "COMMAND", inject_program=1)
            while registers.fields("ECC", "STATE")["busy"]:
                pass
            assert registers.fields("ECC", "ERROR")["refused"]
            registers.write_fields("ECC", "ERROR", refused=1)
        registers.write_fields("ECC", "PROGRAM", word=PROGRAM_ENTRIES, half=1, core=0, bank=0)
        registers.write_fields("ECC", "FLIPS", first=3, double=0)
        registers.write_fields("ECC", "COMMAND", inject_program=1)
        while registers.fields("ECC", "STATE")["busy"]:
            pass
    states = [device.ecc.state() for device in twins.devices if device.ecc is not None]
    for state in states:
        assert (state.counters["refused"], state.counters["injected"]) == (3, 1)
        assert (state.counters["corrected"], state.last_program) == (0, None)
