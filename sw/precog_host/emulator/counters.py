"""64-bit counters of an emulated device, all of which one write keeps, and its clock."""

from collections.abc import Callable, Iterator, Sequence

from precog_spec.registers.model import Word

from .register_file import RegisterFile

__all__ = ["EmulatedClock", "EmulatedCounters", "EmulatedSnapshot"]

_WORD = 0xFFFF_FFFF


class EmulatedCounters:
    """Counters of one table, and what the last snapshot kept of them.

    Parameters
    ----------
    names : sequence of str
        In table order.
    values : callable, optional
        Gives the counts by name; without it they are those of `add`.
    """

    def __init__(
        self, names: Sequence[str], values: Callable[[], dict[str, int]] | None = None
    ) -> None:
        self._names = list(names)
        self._counts = dict.fromkeys(names, 0)
        self._values = values or (lambda: self._counts)
        self._before = dict.fromkeys(names, 0)  # the last `clear`
        self._kept = dict.fromkeys(names, 0)

    def add(self, name: str, count: int) -> None:
        """Count up."""
        self._counts[name] += count

    def clear(self) -> None:
        """Count from 0; the snapshot is of that."""
        self._before = dict(self._values())
        self.keep()

    def keep(self) -> None:
        """From now on the host reads what the counters are now."""
        values = self._values()
        self._kept = {name: values[name] - self._before[name] for name in self._names}

    def read(self, word: Word) -> int:
        """A half of a counter, as of the snapshot."""
        assert word.register is not None
        value = self._kept[self._names[word.index]]
        return value >> 32 & _WORD if word.register.name == "HIGH" else value & _WORD


class EmulatedClock:
    """The card's time, which is read in two halves.

    Parameters
    ----------
    ticks : callable
        Gives it.
    """

    def __init__(self, ticks: Callable[[], int]) -> None:
        self._ticks, self._high = ticks, 0

    def read(self, word: Word) -> int:
        """The low half, which keeps the high one, or that."""
        assert word.register is not None
        if word.register.name == "HIGH":
            return self._high
        now = self._ticks()
        self._high = now >> 32 & _WORD
        return now & _WORD


class EmulatedSnapshot:
    """COUNTERS.COMMAND. It is done at once, and nothing is ever in flight: STATE is constant.

    Parameters
    ----------
    file : RegisterFile
        Whose tables may still be added.
    """

    def __init__(self, file: RegisterFile) -> None:
        self._file = file
        file.written["COUNTERS.COMMAND"] = self._command

    def clear(self) -> None:
        """All counters and their snapshot begin with 0."""
        for counters in self._all():
            counters.clear()

    def _command(self, value: int) -> None:
        if "snapshot" in self._file.asked("COUNTERS.COMMAND", value):
            for counters in self._all():
                counters.keep()

    def _all(self) -> Iterator[EmulatedCounters]:
        for read, _ in self._file.tables.values():
            counters = getattr(read, "__self__", None)
            if isinstance(counters, EmulatedCounters):
                yield counters
