"""torch state dicts in, or refused with the reason."""

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from precog_models.importer import ModelImportError
from precog_models.importer.torch_state import from_state_dict, load_torch


class Predictor(nn.Module):
    """A foreign model with its own names."""

    def __init__(self, inputs: int = 1, outputs: int = 1, hidden: int = 16, **kwargs: object):
        super().__init__()
        self.rnn = nn.LSTM(inputs, hidden, batch_first=True, **kwargs)
        self.fc = nn.Linear(hidden, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.rnn(x)[0][:, -1])


def test_import_computes_what_torch_computes(tmp_path: Path, seed: int) -> None:
    torch.manual_seed(seed)
    model = Predictor(inputs=3, outputs=5).double()
    path = tmp_path / "model.pt"
    torch.save(model.state_dict(), path)
    imported = load_torch(path, steps=4)
    x = torch.randn(50, 4, 3, dtype=torch.double)
    expected = model(x).detach().numpy()
    np.testing.assert_allclose(imported.forward(x.numpy()), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod."])
@pytest.mark.parametrize("nest", [None, "state_dict", "model_state_dict"])
def test_wrappers_and_check_points_are_unpacked(
    tmp_path: Path, prefix: str, nest: str | None
) -> None:
    state = Predictor().state_dict()
    wrapped = {prefix + name: tensor for name, tensor in state.items()}
    torch.save(wrapped if nest is None else {nest: wrapped, "epoch": 3}, tmp_path / "model.pt")
    imported = load_torch(tmp_path / "model.pt")
    np.testing.assert_array_equal(imported.w_hh, state["rnn.weight_hh_l0"].double().numpy())


def test_cell_without_bias_and_named_head() -> None:
    cell = nn.LSTMCell(2, 16, bias=False)
    other = nn.Linear(16, 4)
    head = nn.Linear(16, 2, bias=False)
    state = {f"cell.{k}": v for k, v in cell.state_dict().items()}
    state |= {"other.weight": other.weight, "head.weight": head.weight}
    with pytest.raises(ModelImportError, match="one linear head with 16 inputs, not 2"):
        from_state_dict(state)
    imported = from_state_dict(state, head="head")
    assert (imported.inputs, imported.outputs) == (2, 2)
    assert not imported.bias.any()
    assert not imported.head_b.any()
    with pytest.raises(ModelImportError, match=r"head must be one of \['head', 'other'\]"):
        from_state_dict(state, head="fc")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Predictor(num_layers=2), "one layer, not 2 or more"),
        (Predictor(bidirectional=True), "not be bidirectional"),
        (Predictor(proj_size=8), "no projection"),
        (Predictor(hidden=32), "hidden size must be 16, not 32"),
        (Predictor(inputs=9), "inputs must be in 1..8, not 9"),
        (Predictor(outputs=17), "outputs must be in 1..16, not 17"),
        (nn.Sequential(nn.GRU(1, 16), nn.Linear(16, 1)), "must be an LSTM"),
        (nn.LSTM(1, 16), "one linear head with 16 inputs, not 0"),
        (nn.Linear(16, 1), "must hold an LSTM's weight_ih_l0"),
        (nn.ModuleList([nn.LSTM(1, 16), nn.LSTM(1, 16)]), "one LSTM, not 2"),
    ],
)
def test_what_the_engine_cannot_run_is_refused(model: nn.Module, message: str) -> None:
    with pytest.raises(ModelImportError, match=message):
        from_state_dict(model.state_dict())


def test_nan_is_refused() -> None:
    state = Predictor().state_dict()
    state["rnn.weight_hh_l0"][3, 4] = float("nan")
    with pytest.raises(ModelImportError, match="w_hh must be finite"):
        from_state_dict(state)


def test_files_that_are_not_weights_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.save(Predictor(), path)  # a pickled class: code, not data
    with pytest.raises(ModelImportError, match="tensors only"):
        load_torch(path)
    path.write_bytes(b"not a torch file")
    with pytest.raises(ModelImportError, match="tensors only"):
        load_torch(path)
    torch.save(torch.zeros(3), path)
    with pytest.raises(ModelImportError, match="must hold a state dict, not Tensor"):
        load_torch(path)


@pytest.mark.parametrize(
    "data",
    [b"hello\n" * 50, b"", b"\x80\x02" + bytes(range(256)), b"PK\x03\x04" + bytes(100)],
    ids=["text", "empty", "pickle", "zip"],
)
def test_any_bytes_are_refused_in_one_line(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(data)
    with pytest.raises(ModelImportError, match=f"^{path}: must be a file of torch.save") as caught:
        load_torch(path)
    assert "\n" not in str(caught.value)


def test_random_damage_is_refused_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.save(Predictor().state_dict(), path)
    whole = path.read_bytes()
    rng = random.Random(5)
    said = []
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(data))
            if rng.random() < 0.6:
                data[at] = rng.randrange(256)
            else:
                del data[at : at + rng.randint(1, 40)]
        path.write_bytes(data)
        try:
            load_torch(path)
        except ModelImportError as error:
            said.append(str(error))
    assert len(said) > 50
    assert all(text.startswith(f"{path}: ") for text in said)


def test_a_git_lfs_pointer_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    with pytest.raises(ModelImportError, match=r"Git LFS pointer, .*: run `git lfs pull`"):
        load_torch(path)


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("rnn.weight_ih_l0", torch.tensor(1.0), r"weight_ih must have shape \(64, inputs\)"),
        ("rnn.weight_ih_l0", torch.zeros(64), r"weight_ih must have shape \(64, inputs\)"),
        ("rnn.weight_ih_l0", torch.zeros(3, 1), r"weight_ih must have shape \(64, inputs\)"),
        ("rnn.bias_ih_l0", torch.zeros(3), r"bias_ih must have shape \(64,\), not \(3,\)"),
        ("fc.bias", torch.zeros(3), r"fc\.bias must have shape \(1,\), not \(3,\)"),
        ("rnn.weight_hh_l0", torch.zeros(64, 16).to_sparse(), "dense .*, not a sparse one"),
        ("rnn.weight_hh_l0", torch.zeros(64, 16, device="meta"), "dense .*, not a meta one"),
        ("rnn.weight_hh_l0", torch.zeros(64, 16, dtype=torch.complex64), "real numbers, not"),
        ("fc.weight", torch.zeros(1, 16, dtype=torch.complex64), r"fc\.weight must hold real"),
    ],
)
def test_tensors_that_are_no_weights_are_refused_by_name(
    tmp_path: Path, name: str, tensor: torch.Tensor, message: str
) -> None:
    path = tmp_path / "model.pt"
    torch.save(Predictor().state_dict() | {name: tensor}, path)
    with pytest.raises(ModelImportError, match=f"^{path}: .*{message}"):
        load_torch(path)
