"""Datagrams under a token that client and server share: HMAC-SHA256, fresh, each taken once.

A sealed datagram is ``PBS1``, the client's number, a stamp, the datagram itself and 16 bytes of its
HMAC. The stamp is the client's clock in nanoseconds and grows with each datagram, so a recording is
refused: at once while the server remembers the client, later because it is too old. An answer is
sealed with the stamp that it answers. Contents are not secret: who can listen can read registers.
"""

import hmac
import secrets
import stat
import struct
import time
from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from .transport import DeviceError

__all__ = [
    "MOST_APART_S",
    "Refusal",
    "Seal",
    "SealError",
    "Verifier",
    "inside",
    "is_sealed",
    "make_token",
    "read_token",
]

#: Seconds between the clocks of a client and a server, at most.
MOST_APART_S = 30
_MAGIC = b"PBS1"
_HEAD = struct.Struct(">4sQQ")
_TAG = 16
_SHORTEST, _LONGEST = 16, 1024  # bytes of a token
_MOST_CLIENTS = 1024
_TO_SERVER, _TO_CLIENT = b"\0", b"\1"


class Refusal(StrEnum):
    """Why a server refuses a datagram."""

    UNSEALED = "unsealed"
    FORGED = "forged"  #: or sealed under another token
    LATE = "late"  #: the clocks are too far apart, or it is an old recording
    REPLAYED = "replayed"


class SealError(ValueError):
    """A datagram that is not to be obeyed.

    Parameters
    ----------
    refusal : Refusal
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(f"datagram was refused: {refusal}")
        self.refusal = refusal


def is_sealed(datagram: bytes) -> bool:
    """Whether it has a seal's form."""
    return datagram.startswith(_MAGIC) and len(datagram) >= _HEAD.size + _TAG


def inside(datagram: bytes) -> bytes:
    """The datagram under a seal that is not checked yet, or the datagram itself."""
    return datagram[_HEAD.size : -_TAG] if is_sealed(datagram) else datagram


def read_token(path: Path) -> bytes:
    """The token in a file that only its owner can read.

    Raises
    ------
    DeviceError
        Others can read the file, or the token is too short or too long.
    OSError
        The file cannot be read.
    """
    with path.open("rb") as file:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise DeviceError(f"token file {path} must be its owner's alone: chmod 600 {path}")
        token = file.read(_LONGEST + 2).strip()
    if not _SHORTEST <= len(token) <= _LONGEST:
        raise DeviceError(
            f"token in {path} must have {_SHORTEST}..{_LONGEST} bytes, not {len(token)}"
        )
    return token


def make_token(path: Path) -> None:
    """Write a new random token to a file that is not there yet.

    Raises
    ------
    OSError
        The file is there, or cannot be written.
    """
    path.touch(mode=0o600, exist_ok=False)
    try:
        path.write_text(secrets.token_hex(32) + "\n")
    except OSError as error:
        path.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from error


def _tag(token: bytes, direction: bytes, sealed: bytes) -> bytes:
    return hmac.digest(token, direction + sealed, "sha256")[:_TAG]


class Seal:
    """The client's side.

    Parameters
    ----------
    token : bytes
    clock : callable
        Nanoseconds since the epoch.
    """

    def __init__(self, token: bytes, clock: Callable[[], int] = time.time_ns) -> None:
        self._token, self._clock = token, clock
        self._client = secrets.randbits(64)
        self._stamp = self._answered = 0

    def begin(self) -> None:
        """A new request: answers to those before it no longer count."""
        self._answered = self._stamp

    def seal(self, datagram: bytes) -> bytes:
        """The datagram as the server takes it."""
        self._stamp = max(self._stamp + 1, self._clock())
        sealed = _HEAD.pack(_MAGIC, self._client, self._stamp) + datagram
        return sealed + _tag(self._token, _TO_SERVER, sealed)

    def open(self, answer: bytes) -> bytes | None:
        """The datagram in a sealed answer to this client; None if it is no such answer."""
        if not is_sealed(answer):
            return None
        sealed, tag = answer[:-_TAG], answer[-_TAG:]
        if not hmac.compare_digest(tag, _tag(self._token, _TO_CLIENT, sealed)):
            return None
        _, client, stamp = _HEAD.unpack_from(sealed)
        if client != self._client or stamp <= self._answered:
            return None
        return sealed[_HEAD.size :]


class Verifier:
    """The server's side.

    Parameters
    ----------
    token : bytes
    clock : callable
        Nanoseconds since the epoch.

    Attributes
    ----------
    refused : dict of Refusal to int
    """

    def __init__(self, token: bytes, clock: Callable[[], int] = time.time_ns) -> None:
        self._token, self._clock = token, clock
        self._stamps: OrderedDict[int, int] = OrderedDict()
        # Stamps up to here may be recordings: of an earlier server, or of a client since forgotten.
        self._forgotten = clock()
        self.refused = dict.fromkeys(Refusal, 0)

    def open(self, datagram: bytes) -> tuple[bytes, bytes]:
        """The datagram inside, and the head that seals its answer.

        Raises
        ------
        SealError
            It is not to be obeyed; it is counted.
        """
        try:
            return self._open(datagram)
        except SealError as error:
            self.refused[error.refusal] += 1
            raise

    def _open(self, datagram: bytes) -> tuple[bytes, bytes]:
        if not is_sealed(datagram):
            raise SealError(Refusal.UNSEALED)
        sealed, tag = datagram[:-_TAG], datagram[-_TAG:]
        if not hmac.compare_digest(tag, _tag(self._token, _TO_SERVER, sealed)):
            raise SealError(Refusal.FORGED)
        _, client, stamp = _HEAD.unpack_from(sealed)
        if abs(stamp - self._clock()) > MOST_APART_S * 10**9:
            raise SealError(Refusal.LATE)
        if stamp <= self._stamps.get(client, self._forgotten):
            raise SealError(Refusal.REPLAYED)
        self._stamps[client] = stamp
        self._stamps.move_to_end(client)
        if len(self._stamps) > _MOST_CLIENTS:
            _, last = self._stamps.popitem(last=False)
            self._forgotten = max(self._forgotten, last)
        return sealed[_HEAD.size :], sealed[: _HEAD.size]

    def seal(self, head: bytes, answer: bytes) -> bytes:
        """An answer to the datagram with this head."""
        sealed = head + answer
        return sealed + _tag(self._token, _TO_CLIENT, sealed)
