"""A model in a file: integer tensors, what they mean, and where they came from.

The container is safetensors with one metadata key, `precog`: sorted JSON with the architecture,
the number formats, the contract's hash, the CRC-32 of the canonical 2048-byte payload that the
hardware checks, and the data card. A file has one spelling: saving what was loaded gives the same
bytes. Reading trusts nothing: every error is a `ModelImageError` that says what is wrong.
"""

import errno
import json
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as _load_tensors
from safetensors.numpy import save as _save_tensors

from .contract import (
    CONTRACT_HASH,
    HIDDEN,
    IMAGE_BYTES,
    MAX_INPUTS,
    MAX_OUTPUTS,
    HeadKind,
    contract_dict,
)
from .predict.lstm import LstmWeights, pack, unpack

__all__ = [
    "MAX_FILE_BYTES",
    "Image",
    "ModelImageError",
    "check_target",
    "find",
    "load",
    "pretrained",
    "pretrained_names",
]

MAX_FILE_BYTES = 64 * 1024
_METADATA_KEY = "precog"
_FORMAT = 1  # of the file; the integers' formats have the contract's hash
_SUFFIX = ".safetensors"


class ModelImageError(ValueError):
    """A model file that must not be loaded."""


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
class Image:
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
    def crc32(self) -> int:
        """CRC-32 (Ethernet) of the payload: what the hardware compares before a commit."""
        return zlib.crc32(self.payload)

    def metadata(self) -> dict[str, Any]:
        """Everything a file states beside its tensors, as plain JSON data."""
        w = self.weights
        return {
            "architecture": {
                "cell": "lstm",
                "head": w.kind.name.lower(),
                "hidden": HIDDEN,
                "inputs": w.inputs,
                "outputs": w.outputs,
                "steps": w.steps,
            },
            "card": self.card,
            "contract_hash": f"{w.contract_hash:#010x}",
            "format": _FORMAT,
            "formats": contract_dict()["formats"],
            "payload_bytes": IMAGE_BYTES,
            "payload_crc32": f"{self.crc32:#010x}",
            "version": w.version,
        }

    def to_bytes(self) -> bytes:
        """The file's bytes.

        Raises
        ------
        ModelImageError
            The card is not JSON data, holds a NaN, or makes the file larger than 64 KiB.
        """
        spec = _tensor_spec(self.weights.inputs, self.weights.outputs)
        tensors = {
            name: np.ascontiguousarray(
                getattr(self.weights, name)[tuple(slice(n) for n in shape)].astype(dtype)
            )
            for name, (shape, dtype) in spec.items()
        }
        try:
            text = json.dumps(self.metadata(), sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ModelImageError(f"the data card must be JSON data: {error}") from error
        data: bytes = _save_tensors(tensors, {_METADATA_KEY: text})
        if len(data) > MAX_FILE_BYTES:
            raise ModelImageError(
                f"a model file must have at most {MAX_FILE_BYTES} bytes, not {len(data)}: "
                "shorten the data card"
            )
        return data

    def save(self, path: str | Path) -> None:
        """Write the file, replacing it in one step, so that a reader never sees half of it.

        Raises
        ------
        ModelImageError
            As `to_bytes`.
        OSError
            The file cannot be written, or there is something else than a file of that name.
        """
        path = Path(path)
        check_target(path)
        data = self.to_bytes()
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            part.write_bytes(data)
            part.replace(path)
        except OSError as error:  # with the caller's name for the file
            raise OSError(error.errno, error.strerror, str(path)) from error
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Image":
        """Read and check a file's bytes.

        Raises
        ------
        ModelImageError
            Truncated, corrupted, oversized, made for another contract, or not a model image.
        """
        if len(data) > MAX_FILE_BYTES:
            raise ModelImageError(
                f"a model file must have at most {MAX_FILE_BYTES} bytes, not {len(data)}"
            )
        try:
            tensors: dict[str, NDArray[Any]] = _load_tensors(data)
        except KeyError as error:
            raise ModelImageError(
                f"tensors must be int8, int16 or uint8, not of data type {error.args[0]}"
            ) from error
        except SafetensorError as error:
            raise ModelImageError(
                f"not a complete safetensors file (truncated or corrupted): {error}"
            ) from error
        meta = _metadata(data)
        inputs, outputs, steps, kind = _architecture(meta)
        _check_tensors(tensors, _tensor_spec(inputs, outputs))
        try:
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
                version=_integer(meta, "version"),
            )
            image = cls(weights=weights, card=meta["card"])
            payload = image.payload
            unpack(payload)
        except ValueError as error:
            raise ModelImageError(f"the model is invalid: {error}") from error
        stated = _hex(meta, "payload_crc32")
        if stated != zlib.crc32(payload):
            raise ModelImageError(
                f"payload CRC-32 must be {stated:#010x}, not {zlib.crc32(payload):#010x}: "
                "the file is corrupted"
            )
        return image

    @classmethod
    def load(cls, path: str | Path) -> "Image":
        """Read and check a file.

        Raises
        ------
        ModelImageError
            As `from_bytes`; the message names the file.
        OSError
            The file cannot be read.
        """
        path = Path(path)
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)  # never more than what may be valid
        if len(data) > MAX_FILE_BYTES:
            raise ModelImageError(
                f"{path}: a model file must have at most {MAX_FILE_BYTES} bytes, "
                f"not {path.stat().st_size}"
            )
        try:
            return cls.from_bytes(data)
        except ModelImageError as error:
            raise ModelImageError(f"{path}: {error}") from error


load = Image.load


def check_target(path: str | Path) -> None:
    """Whether a file of that name can be replaced, before the work whose result goes there.

    Raises
    ------
    OSError
        The name is a folder's or a device's, or its folder does not exist or is read-only.
    """
    path = Path(path)
    if path.is_dir() or not path.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(folder))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "Folder is read-only", str(folder))


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


def _metadata(data: bytes) -> dict[str, Any]:
    """The JSON under our key; safetensors has checked the header's frame."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    text = header.get("__metadata__", {}).get(_METADATA_KEY)
    if text is None:
        raise ModelImageError(f"not a Precog model: metadata key {_METADATA_KEY!r} is missing")
    try:
        meta = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelImageError(f"metadata must be JSON: {error}") from error
    if not isinstance(meta, dict) or not isinstance(meta.get("card"), dict):
        raise ModelImageError("metadata must be a JSON object with a data card")
    if _integer(meta, "format") != _FORMAT:
        raise ModelImageError(f"file format must be {_FORMAT}, not {meta['format']!r}")
    contract = _hex(meta, "contract_hash")
    if contract != CONTRACT_HASH:
        raise ModelImageError(
            f"contract hash must be {CONTRACT_HASH:#010x}, not {contract:#010x}: "
            "the model was made for other number formats, quantize it again"
        )
    return meta


def _architecture(meta: dict[str, Any]) -> tuple[int, int, int, HeadKind]:
    arch = meta.get("architecture")
    if not isinstance(arch, dict):
        raise ModelImageError("metadata must describe the architecture")
    if arch.get("cell") != "lstm" or arch.get("hidden") != HIDDEN:
        raise ModelImageError(
            f"the engine runs an lstm of hidden size {HIDDEN}, "
            f"not {arch.get('cell')!r} of {arch.get('hidden')!r}"
        )
    heads = {kind.name.lower(): kind for kind in HeadKind}
    head = arch.get("head")
    if not isinstance(head, str) or head not in heads:
        raise ModelImageError(f"head must be one of {', '.join(heads)}, not {head!r}")
    inputs = _integer(arch, "inputs")
    outputs = _integer(arch, "outputs")
    for name, value, high in (("inputs", inputs, MAX_INPUTS), ("outputs", outputs, MAX_OUTPUTS)):
        if not 1 <= value <= high:
            raise ModelImageError(f"{name} must be in 1..{high}, not {value!r}")
    return inputs, outputs, _integer(arch, "steps"), heads[head]


def _check_tensors(
    tensors: dict[str, NDArray[Any]], spec: dict[str, tuple[tuple[int, ...], str]]
) -> None:
    if set(tensors) != set(spec):
        raise ModelImageError(f"tensors must be {sorted(spec)}, not {sorted(tensors)}")
    for name, (shape, dtype) in spec.items():
        tensor = tensors[name]
        if tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
            what = "NaN" if np.isnan(tensor).any() else "inf"
            raise ModelImageError(f"tensor {name} must be {dtype}, not {tensor.dtype} with {what}")
        if tensor.dtype != dtype or tensor.shape != shape:
            raise ModelImageError(
                f"tensor {name} must be {dtype} of shape {shape}, "
                f"not {tensor.dtype} of shape {tensor.shape}"
            )


def _integer(data: dict[str, Any], key: str) -> int:
    value = data.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ModelImageError(f"{key} must be an integer, not {value!r}")
    return value


def _hex(data: dict[str, Any], key: str) -> int:
    value = data.get(key)
    try:
        return int(str(value), 16)
    except ValueError:
        raise ModelImageError(f"{key} must be a hexadecimal number, not {value!r}") from None
