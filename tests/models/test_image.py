"""Model files: one spelling, and every kind of damage has its error."""

import errno
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from precog_models.durable import check_target, write_durably
from precog_models.float_lstm import FloatLstm
from precog_models.forecast.forecaster import Forecaster
from precog_models.image import (
    MAX_FILE_BYTES,
    Image,
    ModelImageError,
    load,
    pretrained,
    pretrained_names,
)
from precog_models.predict.lstm import pack, unpack
from precog_models.quantize import quantize
from precog_spec.contract import CONTRACT_HASH, HeadKind


def build(seed: int = 1, inputs: int = 3, outputs: int = 5) -> Image:
    rng = np.random.default_rng(seed)
    model = FloatLstm(
        w_ih=rng.normal(size=(64, inputs)),
        w_hh=rng.normal(size=(64, 16)),
        bias=rng.normal(size=64),
        head_w=rng.normal(size=(outputs, 16)),
        head_b=rng.normal(size=outputs),
        steps=4,
        kind=HeadKind.QUEUE,
    )
    card = {"source": "test", "scenarios": ["a", "b"], "seed": 3, "date": "2026-01-01"}
    return quantize(model, card=card, version=9)


def parts(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tensors and metadata of a file, to be damaged."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    return load_tensors(data), json.loads(header["__metadata__"]["precog"])


def join(tensors: dict[str, Any], meta: object) -> bytes:
    return save_tensors(tensors, {"precog": json.dumps(meta)})


def damaged(**changes: object) -> bytes:
    """A file whose metadata says something else."""
    tensors, meta = parts(build().to_bytes())
    return join(tensors, meta | changes)


def test_round_trip_is_byte_exact(tmp_path: Path, seed: int) -> None:
    image = build(seed)
    path = tmp_path / "model.safetensors"
    image.save(path)
    again = load(path)
    assert again.payload == image.payload == pack(image.weights)
    assert again.crc32 == zlib.crc32(image.payload)
    assert again.card == image.card
    assert again.metadata() == image.metadata()
    again.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.safetensors", path.name]


def test_file_has_integers_and_one_sorted_key() -> None:
    data = build().to_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert list(header["__metadata__"]) == ["precog"]
    text = header["__metadata__"]["precog"]
    meta = json.loads(text)
    assert text == json.dumps(meta, sort_keys=True)
    assert meta["architecture"] == {
        "cell": "lstm",
        "head": "queue",
        "hidden": 16,
        "inputs": 3,
        "outputs": 5,
        "steps": 4,
    }
    assert int(meta["contract_hash"], 16) == CONTRACT_HASH
    assert meta["version"] == 9
    tensors = load_tensors(data)
    assert all(tensor.dtype.kind in "iu" for tensor in tensors.values())
    assert tensors["wx"].shape == (64, 3)
    assert tensors["wl"].shape == (5, 16)


def test_header_of_the_payload_says_the_same() -> None:
    weights = unpack(build().payload)
    assert (weights.inputs, weights.outputs, weights.steps) == (3, 5, 4)
    assert (weights.kind, weights.version) == (HeadKind.QUEUE, 9)


@pytest.mark.parametrize("keep", [0, 7, 8, 100, 1500, -1])
def test_truncated_files_are_refused(keep: int) -> None:
    with pytest.raises(ModelImageError, match="truncated or corrupted"):
        Image.from_bytes(build().to_bytes()[:keep])


def test_no_flipped_bit_passes_unnoticed(seed: int) -> None:
    """Not every bit of a file matters (spaces do not), but no damage may change the model."""
    image = build(seed)
    data = image.to_bytes()
    rng = np.random.default_rng(seed)
    for position in rng.choice(len(data), 400, replace=False):
        broken = bytearray(data)
        broken[position] ^= 1 << int(rng.integers(8))
        try:
            survivor = Image.from_bytes(bytes(broken))
        except ModelImageError:
            continue
        assert survivor.payload == image.payload


def test_flipped_weights_are_named_corrupted() -> None:
    data = bytearray(build().to_bytes())
    data[-200] ^= 1  # in the tensors
    with pytest.raises(ModelImageError, match=r"payload CRC-32 must be .*: the file is corrupted"):
        Image.from_bytes(bytes(data))


def test_oversized_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(build().to_bytes() + bytes(MAX_FILE_BYTES))
    with pytest.raises(ModelImageError, match=f"at most {MAX_FILE_BYTES} bytes, not"):
        load(path)
    with pytest.raises(ModelImageError, match=f"at most {MAX_FILE_BYTES} bytes, not"):
        Image.from_bytes(path.read_bytes())
    with pytest.raises(ModelImageError, match="shorten the data card"):
        Image(build().weights, {"notes": "x" * MAX_FILE_BYTES}).to_bytes()


def test_another_contract_is_refused() -> None:
    with pytest.raises(ModelImageError, match=r"contract hash must be .*, not 0x12345678"):
        Image.from_bytes(damaged(contract_hash="0x12345678"))


def test_nan_weights_are_refused() -> None:
    tensors, meta = parts(build().to_bytes())
    tensors["wh"] = np.full((64, 16), np.nan, dtype=np.float32)
    with pytest.raises(ModelImageError, match="tensor wh must be int8, not float32 with NaN"):
        Image.from_bytes(join(tensors, meta))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"payload_crc32": "0x00000001"}, "the file is corrupted"),
        ({"payload_crc32": "maybe"}, "payload_crc32 must be a hexadecimal number, not 'maybe'"),
        ({"format": 2}, "file format must be 1, not 2"),
        ({"format": None}, "format must be an integer, not None"),
        ({"version": "nine"}, "version must be an integer, not 'nine'"),
        ({"version": -1}, "version must be a 32-bit unsigned number"),
        ({"version": True}, "version must be an integer, not True"),
        ({"card": None}, "JSON object with a data card"),
        ({"architecture": None}, "must describe the architecture"),
    ],
)
def test_wrong_metadata_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ModelImageError, match=message):
        Image.from_bytes(damaged(**changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cell": "gru"}, "runs an lstm of hidden size 16, not 'gru' of 16"),
        ({"hidden": 32}, "not 'lstm' of 32"),
        ({"head": "oracle"}, "head must be one of rtt, queue, not 'oracle'"),
        ({"inputs": 9}, "inputs must be in 1..8, not 9"),
        ({"outputs": 0}, "outputs must be in 1..16, not 0"),
        ({"outputs": 4}, "tensor wl must be int8 of shape"),
        ({"steps": 9}, "steps must be in 1..8, not 9"),
        ({"steps": 3}, "the file is corrupted"),
        ({"head": "rtt"}, "the file is corrupted"),
    ],
)
def test_wrong_architectures_are_refused(changes: dict[str, object], message: str) -> None:
    _, meta = parts(build().to_bytes())
    with pytest.raises(ModelImageError, match=message):
        Image.from_bytes(damaged(architecture=meta["architecture"] | changes))


def test_wrong_tensors_are_refused() -> None:
    tensors, meta = parts(build().to_bytes())
    for change, message in (
        ({"extra": np.zeros(3, dtype=np.int8)}, "tensors must be .* not .*'extra'"),
        ({"wh": tensors["wh"].astype(np.int16)}, "tensor wh must be int8 .* not int16"),
        ({"b": tensors["b"][:32]}, r"tensor b must be int16 of shape \(64,\), not .* \(32,\)"),
        ({"sh_h": np.full(64, 8, dtype=np.uint8)}, "sh_h must lie in 0..7, not 8..8"),
    ):
        with pytest.raises(ModelImageError, match=message):
            Image.from_bytes(join(tensors | change, meta))
    del tensors["wl"]
    with pytest.raises(ModelImageError, match="tensors must be"):
        Image.from_bytes(join(tensors, meta))


def test_foreign_safetensors_are_refused() -> None:
    tensors, _ = parts(build().to_bytes())
    for metadata in (None, {"format": "pt"}):
        with pytest.raises(ModelImageError, match="not a Precog model"):
            Image.from_bytes(save_tensors(tensors, metadata))
    for text in ("{", "[]", "3", "[" * 10_000):
        with pytest.raises(ModelImageError, match="metadata must be"):
            Image.from_bytes(save_tensors(tensors, {"precog": text}))


def test_cards_must_be_json() -> None:
    for bad in ({"mape": float("nan")}, {"when": object()}):
        with pytest.raises(ModelImageError, match="data card must be JSON data"):
            Image(build().weights, bad).to_bytes()


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    build().save(path)
    before = path.read_bytes()
    with pytest.raises(ModelImageError):
        Image(build().weights, {"bad": object()}).save(path)
    assert path.read_bytes() == before


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.safetensors"
    path.write_bytes(b"rubbish")
    with pytest.raises(ModelImageError, match=r"broken\.safetensors: not a complete"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.safetensors")


def test_pretrained_models_load_and_say_where_they_come_from() -> None:
    assert "rtt-incast" in pretrained_names()
    for name in pretrained_names():
        model = pretrained(name)
        assert model.weights.contract_hash == CONTRACT_HASH
        for key in ("date", "errors", "scenarios", "source", "training"):
            assert key in model.card, key
    for name in ("queue-1rtt", "queue-4rtt"):
        assert name == f"queue-{Forecaster(pretrained(name)).settings.horizon}rtt"
        errors = pretrained(name).card["errors"]
        assert errors["crps_skill"] >= 0.2
        assert errors["reliability"] <= 0.02
        assert errors["ece"] <= 0.02
        assert errors["brier_skill"] >= 0.2
    errors = pretrained().card["errors"]["incast-20"]
    assert errors["integer"]["balanced"] <= 3.0
    assert errors["integer"]["balanced"] <= errors["float"]["balanced"] + 0.01


def test_unknown_pretrained_models_are_refused() -> None:
    with pytest.raises(ModelImageError, match=r"must be one of .*rtt-incast.*, not 'crystal-ball'"):
        pretrained("crystal-ball")


def test_the_host_needs_no_torch() -> None:
    modules = "sys, precog_models.image, precog_models.quantize, precog_models.train.evaluate"
    code = f"import {modules}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_only_a_regular_file_is_replaced(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    for path, message in (
        (tmp_path, "Is a directory"),
        (fifo, "Not a regular file"),
        (tmp_path / "none" / "m", "No such folder"),
    ):
        for attempt in (check_target, build().save):
            with pytest.raises(OSError, match=message) as caught:
                attempt(path)
            assert str(caught.value.filename) in (str(path), str(path.parent))
    check_target(tmp_path / "none" / "none" / "m", made=True)
    with pytest.raises(OSError, match=r"Folder must take new files: No such .*: '/proc'"):
        check_target("/proc/x/m", made=True)  # even root's
    with pytest.raises(OSError, match=f"No such folder: '{fifo}'"):
        check_target(fifo / "none" / "m", made=True)
    assert fifo.is_fifo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["pipe"]


def test_a_file_s_folder_is_made_where_that_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "none" / "none" / "m"
    with pytest.raises(OSError, match="No such folder"):
        write_durably(path, b"a")
    write_durably(path, b"a", made=True)
    write_durably(path, b"b", made=True)
    assert path.read_bytes() == b"b"


def test_a_link_stays_one_and_its_target_is_replaced(tmp_path: Path) -> None:
    """Root's /dev/stdout is a link."""
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there/m", tmp_path / "link"
    link.symlink_to(target)
    build().save(link)
    assert link.is_symlink()
    assert [entry.name for entry in (tmp_path / "there").iterdir()] == ["m"]
    assert target.read_bytes() == build().to_bytes()
    link.unlink()
    link.symlink_to(tmp_path / "none/m")
    with pytest.raises(OSError, match="No such folder"):
        check_target(link)


def test_a_failed_write_leaves_no_part_and_names_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left") as caught:
        build().save(tmp_path / "m")
    assert caught.value.filename == str(tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("head", [["rtt"], {}, None, 1])
def test_a_head_of_another_type_is_refused(head: object) -> None:
    meta = parts(build().to_bytes())[1]
    with pytest.raises(ModelImageError, match="head must be one of"):
        Image.from_bytes(damaged(architecture=meta["architecture"] | {"head": head}))


def test_floats_are_refused_by_what_they_hold() -> None:
    tensors, meta = parts(build().to_bytes())
    tensors["wh"] = tensors["wh"].astype(np.float32)
    tensors["wh"][0, 0] = np.inf
    with pytest.raises(ModelImageError, match="not float32 with inf"):
        Image.from_bytes(join(tensors, meta))
    data = build().to_bytes().replace(b'"b":{"dtype":"I16"', b'"b":{"dtype":"BF16"')
    length = int.from_bytes(data[:8], "little")
    with pytest.raises(ModelImageError, match="uint8 or uint16, not of data type BF16"):
        Image.from_bytes((length + 1).to_bytes(8, "little") + data[8:])
