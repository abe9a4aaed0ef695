"""An LSTM in a file (`model_file`), and the models that come with the package."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import HIDDEN, MAX_INPUTS, MAX_OUTPUTS, HeadKind

from .limits import brief
from .model_file import (
    MAX_FILE_BYTES,
    ModelFile,
    ModelImageError,
    check_tensors,
    integer,
)
from .predict.lstm import LstmWeights, pack, unpack

__all__ = [
    "MAX_FILE_BYTES",
    "Image",
    "ModelImageError",
    "find",
    "load",
    "pretrained",
    "pretrained_names",
]

_SUFFIX = ".safetensors"


def _tensor_spec(inputs: int, outputs: int) -> dict[str, tuple[tuple[int, ...], str]]:
    """Name: (shape, dtype) of every tensor in a file; unused columns and rows are left out."""
    gates = 4 * HIDDEN
    return {
        "wh": ((gates, HIDDEN), "int8"),
        "wx": ((gates, inputs), "int8"),
        "b": ((gates,), "int16"),
        "sh_h": ((gates,), "uint8"),
        "sh_x": ((gates,), "uint8"),
        "wl": ((outputs, HIDDEN), "int8"),
        "bl": ((outputs,), "int16"),
        "sh_l": ((outputs,), "uint8"),
    }


@dataclass(frozen=True, eq=False)
class Image(ModelFile):
    """A validated integer model and its data card.

    Parameters
    ----------
    weights : LstmWeights
        The integers; they validated themselves.
    card : dict
        The data card, JSON data: where the training data came from, scenarios, seeds, errors, date.
    """

    weights: LstmWeights
    card: dict[str, Any] = field(default_factory=dict)

    @property
    def payload(self) -> bytes:
        """The canonical 2048 bytes that the driver writes to a weight set."""
        return pack(self.weights)

    @property
    def header(self) -> LstmWeights:
        """The weights."""
        return self.weights

    def cell(self) -> dict[str, Any]:
        """What of the architecture is not in every image's header."""
        return {"cell": "lstm", "hidden": HIDDEN}

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The file's tensors by name."""
        spec = _tensor_spec(self.weights.inputs, self.weights.outputs)
        return {
            name: np.ascontiguousarray(
                getattr(self.weights, name)[tuple(slice(n) for n in shape)].astype(dtype)
            )
            for name, (shape, dtype) in spec.items()
        }

    @classmethod
    def from_parts(cls, tensors: Mapping[str, NDArray[Any]], meta: dict[str, Any]) -> "Image":
        """The model of a file's tensors and metadata; `ValueError` where it is none."""
        inputs, outputs, steps, kind = _architecture(meta)
        check_tensors(tensors, _tensor_spec(inputs, outputs))
        weights = LstmWeights(
            wh=_wide(tensors["wh"], (4 * HIDDEN, HIDDEN)),
            wx=_wide(tensors["wx"], (4 * HIDDEN, MAX_INPUTS)),
            b=_wide(tensors["b"], (4 * HIDDEN,)),
            sh_h=_wide(tensors["sh_h"], (4 * HIDDEN,)),
            sh_x=_wide(tensors["sh_x"], (4 * HIDDEN,)),
            wl=_wide(tensors["wl"], (MAX_OUTPUTS, HIDDEN)),
            bl=_wide(tensors["bl"], (MAX_OUTPUTS,)),
            sh_l=_wide(tensors["sh_l"], (MAX_OUTPUTS,)),
            inputs=inputs,
            steps=steps,
            outputs=outputs,
            kind=kind,
            version=integer(meta, "version"),
        )
        image = cls(weights=weights, card=meta["card"])
        unpack(image.payload)
        return image


load = Image.load


def pretrained_names() -> list[str]:
    """Names of the models that come with the package."""
    folder = resources.files("precog_models") / "pretrained"
    return sorted(
        entry.name.removesuffix(_SUFFIX)
        for entry in folder.iterdir()
        if entry.name.endswith(_SUFFIX)
    )


def pretrained(name: str = "rtt-incast") -> Image:
    """A model that comes with the package.

    Raises
    ------
    ModelImageError
        There is none of that name.
    """
    if name not in pretrained_names():
        raise ModelImageError(
            f"pretrained model must be one of {', '.join(pretrained_names())}, not {name!r}"
        )
    folder = resources.files("precog_models") / "pretrained"
    return Image.from_bytes((folder / (name + _SUFFIX)).read_bytes())


def find(model: str) -> Image:
    """The model that a user means: the name of a shipped one, or a file.

    Raises
    ------
    ModelImageError
        As `load`.
    OSError
        As `load`; where there is no such file, it names the shipped models.
    """
    names = pretrained_names()
    if model in names:
        return pretrained(model)
    try:
        return load(model)
    except FileNotFoundError as error:
        reason = f"No such file; shipped models: {', '.join(names)}"
        raise FileNotFoundError(error.errno, reason, model) from error


def _wide(tensor: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """`tensor` as int64, filled with zeros up to `shape`."""
    wide = np.zeros(shape, dtype=np.int64)
    wide[tuple(slice(n) for n in tensor.shape)] = tensor
    return wide


def _architecture(meta: dict[str, Any]) -> tuple[int, int, int, HeadKind]:
    arch = meta.get("architecture")
    if not isinstance(arch, dict):
        raise ModelImageError("metadata must describe the architecture")
    if arch.get("cell") != "lstm" or arch.get("hidden") != HIDDEN:
        raise ModelImageError(
            f"the engine runs an lstm of hidden size {HIDDEN}, "
            f"not {brief(arch.get('cell'))} of {brief(arch.get('hidden'))}"
        )
    heads = {kind.name.lower(): kind for kind in HeadKind}
    head = arch.get("head")
    if not isinstance(head, str) or head not in heads:
        raise ModelImageError(f"head must be one of {', '.join(heads)}, not {brief(head)}")
    inputs = integer(arch, "inputs")
    outputs = integer(arch, "outputs")
    for name, value, high in (("inputs", inputs, MAX_INPUTS), ("outputs", outputs, MAX_OUTPUTS)):
        if not 1 <= value <= high:
            raise ModelImageError(f"{name} must be in 1..{high}, not {brief(value)}")
    return inputs, outputs, integer(arch, "steps"), heads[head]
