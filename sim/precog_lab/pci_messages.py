"""Messages of QEMU's ``x-pci-proxy-dev`` on a stream socket.

Sixteen bytes of header (command, padding, size of what follows), then the payload; descriptors come
next to the header. Layouts: QEMU 7.2, ``include/hw/remote/mpqemu-link.h``. Numbers are the host's,
little-endian.
"""

import array
import os
import socket
import struct
from dataclasses import dataclass
from enum import IntEnum

__all__ = ["REFUSED", "Access", "Command", "Message", "MessageError", "answer", "receive"]

#: What QEMU takes for a failure, and a guest reads as all ones.
REFUSED = (1 << 64) - 1

_HEADER = struct.Struct("<i4xQ")
_CONFIG = struct.Struct("<IIi")
_BAR = struct.Struct("<QQIB3x")
_RETURN = struct.Struct("<Q")
_MEMORY_BYTES = 192  # eight regions: address, size, offset
_DESCRIPTORS = 8


class Command(IntEnum):
    """What a message asks for."""

    SYNC_SYSMEM = 0
    RET = 1
    CFG_WRITE = 2
    CFG_READ = 3
    BAR_WRITE = 4
    BAR_READ = 5
    SET_IRQFD = 6
    RESET = 7

    @property
    def answered(self) -> bool:
        """QEMU waits for an answer."""
        return self not in (Command.SYNC_SYSMEM, Command.RET, Command.SET_IRQFD)


_SIZES = {
    Command.SYNC_SYSMEM: _MEMORY_BYTES,
    Command.RET: _RETURN.size,
    Command.CFG_WRITE: _CONFIG.size,
    Command.CFG_READ: _CONFIG.size,
    Command.BAR_WRITE: _BAR.size,
    Command.BAR_READ: _BAR.size,
    Command.SET_IRQFD: 0,
    Command.RESET: 0,
}


class MessageError(Exception):
    """A message that this protocol does not have; the stream behind it means nothing."""


@dataclass(frozen=True)
class Access:
    """Payload of a configuration or BAR access; the address in a BAR is the guest's."""

    address: int
    value: int
    size: int
    memory: bool = True


@dataclass(frozen=True)
class Message:
    """One message.

    Parameters
    ----------
    command : Command
    payload : bytes
    descriptors : tuple of int
        The receiver owns them.
    """

    command: Command
    payload: bytes = b""
    descriptors: tuple[int, ...] = ()

    def access(self) -> Access:
        """The payload of an access."""
        if self.command in (Command.CFG_READ, Command.CFG_WRITE):
            return Access(*_CONFIG.unpack(self.payload))
        address, value, size, memory = _BAR.unpack(self.payload)
        return Access(address, value, size, bool(memory))

    def encode(self) -> bytes:
        """Header and payload, as QEMU sends them."""
        return _HEADER.pack(self.command, len(self.payload)) + self.payload

    def close(self) -> None:
        """Close its descriptors."""
        for descriptor in self.descriptors:
            os.close(descriptor)


def receive(channel: socket.socket) -> Message | None:
    """The next message; None where the stream ends between two.

    Raises
    ------
    MessageError
        It is cut off, of no known command, or of a size that its command does not have.
    """
    header, descriptors = _header(channel)
    try:
        if not header:
            return None
        number, size = _HEADER.unpack(header)
        try:
            command = Command(number)
        except ValueError:
            raise MessageError(f"message's command must be 0..7, not {number}") from None
        if size != _SIZES[command]:
            raise MessageError(
                f"message {command.name} must have {_SIZES[command]} bytes, not {size}"
            )
        payload = _exactly(channel, size, command.name)
    except MessageError:
        Message(Command.RET, descriptors=descriptors).close()
        raise
    return Message(command, payload, descriptors)


def answer(channel: socket.socket, value: int) -> None:
    """Answer the message that came last."""
    channel.sendall(_HEADER.pack(Command.RET, _RETURN.size) + _RETURN.pack(value))


def _header(channel: socket.socket) -> tuple[bytes, tuple[int, ...]]:
    room = socket.CMSG_SPACE(_DESCRIPTORS * array.array("i").itemsize)
    data, ancillary, _, _ = channel.recvmsg(_HEADER.size, room)
    found = array.array("i")
    for level, kind, part in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(part[: len(part) - len(part) % found.itemsize])
    descriptors = tuple(found)
    if data:
        try:
            data += _exactly(channel, _HEADER.size - len(data), "header")
        except MessageError:
            Message(Command.RET, descriptors=descriptors).close()
            raise
    return data, descriptors


def _exactly(channel: socket.socket, size: int, what: str) -> bytes:
    data = b""
    while len(data) < size:
        part = channel.recv(size - len(data))
        if not part:
            raise MessageError(f"message ended {size - len(data)} bytes short, in its {what}")
        data += part
    return data
