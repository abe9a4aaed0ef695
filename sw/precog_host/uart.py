"""``uart:/dev/ttyUSB1@115200``: a device behind a UART bridge that speaks LiteX's UARTBone.

Options after ``?``: ``timeout_ms`` (an answer's, 200), ``tries`` (5). The baud rate is 115200 if it
is not given. Checks, and what is safe to repeat: `precog_host.bridged`. A port that vanishes (a USB
cable) is opened again with the next access.
"""

import struct
import time
import zlib
from typing import Any

from precog_spec.frames.bridge import (
    BRIDGE_ID,
    TIMEOUT_MS,
    Command,
    Status,
    UartFault,
    Window,
    unpack_faults,
)

from .bridged import Access, BridgedTransport, LinkError
from .link_options import number, split_options
from .transport import DeviceError

__all__ = ["UartTransport", "open_uart"]

_BAUD = 115200
_QUIET_S = 1.5 * TIMEOUT_MS / 1000  # after which a bridge has forgotten what was broken
_BITS = 10  # of a byte on the line


def _command(command: Command, address: int, words: int = 1) -> bytes:
    return struct.pack(">BBI", command, words, address // 4)


class UartTransport(BridgedTransport):
    """A serial port and the bridge behind it.

    Parameters
    ----------
    port : str
        Such as ``/dev/ttyUSB1``.
    baud : int
    timeout_ms : int
        That an answer may take, beyond its bytes' time on the line.
    tries : int

    Raises
    ------
    DeviceError
        The port cannot be opened, or no Precog bridge answers.
    """

    def __init__(
        self, port: str, baud: int = _BAUD, *, timeout_ms: int = 200, tries: int = 5
    ) -> None:
        super().__init__(f"uart:{port}@{baud}", tries=tries)
        self._port, self._baud, self._timeout = port, baud, timeout_ms / 1000
        self._line: Any = None
        try:
            self._ask()
            found = self._words(self._trade(_command(Command.READ, Window.ID.address), 4))[0]
        except LinkError as error:
            self.close()
            raise DeviceError(f"{self.uri}: {error}") from error
        except DeviceError:
            self.close()
            raise
        if found != BRIDGE_ID:
            self.close()
            raise DeviceError(
                f"{self.uri}: bridge must say {BRIDGE_ID:#010x}, not {found:#010x}: "
                "this is no Precog bridge"
            )

    def faults(self) -> dict[str, int]:
        """What the bridge has counted, each modulo 256.

        Raises
        ------
        DeviceError
            It does not answer.
        """
        try:
            answer = self._checked(_command(Command.READ, Window.FAULTS.address), 1)
        except LinkError as error:
            raise DeviceError(f"{self.uri}: {error}") from error
        return unpack_faults(answer[0], UartFault)

    def close(self) -> None:
        """Give the port back."""
        if self._line is not None:
            line, self._line = self._line, None
            line.close()

    # --- exchanges -------------------------------------------------------------------------------

    def _exchange(self, access: Access) -> tuple[int, Status]:
        if access.value is None:
            word, status = self._checked(_command(Command.READ, access.address), 1, status=True)
            return word, Status.of(status)
        command = _command(Command.WRITE, access.address) + struct.pack(">I", access.value)
        return 0, Status.of(self._checked(command, 0, status=True)[0])

    def _checked(self, command: bytes, words: int, *, status: bool = False) -> list[int]:
        """Words of the answer to `command`, and STATUS; the CRC covers both directions."""
        first = Window.STATUS if status else Window.CRC
        count = Window.CRC - first + 1
        sent = command + _command(Command.READ, first.address, count)
        answer = self._trade(sent, 4 * (words + count))
        # In the order in which the bridge handles it: command, answer, the check's command.
        at = 4 * words
        handled = command + answer[:at] + sent[len(command) :] + answer[at:-4]
        found = self._words(answer)
        if found.pop() != zlib.crc32(handled):
            raise LinkError("the line damaged an answer or a command (wrong CRC)")
        return found

    def _last(self) -> tuple[Status, int, int]:
        self._open()
        time.sleep(_QUIET_S)
        self._flush()
        self._trade(_command(Command.READ, Window.CRC.address), 4)  # the next CRC starts here
        command = _command(Command.READ, Window.ADDRESS.address, 2)
        address, data, status = self._checked(command, 2, status=True)
        return Status.of(status), address, data

    @staticmethod
    def _words(answer: bytes) -> list[int]:
        return [word for (word,) in struct.iter_unpack(">I", answer)]

    # --- the line --------------------------------------------------------------------------------

    def _trade(self, sent: bytes, wanted: int) -> bytes:
        """Send bytes and take `wanted` ones."""
        line = self._open()
        wait = self._timeout + (len(sent) + wanted) * _BITS / self._baud
        try:
            if wait > (line.timeout or 0.0):
                line.timeout = wait  # a system call: not for each access
            line.write(sent)
            answer = bytes(line.read(wanted))
        except OSError as error:  # pyserial's errors are some, too
            self.close()
            raise LinkError(f"port failed: {error}") from error
        if len(answer) != wanted:
            took = f"{round(1000 * line.timeout)} ms"
            raise LinkError(
                f"{len(answer)} of {wanted} bytes came back within {took}: is the bridge there, "
                "and are both at the same baud rate?"
            )
        return answer

    def _flush(self) -> None:
        line = self._open()
        try:
            line.reset_input_buffer()
        except OSError as error:
            self.close()
            raise LinkError(f"port failed: {error}") from error

    def _open(self) -> Any:
        if self._line is not None:
            return self._line
        try:
            import serial
        except ImportError as error:
            raise DeviceError("uart: needs pyserial: pip install 'precog[uart]'") from error
        try:
            self._line = serial.Serial(
                self._port, self._baud, exclusive=True, write_timeout=self._timeout + 1
            )
        except ValueError as error:
            raise DeviceError(f"{self.uri}: {error}") from error
        except OSError as error:
            raise DeviceError(f"{self.uri}: {_reason(self._port, error)}") from error
        return self._line


def _reason(port: str, error: OSError) -> str:
    text = str(error)
    if "No such file" in text:
        return f"port {port} does not exist"
    if "ermission denied" in text:
        return f"port {port} may not be opened: join the group that owns it (often dialout)"
    if "lock" in text:
        return f"port {port} is in use by another program"
    return f"port {port} cannot be opened: {text}"


def open_uart(argument: str) -> UartTransport:
    """The transport of ``/dev/ttyX[@BAUD][?timeout_ms=..&tries=..]``.

    Raises
    ------
    DeviceError
        As `UartTransport`, or the argument is not such a one.
    """
    place, options = split_options(argument, {"timeout_ms": "200", "tries": "5"}, "uart")
    port, at, baud = place.rpartition("@")
    if not at:
        port, baud = place, str(_BAUD)
    if not port:
        raise DeviceError(f"uart device must be uart:/dev/ttyX@BAUD, not uart:{argument}")
    return UartTransport(
        port,
        number(baud, "uart baud rate", 50, 20_000_000),
        timeout_ms=number(options["timeout_ms"], "uart timeout_ms", 1, 60_000),
        tries=number(options["tries"], "uart tries", 1, 100),
    )
