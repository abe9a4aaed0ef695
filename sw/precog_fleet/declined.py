"""Records that were true but of no use here, so that no peer needs to send them again."""

from collections.abc import Iterator

from .outcome import Pair
from .records import Record

__all__ = ["Declined"]


class Declined:
    """Versions of such records, until they expire.

    Parameters
    ----------
    limit : int
        Of one origin; what it says beyond is judged again each time it comes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._of: dict[str, dict[str, tuple[int, int]]] = {}  # by origin, then key: version, t1

    def add(self, record: Record) -> None:
        """Remember a record."""
        mine = self._of.setdefault(record.origin, {})
        version, t1 = mine.get(record.key, (0, 0))
        if version or len(mine) < self._limit:
            mine[record.key] = (max(record.version, version), max(record.t1, t1))

    def version(self, origin: str, key: str) -> int:
        """The newest version of a pair; 0: none."""
        return self._of.get(origin, {}).get(key, (0, 0))[0]

    def drop(self, origin: str, key: str) -> None:
        """Forget a pair."""
        self._of.get(origin, {}).pop(key, None)

    def expire(self, limit: int) -> None:
        """Forget records that ended before `limit`, ms."""
        for origin, mine in list(self._of.items()):
            self._of[origin] = {key: of for key, of in mine.items() if of[1] >= limit}

    def clear(self) -> None:
        """Forget all."""
        self._of.clear()

    def __iter__(self) -> Iterator[tuple[Pair, int]]:
        for origin, mine in self._of.items():
            for key, (version, _) in mine.items():
                yield (origin, key), version
