"""What records say: reports of destinations, skill of models, who runs what, who is a member.

All numbers are integers in fixed units, so a record has one spelling on every machine and there is
no NaN to smuggle in. Bounds are physical; a value outside of them is poison, even if it is signed.
"""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self, TypeAlias

from precog_spec.contract import CONTRACT_HASH

from .assignments import Drift, Rollout
from .delta import MAX_DELTA_BYTES
from .fields import NAME, WORD, PoisonError, bounded, exactly, hexadecimal
from .health import Health
from .signing import PUBLIC_BYTES

__all__ = [
    "BODIES",
    "ROLES",
    "Body",
    "Membership",
    "Report",
    "Skill",
    "Statistics",
    "body_of",
]

_SECOND_NS = 1_000_000_000
ROLES = ("agent", "router", "trainer")


@dataclass(frozen=True)
class Statistics:
    """What a host saw of one destination during an interval.

    Parameters
    ----------
    n : int
        Active queue pairs.
    rate : int
        Mean rate of one of them, kb/s.
    mean, p99 : int
        RTT, ns.
    var : int
        Variance of the RTT, ns².
    queue : int
        Bytes that wait in their send queues.
    """

    n: int
    rate: int
    mean: int
    var: int
    p99: int
    queue: int

    BOUNDS: ClassVar[dict[str, tuple[int, int]]] = {
        "n": (0, 65535),
        "rate": (0, 1_600_000_000),  # 1.6 Tb/s
        "mean": (0, _SECOND_NS),
        "var": (0, _SECOND_NS**2 // 4),  # the largest variance of numbers in 0..1 s
        "p99": (0, _SECOND_NS),
        "queue": (0, (1 << 48) - 1),
    }

    def __post_init__(self) -> None:
        for name, (low, high) in self.BOUNDS.items():
            bounded(name, getattr(self, name), low, high)


@dataclass(frozen=True)
class Report:
    """Statistics of a destination and, perhaps, the reporter's own head for it.

    Parameters
    ----------
    stats : Statistics
    contract : int
        Hash of the formats that the reporter's models use.
    base_crc : int
        CRC-32 of the image that `delta` is the difference to; 0 without one.
    delta : bytes
        As `precog_fleet.delta` makes it; empty: none.
    """

    stats: Statistics
    contract: int = CONTRACT_HASH
    base_crc: int = 0
    delta: bytes = b""

    PREFIX: ClassVar[str] = "dst"
    SIGNERS: ClassVar[tuple[str, ...]] = ("agent",)
    MAX_LIFE_MS: ClassVar[int] = 3_600_000

    def __post_init__(self) -> None:
        bounded("contract", self.contract, 0, WORD)
        bounded("base_crc", self.base_crc, 0, WORD)
        if len(self.delta) > MAX_DELTA_BYTES:
            raise PoisonError(
                f"delta must have at most {MAX_DELTA_BYTES} bytes, not {len(self.delta)}"
            )

    def plain(self) -> dict[str, Any]:
        """JSON data of integers and text."""
        return asdict(self) | {"delta": self.delta.hex()}

    @classmethod
    def parse(cls, data: dict[str, Any]) -> Self:
        """The report of JSON data."""
        return cls(
            **exactly(cls, data)
            | {
                "delta": hexadecimal("delta", data["delta"]),
                "stats": Statistics(**exactly(Statistics, data["stats"])),
            }
        )


@dataclass(frozen=True)
class Skill:
    """A model's skill on a host's own traffic, with that of its reference.

    Parameters
    ----------
    n : int
        Windows that were judged.
    score, reference : int
        Mean CRPS of the model and of persistence, millionths of a bin; smaller is better.
    contract : int
        Hash of the model's formats.
    """

    n: int
    score: int
    reference: int
    contract: int = CONTRACT_HASH

    PREFIX: ClassVar[str] = "skill"
    SIGNERS: ClassVar[tuple[str, ...]] = ("agent",)
    MAX_LIFE_MS: ClassVar[int] = 24 * 3_600_000

    def __post_init__(self) -> None:
        bounded("n", self.n, 1, (1 << 48) - 1)
        bounded("score", self.score, 0, 16_000_000)
        bounded("reference", self.reference, 0, 16_000_000)
        bounded("contract", self.contract, 0, WORD)

    def plain(self) -> dict[str, Any]:
        """JSON data of integers and text."""
        return asdict(self)

    @classmethod
    def parse(cls, data: dict[str, Any]) -> Self:
        """The skill of JSON data."""
        return cls(**exactly(cls, data))


@dataclass(frozen=True)
class Membership:
    """The authority's word on a member: its public key and role, or that it is revoked.

    Parameters
    ----------
    public : bytes
        Raw ed25519 key.
    role : str
        ``agent``, ``router`` or ``trainer``.
    revoked : bool
        Nothing that the member signs counts any more, of before as well.
    """

    public: bytes
    role: str
    revoked: bool = False

    PREFIX: ClassVar[str] = "member"
    SIGNERS: ClassVar[tuple[str, ...]] = ()  # the authority alone
    MAX_LIFE_MS: ClassVar[int] = 10 * 366 * 86_400_000

    def __post_init__(self) -> None:
        if len(self.public) != PUBLIC_BYTES:
            raise ValueError(f"public key must have {PUBLIC_BYTES} bytes, not {len(self.public)}")
        if self.role not in ROLES:
            raise ValueError(f"role must be one of {', '.join(ROLES)}, not {self.role!r}")
        if type(self.revoked) is not bool:
            raise ValueError(f"revoked must be true or false, not {self.revoked!r}")

    def plain(self) -> dict[str, Any]:
        """JSON data of integers and text."""
        return asdict(self) | {"public": self.public.hex()}

    @classmethod
    def parse(cls, data: dict[str, Any]) -> Self:
        """The membership of JSON data."""
        return cls(**exactly(cls, data) | {"public": hexadecimal("public", data["public"])})


Body: TypeAlias = Report | Skill | Membership | Rollout | Drift | Health

#: Kind of record by the first part of its key.
BODIES: dict[str, type[Body]] = {
    kind.PREFIX: kind for kind in (Report, Skill, Membership, Rollout, Drift, Health)
}


def body_of(key: str) -> type[Body]:
    """The kind of a key such as ``dst/10.0.0.7``.

    Raises
    ------
    ValueError
        It is none.
    """
    prefix, _, name = key.partition("/")
    if prefix not in BODIES or not NAME.fullmatch(name):
        raise ValueError(
            f"key must be {'/…, '.join(BODIES)}/… and a name of a-z, 0-9 and .:_-, not {key!r}"
        )
    return BODIES[prefix]
