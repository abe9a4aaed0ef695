"""Any bytes, and any damage to a valid file, give a model or an error of ours, soon."""

import io
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.models.importer.test_onnx_lstm import SQUEEZED, build, node, reference

from precog_host.rdma_list import read_list
from precog_models.image import ModelImageError
from precog_models.importer import ModelImportError
from precog_models.importer.onnx_lstm import load_onnx
from precog_models.importer.torch_state import load_torch
from precog_models.limits import brief
from precog_models.quantize import quantize
from precog_models.tree_image import load_any

_SECONDS = 2.0
_LISTED = b"""[{"ifname":"mlx5_0","port":1,"lqpn":289,"rqpn":1021,"type":"RC","state":"RTS",
"comm":"a"},[{"link":"rxe0/1","lqpn":"17","rqpn":18,"type":"RC","state":"RTR"}, null, 7]]"""

#: A place of 0..1 in the file, how many bytes there go, and the bytes that come.
Edits = list[tuple[float, int, bytes]]
_EDITS = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.sampled_from([0, 0, 1, 1, 2, 8, 64]),
        st.binary(max_size=4) | st.sampled_from([b"\xff" * 8, b"[" * 400, b"9" * 5000, b"null"]),
    ),
    max_size=4,
)


def _onnx() -> bytes:
    model = reference(np.random.default_rng(0))
    last = node("Gather", ["s", "i2"], "h", axis=0)
    extra = {"v1": np.array([1]), "i2": np.array(2)}
    return build(model, between=[SQUEEZED, last], hidden="h", extra=extra).SerializeToString()


def _torch(*, legacy: bool = False) -> bytes:
    file = io.BytesIO()
    parts = torch.nn.ModuleDict({"rnn": torch.nn.LSTM(1, 16), "fc": torch.nn.Linear(16, 1)})
    torch.save(parts.state_dict(), file, _use_new_zipfile_serialization=not legacy)
    return file.getvalue()


def _image() -> bytes:
    return quantize(reference(np.random.default_rng(0)), card={"a": [1]}, version=1).to_bytes()


def _read_list(path: Path) -> object:
    return read_list(path.read_bytes().decode(errors="replace"))


_Load = Callable[[Path], object]
_READERS: dict[str, tuple[_Load, bytes, type[ValueError]]] = {
    "onnx": (load_onnx, _onnx(), ModelImportError),
    "torch": (load_torch, _torch(), ModelImportError),
    "old torch": (load_torch, _torch(legacy=True), ModelImportError),
    "safetensors": (load_any, _image(), ModelImageError),
    "rdma": (_read_list, _LISTED, ValueError),
}


def edited(data: bytes, edits: Edits) -> bytes:
    for place, gone, come in edits:
        at = int(place * len(data))
        data = data[:at] + come + data[at + gone :]
    return data


@pytest.mark.parametrize("name", list(_READERS))
def test_any_damage_is_refused_or_harmless(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    load, valid, refusal = _READERS[name]
    path = tmp_path / "file"
    path.write_bytes(valid)
    load(path)

    @settings(
        max_examples=60 * int(request.config.getoption("--volume")),
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(data=st.binary(max_size=200) | _EDITS.map(lambda edits: edited(valid, edits)))
    @example(data=b"")
    @example(data=valid[:-1])
    @example(data=valid + valid)
    def check(data: bytes) -> None:
        path.write_bytes(data)
        start, said = time.process_time(), "accepted"
        try:
            load(path)
        except refusal as error:
            said = str(error)
        assert 0 < len(said) < 1000, brief(said)
        assert time.process_time() - start < _SECONDS

    check()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["ifname", "port", "lqpn", "rqpn", "type", "state", "link"]),
                inner | st.sampled_from(["RC", "RTS", "17", "9" * 5000, "rxe0/1", "rxe0/²"]),
            )
        ),
    )
)
@example([{"type": "RC", "state": "RTS", "lqpn": 5, "rqpn": 6, "link": "a/" + "9" * 5000}])
@example([{"type": "RC", "state": "RTS", "lqpn": 5, "rqpn": "9" * 5000}])
def test_any_list_of_queue_pairs(listed: object) -> None:
    text = json.dumps(listed).replace("17", "9" * 5000)
    if not isinstance(listed, list):
        with pytest.raises(ValueError, match="list must be a list in JSON"):
            read_list(text)
        return
    found, skipped = read_list(text)
    for qp in found:
        assert 0 < qp.lqpn < 1 << 24
    assert len(found) + sum(skipped.values()) >= len([x for x in listed if not isinstance(x, list)])


def test_one_odd_number_stops_nobody() -> None:
    good = {"type": "RC", "state": "RTS", "rqpn": 6, "ifname": "a"}
    listed = [
        good | {"lqpn": 1},
        good | {"lqpn": 2, "port": 0},
        good | {"lqpn": 3, "link": "a/LONG"},
        good | {"lqpn": 0, "port": 1},
        good | {"lqpn": 4, "type": [[[]]]},
    ]
    text = (
        json.dumps(listed).replace("LONG", "9" * 5000).replace('"lqpn": 0', '"lqpn": ' + "9" * 5000)
    )
    found, skipped = read_list(text)
    assert [qp.lqpn for qp in found] == [1, 2]
    assert skipped == {"port out of range": 1, "lqpn out of range": 1, "without a type": 1}
    found, skipped = read_list(text.replace('"port": 0', '"port": ' + "9" * 5000))
    assert [qp.lqpn for qp in found] == [1]
    assert skipped["port out of range"] == 2
