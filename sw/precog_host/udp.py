"""``udp:HOST[:PORT]``: a device behind an Etherbone bridge (LiteX's port 1234 if none is given).

Options after ``?``: ``timeout_ms`` (an answer's, 200), ``tries`` (10), ``wait_s`` (15) for a device
that another client has, and ``token_file``, else that of the environment's PRECOG_TOKEN_FILE
(`precog_host.sealing`). Each request carries a ticket, so it may be repeated until it is answered:
the bridge executes it once. An answer with another ticket is none. Checks: `precog_host.bridged`.
"""

import contextlib
import os
import secrets
import socket
import time
from pathlib import Path

from precog_models.bridge.etherbone import EtherboneError, Record, decode, encode
from precog_spec.frames.bridge import (
    BRIDGE_ID,
    ETHERBONE_PORT,
    EtherboneFault,
    Status,
    Window,
    unpack_faults,
)

from .bridged import Access, BridgedTransport, LinkError
from .link_options import number, split_options
from .sealing import MOST_APART_S, Seal, read_token
from .transport import DeviceError

__all__ = ["TOKEN_FILE", "UdpTransport", "open_udp"]

TOKEN_FILE = "PRECOG_TOKEN_FILE"  #: environment variable

_BUFFER = 2048
_BUSY_WAIT_S = 0.05
_OPTIONS = {"timeout_ms": "200", "tries": "10", "wait_s": "15", "token_file": ""}


class UdpTransport(BridgedTransport):
    """A bridge behind UDP.

    Parameters
    ----------
    host : str
    port : int
    timeout_ms : int
        Before a request is repeated.
    tries : int
        Requests until the device counts as gone.
    wait_s : float
        How long to wait for a device that another client has.
    token : bytes, optional
        What the server wants datagrams sealed under.

    Raises
    ------
    DeviceError
        There is no such host, or no Precog bridge answers.
    """

    def __init__(
        self,
        host: str,
        port: int = ETHERBONE_PORT,
        *,
        timeout_ms: int = 200,
        tries: int = 10,
        wait_s: float = 15.0,
        token: bytes | None = None,
    ) -> None:
        shown = f"[{host}]" if ":" in host else host
        super().__init__(f"udp:{shown}:{port}", tries=1)
        self._timeout, self._requests, self._wait = timeout_ms / 1000, tries, wait_s
        self._seal = None if token is None else Seal(token)
        self._has_device = False  # as far as the server has said
        self._client = secrets.randbelow(0xFFFF) + 1 << 16
        self._sequence = 0
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
            family, kind, protocol, _, where = found[0]
            self._socket = socket.socket(family, kind, protocol)
            try:
                self._socket.connect(where)
            except BaseException:
                self._socket.close()
                raise
        except (OSError, UnicodeError) as error:
            raise DeviceError(f"{self.uri}: host {host!r} cannot be reached: {error}") from error
        try:
            (said,) = self._request(Record(reads=(Window.ID.address,)))
        except LinkError as error:
            self.close()
            raise DeviceError(f"{self.uri}: {error}") from error
        except DeviceError:
            self.close()
            raise
        if said != BRIDGE_ID:
            self.close()
            raise DeviceError(
                f"{self.uri}: bridge must say {BRIDGE_ID:#010x}, not {said:#010x}: "
                "this is no Precog bridge"
            )

    def is_fed(self) -> bool:
        """Whether a server feeds the device samples by itself.

        Raises
        ------
        DeviceError
            It does not answer.
        """
        try:
            return bool(self._request(Record(reads=(Window.FED.address,)))[0])
        except LinkError as error:
            raise DeviceError(f"{self.uri}: {error}") from error

    def faults(self) -> dict[str, int]:
        """What the bridge has counted, each modulo 256.

        Raises
        ------
        DeviceError
            It does not answer.
        """
        try:
            (word,) = self._request(Record(reads=(Window.FAULTS.address,)))
        except LinkError as error:
            raise DeviceError(f"{self.uri}: {error}") from error
        return unpack_faults(word, EtherboneFault)

    def release(self) -> None:
        """Tell a server that others may have the device now; the next access asks for it again."""
        self._done, self._has_device = None, False
        with contextlib.suppress(OSError):
            leave = Record(write_address=Window.ID.address, writes=(0,))
            self._send(encode(leave))

    def close(self) -> None:
        """Give the device back."""
        self.release()
        self._socket.close()

    # --- exchanges -------------------------------------------------------------------------------

    def _exchange(self, access: Access) -> tuple[int, Status]:
        if access.value is None:
            reads = (access.address, Window.STATUS.address)
            word, status = self._request(Record(reads=reads))
            return word, Status.of(status)
        write = Record(access.address, (access.value,), reads=(Window.STATUS.address,))
        return 0, Status.of(self._request(write)[0])

    def _last(self) -> tuple[Status, int, int]:
        window = (Window.STATUS, Window.ADDRESS, Window.DATA)
        status, address, data = self._request(Record(reads=tuple(w.address for w in window)))
        return Status.of(status), address, data

    def _request(self, record: Record) -> tuple[int, ...]:
        """The words that answer a record; it waits while a server's device is another's."""
        until = time.monotonic() + self._wait
        while (words := self._ask_once(record)) is None:
            if self._has_device:
                self._done, self._has_device = None, False
                raise DeviceError(
                    f"{self.uri}: device went to another client in the middle of a command: check "
                    "its state and repeat the command"
                )
            if time.monotonic() > until:
                raise DeviceError(
                    f"{self.uri}: device is in use by another client: try again later"
                )
            time.sleep(_BUSY_WAIT_S)
        self._has_device = True
        return words

    def _ask_once(self, record: Record) -> tuple[int, ...] | None:
        """As `_request`; None: the device is another's, and nothing was executed."""
        self._sequence = (self._sequence + 1) & 0xFFFF
        ticket = self._client | self._sequence
        # A server says in STATUS why it executed nothing: it is always asked for.
        status = Window.STATUS.address
        asked = record.reads if status in record.reads else (*record.reads, status)
        datagram = encode(Record(record.write_address, record.writes, ticket, asked))
        why = "no answer"
        if self._seal is not None:
            self._seal.begin()
        for attempt in range(self._requests):
            self.repeated += attempt > 0
            try:
                self._send(datagram)
                words, unsealed = self._answer(ticket, len(asked))
            except ConnectionRefusedError:
                why = "no server listens there"
                time.sleep(min(self._timeout, 0.05))
                continue
            except OSError as error:
                raise LinkError(f"network failed: {error}") from error
            told = words or unsealed
            if told is not None:
                said = Status.of(told[asked.index(status)])
                if words is None or said.sealed:
                    raise DeviceError(f"{self.uri}: {self._refusal(said)}")
                return None if said.busy else words[: len(record.reads)]
        other = ", and no board, whose bridge takes no token" if self._seal else ""
        raise LinkError(
            f"{why} after {self._requests} requests: is a bridge or a server there{other}?"
        )

    def _refusal(self, said: Status) -> str:
        """What is wrong with the token, from a server's STATUS without a seal."""
        name_it = f"name its file as ?token_file=PATH or in {TOKEN_FILE}"
        if self._seal is None:
            return f"server wants a token: {name_it}"
        if said.sealed:
            clocks = f"see that the clocks are within {MOST_APART_S} s"
            return f"server refuses the token: {name_it}, and {clocks}"
        return (
            f"server has no token: leave ?token_file= and {TOKEN_FILE} out, or serve the device "
            "with --token-file"
        )

    def _send(self, datagram: bytes) -> None:
        self._socket.send(datagram if self._seal is None else self._seal.seal(datagram))

    def _answer(
        self, ticket: int, count: int
    ) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
        """Words of the answer with this ticket, None if it is late; and those that lack a seal."""
        until = time.monotonic() + self._timeout
        unsealed = None
        while (left := until - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                datagram = self._socket.recv(_BUFFER)
            except TimeoutError:
                break
            if self._seal is None:
                words = _words(datagram, ticket, count)
            else:
                # Anybody can say that the token is wrong: it counts if no sealed answer comes.
                unsealed = _words(datagram, ticket, count) or unsealed
                words = _words(self._seal.open(datagram), ticket, count)
            if words is not None:
                return words, None
        return None, unsealed


def _words(answer: bytes | None, ticket: int, count: int) -> tuple[int, ...] | None:
    """What an answer with this ticket says; None if it is not such a one."""
    try:
        record = decode(answer or b"")
    except EtherboneError:
        return None
    matches = record.write_address == ticket and len(record.writes) == count
    return record.writes if matches else None


def _token(path: str) -> bytes | None:
    """The token that the URI or else the environment names."""
    path = path or os.environ.get(TOKEN_FILE, "")
    try:
        return read_token(Path(path)) if path else None
    except OSError as error:
        raise DeviceError(f"token file {path}: {error.strerror or error}") from error


def open_udp(argument: str) -> UdpTransport:
    """The transport of ``HOST[:PORT][?timeout_ms=..&tries=..]``; IPv6 addresses in brackets.

    Raises
    ------
    DeviceError
        As `UdpTransport`, or the argument is not such a one.
    """
    place, options = split_options(argument, _OPTIONS, "udp")
    if place.startswith("["):
        host, _, rest = place[1:].partition("]")
        port = rest.removeprefix(":") if rest.startswith(":") or not rest else "?"
    else:
        host, _, port = place.partition(":")
    if not host:
        raise DeviceError(f"udp device must be udp:HOST[:PORT], not udp:{argument}")
    return UdpTransport(
        host,
        number(port, "udp port", 1, 65535) if port else ETHERBONE_PORT,
        timeout_ms=number(options["timeout_ms"], "udp timeout_ms", 1, 60_000),
        tries=number(options["tries"], "udp tries", 1, 1000),
        wait_s=number(options["wait_s"], "udp wait_s", 0, 3600),
        token=_token(options["token_file"]),
    )
