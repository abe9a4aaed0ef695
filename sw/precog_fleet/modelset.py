"""A set of models: one base for all queues, and heads of their own for some, as a folder.

    base.safetensors   the shared model
    heads-000.zst …    heads by member, device and queue pair, as differences to the base
    manifest.json      hashes of these files; its own SHA-256 names the set

A member finds its heads in one file: that of its name's hash. So a fleet of any size fetches some
hundred kilobytes a member. Reading trusts nothing: sizes are bounded before anything is expanded.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

from precog_models.durable import write_durably
from precog_models.forecast.forecaster import Forecaster
from precog_models.image import Image
from precog_models.limits import parse_json, read_at_most
from precog_models.model_file import MAX_FILE_BYTES
from precog_models.predict.lstm import unpack
from precog_spec.contract import CONTRACT_HASH

from . import places
from .compact import expand, shrink
from .delta import MAX_DELTA_BYTES, apply_delta
from .fields import hexadecimal
from .places import require
from .records import canonical

__all__ = [
    "BASE",
    "MANIFEST",
    "Manifest",
    "ModelSet",
    "Queue",
    "WrongContractError",
    "bin_name",
    "max_bytes",
    "parse_base",
    "parse_heads",
]

BASE = "base.safetensors"
MANIFEST = "manifest.json"
_FORMAT = 1
_HEADS_A_BIN = 1024
_MAX_BINS = 1024
_MAX_EXPANDED = 4 << 20
_MAX_HEADS = 2 << 20
_MAX_BYTES = {BASE: MAX_FILE_BYTES, MANIFEST: 128 << 10}


class WrongContractError(ValueError):
    """A set of models for number formats that are not ours."""


class Queue(NamedTuple):
    """One queue of the fleet."""

    origin: str
    device: str
    qp: int


def max_bytes(name: str) -> int:
    """The most bytes that a file of a set may have."""
    return _MAX_BYTES.get(name, _MAX_HEADS)


def bin_name(origin: str, bins: int) -> str:
    """The file of a member's heads, of this many."""
    digest = hashlib.blake2b(origin.encode(), digest_size=8).digest()
    return f"heads-{int.from_bytes(digest) % bins:03d}.zst"


@dataclass(frozen=True)
class Manifest:
    """What a set consists of.

    Parameters
    ----------
    base_crc : int
        CRC-32 of the base image's payload.
    heads : int
        Queues with a head of their own.
    bins : int
        Files of heads.
    files : dict of str to str
        SHA-256 of each other file, hexadecimal.
    contract : int
    """

    base_crc: int
    heads: int
    bins: int
    files: Mapping[str, str]
    contract: int = CONTRACT_HASH

    def to_bytes(self) -> bytes:
        """Its one spelling."""
        return canonical(
            {
                "format": _FORMAT,
                "base_crc": self.base_crc,
                "heads": self.heads,
                "bins": self.bins,
                "files": dict(self.files),
                "contract": self.contract,
            }
        )

    @property
    def digest(self) -> bytes:
        """SHA-256 of it: the name of the set."""
        return hashlib.sha256(self.to_bytes()).digest()

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The manifest of a file's bytes.

        Raises
        ------
        ValueError
            It is none, or is not canonical.
        WrongContractError
            It is for other number formats.
        """
        try:
            told = parse_json(data)
            if told.pop("format") != _FORMAT:
                raise ValueError(f"format must be {_FORMAT}")
            made = cls(**told)
            numbers = (made.base_crc, made.heads, made.bins, made.contract)
            plain = all(type(n) is int and n >= 0 for n in numbers)
            if not plain or not 0 <= made.bins <= _MAX_BINS or made.to_bytes() != data:
                raise ValueError("numbers must be in their ranges, and the spelling canonical")
            names = {BASE, *(f"heads-{n:03d}.zst" for n in range(made.bins))}
            if set(made.files) != names:
                raise ValueError(f"files must be {', '.join(sorted(names))}")
            for name, digest in made.files.items():
                if len(hexadecimal(name, digest)) != 32:
                    raise ValueError(f"{name} must have a SHA-256")
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"manifest must be one of a model set: {error}") from error
        if made.contract != CONTRACT_HASH:
            raise WrongContractError(
                f"model set must be for contract {CONTRACT_HASH:#010x}, not {made.contract:#010x}: "
                "train it again"
            )
        return made

    def check(self, name: str, data: bytes) -> bytes:
        """`data`, if it is the file of that name.

        Raises
        ------
        ValueError
            It is another one.
        """
        found = hashlib.sha256(data).hexdigest()
        if self.files.get(name) != found:
            raise ValueError(f"{name} must have SHA-256 {self.files.get(name)}, not {found}")
        return data


@dataclass(frozen=True, eq=False)
class ModelSet:
    """A base and heads.

    Parameters
    ----------
    base : Image
        A queue model with settings in its card.
    heads : dict of Queue to bytes
        Differences to the base, as `delta.head_delta` makes them.
    """

    base: Image
    heads: Mapping[Queue, bytes] = field(default_factory=dict)

    def image(self, queue: Queue) -> Image:
        """The model of a queue: its own, or the base.

        Raises
        ------
        ValueError
            Its head is damaged.
        """
        delta = self.heads.get(queue)
        if delta is None:
            return self.base
        payload = apply_delta(self.base.payload, delta, base_crc=self.base.crc32)
        return Image(unpack(payload), self.base.card)

    def files(self) -> dict[str, bytes]:
        """Every file by name.

        Raises
        ------
        ValueError
            The fleet has more heads than a set can hold.
        """
        bins = -(-len(self.heads) // _HEADS_A_BIN)
        if bins > _MAX_BINS:
            raise ValueError(
                f"set must have at most {_MAX_BINS * _HEADS_A_BIN} heads, not {len(self.heads)}"
            )
        content: dict[str, dict[str, Any]] = {f"heads-{n:03d}.zst": {} for n in range(bins)}
        for queue, delta in sorted(self.heads.items()):
            devices = content[bin_name(queue.origin, bins)].setdefault(queue.origin, {})
            devices.setdefault(queue.device, {})[str(queue.qp)] = delta.hex()
        made = {BASE: self.base.to_bytes()}
        for name, heads in content.items():
            text = canonical(heads)
            made[name] = shrink(text)
            if len(text) > _MAX_EXPANDED or len(made[name]) > _MAX_HEADS:
                raise ValueError(f"{name} must have at most {_MAX_EXPANDED} bytes, not {len(text)}")
        hashes = {name: hashlib.sha256(data).hexdigest() for name, data in made.items()}
        manifest = Manifest(self.base.crc32, len(self.heads), bins, hashes)
        return made | {MANIFEST: manifest.to_bytes()}

    def save(self, folder: Path) -> Manifest:
        """Write the set; the manifest comes last."""
        folder.mkdir(parents=True, exist_ok=True)
        files = self.files()
        for name, data in files.items():
            write_durably(folder / name, data)
        return Manifest.parse(files[MANIFEST])

    @classmethod
    def load(cls, folder: Path) -> "ModelSet":
        """All models of a folder.

        Raises
        ------
        ValueError
            The folder is none of models, or a file is damaged, or not the manifest's.
        OSError
            A file cannot be read.
        """
        require(folder, places.MODELS)
        return cls.read(lambda name: read_at_most(folder / name, max_bytes(name)))

    @classmethod
    def read(cls, file: Callable[[str], bytes]) -> "ModelSet":
        """All models of files that are read by name; errors as of `load`."""
        manifest = Manifest.parse(file(MANIFEST))
        data = {name: manifest.check(name, file(name)) for name in manifest.files}
        heads: dict[Queue, bytes] = {}
        for name in sorted(set(data) - {BASE}):
            heads |= parse_heads(data[name])
        return cls(parse_base(data[BASE], manifest), heads)


def parse_base(data: bytes, manifest: Manifest) -> Image:
    """The base model of a file's bytes.

    Raises
    ------
    ValueError
        It is none, forecasts no queue, or is not the manifest's.
    """
    base = Image.from_bytes(data)
    Forecaster(base)
    if base.crc32 != manifest.base_crc:
        raise ValueError(f"base must have CRC-32 {manifest.base_crc:#x}, not {base.crc32:#x}")
    return base


def parse_heads(data: bytes) -> dict[Queue, bytes]:
    """Heads of a file's bytes; they are not applied yet.

    Raises
    ------
    ValueError
        It is no file of heads.
    """
    text = expand(data, _MAX_EXPANDED)
    found: dict[Queue, bytes] = {}
    try:
        for origin, devices in parse_json(text).items():
            for device, queues in devices.items():
                for qp, delta in queues.items():
                    if not qp.isdecimal() or len(delta) > 2 * MAX_DELTA_BYTES:
                        raise ValueError(f"queue pair {qp!r} must have a number and a head")
                    found[Queue(origin, device, int(qp))] = hexadecimal("head", delta)
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"heads must be by member, device and queue pair: {error}") from error
    return found
