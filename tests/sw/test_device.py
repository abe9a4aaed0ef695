"""The driver on every transport: decisions, counters, samples and bus errors."""

import numpy as np
import pytest

from precog_host.device import Device
from precog_host.transport import BusError, SampleTransport
from precog_spec.registers.counters import COUNTERS

from .support import assert_live, prepare, random_image, random_samples


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
