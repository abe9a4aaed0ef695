"""The driver on every transport: what it does, and that a failure leaves the live model live."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from precog_host.device import Device
from precog_host.driver.watchdog import Watchdog
from precog_host.transport import BusError, DeviceError, SampleTransport
from precog_models.image import Image, ModelImageError
from precog_models.nic import GoldenNic
from precog_models.presets import LAW_PRESETS, law_preset
from precog_spec.contract import CONTRACT_HASH, HEADER_OFFSET, IMAGE_BYTES, Flag, HeadKind
from precog_spec.registers.counters import COUNTERS

from .support import random_image, random_samples


def golden_decisions(device: Device, image: Image, samples: np.ndarray) -> np.ndarray:
    """What the golden core decides, set up without any register."""
    nic = GoldenNic(qps=device.sizes.qps, sets=device.sizes.sets)
    preset = law_preset("precog")
    nic.set_parameters(preset.parameters(device.tick_ps) | {"skill_monitor": 0})
    nic.load_set(0, image.weights)
    nic.map_slot(1, 0)
    for qp in range(device.sizes.qps):
        nic.configure(
            qp,
            preset.configuration(device.tick_ps)
            | {"enable": 1, "algorithm": 2, "model_enable": 1, "model_slot": 1},
        )
    return nic.decide_many(samples)


def prepare(device: Device, image: Image) -> None:
    device.apply_preset("precog")
    device.set_parameters(skill_monitor=0)  # a random model on random RTTs is worse than none
    device.model.load(image, slot=1)
    for qp in range(device.sizes.qps):
        device.qp(qp).configure(preset="precog", enable=True, algorithm="predpid", model_slot=1)


def assert_live(device: Device, image: Image, samples: np.ndarray) -> None:
    """The device decides as the golden core does with `image`, from a fresh history on."""
    for qp in range(device.sizes.qps):
        device.qp(qp).clear()
    expected = golden_decisions(device, image, samples)
    assert np.array_equal(device.decide(samples), expected)
    assert (expected[:, 7] & 1).all(), "every decision must come from a prediction"


def test_a_loaded_model_decides_as_the_golden_core(device: Device, seed: int) -> None:
    image = random_image(seed)
    prepare(device, image)
    entry = next(entry for entry in device.model.sets() if entry.slots)
    assert entry.slots == (1,)
    assert entry.valid
    assert entry.version == image.weights.version
    assert_live(device, image, random_samples(seed, 60, list(range(device.sizes.qps))))


def test_status_shows_the_last_decision_in_real_units(device: Device, seed: int) -> None:
    image = random_image(seed)
    prepare(device, image)
    samples = random_samples(seed, 20, [0, 2])
    rows = device.decide(samples)
    for qp in (0, 2):
        mine = rows[rows[:, 0] == qp]
        status = device.qp(qp).status()
        _, rate, window, pred, target, base, srtt, _ = mine[-1].tolist()
        assert status.samples == len(mine)
        assert status.rate_gbps == rate * 8 / 2**24
        assert status.window_bytes == (window or None)
        assert status.rtt_pred_us == pred / 256e3
        assert status.target_us == target / 256e3
        assert status.base_us == base / 1e3
        assert status.srtt_us == srtt / 256e3
        assert "predicted" in status.flags
    assert device.qp(1).status().samples == 0


def test_counters_count(device: Device, seed: int) -> None:
    prepare(device, random_image(seed))
    device.qp(1).configure(enable=False)
    device.qp(2).configure(use_model=False)
    samples = random_samples(seed, 40, [0, 1, 2])
    rows = device.decide(samples)
    flags = rows[:, 7]
    expected = {
        "samples": len(samples),
        "decisions": len(rows),
        "predictions": int((flags & 1).sum()),
        "fallbacks": int((flags >> 1 & 1).sum()),
        "advice_clamped": int((flags >> 2 & 1).sum()),
        "delta_clamped": int((flags >> 3 & 1).sum()),
        "rate_clamped": int((flags >> 4 & 1).sum()),
        "target_moves": int((flags >> 5 & 1).sum()),
        "dropped": int((samples[:, 0] == 1).sum()),
        "load_errors": 0,
        "events": 0,
        "ignored": 0,
        **dict.fromkeys(("unskilled", "late", "held", "scored", "congested"), 0),
    }
    assert device.counters() == expected
    assert expected["predictions"] > 0
    assert expected["fallbacks"] > 0
    assert expected["dropped"] > 0
    assert list(expected) == [name for name, _ in COUNTERS]


def test_a_new_model_replaces_the_old_one_in_another_set(device: Device, seed: int) -> None:
    first, second = random_image(seed, version=1), random_image(seed + 1, version=2)
    prepare(device, first)
    before = next(entry.set for entry in device.model.sets() if entry.slots == (1,))
    loaded = device.model.load(second, slot=1)
    assert loaded.set != before
    assert loaded.version == 2
    assert_live(device, second, random_samples(seed, 40, [0, 3]))


# --- bad input: a clear error, and the live model stays live --------------------------------------


def corrupt(payload: bytes) -> bytes:
    return payload[:100] + bytes([payload[100] ^ 1]) + payload[101:]


def other_contract(payload: bytes) -> bytes:
    at = HEADER_OFFSET + 8
    return payload[:at] + (CONTRACT_HASH ^ 1).to_bytes(4, "little") + payload[at + 4 :]


@pytest.mark.variants
@pytest.mark.parametrize(
    ("change", "keep_crc", "message"),
    [
        (lambda p: p[: IMAGE_BYTES // 2], False, "bad length"),
        (lambda p: p + bytes(4), False, "bad length"),
        (lambda p: p + p, False, "bad length"),
        (lambda p: b"", False, "bad length"),
        (corrupt, True, "bad crc"),
        (other_contract, False, "bad contract"),
        (lambda p: p[:HEADER_OFFSET] + b"\x09" + p[HEADER_OFFSET + 1 :], False, "bad header"),
        (lambda p: p[: HEADER_OFFSET + 1] + b"\x00" + p[HEADER_OFFSET + 2 :], False, "bad header"),
        (lambda p: p[: HEADER_OFFSET + 2] + b"\x11" + p[HEADER_OFFSET + 3 :], False, "bad header"),
        (lambda p: p[: HEADER_OFFSET + 3] + b"\x07" + p[HEADER_OFFSET + 4 :], False, "bad header"),
    ],
    ids=[
        "truncated",
        "a-word-too-long",
        "oversized",
        "empty",
        "corrupt",
        "contract",
        "inputs",
        "steps",
        "outputs",
        "kind",
    ],
)
def test_the_device_refuses_a_bad_payload(
    device: Device, seed: int, change: object, keep_crc: bool, message: str
) -> None:
    live = random_image(seed)
    prepare(device, live)
    free = next(entry.set for entry in device.model.sets() if not entry.slots)
    payload = random_image(seed + 1).payload
    assert callable(change)
    crc = random_image(seed + 1).crc32 if keep_crc else None
    errors = device.counters()["load_errors"]
    with pytest.raises(DeviceError, match=f"model set {free} was refused: {message}"):
        device.model.write_set(free, change(payload), crc=crc)
    assert not device.model.sets()[free].valid
    assert device.registers.fields("MODEL", "ERROR") == {"load": 0, "map": 0}
    assert device.counters()["load_errors"] == errors + 1
    with pytest.raises(DeviceError, match=f"model slot 1 was refused: set {free} is not valid"):
        device.model.map_slot(1, free)
    assert_live(device, live, random_samples(seed, 20, [0, 1]))
    device.model.write_set(free, payload)  # the loader works again
    assert device.model.sets()[free].valid


def test_commit_with_a_wrong_crc(device: Device, seed: int) -> None:
    live = random_image(seed)
    prepare(device, live)
    free = next(entry.set for entry in device.model.sets() if not entry.slots)
    image = random_image(seed + 1)
    with pytest.raises(DeviceError, match="refused: bad crc"):
        device.model.write_set(free, image.payload, crc=image.crc32 ^ 0x8000_0000)
    assert_live(device, live, random_samples(seed, 20, [0, 1]))


def test_a_mapped_set_is_not_loaded_into(device: Device, seed: int) -> None:
    live = random_image(seed)
    prepare(device, live)
    mapped = next(entry.set for entry in device.model.sets() if entry.slots)
    with pytest.raises(DeviceError, match="set in use by slot 1: load into another"):
        device.model.load(random_image(seed + 1), slot=1, set=mapped)
    assert_live(device, live, random_samples(seed, 20, [0, 1]))


def test_commit_without_begin(device: Device) -> None:
    device.registers.write_fields("MODEL", "COMMAND", commit=1)
    assert device.registers.fields("MODEL", "ERROR")["load"] == 1
    device.registers.write_fields("MODEL", "ERROR", load=1)
    assert device.registers.fields("MODEL", "ERROR")["load"] == 0


def test_no_free_set(device: Device, seed: int) -> None:
    for slot in range(device.sizes.sets):
        device.model.load(random_image(seed + slot), slot=slot)
    with pytest.raises(DeviceError, match=f"all {device.sizes.sets} model sets are mapped"):
        device.model.load(random_image(seed), slot=0)


@pytest.mark.variants
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: data[:-1], "truncated or corrupted"),
        (lambda data: data[:40], "truncated or corrupted"),
        (lambda data: b"", "truncated or corrupted"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "CRC"),
        (lambda data: data + bytes(70_000), "at most 65536 bytes"),
    ],
    ids=["truncated", "header only", "empty", "flipped", "oversized"],
)
def test_a_bad_file_never_reaches_the_device(
    device: Device, seed: int, tmp_path: Path, spoil: object, message: str
) -> None:
    live = random_image(seed)
    prepare(device, live)
    path = tmp_path / "bad.safetensors"
    assert callable(spoil)
    path.write_bytes(spoil(random_image(seed + 1).to_bytes()))
    words = device.registers.fields("MODEL", "WORDS")
    with pytest.raises(ModelImageError, match=message):
        device.model.load(path, slot=1)
    assert device.registers.fields("MODEL", "WORDS") == words
    assert_live(device, live, random_samples(seed, 20, [0, 1]))


def test_a_model_larger_than_the_device_is_refused(device: Device, seed: int) -> None:
    most = device.sizes.steps
    if most == 8:
        pytest.skip("this device runs the longest window")
    with pytest.raises(DeviceError, match=f"model steps must be at most {most} here, not 8"):
        device.model.load(random_image(seed, steps=8))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": HeadKind.QUEUE}, "model head must be rtt here, not queue"),
        ({"inputs": 2}, "model inputs must be 1 here, not 2: a queue pair gives its model one"),
        ({"outputs": 16}, "model outputs must be 1 here, not 16: a queue pair"),
    ],
)
def test_a_model_that_the_datapath_cannot_use_is_refused(
    emulated: Device, seed: int, change: dict[str, object], message: str
) -> None:
    image = random_image(seed)
    other = Image(dataclasses.replace(image.weights, **change))  # type: ignore[arg-type]
    with pytest.raises(DeviceError, match=message):
        emulated.model.load(other)
    assert not any(entry.valid or entry.slots for entry in emulated.model.sets())
    emulated.model.write_set(0, other.payload)  # the engine itself runs it
    assert emulated.model.sets()[0].valid


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (np.zeros((2, 2), dtype=np.int64), r"samples must have shape \(n, 3\), not \(2, 2\)"),
        (np.zeros(3, dtype=np.int64), r"samples must have shape \(n, 3\), not \(3,\)"),
        (np.zeros((2, 3)), "samples must be integers, not float64"),
        (np.zeros((2, 3), dtype=bool), "samples must be integers, not bool"),
        ([[0, 1, 1], [-1, 1, 1]], r"qp of sample 1 must be in 0\.\.65535, not -1"),
        ([[1 << 16, 1, 1]], r"qp of sample 0 must be in 0\.\.65535, not 65536"),
        ([[0, 1 << 24, 1]], r"rtt of sample 0 must be in 0\.\.16777215, not 16777216"),
        ([[0, 1, -1]], "t of sample 0 must be in"),
        ([[0, 1, 1 << 40]], "t of sample 0 must be in"),
    ],
)
def test_samples_that_no_device_may_read(emulated: Device, samples: object, message: str) -> None:
    transport = emulated.transport
    assert isinstance(transport, SampleTransport)
    for decide in (emulated.decide, transport.decide):
        with pytest.raises(ValueError, match=message):
            decide(samples)  # type: ignore[arg-type]
    assert emulated.counters()["samples"] == 0


def test_samples_of_any_integers_are_decided_on(emulated: Device) -> None:
    emulated.apply_preset("thesis")
    emulated.qp(1).configure(preset="thesis", enable=True, algorithm="pid")
    rows = emulated.decide(np.array([[1, 5000, 9], [9, 1, 1]], dtype=np.uint32)[:, ::1])
    assert rows[:, 0].tolist() == [1]
    assert emulated.decide(np.zeros((0, 3), dtype=np.int64)).shape == (0, 8)


def test_a_register_outside_the_map_is_a_bus_error(device: Device, refuses: bool) -> None:
    outside = [0x10_0000]
    if refuses:
        outside += [0x7C, 0xFFFC, device.registers.address("ID", "LAW_ENGINE") + 4]
    for address in outside:
        with pytest.raises(BusError, match=rf"read of register {address:#06x} answered") as caught:
            device.transport.read32(address)
        assert caught.value.address == address
        with pytest.raises(BusError, match=rf"write of register {address:#06x} answered"):
            device.transport.write32(address, 1)
    scratch = device.registers.address("ID", "SCRATCH")
    with pytest.raises(BusError, match="answered SLVERR"):
        device.transport.read32(scratch + 1)


# --- arguments ------------------------------------------------------------------------------------


def test_presets_and_parameters(device: Device) -> None:
    for name, preset in LAW_PRESETS.items():
        device.apply_preset(name)
        seen = device.parameters()
        assert seen["kd"] == pytest.approx(preset.kd, abs=2**-14)
        assert seen["dmin"] == pytest.approx(preset.dmin, abs=2**-17)
        assert seen["base_window_us"] == preset.base_window_us
        assert bool(seen["advice_clamp"]) == (preset.advice_limit is not None)
    device.set_parameters(kp=-0.5, queue_budget_us=2.5, mtu=4096)
    seen = device.parameters()
    assert (seen["kp"], seen["queue_budget_us"], seen["mtu"]) == (-0.5, 2.5, 4096)


def test_parameters_that_do_not_fit_change_nothing(device: Device) -> None:
    before = device.parameters()
    for bad, message in (
        ({"kp": 4.0}, r"kp must be in -4\.\.3\.99988, not 4\.0"),
        ({"mtu": 65536}, r"mtu must be in 0\.\.65535"),
        ({"ki": float("nan")}, r"ki must be in .*, not nan"),
        ({"queue_budget_us": -1.0}, r"queue_budget_us must be in 0\.\."),
        ({"kx": 1.0}, r"parameter 'kx' must be one of sigma, "),
    ):
        with pytest.raises(ValueError, match=message):
            device.set_parameters(kd=1.0, **bad)
    with pytest.raises(ValueError, match=r"law preset must be one of thesis, precog, not 'x'"):
        device.apply_preset("x")
    assert device.parameters() == before


def test_configuration_round_trip_and_refusals(device: Device) -> None:
    qp = device.qp(3)
    qp.configure(
        preset="thesis",
        enable=True,
        algorithm="pid",
        win=True,
        rttch=True,
        max_gbps=50,
        clear=False,
    )
    status = qp.status()
    assert status.enable
    assert status.algorithm == "pid"
    assert status.target_mode == "fixed"
    assert (status.win, status.rttch, status.model_slot) == (True, True, None)
    assert status.max_rate_gbps == 50
    qp.configure(model_slot=1, follow_base=True, win=False)
    later = qp.status()
    assert (later.model_slot, later.target_mode, later.win) == (1, "base", False)
    for keywords, message in (
        (
            {"algorithm": "cubic"},
            "algorithm must be one of fixed, pid, predpid, timely, dcqcn, not 'cubic'",
        ),
        ({"preset": "x"}, "law preset must be one of"),
        ({"max_gbps": 5000.0}, r"max_rate_gbps must be in 0\.\.2048, not 5000\.0"),
        ({"min_gbps": 60.0}, "min_gbps must not be above max_gbps, not 60 and 50"),
        ({"init_gbps": 60.0}, r"init_gbps must be in 1\.\.50, not 60"),
        ({"init_gbps": 0.5}, r"init_gbps must be in 1\.\.50, not 0\.5"),
        ({"target_us": float("inf")}, "target_us must be in"),
        ({"model_slot": 99}, "model slot must be in"),
    ):
        with pytest.raises(ValueError, match=message):
            qp.configure(**keywords)  # type: ignore[arg-type]
    assert qp.status() == later
    with pytest.raises(ValueError, match=r"QP must be in 0\.\.\d+, not -1"):
        device.qp(-1)
    assert dataclasses.asdict(device.qp(2).status())["enable"] is False


def test_a_queue_pair_without_a_maximum_rate_is_not_enabled(device: Device) -> None:
    qp = device.qp(1)
    with pytest.raises(ValueError, match=r"QP 1 must have a maximum rate .*: give a preset"):
        qp.configure(enable=True, algorithm="pid")
    assert not qp.status().enable
    qp.configure(enable=True, algorithm="pid", max_gbps=10.0)
    assert qp.status().enable


def test_clear_starts_from_the_initial_rate(device: Device, seed: int) -> None:
    device.apply_preset("precog")
    device.qp(0).configure(preset="precog", enable=True, algorithm="pid", init_gbps=20)
    samples = random_samples(seed, 10, [0])
    first = device.decide(samples)
    device.qp(0).clear()
    assert np.array_equal(device.decide(samples), first)


def test_a_command_for_a_qp_that_does_not_exist(device: Device) -> None:
    with pytest.raises(DeviceError, match="command was refused: range"):
        device.qp_window.command(device.sizes.qps, "fetch")
    device.qp(0).status()  # the error has been cleared


# --- laws -----------------------------------------------------------------------------------------


def test_laws_have_presets_and_no_window(device: Device) -> None:
    device.set_parameters("precog", timely="ns3", dcqcn="paper", timely_beta=0.5)
    seen = device.parameters()
    assert (seen["timely_variant"], seen["timely_low_us"], seen["timely_beta"]) == (1, 50.0, 0.5)
    assert (seen["dcqcn_byte_count"], seen["dcqcn_recovery"]) == (10_000_000, 5)
    with pytest.raises(ValueError, match="dcqcn preset must be one of paper, vendor, ns3, not 'x'"):
        device.set_parameters(dcqcn="x")
    assert device.parameters() == seen
    for law in ("timely", "dcqcn"):
        device.qp(1).configure(preset="precog", enable=True, algorithm=law)
        assert device.qp(1).status().algorithm == law
        with pytest.raises(ValueError, match=f"win must be off with {law}"):
            device.qp(1).configure(win=True)
    samples = random_samples(3, 20, [1])
    rows = device.decide(samples)
    assert len(rows) == 20
    assert not rows[:, 2].any()


def test_a_code_that_is_no_law_runs_as_fixed_and_is_shown(device: Device) -> None:
    device.qp(1).configure(preset="precog", enable=True, algorithm="fixed", init_gbps=7.0)
    device.registers.write_fields("QP", "SELECT", index=1)
    device.registers.write_fields("QP", "CONTROL", enable=1, algorithm=6)
    device.registers.write_fields("QP", "COMMAND", apply=1)
    assert device.qp(1).status().algorithm == "code 6"
    rows = device.decide(random_samples(5, 10, [1]))
    assert {*rows[:, 1].tolist()} == {round(7.0 / 8 * (1 << 24))}


def test_a_device_without_laws_says_so() -> None:
    with Device.open("emu:laws=0") as plain:
        assert plain.sizes.laws == 0
        assert not any(name.startswith(("timely", "dcqcn")) for name in plain.parameters())
        with pytest.raises(ValueError, match=r"fixed, pid or predpid on this device \(laws=0\)"):
            plain.qp(0).configure(preset="precog", enable=True, algorithm="dcqcn")
        with pytest.raises(ValueError, match="must have timely, dcqcn and psched"):
            plain.set_parameters(timely="paper")
        with pytest.raises(ValueError, match=r"psched must be off on this device \(laws=0\)"):
            plain.qp(0).configure(psched=True)


def test_a_promise_is_kept_and_shown(device: Device) -> None:
    device.qp(1).configure(preset="precog", enable=True, algorithm="pid")
    device.qp(1).configure(psched=True, sla_priority=3, sla_latency_us=12.0, clear=False)
    status = device.qp(1).status()
    assert (status.psched, status.sla_priority, status.sla_latency_us) == (True, 3, 12.0)
    assert device.qp(2).status().sla_latency_us is None
    with pytest.raises(ValueError, match=r"sla_priority must be in 0\.\.7, not 8"):
        device.qp(1).configure(sla_priority=8)
    assert device.qp(1).status() == status


def test_the_watchdog_holds_advice(device: Device) -> None:
    assert device.watchdog.state() == Watchdog(None, False)
    with pytest.raises(ValueError, match=r"period_us must be 0 or at least 0\.001"):
        device.watchdog.set(1e-9)
    with pytest.raises(ValueError, match="period_us must be in"):
        device.watchdog.set(-1.0)
    device.watchdog.set(1e6)
    assert device.watchdog.state() == Watchdog(1e6, False)
    device.watchdog.set(0)
    assert device.watchdog.state() == Watchdog(None, False)


@pytest.mark.cosim
@pytest.mark.xdist_group("tiny")
def test_without_kicks_the_base_law_decides_alone(seed: int) -> None:
    """On the RTL, where registers take time: predictions are followed again after a kick."""
    with Device.open("sim:tiny") as device:
        prepare(device, random_image(seed))
        device.watchdog.set(0.03)  # 30 cycles: fewer than these reads take
        for _ in range(30):
            device.counters()
        assert device.watchdog.state().expired
        rows = device.decide(random_samples(seed, 10, [0]))
        assert not (rows[:, 7] & 1).any()
        assert (rows[:, 7] >> Flag.HELD & 1).all()
        device.watchdog.set(1e6)
        rows = device.decide(random_samples(seed, 10, [0]))
        assert (rows[:, 7] & 1).all()


def test_held_advice_is_counted(device: Device, seed: int) -> None:
    prepare(device, random_image(seed))
    device.set_parameters(advice_hold=1)
    rows = device.decide(random_samples(seed, 20, [0, 1]))
    assert not (rows[:, 7] & 1).any()
    counters = device.counters()
    assert (counters["held"], counters["predictions"]) == (20, 0)
    assert "held" in device.qp(0).status().flags
