"""The card's interrupt pin under emulation.

QEMU hands the pin's descriptor to KVM and, without KVM, to no other. The lab then sets the level of
the guest's interrupt controller itself, by the protocol that QEMU's own tests use (``-qtest``,
QEMU's ``docs/devel/testing``).
"""

import socket
import threading
from contextlib import suppress
from pathlib import Path

from .packages import LabError

__all__ = ["EmulatedPin"]

_CONTROLLER = "/machine/i440fx/ioapic"
_START_S = 10.0


class EmulatedPin:
    """A line of the guest's interrupt controller.

    Parameters
    ----------
    path : Path
        Of the socket to which QEMU connects.

    Attributes
    ----------
    options : tuple of str
        For QEMU's command line.
    """

    def __init__(self, path: Path) -> None:
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(path))
        self._server.listen(1)
        self._server.settimeout(_START_S)
        self.options = ("-qtest", f"unix:{path}", "-qtest-log", "/dev/null")
        self._channel: socket.socket | None = None
        self._number: int | None = None
        self._up = False
        self._lock = threading.Lock()

    def connect(self) -> None:
        """QEMU has started.

        Raises
        ------
        LabError
            It does not connect.
        """
        try:
            self._channel, _ = self._server.accept()
        except TimeoutError:
            raise LabError(f"QEMU must open its test channel within {_START_S:.0f} s") from None
        self._channel.setblocking(False)

    def route(self, number: int) -> None:
        """The guest has given the pin this line."""
        with self._lock:
            self._number = number
            self._send()

    def drive(self, up: bool) -> None:
        """The card has put its pin up or down."""
        with self._lock:
            self._up = up
            self._send()

    def close(self) -> None:
        """Nothing goes through it any more."""
        self._server.close()
        if self._channel is not None:
            self._channel.close()

    def _send(self) -> None:
        """QEMU obeys as soon as its processor does not wait for the card; answers mean nothing."""
        if self._channel is None or self._number is None:
            return
        with suppress(BlockingIOError):
            while self._channel.recv(4096):
                pass
        line = f"set_irq_in {_CONTROLLER} unnamed-gpio-in {self._number} {int(self._up)}\n"
        with suppress(BrokenPipeError, BlockingIOError):
            self._channel.sendall(line.encode())
