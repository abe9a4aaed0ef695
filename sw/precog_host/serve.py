"""A device shared over UDP: an Etherbone server in front of any transport.

One client at a time: registers such as a window's SELECT make sense only for who wrote them. The
first request takes the device, `Window.ID` written gives it back, and so does a pause of `hold_s`
(a client that was killed). Others are told that it is busy; LiteX's tools, which could not read
that, get no answer.
"""

import socket
import time
from collections.abc import Callable

from precog_models.bridge.etherbone import EtherboneBridge, EtherboneError, Record, decode, is_probe
from precog_models.bridge.wire import RESPONSES, EtherboneFault, Status, Window

from .transport import BusError, DeviceError, Transport

__all__ = ["EtherboneServer", "TransportBus"]

_BUFFER = 2048
_POLL_S = 0.1
_ADDRESS_BITS = 32  # what is behind knows its own size


class TransportBus:
    """A transport as the bus of a bridge.

    Parameters
    ----------
    transport : Transport
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def read(self, address: int) -> tuple[int, int]:
        """Response and word."""
        try:
            return 0, self._transport.read32(address)
        except BusError as error:
            return RESPONSES.index(error.response), 0

    def write(self, address: int, value: int) -> int:
        """Response."""
        try:
            self._transport.write32(address, value)
        except BusError as error:
            return RESPONSES.index(error.response)
        return 0


class EtherboneServer:
    """A UDP port in front of a transport.

    Parameters
    ----------
    transport : Transport
        It stays its owner's.
    host : str
        Address to listen at.
    port : int
        0: any that is free.
    hold_s : float
        Pause after which a client has lost the device.
    report : callable
        Told in words of clients that come and go, and of failures.

    Raises
    ------
    DeviceError
        The port cannot be had.
    """

    def __init__(
        self,
        transport: Transport,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        hold_s: float = 5.0,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._bridge = EtherboneBridge(TransportBus(transport), _ADDRESS_BITS)
        self._hold, self._report = hold_s, report
        self._client: tuple[str, int] | None = None
        self._seen = 0.0
        self._stop = False
        #: Requests answered, and those told that the device is another's.
        self.answered = self.busy = 0
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0][0]
            self._socket = socket.socket(family, socket.SOCK_DGRAM)
            try:
                self._socket.bind((host, port))
            except BaseException:
                self._socket.close()
                raise
        except (OSError, UnicodeError, OverflowError) as error:
            raise DeviceError(f"UDP port {port} at {host!r} cannot be had: {error}") from error
        self._socket.settimeout(_POLL_S)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._socket.getsockname()[1])

    def run(self) -> None:
        """Serve until `stop` or an interrupt."""
        while not self._stop:
            try:
                datagram, client = self._socket.recvfrom(_BUFFER)
            except TimeoutError:
                continue
            except ConnectionError:
                continue  # an answer that nobody took
            answer = self.handle(datagram, client[:2])
            if answer:
                try:
                    self._socket.sendto(answer, client)
                except OSError as error:
                    self._report(f"answer to {client[0]}:{client[1]} was not sent: {error}")

    def stop(self) -> None:
        """Have `run` end soon."""
        self._stop = True

    def close(self) -> None:
        """Give the port back."""
        self._socket.close()

    def handle(self, datagram: bytes, client: tuple[str, int]) -> bytes:
        """The answer to a datagram, or none."""
        if is_probe(datagram):
            return self._bridge.receive(datagram)
        try:
            record = decode(datagram)
        except EtherboneError as error:
            self._bridge.window.fault(error.kind)
            return b""
        now = time.monotonic()
        leaves = record.writes and record.write_address == Window.ID.address
        if self._client not in (None, client) and now - self._seen <= self._hold:
            self.busy += 1
            return b"" if leaves else _busy(record)
        if leaves:
            self._leave()
            return b""
        if self._client != client:
            self._leave()
            self._report(f"{client[0]}:{client[1]} has the device")
            self._client = client
            self._bridge.forget()
        self._seen = now
        try:
            answer = self._bridge.receive(datagram)
        except DeviceError as error:
            self._report(f"device failed: {error}")
            return b""
        self.answered += bool(answer)
        return answer

    def _leave(self) -> None:
        if self._client is not None:
            self._report(f"{self._client[0]}:{self._client[1]} has left")
        self._client = None

    @property
    def faults(self) -> dict[str, int]:
        """What the bridge counted."""
        counts = self._bridge.window.faults
        return {kind.name.lower(): counts[kind] for kind in EtherboneFault}


def _busy(record: Record) -> bytes:
    """What a request with a ticket is answered while the device is another's."""
    if not record.ticket:
        return b""
    words = [
        Status(0, busy=True).word() if address == Window.STATUS.address else 0
        for address in record.reads
    ]
    return EtherboneBridge.answer(record, words)
