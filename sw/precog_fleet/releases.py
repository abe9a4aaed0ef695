"""A member's view of releases: fetched by TUF, bounded, and refused for a reason that is counted.

The folder of a member keeps TUF's metadata, whose versions are the high-water marks below which no
repository can lead it, and the files that it has fetched. A first root is pinned with the first
use; later roots count if the pinned one's keys vouch for them.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from tuf.api import exceptions as tuf
from tuf.api.metadata import Metadata, Root, TargetFile, Targets
from tuf.ngclient import Updater, UpdaterConfig

from precog_models.durable import write_durably
from precog_models.limits import parse_json

from .errors import FleetError
from .fetching import BoundedFetcher, checked_source
from .modelset import (
    BASE,
    MANIFEST,
    Manifest,
    ModelSet,
    WrongContractError,
    bin_name,
    max_bytes,
    parse_base,
    parse_heads,
)

__all__ = ["EVALUATION", "MAX_EVALUATION_BYTES", "Refusal", "RefusedError", "Release", "Releases"]

T = TypeVar("T")

EVALUATION = "evaluation.json"
MAX_EVALUATION_BYTES = 256 << 10
_LIMIT_S = 120.0
_MAX_METADATA = 2 << 20


class Refusal(StrEnum):
    """Why an update was refused."""

    ROLLBACK = "rollback"  # older than what has been seen, or not what newer metadata names
    EXPIRED = "expired"  # frozen: it was not renewed
    UNSIGNED = "unsigned"  # by too few of the right keys
    MISMATCH = "mismatch"  # another file than the one that was signed
    OVERSIZED = "oversized"  # endless data
    SLOW = "slow"
    UNREACHABLE = "unreachable"
    MALFORMED = "malformed"
    ABSENT = "absent"  # the release is not offered
    WRONG_CONTRACT = "wrong_contract"
    WRONG_DIGEST = "wrong_digest"  # not the release that the rollout names


class RefusedError(FleetError):
    """An update that was refused; the member goes on with what it has.

    Parameters
    ----------
    reason : Refusal
    text : str
    """

    def __init__(self, reason: Refusal, text: str) -> None:
        self.reason = reason
        super().__init__(f"release was refused ({reason}): {text}")


_REASONS: tuple[tuple[type[Exception], Refusal], ...] = (
    (tuf.BadVersionNumberError, Refusal.ROLLBACK),
    (tuf.ExpiredMetadataError, Refusal.EXPIRED),
    (tuf.UnsignedMetadataError, Refusal.UNSIGNED),
    (tuf.DownloadLengthMismatchError, Refusal.OVERSIZED),
    (tuf.LengthOrHashMismatchError, Refusal.MISMATCH),
    (tuf.SlowRetrievalError, Refusal.SLOW),
    (tuf.DownloadError, Refusal.UNREACHABLE),
    (tuf.RepositoryError, Refusal.MALFORMED),
)


@dataclass(frozen=True)
class Release:
    """A release as the repository lists it."""

    number: int
    digest: bytes
    about: dict[str, Any]


class Releases:
    """What a repository offers to one member.

    Parameters
    ----------
    folder : Path
        The member's, made if it is not there.
    source : str
        The repository: a folder, or ``http(s)://…``.
    root : bytes, optional
        The first root; needed until it is pinned.
    limit_s : float
        Seconds for one update.

    Attributes
    ----------
    counts : Counter of str
        ``updates``, ``fetched``, and refusals by reason.

    Raises
    ------
    ValueError
        The source is none, or the root is missing, or another than the pinned one.
    OSError
        The folder cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        source: str,
        *,
        root: bytes | None = None,
        limit_s: float = _LIMIT_S,
    ) -> None:
        self._source = checked_source(source)
        self._fetcher = BoundedFetcher(limit_s)
        self._metadata, self._targets = folder / "metadata", folder / "targets"
        pinned = folder / "pinned-root.json"
        if root is not None:
            _check_root(root)
        elif not pinned.exists():
            raise ValueError(f"root of {source} must be given the first time: --root 1.root.json")
        for part in (self._metadata, self._targets):
            part.mkdir(parents=True, exist_ok=True)
        if root is not None and not pinned.exists():
            write_durably(pinned, root)
        self._root = pinned.read_bytes()
        if root is not None and root != self._root:
            raise ValueError(f"root must be the one that is pinned in {pinned}, but differs")
        self.counts: Counter[str] = Counter()
        self._updater: Updater | None = None

    def update(self) -> dict[int, Release]:
        """Look for new releases; all that are offered, by number.

        Raises
        ------
        RefusedError
            The repository cannot be reached, or is not to be believed.
        """
        return self._counted(self._update)

    def _update(self) -> dict[int, Release]:
        self._updater = None  # until all of the new metadata has been believed
        self._fetcher.restart()
        updater = self._new_updater()
        updater.refresh()
        self._updater = updater
        self.counts["updates"] += 1
        trusted = Metadata[Targets].from_file(str(self._metadata / "targets.json"))
        found = {}
        for path, target in trusted.signed.targets.items():
            number, _, name = path.partition("/")
            if name == MANIFEST and number[1:].isdecimal():
                digest = bytes.fromhex(target.hashes.get("sha256", ""))
                about = target.custom if isinstance(target.custom, dict) else {}
                found[int(number[1:])] = Release(int(number[1:]), digest, about)
        return dict(sorted(found.items()))

    def fetch(self, number: int, digest: bytes, origin: str) -> ModelSet:
        """The models of a release for one member: the base, and the heads of its queues.

        Parameters
        ----------
        number : int
        digest : bytes
            SHA-256 of its manifest, as the rollout says.
        origin : str
            The member.

        Raises
        ------
        RefusedError
            It is not offered, is another one, is damaged, or for another contract.
        """
        return self._counted(lambda: self._fetch(number, digest, origin))

    def _fetch(self, number: int, digest: bytes, origin: str) -> ModelSet:
        data = self._file(number, MANIFEST)
        manifest = _parsed(lambda: Manifest.parse(data))
        if manifest.digest != digest:
            raise RefusedError(
                Refusal.WRONG_DIGEST,
                f"manifest must have SHA-256 {digest.hex()}, not {manifest.digest.hex()}",
            )
        base = _parsed(lambda: parse_base(manifest.check(BASE, self._file(number, BASE)), manifest))
        heads = {}
        if manifest.bins:
            name = bin_name(origin, manifest.bins)
            found = _parsed(lambda: parse_heads(manifest.check(name, self._file(number, name))))
            heads = {queue: delta for queue, delta in found.items() if queue.origin == origin}
        made = ModelSet(base, heads)
        _parsed(lambda: [made.image(queue) for queue in heads])
        self.counts["fetched"] += 1
        return made

    def evaluation(self, number: int) -> dict[str, Any]:
        """The evaluation that a release passed.

        Raises
        ------
        RefusedError
            As `fetch`.
        """
        found: dict[str, Any] = self._counted(
            lambda: _parsed(lambda: parse_json(self._file(number, EVALUATION)))
        )
        return found

    def _file(self, number: int, name: str) -> bytes:
        path = f"r{number}/{name}"
        info = self._info(path)
        if info is None:  # it may have been released since
            self._update()
            info = self._info(path)
        if info is None:
            raise RefusedError(Refusal.ABSENT, f"repository must offer {path}, but does not")
        limit = MAX_EVALUATION_BYTES if name == EVALUATION else max_bytes(name)
        if info.length > limit:
            raise RefusedError(
                Refusal.OVERSIZED, f"{path} must have at most {limit} bytes, not {info.length}"
            )
        self._fetcher.restart()
        updater = self._updater
        assert updater is not None
        place = updater.find_cached_target(info) or updater.download_target(info)
        return Path(place).read_bytes()

    def _info(self, path: str) -> TargetFile | None:
        return None if self._updater is None else self._updater.get_targetinfo(path)

    def _new_updater(self) -> Updater:
        config = UpdaterConfig(
            max_root_rotations=64,
            root_max_length=_MAX_METADATA,
            timestamp_max_length=16 << 10,
            snapshot_max_length=_MAX_METADATA,
            targets_max_length=_MAX_METADATA,
        )
        return Updater(
            str(self._metadata),
            f"{self._source}/metadata/",
            str(self._targets),
            f"{self._source}/targets/",
            fetcher=self._fetcher,
            config=config,
            bootstrap=self._root,
        )

    def _counted(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except RefusedError as error:
            self.counts[error.reason] += 1
            raise
        except (tuf.RepositoryError, tuf.DownloadError) as error:
            reason = next(reason for kind, reason in _REASONS if isinstance(error, kind))
            self.counts[reason] += 1
            raise RefusedError(reason, str(error)) from error


def _parsed(work: Callable[[], T]) -> T:
    try:
        return work()
    except WrongContractError as error:
        raise RefusedError(Refusal.WRONG_CONTRACT, str(error)) from error
    except ValueError as error:
        raise RefusedError(Refusal.MALFORMED, str(error)) from error


def _check_root(data: bytes) -> None:
    """Refuse data that is not a repository's first root: it would be pinned for ever."""
    try:
        kind = Metadata[Root].from_bytes(data).signed.type
    except tuf.RepositoryError as error:
        raise ValueError(
            f"root must be a repository's first root, its metadata/1.root.json: {error}"
        ) from error
    if kind != Root.type:
        raise ValueError(
            f"root must be a repository's first root, metadata/1.root.json, not {kind}"
        )
