"""Models that a device refuses: a clear error, and the live model stays live."""

import dataclasses
from pathlib import Path

import pytest

from precog_host.device import Device
from precog_host.transport import DeviceError
from precog_models.image import Image, ModelImageError
from precog_spec.contract import CONTRACT_HASH, HEADER_OFFSET, IMAGE_BYTES, HeadKind

from .support import assert_live, prepare, random_image, random_samples


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
