"""Files that were made to hurt are refused with a reason, soon and in little memory."""

import io
import json
import pickle
import resource
import time
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from onnx import ModelProto, TensorProto, helper, numpy_helper
from safetensors.numpy import save as save_tensors
from tests.models.importer.test_onnx_lstm import build, node, reference

from precog_models.image import Image, ModelImageError
from precog_models.importer import ModelImportError
from precog_models.importer.onnx_lstm import from_onnx, load_onnx
from precog_models.importer.torch_state import load_torch
from precog_models.limits import DEPTH, ELEMENTS, FOREIGN_BYTES, NODES, brief
from precog_models.tree_image import load_any

_SECONDS, _BYTES = 5.0, 200 << 20


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """Time and memory that reading a file may take."""
    start, before = time.process_time(), _resident()
    yield
    assert time.process_time() - start < _SECONDS
    assert _resident() - before < _BYTES


def _resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def graph(before: list[Any], **tensors: np.ndarray) -> ModelProto:
    """One whose weights W come out of `before`."""
    model = reference(np.random.default_rng(0))
    return build(model, before=before, extra=tensors, skip=("W",))


def test_a_bomb_of_concats() -> None:
    """Of 5 KB: each node doubles what the one before it made."""
    doubling = [node("Concat", [f"w{n}", f"w{n}"], f"w{n + 1}", axis=0) for n in range(30)]
    bomb = graph([*doubling, node("Identity", ["w30"], "W")], w0=np.zeros((64, 1)))
    assert len(bomb.SerializeToString()) < 12_000
    with pytest.raises(ModelImportError, match=f"computed from at most {ELEMENTS} numbers in all"):
        from_onnx(bomb)


def test_a_bomb_of_repetitions() -> None:
    """Nothing grows, but each node reads the one before it twice: computed once, it is nothing."""
    empty = np.zeros((0, 16))
    twice = [node("Concat", [f"w{n}", f"w{n}"], f"w{n + 1}", axis=0) for n in range(30)]
    with pytest.raises(ModelImportError, match="W must hold one direction"):
        from_onnx(graph([*twice, node("Identity", ["w30"], "W")], w0=empty))


def test_long_chains_and_large_graphs() -> None:
    chain = [node("Identity", [f"w{n}"], f"w{n + 1}") for n in range(DEPTH + 2)]
    last = node("Identity", [f"w{DEPTH + 2}"], "W")
    with pytest.raises(ModelImportError, match=f"at most {DEPTH} operators in a row"):
        from_onnx(graph([*chain, last], w0=np.zeros((1, 64, 1))))
    many = [node("Identity", ["x"], f"x{n}") for n in range(NODES)]
    with pytest.raises(ModelImportError, match=f"at most {NODES} nodes, not {NODES + 2}"):
        from_onnx(build(reference(np.random.default_rng(0)), before=many))
    model = reference(np.random.default_rng(0))
    after = [node("Identity", ["out" if n == 0 else f"o{n}"], f"o{n + 1}") for n in range(40)]
    with pytest.raises(ModelImportError, match=f"at most {DEPTH} operators in a row may follow"):
        from_onnx(build(model, after=after))
    twins = [node("Identity", ["out"], "o"), node("Identity", ["out"], "o")]
    with pytest.raises(ModelImportError, match="tensor o must be made by one node"):
        from_onnx(build(model, after=twins))


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        ({"dims": [1] * 65}, "at most 8 dimensions, not 65"),
        ({"dims": [1 << 40]}, f"at most {ELEMENTS} numbers, not {1 << 40}"),
        ({"dims": [-1, 4]}, "negative dimension"),
    ],
)
def test_tensors_with_strange_shapes(tensor: dict[str, Any], message: str) -> None:
    made = graph([], W=np.zeros((1, 64, 1)))
    weights = TensorProto(name="W", data_type=TensorProto.FLOAT, raw_data=bytes(16), **tensor)
    made.graph.initializer.append(weights)
    with pytest.raises(ModelImportError, match=message):
        from_onnx(made)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"direction": ["forward", "reverse"]}, "direction must be forward"),
        ({"direction": [1, 2]}, "direction must be forward"),
        ({"hidden_size": [16]}, "hidden size must be 16"),
        ({"layout": ["x"]}, "layout must be 0"),
    ],
)
def test_lists_where_one_value_belongs(attributes: dict[str, Any], message: str) -> None:
    model = reference(np.random.default_rng(0))
    with pytest.raises(ModelImportError, match=message):
        from_onnx(build(model, attributes=attributes))


def test_attributes_that_hold_another_kind(tmp_path: Path) -> None:
    model = reference(np.random.default_rng(0))
    for given in (
        node("Constant", [], "W", value=3),
        node("Squeeze", ["w0"], "W", axes=[2**62]),
        node("Concat", ["w0", "w0"], "W", axis=2**40),
        node("Transpose", ["w0"], "W", perm=["a"]),
        node("Cast", ["w0"], "W", to="x"),
        node("Slice", ["w0"], "W", starts=[2**62], ends=[0], axes=[7]),
    ):
        with pytest.raises(ModelImportError):
            from_onnx(graph([given], w0=np.zeros((1, 64, 1))))
    odd = build(model)
    odd.graph.node[0].attribute.append(helper.make_attribute("direction", "forward"))
    odd.graph.node[0].attribute[-1].type = 7  # says integers, holds text
    with pytest.raises(ModelImportError):
        from_onnx(odd)
    state = [
        node("Expand", [], "state"),
        node("ConstantOfShape", ["w0"], "state", value=3),
    ]
    for given in state:
        inputs = ["x", "W", "R", "B", "", "state", "", ""]
        with pytest.raises(ModelImportError):
            from_onnx(build(model, lstm_inputs=inputs, before=[given]))
    path = tmp_path / "model.onnx"
    path.write_bytes(bytes(FOREIGN_BYTES + 1))
    for load in (load_onnx, load_torch):
        with pytest.raises(ModelImportError, match="must have at most 1 MiB"):
            load(path)


def test_torch_s_bombs(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    state = OrderedDict(torch.nn.LSTM(1, 16).state_dict())
    state["fc.weight"] = torch.zeros(1).expand(1 << 26, 16)  # one number, repeated by its strides
    state["weight_hh_l0"] = torch.zeros(1).expand(1 << 30, 16)
    torch.save(state, path)
    assert path.stat().st_size < 10_000
    with pytest.raises(ModelImportError, match=f"at most {ELEMENTS} numbers, not {16 << 30}"):
        load_torch(path)
    torch.save({"rnn.weight_ih_l" + "9" * 5000: torch.zeros(64, 16)}, path)
    with pytest.raises(ModelImportError, match="must hold an LSTM's weight_ih_l0"):
        load_torch(path)
    plain = io.BytesIO()
    torch.save(torch.nn.LSTM(1, 16).state_dict(), plain)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry))
    with pytest.raises(ModelImportError, match="without compression, as torch"):
        load_torch(path)
    nested: Any = ("a",)
    for _ in range(50):
        nested = (nested, nested)  # 51 objects, whose text has 2**50 parts
    for protocol in (2, 4):
        key = pickle.dumps(nested, protocol=protocol)[2:-1]  # without what begins and ends it
        data = b"\x80\x02}" + key + b"K\x01s."  # {nested: 1}
        path.write_bytes(data)
        with pytest.raises(ModelImportError, match="objects of at most"):
            load_torch(path)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("model/data.pkl", data)
            archive.writestr("model/version", "3")
        with pytest.raises(ModelImportError, match="objects of at most"):
            load_torch(path)


def build_image() -> Image:
    from precog_models.quantize import quantize

    return quantize(reference(np.random.default_rng(0)), card={"source": "test"}, version=1)


def _meta(change: Callable[[dict[str, Any]], None]) -> bytes:
    """An image with other metadata."""
    image = build_image()
    meta = image.metadata()
    change(meta)
    return save_tensors(image.tensors(), {"precog": json.dumps(meta)})


def test_safetensors_with_many_dimensions(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    for count in (9, 65):
        tensors = build_image().tensors() | {"wh": np.zeros((1,) * 8, dtype=np.int8)}
        data = save_tensors(tensors, {"precog": "{}"})
        data = data.replace(b"[1,1,1,1,1,1,1,1]", f"[{','.join('1' * count)}]".encode())
        header = data[8:].index(b"}}") + 2
        data = header.to_bytes(8, "little") + data[8 : 8 + header] + data[-4096:]
        path.write_bytes(data)
        with pytest.raises(ModelImageError):
            load_any(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda meta: meta.update(version=10**4000),
        lambda meta: meta.update(payload_crc32="f" * 30_000),
        lambda meta: meta["architecture"].update(cell=_deep(500)),
        lambda meta: meta["architecture"].update(hidden=_deep(20)),
        lambda meta: meta.update(card=_deep(200)),
        lambda meta: meta.update(card={"a": _deep(DEPTH)}),
    ],
)
def test_metadata_that_is_too_deep_or_too_long(
    change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(_meta(change))
    with pytest.raises(ModelImageError) as caught:
        load_any(path)
    assert len(str(caught.value)) < 500


def _deep(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(levels):
        made = {"a": made}
    return made


def test_values_in_messages_are_short() -> None:
    for value in ("x" * 9999, 10**999, list(range(999)), _deep(400), b"x" * 999):
        assert len(brief(value)) < 300


def test_initializers_are_counted() -> None:
    made = graph([], W=np.zeros((1, 64, 1)))
    tiny = numpy_helper.from_array(np.zeros(1))
    made.graph.initializer.extend([tiny] * NODES)
    with pytest.raises(ModelImportError, match=f"at most {NODES} stored tensors"):
        from_onnx(made)
