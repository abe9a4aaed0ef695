"""A device shared over UDP: an Etherbone server in front of any transport.

One client at a time: registers such as a window's SELECT make sense only for the client that wrote
them. The first request takes the device, `Window.ID` written gives it back; `precog_host.turns`
says how long a client keeps it while others wait. Those are told that it is busy; LiteX's tools,
which could not read that, get no answer.

With a token the server obeys only datagrams sealed under it (`precog_host.sealing`). Without one it
obeys only datagrams that are not sealed. To any other request it answers in STATUS, without a seal,
whether it wants one. No answer is longer than its request, so the server is of no use for flooding
others.
"""

import socket
import time
from collections.abc import Callable

from precog_models.bridge.etherbone import EtherboneBridge, EtherboneError, decode, is_probe
from precog_spec.frames.bridge import RESPONSES, EtherboneFault, Status, Window

from .sealing import SealError, Verifier, inside, is_sealed
from .transport import BusError, DeviceError, Transport
from .turns import HOLD_S, TURN_S, Turns

__all__ = ["EtherboneServer", "TransportBus"]

_BUFFER = 2048
_POLL_S = 0.1
_ADDRESS_BITS = 32  # what is behind knows its own size

#: Address and port of a client.
Client = tuple[str, int]


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
    hold_s, turn_s : float
        Seconds of silence, and of a whole turn, after which a client loses the device to one that
        waits.
    token : bytes, optional
        What datagrams must be sealed under.
    feed : callable, optional
        Called about every 0.1 s between datagrams: gives the device samples.
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
        hold_s: float = HOLD_S,
        turn_s: float = TURN_S,
        token: bytes | None = None,
        feed: Callable[[], None] | None = None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._bridge = EtherboneBridge(TransportBus(transport), _ADDRESS_BITS)
        self._bridge.window.fed = feed is not None
        self._turns = Turns(hold_s, turn_s)
        self._verifier = None if token is None else Verifier(token)
        self._feed, self._report = feed, report
        self._fed = 0.0
        self._last: Client | None = None  # that had the device
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
            self._feed_device()
            self.serve_one()

    def serve_one(self) -> None:
        """Answer the next datagram; without one in about 0.1 s, nothing."""
        try:
            datagram, client = self._socket.recvfrom(_BUFFER)
        except (TimeoutError, ConnectionError):  # or an answer that was not taken
            return
        answer = self.handle(datagram, client[:2])
        if answer:
            try:
                self._socket.sendto(answer, client)
            except OSError as error:
                self._report(f"answer to {client[0]}:{client[1]} was not sent: {error}")

    def fileno(self) -> int:
        """Descriptor of the port, for those who wait for several things."""
        return self._socket.fileno()

    def stop(self) -> None:
        """Have `run` end soon."""
        self._stop = True

    def close(self) -> None:
        """Give the port back."""
        self._socket.close()

    def handle(self, datagram: bytes, client: Client) -> bytes:
        """The answer to a datagram, or none."""
        if self._verifier is None:
            if is_sealed(datagram):  # its client has a token, and must hear that none is wanted
                return _told(inside(datagram), Status(0))
            return self._obey(datagram, client)
        try:
            opened, head = self._verifier.open(datagram)
        except SealError:
            return _told(inside(datagram), Status(0, sealed=True))
        answer = self._obey(opened, client)
        return self._verifier.seal(head, answer) if answer else b""

    def _obey(self, datagram: bytes, client: Client) -> bytes:
        if is_probe(datagram):
            return self._bridge.receive(datagram)
        try:
            record = decode(datagram)
        except EtherboneError as error:
            self._bridge.window.fault(error.kind)
            return b""
        if record.writes and record.write_address == Window.ID.address:
            if self._turns.leave(client):
                self._report(f"{client[0]}:{client[1]} has left")
            return b""
        held = self._turns.holder
        if not self._turns.ask(client):
            self.busy += 1
            return _told(datagram, Status(0, busy=True))
        if held != client:
            self._report(f"{client[0]}:{client[1]} has the device")
        if self._last != client:  # of one that comes back, late copies may come, too
            self._last = client
            self._bridge.forget()
        try:
            answer = self._bridge.receive(datagram)
        except DeviceError as error:
            self._report(f"device failed: {error}")
            return b""
        if len(answer) > len(datagram):
            return b""  # a copied ticket on a short request: who asks is not who is answered
        self.answered += bool(answer)
        return answer

    def _feed_device(self) -> None:
        now = time.monotonic()
        if self._feed is None or now - self._fed < _POLL_S:
            return
        self._fed = now
        try:
            self._feed()
        except (DeviceError, ValueError) as error:
            self._feed, self._bridge.window.fed = None, False
            self._report(f"device takes no more samples: {error}; serve it again")

    @property
    def faults(self) -> dict[str, int]:
        """What the bridge counted, and with a token what was refused."""
        counts = self._bridge.window.faults
        found = {kind.name.lower(): counts[kind] for kind in EtherboneFault}
        if self._verifier is not None:
            found |= {str(kind): count for kind, count in self._verifier.refused.items()}
        return found


def _told(datagram: bytes, status: Status) -> bytes:
    """What a request with a ticket is answered when it is not executed."""
    try:
        record = decode(datagram)
    except EtherboneError:
        return b""
    if not record.ticket:
        return b""
    words = [status.word() if address == Window.STATUS.address else 0 for address in record.reads]
    return EtherboneBridge.answer(record, words)
