"""What a member says of itself: what runs, what was lost, what was refused."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Self

from precog_spec.contract import CONTRACT_HASH

from .fields import NAME, WORD, bounded, exactly

__all__ = ["TWIN", "Health"]

#: The reason in `Health.refused` while another process signs as the member.
TWIN = "twin"

_COUNT = (1 << 48) - 1
_MAX_REFUSALS = 32


@dataclass(frozen=True)
class Health:
    """A member's state.

    Parameters
    ----------
    cards, up : int
        Devices, and those that answer.
    release, shadow : int
        Releases that are live and in the shadow on its first device; 0: the shipped one, or none.
    records, lost : int
        Of traces: read, and missing.
    windows : int
        With what came true.
    rows, rows_lost : int
        Of telemetry.
    faults, rollbacks : int
        Of devices; of models.
    refused : mapping of str to int
        Records that were not taken, by reason.
    contract : int
        Hash of the models' formats.
    """

    cards: int
    up: int
    release: int
    shadow: int
    records: int
    lost: int
    windows: int
    rows: int
    rows_lost: int
    faults: int
    rollbacks: int
    refused: Mapping[str, int] = field(default_factory=dict)
    contract: int = CONTRACT_HASH

    PREFIX: ClassVar[str] = "health"
    SIGNERS: ClassVar[tuple[str, ...]] = ("agent", "router", "trainer")
    MAX_LIFE_MS: ClassVar[int] = 3_600_000

    def __post_init__(self) -> None:
        for name, value in self.plain().items():
            if name != "refused":
                bounded(name, value, 0, WORD if name == "contract" else _COUNT)
        if type(self.refused) is not dict or len(self.refused) > _MAX_REFUSALS:
            raise ValueError(f"refused must be at most {_MAX_REFUSALS} counts by reason")
        for reason, count in self.refused.items():
            if type(reason) is not str or not NAME.fullmatch(reason):
                raise ValueError(f"reason must be a name of a-z, 0-9 and .:_-, not {reason!r}")
            bounded(reason, count, 0, _COUNT)

    def plain(self) -> dict[str, Any]:
        """JSON data of integers and text."""
        return asdict(self)

    @classmethod
    def parse(cls, data: dict[str, Any]) -> Self:
        """The state of JSON data."""
        return cls(**exactly(cls, data))
