"""Releases of model sets as a TUF repository: a folder that any static HTTP server may offer.

    metadata/N.root.json  N.targets.json  N.snapshot.json  timestamp.json
    targets/rK/HASH.manifest.json …       files of release K

Roles have keys of their own, PEM files ROLE-NUMBER.pem. Root and targets need several of them, so
that one stolen key releases nothing; these may lie on other machines. Snapshot and timestamp are
renewed by a trainer that runs. What readers look at first, the timestamp, is written last, so that
whatever a crash leaves is a whole repository.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from securesystemslib.signer import CryptoSigner
from tuf.api.exceptions import RepositoryError, StorageError
from tuf.api.metadata import (
    Metadata,
    MetaFile,
    Root,
    Snapshot,
    TargetFile,
    Targets,
    Timestamp,
)

from precog_models.durable import write_durably

from . import places
from .modelset import MANIFEST, Manifest, ModelSet
from .places import require, require_new
from .signing import SigningKey

__all__ = ["ROLES", "Repository", "Roles"]

ROLES = ("root", "targets", "snapshot", "timestamp")
_LIFE_DAYS = {"root": 365, "targets": 90, "snapshot": 7, "timestamp": 1}
_KEPT = 8  # releases
_METADATA, _TARGETS = "metadata", "targets"


@dataclass(frozen=True)
class Roles:
    """How many keys root and targets have, and how many of them must sign.

    Raises
    ------
    ValueError
        A threshold cannot be met.
    """

    root: tuple[int, int] = (3, 2)
    targets: tuple[int, int] = (2, 2)

    def __post_init__(self) -> None:
        for name in ("root", "targets"):
            keys, threshold = getattr(self, name)
            if not 1 <= threshold <= keys <= 16:
                raise ValueError(
                    f"{name} threshold must be in 1..{keys} keys, at most 16, not {threshold}"
                )

    def of(self, role: str) -> tuple[int, int]:
        """Keys and threshold of a role."""
        found: tuple[int, int] = getattr(self, role, (1, 1))
        return found


class Repository:
    """A repository's folder, with the keys that are at hand.

    Parameters
    ----------
    folder : Path
    keys : iterable of Path
        Folders of keys.
    now_ms : callable
        The time in milliseconds of Unix time.

    Raises
    ------
    ValueError
        The folder is no repository, or is damaged.
    """

    def __init__(self, folder: Path, keys: Iterable[Path], now_ms: Callable[[], int]) -> None:
        require(folder, places.REPOSITORY)
        self.folder = folder
        self._now_ms = now_ms
        self._keys = tuple(keys)
        self._read()

    def _read(self) -> None:
        """What readers see counts, not what was meant to be written."""
        folder = self.folder
        try:
            # As readers do, so that what a crash left unfinished does not count.
            roots = len(list((folder / _METADATA).glob("*.root.json")))
            self._root = self._load("root", roots)
            self._timestamp = self._load("timestamp", None)
            self._snapshot = self._load("snapshot", self._timestamp.signed.snapshot_meta.version)
            self._targets = self._load(
                "targets", self._snapshot.signed.meta["targets.json"].version
            )
        except (OSError, StorageError, RepositoryError, KeyError, ValueError) as error:
            raise ValueError(f"{folder} must be a whole repository, but: {error}") from error

    @classmethod
    def create(
        cls, folder: Path, keys: Path, now_ms: Callable[[], int], roles: Roles | None = None
    ) -> "Repository":
        """A new repository without releases, and its keys.

        Raises
        ------
        ValueError
            A folder is in use.
        OSError
            A folder cannot be written.
        """
        require_new(folder)
        require_new(keys)
        if keys.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"keys must lie outside of {folder}, which others read, not in {keys}")
        chosen = roles or Roles()
        keys.mkdir(mode=0o700, parents=True, exist_ok=True)
        for part in (_METADATA, _TARGETS):
            (folder / part).mkdir(parents=True, exist_ok=True)
        root = Root(expires=_until(now_ms(), "root"), consistent_snapshot=True)
        for role in ROLES:
            count, threshold = chosen.of(role)
            for number in range(1, count + 1):
                key = SigningKey.generate()
                key.save(keys / f"{role}-{number}.pem")
                root.add_key(_signer(keys / f"{role}-{number}.pem").public_key, role)
            root.roles[role].threshold = threshold
        made = cls.__new__(cls)
        made.folder, made._now_ms, made._keys = folder, now_ms, (keys,)
        made._root = Metadata(root)
        made._targets = Metadata(Targets(expires=_until(now_ms(), "targets")))
        made._snapshot = Metadata(Snapshot(expires=_until(now_ms(), "snapshot")))
        made._timestamp = Metadata(Timestamp(expires=_until(now_ms(), "timestamp")))
        made._write(made._root)
        made._commit(made._targets)
        return made

    @property
    def root_bytes(self) -> bytes:
        """The first root: what members are given to begin with."""
        return (self.folder / _METADATA / "1.root.json").read_bytes()

    # --- releases --------------------------------------------------------------------------------

    def releases(self) -> dict[int, dict[str, Any]]:
        """What is known of each release that is kept, by number."""
        found: dict[int, dict[str, Any]] = {}
        for name, target in self._targets.signed.targets.items():
            release, _, file = name.partition("/")
            if file == MANIFEST:
                found[int(release[1:])] = dict(target.custom or {})
        return dict(sorted(found.items()))

    def digests(self) -> dict[bytes, int]:
        """Numbers of the releases that are kept, by the SHA-256 of their manifests."""
        targets = self._targets.signed.targets
        return {
            bytes.fromhex(targets[f"r{number}/{MANIFEST}"].hashes["sha256"]): number
            for number in self.releases()
        }

    def models(self, number: int) -> tuple[ModelSet, bytes]:
        """All models of a release that is kept, and the SHA-256 of its manifest.

        Raises
        ------
        ValueError
            It is not offered, or a file is damaged.
        """
        paths = {
            target.path.partition("/")[2]: self._place(target)
            for target in self._targets.signed.targets.values()
            if target.path.startswith(f"r{number}/")
        }
        if MANIFEST not in paths:
            known = ", ".join(map(str, self.releases()))
            if not known:
                raise ValueError(
                    f"release {number} must be in {self.folder}, but that has none yet: make one "
                    "with precog fleet release"
                )
            raise ValueError(f"release must be one of {known}, not {number}")
        found = ModelSet.read(lambda name: paths[name].read_bytes())
        return found, Manifest.parse(paths[MANIFEST].read_bytes()).digest

    def publish(self, files: Mapping[str, bytes], about: Mapping[str, Any]) -> int:
        """Add a release; its number. The oldest ones beyond `_KEPT` are no longer offered.

        Parameters
        ----------
        files : mapping of str to bytes
            By name.
        about : mapping
            JSON data about the release, shown in lists.

        Raises
        ------
        ValueError
            Too few keys are at hand; nothing is changed then.
        OSError
            A file cannot be written; readers see the repository as it was.
        """
        signers = self._signers("targets")
        targets = _copy(self._targets)
        known = self.releases()
        custom = targets.signed.unrecognized_fields
        number: int = max(custom.get("x-precog-last", 0), *known, 0) + 1
        custom["x-precog-last"] = number
        for name, data in files.items():
            target = TargetFile.from_data(f"r{number}/{name}", data, ["sha256"])
            if name == MANIFEST:
                target.unrecognized_fields["custom"] = dict(about)
            targets.signed.targets[target.path] = target
            self._put_target(target, data)
        for old in sorted([*known, number])[:-_KEPT]:
            for name in [n for n in targets.signed.targets if n.startswith(f"r{old}/")]:
                del targets.signed.targets[name]
        targets.signed.version += 1
        targets.signed.expires = _until(self._now_ms(), "targets")
        self._commit(targets, signers)
        return number

    def check_keys(self) -> None:
        """Refuse to begin a release without the keys that sign it.

        Raises
        ------
        ValueError
            Keys of a role are too few.
        """
        for role in ("targets", "snapshot", "timestamp"):
            self._signers(role)

    def renew(self) -> list[str]:
        """Sign again what expires within half of its life and whose keys are here; which.

        Raises
        ------
        ValueError
            The keys of snapshot or timestamp are not here.
        """
        for role in ("snapshot", "timestamp"):
            self._signers(role)
        done = []
        targets = None
        if self._old(self._targets):
            with suppress(ValueError):
                self._signers("targets")
                targets = _copy(self._targets)
                targets.signed.version += 1
                targets.signed.expires = _until(self._now_ms(), "targets")
                done.append("targets")
        if targets is not None or self._old(self._snapshot):
            self._commit(targets)
            return [*done, "snapshot", "timestamp"]
        if self._old(self._timestamp):
            self._stamp(self._timestamp.signed.snapshot_meta)
            return ["timestamp"]
        return done

    # --- metadata --------------------------------------------------------------------------------

    def _load(self, role: str, version: int | None) -> Metadata[Any]:
        name = role if version is None else f"{version}.{role}"
        found: Metadata[Any] = Metadata.from_file(str(self.folder / _METADATA / f"{name}.json"))
        if found.signed.type != role:
            raise ValueError(f"{name}.json must be of {role}, not {found.signed.type}")
        return found

    def _old(self, metadata: Metadata[Any]) -> bool:
        left = metadata.signed.expires - _time(self._now_ms())
        return bool(left < timedelta(days=_LIFE_DAYS[metadata.signed.type]) / 2)

    def _signers(self, role: str) -> list[CryptoSigner]:
        """Signers of a role that are at hand.

        Raises
        ------
        ValueError
            They are too few.
        """
        wanted = self._root.signed.roles[role]
        found = {}
        for folder in self._keys:
            for path in sorted(folder.glob(f"{role}-*.pem")):
                signer = _signer(path)
                if signer.public_key.keyid in wanted.keyids:
                    found[signer.public_key.keyid] = signer
        if len(found) < wanted.threshold:
            raise ValueError(
                f"{role} needs {wanted.threshold} of its {len(wanted.keyids)} keys, "
                f"found {len(found)} in {', '.join(map(str, self._keys)) or 'no folder'}: "
                "give --keys for the others"
            )
        return list(found.values())

    def _write(self, metadata: Metadata[Any], signers: list[CryptoSigner] | None = None) -> bytes:
        role = metadata.signed.type
        metadata.signatures.clear()
        for signer in signers or self._signers(role):
            metadata.sign(signer, append=True)
        data = metadata.to_bytes()
        version = "" if role == "timestamp" else f"{metadata.signed.version}."
        write_durably(self.folder / _METADATA / f"{version}{role}.json", data)
        return data

    def _commit(
        self, targets: Metadata[Any] | None, signers: list[CryptoSigner] | None = None
    ) -> None:
        """Write new targets, then a snapshot of them, then the timestamp."""
        snapshot_signers, _ = self._signers("snapshot"), self._signers("timestamp")
        snapshot = _copy(self._snapshot)
        if self._snapshot.signatures:
            snapshot.signed.version += 1
        snapshot.signed.expires = _until(self._now_ms(), "snapshot")
        if targets is not None:
            data = self._write(targets, signers)
            snapshot.signed.meta["targets.json"] = MetaFile.from_data(
                targets.signed.version, data, ["sha256"]
            )
        data = self._write(snapshot, snapshot_signers)
        self._stamp(MetaFile.from_data(snapshot.signed.version, data, ["sha256"]))
        self._targets, self._snapshot = targets or self._targets, snapshot

    def _stamp(self, snapshot: MetaFile) -> None:
        """Write the timestamp: the step that makes all before it count."""
        timestamp = _copy(self._timestamp)
        if self._timestamp.signatures:
            timestamp.signed.version += 1
        timestamp.signed.snapshot_meta = snapshot
        timestamp.signed.expires = _until(self._now_ms(), "timestamp")
        try:
            self._write(timestamp)
        except OSError:  # before or after the file was replaced: the disk knows
            with suppress(ValueError):
                self._read()
            raise
        self._timestamp = timestamp

    def _place(self, target: TargetFile) -> Path:
        folder, _, name = target.path.rpartition("/")
        return self.folder / _TARGETS / folder / f"{target.hashes['sha256']}.{name}"

    def _put_target(self, target: TargetFile, data: bytes) -> None:
        place = self._place(target)
        write_durably(place, data, made=True)


def _time(now: int) -> datetime:
    return datetime.fromtimestamp(now / 1000, UTC).replace(microsecond=0)


def _until(now: int, role: str) -> datetime:
    return _time(now) + timedelta(days=_LIFE_DAYS[role])


def _copy(metadata: Metadata[Any]) -> Metadata[Any]:
    return Metadata.from_dict(metadata.to_dict())


def _signer(path: Path) -> CryptoSigner:
    return CryptoSigner(SigningKey.load(path).private)
