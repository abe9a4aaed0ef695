"""Which release runs where, and the wish for a new one.

A rollout is one record of the trainer for all agents: each works out by itself whether it belongs
to the share that runs the new release. The order in which agents come is that of a hash with the
rollout's salt, so that a larger share holds the smaller ones, and no agent is always the first.
"""

import hashlib
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

from precog_spec.contract import CONTRACT_HASH

from .fields import WORD, bounded, exactly, hexadecimal

__all__ = ["ALL", "LIVE_KEY", "SHIPPED", "Drift", "Rollout", "skill_key"]

#: Share of all members, in thousandths.
ALL = 1000
#: Number of the models that come with the package: what runs before the first release.
SHIPPED = 0
#: Key of the rollout that counts.
LIVE_KEY = "rollout/live"
_MAX_RELEASE = (1 << 31) - 1
_DAY_MS = 86_400_000


def skill_key(release: int) -> str:
    """Key of what an agent says of a release on its own traffic."""
    return f"skill/r{release}"


@dataclass(frozen=True)
class Rollout:
    """The release that a share of all agents runs, and the one of the others.

    Parameters
    ----------
    release, previous : int
        Numbers; 0: the models that come with the package.
    digest, previous_digest : bytes
        SHA-256 of the releases' manifests; 32 zeros for release 0.
    share : int
        Thousandths of all agents that run `release`.
    salt : int
        Of the order of agents.
    contract : int
        Hash of the models' formats.
    """

    release: int
    digest: bytes
    previous: int
    previous_digest: bytes
    share: int
    salt: int
    contract: int = CONTRACT_HASH

    PREFIX: ClassVar[str] = "rollout"
    SIGNERS: ClassVar[tuple[str, ...]] = ("trainer",)
    MAX_LIFE_MS: ClassVar[int] = 366 * _DAY_MS

    def __post_init__(self) -> None:
        for name in ("", "previous_"):
            number = getattr(self, name.rstrip("_") or "release")
            digest = getattr(self, f"{name}digest")
            bounded(name.rstrip("_") or "release", number, 0, _MAX_RELEASE)
            if len(digest) != 32:
                raise ValueError(f"{name}digest must have 32 bytes, not {len(digest)}")
            if (number == SHIPPED) != (not any(digest)):
                raise ValueError(f"{name}digest must be zeros for release 0 alone")
        bounded("share", self.share, 0, ALL)
        bounded("salt", self.salt, 0, WORD)
        bounded("contract", self.contract, 0, WORD)

    def place(self, name: str) -> int:
        """The place of an agent in the order, 0..999."""
        text = f"precog rollout {self.salt} {name}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) % ALL

    def chosen(self, name: str) -> bool:
        """Whether the agent belongs to the share."""
        return self.place(name) < self.share

    def assigned(self, name: str) -> tuple[int, bytes]:
        """Number and digest of the release that an agent runs."""
        if self.chosen(name):
            return self.release, self.digest
        return self.previous, self.previous_digest

    def plain(self) -> dict[str, Any]:
        """JSON data of integers and text."""
        digests = {name: getattr(self, name).hex() for name in ("digest", "previous_digest")}
        return asdict(self) | digests

    @classmethod
    def parse(cls, data: dict[str, Any]) -> Self:
        """The rollout of JSON data."""
        names = ("digest", "previous_digest")
        return cls(**exactly(cls, data) | {name: hexadecimal(name, data[name]) for name in names})


@dataclass(frozen=True)
class Drift:
    """An agent asks for new models: those that it runs have lost their skill on its traffic.

    Parameters
    ----------
    release : int
        That it runs.
    n : int
        Windows that were judged lately.
    score, reference : int
        Mean CRPS of the models and of persistence over them, millionths of a bin.
    """

    release: int
    n: int
    score: int
    reference: int
    contract: int = CONTRACT_HASH

    PREFIX: ClassVar[str] = "drift"
    SIGNERS: ClassVar[tuple[str, ...]] = ("agent",)
    MAX_LIFE_MS: ClassVar[int] = _DAY_MS

    def __post_init__(self) -> None:
        bounded("release", self.release, 0, _MAX_RELEASE)
        bounded("n", self.n, 1, (1 << 48) - 1)
        bounded("score", self.score, 0, 16_000_000)
        bounded("reference", self.reference, 0, 16_000_000)
        bounded("contract", self.contract, 0, WORD)

    def plain(self) -> dict[str, Any]:
        """JSON data of integers and text."""
        return asdict(self)

    @classmethod
    def parse(cls, data: dict[str, Any]) -> Self:
        """The request of JSON data."""
        return cls(**exactly(cls, data))
