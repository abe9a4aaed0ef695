"""A model in a file: integer tensors, what they mean, and where they came from.

The container is safetensors with one metadata key, `precog`: sorted JSON with the architecture,
the number formats, the contract's hash, the CRC-32 of the canonical 2048-byte payload that the
hardware checks, and the data card. A file has one spelling: saving what was loaded gives the same
bytes. Reading trusts nothing: every error is a `ModelImageError` that says what is wrong.
"""

import json
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize
from safetensors.numpy import load as _load_tensors
from safetensors.numpy import save as _save_tensors

from precog_spec.contract import CONTRACT_HASH, IMAGE_BYTES, HeadKind, contract_dict

from .durable import write_durably
from .limits import DIMENSIONS, brief, parse_json
from .limits import MODEL_BYTES as MAX_FILE_BYTES

__all__ = [
    "MAX_FILE_BYTES",
    "ModelFile",
    "ModelImageError",
    "check_tensors",
    "integer",
    "read_bytes",
    "read_file",
]

_METADATA_KEY = "precog"
_HEX = re.compile(r"(0x)?[0-9a-fA-F]{1,8}")
_WORD = 64  # bits of an integer that may mean something
_FORMAT = 1  # of the file; the integers' formats have the contract's hash

Tensors = Mapping[str, NDArray[Any]]


class ModelImageError(ValueError):
    """A model file that must not be loaded."""


class _Header(Protocol):
    """What every image's header says."""

    @property
    def inputs(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def outputs(self) -> int: ...
    @property
    def kind(self) -> HeadKind: ...
    @property
    def version(self) -> int: ...
    @property
    def contract_hash(self) -> int: ...


class ModelFile(ABC):
    """A validated integer model and its data card.

    Attributes
    ----------
    card : dict
        The data card, JSON data: where the training data came from, scenarios, seeds, errors, date.
    """

    card: dict[str, Any]

    @property
    @abstractmethod
    def header(self) -> _Header:
        """The model's numbers, of which these are for all."""

    @property
    @abstractmethod
    def payload(self) -> bytes:
        """The canonical 2048 bytes that the driver writes to a weight set."""

    @abstractmethod
    def cell(self) -> dict[str, Any]:
        """What of the architecture is not in every image's header."""

    @abstractmethod
    def tensors(self) -> dict[str, NDArray[Any]]:
        """The file's tensors by name."""

    @classmethod
    @abstractmethod
    def from_parts(cls, tensors: Tensors, meta: dict[str, Any]) -> Self:
        """The model of a file's tensors and metadata; `ValueError` where it is none."""

    @property
    def crc32(self) -> int:
        """CRC-32 (Ethernet) of the payload: what the hardware compares before a commit."""
        return zlib.crc32(self.payload)

    def metadata(self) -> dict[str, Any]:
        """Everything in a file except its tensors, as plain JSON data."""
        w = self.header
        return {
            "architecture": {
                **self.cell(),
                "head": w.kind.name.lower(),
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
        try:
            text = json.dumps(self.metadata(), sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ModelImageError(f"the data card must be JSON data: {error}") from error
        data: bytes = _save_tensors(self.tensors(), {_METADATA_KEY: text})
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
        write_durably(path, self.to_bytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read and check a file's bytes.

        Raises
        ------
        ModelImageError
            Truncated, corrupted, oversized, made for another contract, or not a model image.
        """
        tensors, meta = read_bytes(data)
        try:
            image = cls.from_parts(tensors, meta)
        except ModelImageError:
            raise
        except ValueError as error:
            raise ModelImageError(f"the model is invalid: {error}") from error
        stated = _hex(meta, "payload_crc32")
        if stated != image.crc32:
            raise ModelImageError(
                f"payload CRC-32 must be {stated:#010x}, not {image.crc32:#010x}: "
                "the file is corrupted"
            )
        return image

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read and check a file.

        Raises
        ------
        ModelImageError
            As `from_bytes`; the message names the file.
        OSError
            The file cannot be read.
        """
        data = read_file(path)
        try:
            return cls.from_bytes(data)
        except ModelImageError as error:
            raise ModelImageError(f"{path}: {error}") from error


def read_file(path: str | Path) -> bytes:
    """A model file's bytes.

    Raises
    ------
    ModelImageError
        It has more than a model file may have.
    OSError
        It cannot be read.
    """
    path = Path(path)
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)  # never more than what may be valid
    if len(data) > MAX_FILE_BYTES:
        raise ModelImageError(
            f"{path}: a model file must have at most {MAX_FILE_BYTES} bytes, "
            f"not {path.stat().st_size}"
        )
    return data


def read_bytes(data: bytes) -> tuple[Tensors, dict[str, Any]]:
    """Tensors and metadata of a file for this contract, whatever model it is of.

    Raises
    ------
    ModelImageError
        As `ModelFile.from_bytes`.
    """
    if len(data) > MAX_FILE_BYTES:
        raise ModelImageError(
            f"a model file must have at most {MAX_FILE_BYTES} bytes, not {len(data)}"
        )
    try:
        for name, stored in deserialize(data):
            if len(stored["shape"]) > DIMENSIONS:
                raise ModelImageError(
                    f"tensor {brief(name)} must have at most {DIMENSIONS} dimensions, "
                    f"not {len(stored['shape'])}"
                )
        tensors: dict[str, NDArray[Any]] = _load_tensors(data)
    except ModelImageError:
        raise
    except KeyError as error:
        raise ModelImageError(
            f"tensors must be int8, int16, uint8 or uint16, not of data type {error.args[0]}"
        ) from error
    except SafetensorError as error:
        raise ModelImageError(
            f"not a complete safetensors file (truncated or corrupted): {error}"
        ) from error
    except ValueError as error:  # of types that have no whole bytes
        raise ModelImageError(f"tensors must be int8, int16, uint8 or uint16: {error}") from error
    return tensors, _metadata(data)


def _metadata(data: bytes) -> dict[str, Any]:
    """The JSON under our key; safetensors has checked the header's frame."""
    length = int.from_bytes(data[:8], "little")
    try:
        header = parse_json(data[8 : 8 + length])
        text = (header.get("__metadata__") or {}).get(_METADATA_KEY)
        if text is None:
            raise ModelImageError(f"not a Precog model: metadata key {_METADATA_KEY!r} is missing")
        meta = parse_json(text)
    except ModelImageError:
        raise
    except ValueError as error:
        raise ModelImageError(f"metadata must be JSON: {error}") from error
    if not isinstance(meta, dict) or not isinstance(meta.get("card"), dict):
        raise ModelImageError("metadata must be a JSON object with a data card")
    if integer(meta, "format") != _FORMAT:
        raise ModelImageError(f"file format must be {_FORMAT}, not {brief(meta['format'])}")
    contract = _hex(meta, "contract_hash")
    if contract != CONTRACT_HASH:
        raise ModelImageError(
            f"contract hash must be {CONTRACT_HASH:#010x}, not {contract:#010x}: "
            "the model was made for other number formats, quantize it again"
        )
    return meta


def check_tensors(tensors: Tensors, spec: Mapping[str, tuple[tuple[int, ...], str]]) -> None:
    """Compare names, shapes and types.

    Raises
    ------
    ModelImageError
        They differ from `spec`.
    """
    if set(tensors) != set(spec):
        raise ModelImageError(f"tensors must be {sorted(spec)}, not {brief(sorted(tensors))}")
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


def integer(data: dict[str, Any], key: str) -> int:
    """The integer of that name; `ModelImageError` without."""
    value = data.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value.bit_length() > _WORD:
        raise ModelImageError(f"{key} must be an integer, not {brief(value)}")
    return value


def _hex(data: dict[str, Any], key: str) -> int:
    value = data.get(key)
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise ModelImageError(f"{key} must be a hexadecimal number, not {brief(value)}")
    return int(value, 16)
