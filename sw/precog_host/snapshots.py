"""Counters of one instant: the device keeps all of them with one write, and these are read."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from .transport import DeviceError

__all__ = ["Snapshots"]

_BUSY_READS = 10_000  # polls before a snapshot counts as hung
_MOST = 1000  # snapshots until one must be of an idle device


class FieldAccess(Protocol):
    """Registers by name: the part of `Registers` that snapshots need."""

    def fields(self, block: str, name: str) -> dict[str, int]:
        """Fields of a register."""

    def entry(self, block: str, table: str, index: int, name: str) -> dict[str, int]:
        """Fields of a table's register."""

    def write_fields(self, block: str, name: str, **values: int) -> None:
        """Write a register."""


class Snapshots:
    """A device's counters, read from snapshots.

    Parameters
    ----------
    registers : FieldAccess
    """

    def __init__(self, registers: FieldAccess) -> None:
        self._registers = registers
        self._holds = False

    def take(self) -> bool:
        """Have all counters kept as they are now.

        Returns
        -------
        bool
            Nothing was in flight then: every sample and every event had had its decision, or was
            dropped or ignored.

        Raises
        ------
        DeviceError
            The device does not come to an end.
        """
        self._wait()  # while busy the device ignores the command
        self._registers.write_fields("COUNTERS", "COMMAND", snapshot=1)
        return self._wait()

    @contextmanager
    def one_instant(self, *, idle: bool = False) -> Iterator[None]:
        """Take a snapshot; all counters that are read in the context are of it.

        Within such a context another one changes nothing.

        Parameters
        ----------
        idle : bool
            Of an instant in which nothing was in flight.

        Raises
        ------
        DeviceError
            The device does not come to an end, or is never idle.
        RuntimeError
            `idle` within another context.
        """
        if self._holds:
            if idle:
                raise RuntimeError(
                    "counters must not be of another instant already: end that first"
                )
            yield
            return
        for _ in range(_MOST):
            if self.take() or not idle:
                break
        else:
            raise DeviceError(
                f"device must be idle in one of {_MOST} snapshots: a sample or an event waits for "
                "its decision, or they never end"
            )
        self._holds = True
        try:
            yield
        finally:
            self._holds = False

    def read(
        self, block: str, table: str, names: Sequence[str], *, first: int = 0
    ) -> dict[str, int]:
        """Counters of a table by name, as of now, or of the context's instant.

        Parameters
        ----------
        block, table : str
        names : sequence of str
            Of the counters from the entry `first` on.
        first : int
        """
        if not self._holds:
            self.take()
        entry = self._registers.entry
        found = {}
        for index, name in enumerate(names, first):
            low = entry(block, table, index, "LOW")["low"]
            found[name] = entry(block, table, index, "HIGH")["high"] << 32 | low
        return found

    def _wait(self) -> bool:
        for _ in range(_BUSY_READS):
            state = self._registers.fields("COUNTERS", "STATE")
            if not state["busy"]:
                return bool(state["idle"])
        raise DeviceError(
            f"device's snapshot of its counters stays busy after {_BUSY_READS} reads: reset the "
            "card"
        )
