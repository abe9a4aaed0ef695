"""Sets of models: exact round trips; whatever is damaged is refused."""

import json
from pathlib import Path

import pytest

from precog_fleet.compact import expand, shrink
from precog_fleet.modelset import (
    BASE,
    MANIFEST,
    Manifest,
    ModelSet,
    Queue,
    WrongContractError,
    bin_name,
    parse_heads,
)
from precog_fleet.records import canonical
from precog_models.predict.lstm import pack

from .released import model_set

QUEUES = tuple(Queue(f"host{k}", device, qp) for k in range(3) for device in "ab" for qp in (0, 7))


def test_a_set_comes_back_as_it_was(tmp_path: Path) -> None:
    made = model_set(1, QUEUES)
    manifest = made.save(tmp_path)
    again = ModelSet.load(tmp_path)
    assert again.base.to_bytes() == made.base.to_bytes()
    assert again.heads == made.heads
    assert again.files() == made.files()
    assert Manifest.parse((tmp_path / MANIFEST).read_bytes()).digest == manifest.digest
    for queue in QUEUES:
        assert again.image(queue).payload == made.image(queue).payload != made.base.payload
        assert again.image(queue).card == made.base.card
    assert again.image(Queue("other", "a", 0)) is again.base
    assert len({made.image(queue).payload for queue in QUEUES}) == len(QUEUES)


def test_a_member_finds_its_heads_in_one_of_many_files() -> None:
    queues = tuple(Queue(f"host{k}", "a", 0) for k in range(2050))
    one = model_set(2, queues[:1])
    made = ModelSet(one.base, dict.fromkeys(queues, one.heads[queues[0]]))
    files = made.files()
    assert len(files) == 2 + 3
    for queue in queues[:50]:
        name = bin_name(queue.origin, 3)
        assert queue in parse_heads(files[name])
    total = sum(len(parse_heads(data)) for name, data in files.items() if "heads" in name)
    assert total == len(queues)


def test_a_set_of_a_base_alone(tmp_path: Path) -> None:
    made = model_set(3)
    assert set(made.files()) == {BASE, MANIFEST}
    made.save(tmp_path)
    assert ModelSet.load(tmp_path).heads == {}


@pytest.mark.parametrize("name", [BASE, MANIFEST, "heads-000.zst"])
def test_a_damaged_file_is_refused(tmp_path: Path, name: str) -> None:
    model_set(4, QUEUES).save(tmp_path)
    path = tmp_path / name
    data = path.read_bytes()
    path.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
    with pytest.raises(ValueError, match=r"must have SHA-256|manifest must be"):
        ModelSet.load(tmp_path)
    path.write_bytes(data + b"\0" * (3 << 20))
    with pytest.raises(ValueError, match=f"{name} must have at most"):
        ModelSet.load(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"bins": -1},
        {"bins": 2000},
        {"heads": 1.5},
        {"files": {}},
        {"files": {BASE: "00"}},
        {"files": [1]},
        {"more": 1},
        {"base_crc": None},
    ],
)
def test_a_manifest_that_is_none(change: dict[str, object]) -> None:
    told = json.loads(model_set(5).files()[MANIFEST])
    text = json.dumps(told | change, sort_keys=True, separators=(",", ":"))
    with pytest.raises(ValueError, match="manifest must be one of a model set"):
        Manifest.parse(text.encode())


@pytest.mark.parametrize("text", [b"", b"[]", b"3", b'{"format":1}', b"[" * 9999])
def test_text_that_is_no_manifest(text: bytes) -> None:
    with pytest.raises(ValueError, match="manifest must be one of a model set"):
        Manifest.parse(text)


def test_another_contract_is_refused() -> None:
    told = json.loads(model_set(6).files()[MANIFEST])
    with pytest.raises(WrongContractError, match="train it again"):
        Manifest.parse(canonical(told | {"contract": told["contract"] ^ 1}))


@pytest.mark.parametrize(
    "heads",
    [
        [],
        {"host0": []},
        {"host0": {"a": 1}},
        {"host0": {"a": {"x": "00"}}},
        {"host0": {"a": {"1": "0"}}},
        {"host0": {"a": {"1": "00" * 600}}},
    ],
)
def test_heads_that_are_none(heads: object) -> None:
    with pytest.raises(ValueError, match="heads must be by member, device and queue pair"):
        parse_heads(shrink(canonical(heads)))


def test_heads_that_expand_too_far() -> None:
    with pytest.raises(ValueError, match="at most 4194304 bytes"):
        parse_heads(shrink(bytes(5 << 20)))


def test_a_head_of_another_base_does_not_apply() -> None:
    made = model_set(7, QUEUES[:1])
    delta = made.heads[QUEUES[0]]
    broken = ModelSet(made.base, {QUEUES[0]: shrink(expand(delta, 300)[:-1])})
    with pytest.raises(ValueError, match="delta must hold 300 bytes, not 299"):
        broken.image(QUEUES[0])
    assert pack(made.image(QUEUES[0]).weights) == made.image(QUEUES[0]).payload
