"""Registers behind a bridge whose link may lose, damage or repeat what it carries.

Every access is one exchange: the access itself and, right behind it, a read of the bridge's STATUS
(`precog_spec.frames.bridge`). The bridge counts accesses, so the host knows of each whether it was
done exactly once, and how the bus answered it.

Not every register may be written twice: COMMAND registers act (an `apply`, a `begin`, a `clear`),
W1C bits would lose an error that came in between, MODEL.DATA takes the next word of an image, and
the low word of a 64-bit counter latches the high one when it is read. So nothing is repeated
blindly: UDP repeats a request under its ticket, which the bridge executes once; UART first asks
the bridge what it has done last, and repeats what it has not.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from precog_spec.frames.bridge import RESPONSES, Status

from .transport import BusError, DeviceError

__all__ = ["Access", "BridgedTransport", "LinkError"]

_BYTES_32 = 1 << 32


class LinkError(Exception):
    """An exchange came to nothing: no answer, a short one, a damaged one."""


@dataclass(frozen=True)
class Access:
    """One register access.

    Attributes
    ----------
    address : int
        Byte address.
    value : int or None
        Word to be written; None to read.
    """

    address: int
    value: int | None = None

    @property
    def name(self) -> str:
        """Of errors."""
        return f"{'read' if self.value is None else 'write'} of register {self.address:#06x}"


class BridgedTransport(ABC):
    """32-bit registers through a bridge.

    Parameters
    ----------
    uri : str
        What names the device in errors.
    tries : int
        Exchanges after which an access has failed.
    """

    def __init__(self, uri: str, *, tries: int) -> None:
        self.uri = uri
        self._tries = tries
        #: Accesses that the bridge has done; None: to be asked, since an access failed.
        self._done: int | None = None
        #: Exchanges that were repeated.
        self.repeated = 0

    @abstractmethod
    def _exchange(self, access: Access) -> tuple[int, Status]:
        """Make an access; the word read, if any, and STATUS after it.

        Raises
        ------
        LinkError
            It is not known whether the access was made.
        """

    @abstractmethod
    def _last(self) -> tuple[Status, int, int]:
        """Have the bridge forget a broken exchange; STATUS, ADDRESS and DATA of its last access.

        Raises
        ------
        LinkError
            The bridge does not answer.
        """

    @abstractmethod
    def close(self) -> None:
        """Give the device back."""

    def read32(self, address: int) -> int:
        """The word at `address`; `BusError` where there is none."""
        return self._access(Access(address))

    def write32(self, address: int, value: int) -> None:
        """Set the word at `address`; `BusError` where there is none."""
        if not 0 <= value < _BYTES_32:
            raise ValueError(f"a register's value must have 32 bits, not {value!r}")
        self._access(Access(address, value))

    def _access(self, access: Access) -> int:
        if not 0 <= access.address < _BYTES_32:
            raise self._refused(access, 3)
        if access.address % 4:
            raise self._refused(access, 2)  # as AXI4-Lite would; a word address cannot say it
        if self._done is None:
            self._done = self._ask()[0].done
        for attempt in range(self._tries):
            self.repeated += attempt > 0
            try:
                word, status = self._exchange(access)
            except LinkError as error:
                made = self._recover(access, error)
                if made is not None:
                    return self._finish(access, made, access.value or 0)
                continue
            moved = (status.done - self._done) & 0xFFFF
            if moved != 1:
                self._lost(access, f"the device made {moved} accesses where one was asked for")
            self._done = status.done
            return self._finish(access, status, word)
        self._done = None
        raise DeviceError(f"{self.uri}: {access.name} failed {self._tries} times: link is too bad")

    def _recover(self, access: Access, error: LinkError) -> Status | None:
        """After a broken exchange: STATUS if a write was made after all; None: do it again."""
        before, self._done = self._done, None
        status, address, data = self._ask(error)
        moved = (status.done - (before or 0)) & 0xFFFF
        if moved > 1:
            self._lost(access, f"the device made {moved} accesses where one was asked for")
        if moved and status.write and (address, data) != (access.address, access.value):
            self._lost(
                access, f"the line was disturbed, and {data:#010x} was written to {address:#06x}"
            )
        self._done = status.done
        return status if moved and status.write else None

    def _ask(self, cause: LinkError | None = None) -> tuple[Status, int, int]:
        reason: LinkError | None = cause
        for _ in range(self._tries):
            try:
                return self._last()
            except LinkError as error:
                reason = reason or error
        self._done = None
        raise DeviceError(f"{self.uri}: {reason}")

    def _finish(self, access: Access, status: Status, word: int) -> int:
        if status.response:
            raise self._refused(access, status.response)
        return word

    def _lost(self, access: Access, what: str) -> None:
        self._done = None
        raise DeviceError(
            f"{self.uri}: {access.name}: {what}: it was reset, somebody else uses it, or the link "
            "is bad; check the device's state and repeat the command"
        )

    @staticmethod
    def _refused(access: Access, response: int) -> BusError:
        kind = "read" if access.value is None else "write"
        return BusError(kind, access.address, RESPONSES[response])
