"""State dicts of `torch.nn.LSTM` + `torch.nn.Linear`, as saved by `torch.save`.

torch orders gate rows i, f, g, o, as we do, and keeps two bias vectors, which only ever appear as
their sum. Prefixes that wrappers put before names (`module.` of DataParallel, `_orig_mod.` of
torch.compile) are dropped.
"""

import re
import warnings
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from precog_spec.contract import HIDDEN, MAX_INPUTS, MAX_OUTPUTS, HeadKind

from ..float_lstm import FloatLstm
from ..limits import ELEMENTS, FOREIGN_BYTES, brief
from . import ModelImportError, read_foreign
from .pickled import check_pickle

__all__ = ["from_state_dict", "load_torch"]

_WRAPPERS = re.compile(r"^((module|_orig_mod)\.)+")
_CELL = re.compile(
    r"^(?:(?P<path>.+)\.)?(?P<part>(?:weight|bias)_(?:ih|hh|hr)(?:_l\d{1,4})?(?:_reverse)?)$"
)
_SHOWN = 200  # characters of torch's reason
_LEGACY_PICKLES = 5  # before torch 1.6: magic, version, host, the state dict, names of storages
_NESTED = ("state_dict", "model_state_dict", "model")  # where check points keep it

_GATES = 4 * HIDDEN


def load_torch(
    path: str | Path, *, steps: int = 3, head: str | None = None, kind: HeadKind = HeadKind.RTT
) -> FloatLstm:
    """Read a file of `torch.save`; only tensors are unpickled (``weights_only=True``).

    Parameters
    ----------
    path : path
        The file: a state dict, or a check point that holds one.
    steps : int
        Window length T, which weights do not tell.
    head : str, optional
        Name of the linear layer, where there is more than one.
    kind : HeadKind
        What the outputs mean.

    Raises
    ------
    ModelImportError
        The file cannot be read safely, or `from_state_dict` refuses it.
    OSError
        There is no such file.
    """
    try:
        return from_state_dict(_load(path), steps=steps, head=head, kind=kind)
    except ModelImportError as error:
        raise ModelImportError(f"{path}: {error}") from error


def _load(path: str | Path) -> Mapping[Any, Any]:
    """The state dict in a file."""
    data = BytesIO(read_foreign(path))
    try:
        _check_stored(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what torch thinks of old files is not the user's
            state = torch.load(data, map_location="cpu", weights_only=True)
    except ModelImportError:
        raise
    except Exception as error:  # an unpickler fails in any way on damaged bytes, OSError too
        lines = (str(error) or type(error).__name__).splitlines()
        reason = lines[0].split(". ")[0][:_SHOWN]
        raise ModelImportError(
            f"must be a file of torch.save with tensors only: {type(error).__name__}: {reason}"
        ) from error
    if isinstance(state, Mapping):
        for key in _NESTED:
            if isinstance(state.get(key), Mapping):
                state = state[key]
                break
    if not isinstance(state, Mapping):
        raise ModelImportError(f"must hold a state dict, not {type(state).__name__}")
    return state


def _check_stored(data: BytesIO) -> None:
    """Refuse a file that would be larger when it is unpacked; torch does not compress."""
    if not zipfile.is_zipfile(data):
        data.seek(0)
        for _ in range(_LEGACY_PICKLES):
            check_pickle(data)
        data.seek(0)
        return
    with zipfile.ZipFile(data) as archive:
        for entry in archive.infolist():
            if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > FOREIGN_BYTES:
                raise ModelImportError(
                    f"must be an archive without compression, as torch.save writes it: "
                    f"{brief(entry.filename)}"
                )
            if entry.filename.endswith(".pkl"):
                check_pickle(BytesIO(archive.read(entry)))
    data.seek(0)


def from_state_dict(
    state: Mapping[Any, Any],
    *,
    steps: int = 3,
    head: str | None = None,
    kind: HeadKind = HeadKind.RTT,
) -> FloatLstm:
    """The float model of a state dict with one LSTM layer and a linear head.

    Parameters
    ----------
    state : mapping of str to torch.Tensor
        The state dict.
    steps, head, kind
        As in `load_torch`.

    Returns
    -------
    FloatLstm

    Raises
    ------
    ModelImportError
        More than one layer, both directions, a projection, another hidden size than 16, more than
        8 inputs or 16 outputs, no or several possible heads, or a number that is NaN or infinite.
    """
    tensors = {
        _WRAPPERS.sub("", name): value
        for name, value in state.items()
        if isinstance(name, str) and isinstance(value, torch.Tensor)
    }
    cell, rest = _split(tensors)
    w_ih = cell.get("weight_ih")
    w_hh = cell.get("weight_hh")
    if w_ih is None or w_hh is None:
        raise ModelImportError("the state dict must hold an LSTM's weight_ih_l0 and weight_hh_l0")
    if w_hh.ndim != 2 or w_hh.shape[0] != 4 * w_hh.shape[1]:
        raise ModelImportError(
            f"the recurrent layer must be an LSTM: weight_hh of shape (4 H, H), not {w_hh.shape}"
        )
    if w_hh.shape[1] != HIDDEN:
        raise ModelImportError(f"hidden size must be {HIDDEN}, not {w_hh.shape[1]}")
    if w_ih.ndim != 2 or len(w_ih) != _GATES:
        raise ModelImportError(f"weight_ih must have shape ({_GATES}, inputs), not {w_ih.shape}")
    if not 1 <= w_ih.shape[1] <= MAX_INPUTS:
        raise ModelImportError(f"inputs must be in 1..{MAX_INPUTS}, not {w_ih.shape[1]}")
    bias = np.zeros(_GATES)
    for name in ("bias_ih", "bias_hh"):
        if name in cell:
            if cell[name].shape != (_GATES,):
                raise ModelImportError(
                    f"{name} must have shape ({_GATES},), not {cell[name].shape}"
                )
            bias = bias + cell[name]
    head_w, head_b = _head(rest, head)
    try:
        return FloatLstm(
            w_ih=w_ih, w_hh=w_hh, bias=bias, head_w=head_w, head_b=head_b, steps=steps, kind=kind
        )
    except ValueError as error:
        raise ModelImportError(str(error)) from error


def _array(tensor: torch.Tensor, name: str) -> NDArray[np.float64]:
    """A tensor's numbers."""
    if tensor.numel() > ELEMENTS:
        raise ModelImportError(
            f"{brief(name)} must have at most {ELEMENTS} numbers, not {tensor.numel()}"
        )
    if tensor.is_complex():
        raise ModelImportError(f"{name} must hold real numbers, not {tensor.dtype}")
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_meta:
        how = "a quantized" if tensor.is_quantized else "a meta" if tensor.is_meta else "a sparse"
        raise ModelImportError(f"{name} must be a dense tensor with its numbers, not {how} one")
    return np.asarray(tensor.detach().to(torch.float64).cpu().numpy())


def _split(
    tensors: dict[str, torch.Tensor],
) -> tuple[dict[str, NDArray[np.float64]], dict[str, torch.Tensor]]:
    """The LSTM's arrays by short name, and every other tensor."""
    cell: dict[str, NDArray[np.float64]] = {}
    rest: dict[str, torch.Tensor] = {}
    paths = set()
    for name, tensor in tensors.items():
        match = _CELL.match(name)
        if match is None:
            rest[name] = tensor
            continue
        part = match["part"]
        if part.endswith("_reverse"):
            raise ModelImportError("the LSTM must run in one direction, not be bidirectional")
        if "_hr" in part:
            raise ModelImportError("the LSTM must have no projection (proj_size must be 0)")
        short, _, layer = part.partition("_l")
        if layer not in ("", "0"):
            raise ModelImportError(f"the LSTM must have one layer, not {int(layer) + 1} or more")
        paths.add(match["path"])
        cell[short] = _array(tensor, name)
    if len(paths) > 1:
        raise ModelImportError(f"the model must have one LSTM, not {len(paths)}")
    return cell, rest


def _head(
    rest: dict[str, torch.Tensor], head: str | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights and bias of the linear layer that reads the hidden state."""
    found = {
        name.removesuffix(".weight").removesuffix("weight"): tensor
        for name, tensor in rest.items()
        if name.endswith("weight") and tensor.ndim == 2 and tensor.shape[1] == HIDDEN
    }
    if head is not None:
        if head not in found:
            raise ModelImportError(f"head must be one of {brief(sorted(found))}, not {head!r}")
        found = {head: found[head]}
    if len(found) != 1:
        names = ", ".join(sorted(found)) or "none"
        raise ModelImportError(
            f"the model must have one linear head with {HIDDEN} inputs, not {len(found)} "
            f"({names[:_SHOWN]})"
        )
    ((name, weight),) = found.items()
    if weight.shape[0] > MAX_OUTPUTS:
        raise ModelImportError(f"outputs must be in 1..{MAX_OUTPUTS}, not {weight.shape[0]}")
    bias_name = f"{name}.bias" if name else "bias"
    weights = _array(weight, f"{name}.weight" if name else "weight")
    if bias_name not in rest:
        return weights, np.zeros(len(weights))
    bias = _array(rest[bias_name], bias_name)
    if bias.shape != (len(weights),):
        raise ModelImportError(f"{bias_name} must have shape ({len(weights)},), not {bias.shape}")
    return weights, bias
