"""``udp:HOST[:PORT]``: a device behind an Etherbone bridge (LiteX's port 1234 if none is given).

Options after ``?``: ``timeout_ms`` (an answer's, 200), ``tries`` (10). Each request carries a
ticket, so it may be repeated until it is answered: the bridge executes it once. An answer with
another ticket is none. Checks: `precog_host.bridged`.
"""

import contextlib
import secrets
import socket
import time

from precog_models.bridge.etherbone import EtherboneError, Record, decode, encode
from precog_models.bridge.wire import (
    BRIDGE_ID,
    ETHERBONE_PORT,
    EtherboneFault,
    Status,
    Window,
    unpack_faults,
)

from .bridged import Access, BridgedTransport, LinkError
from .link_options import number, split_options
from .transport import DeviceError

__all__ = ["UdpTransport", "open_udp"]

_BUFFER = 2048
_BUSY_WAIT_S = 0.05


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

    Raises
    ------
    DeviceError
        There is no such host, or no Precog bridge answers.
    """

    def __init__(
        self, host: str, port: int = ETHERBONE_PORT, *, timeout_ms: int = 200, tries: int = 10
    ) -> None:
        super().__init__(f"udp:{host}:{port}", tries=1)
        self._timeout, self._requests = timeout_ms / 1000, tries
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
        self._done = None
        with contextlib.suppress(OSError):
            leave = Record(write_address=Window.ID.address, writes=(0,))
            self._socket.send(encode(leave))

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
        until = time.monotonic() + self._requests * self._timeout
        while time.monotonic() < until:
            words = self._ask_once(record)
            if words is not None:
                return words
            time.sleep(_BUSY_WAIT_S)
        raise DeviceError(f"{self.uri}: device is in use by another client: try again later")

    def _ask_once(self, record: Record) -> tuple[int, ...] | None:
        """As `_request`; None: the device is another's, and nothing was executed."""
        self._sequence = (self._sequence + 1) & 0xFFFF
        ticket = self._client | self._sequence
        # A server says in STATUS whether it is busy: it is always asked for.
        status = Window.STATUS.address
        asked = record.reads if status in record.reads else (*record.reads, status)
        datagram = encode(Record(record.write_address, record.writes, ticket, asked))
        why = "no answer"
        for attempt in range(self._requests):
            self.repeated += attempt > 0
            try:
                self._socket.send(datagram)
                words = self._answer(ticket, len(asked))
            except ConnectionRefusedError:
                why = "nobody listens there"
                time.sleep(min(self._timeout, 0.05))
                continue
            except OSError as error:
                raise LinkError(f"network failed: {error}") from error
            if words is not None:
                busy = Status.of(words[asked.index(status)]).busy
                return None if busy else words[: len(record.reads)]
        raise LinkError(f"{why} after {self._requests} requests: is a bridge or a server there?")

    def _answer(self, ticket: int, count: int) -> tuple[int, ...] | None:
        """Words of the answer with this ticket; None if it does not come in time."""
        until = time.monotonic() + self._timeout
        while (left := until - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                record = decode(self._socket.recv(_BUFFER))
            except TimeoutError:
                break
            except EtherboneError:
                continue
            if record.write_address == ticket and len(record.writes) == count:
                return record.writes
        return None


def open_udp(argument: str) -> UdpTransport:
    """The transport of ``HOST[:PORT][?timeout_ms=..&tries=..]``; IPv6 addresses in brackets.

    Raises
    ------
    DeviceError
        As `UdpTransport`, or the argument is not such a one.
    """
    place, options = split_options(argument, {"timeout_ms": "200", "tries": "10"}, "udp")
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
    )
