"""The emulated card behind each kind of link: a mapped BAR, a serial line, UDP."""

import os
import select
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_host.emulator.device import Emulator
from precog_host.emulator.opening import open_emulator
from precog_host.opening import open_transport
from precog_host.pci import PciTransport
from precog_host.serve import EtherboneServer, TransportBus
from precog_host.transport import BusError, Transport
from precog_models.bridge.uartbone import UartBridge
from precog_spec.frames.bridge import TIMEOUT_MS

SCRATCH = 0x20  # byte address of ID.SCRATCH


class LoggedCard:
    """Words of an emulated card that remembers every write."""

    def __init__(self) -> None:
        self.card = open_emulator("qps=8,sets=4")
        self.log: list[tuple[int, int]] = []

    def read32(self, address: int) -> int:
        return self.card.read32(address)

    def write32(self, address: int, value: int) -> None:
        self.card.write32(address, value)
        self.log.append((address, value))

    def close(self) -> None:
        pass


class SampledLink:
    """A link to registers; samples reach the card by another way, as on a board."""

    def __init__(self, link: Transport, card: Emulator) -> None:
        self.link, self.card = link, card

    def read32(self, address: int) -> int:
        return self.link.read32(address)

    def write32(self, address: int, value: int) -> None:
        self.link.write32(address, value)

    def close(self) -> None:
        self.link.close()

    def decide(self, samples: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.card.decide(samples)


class FakeBar:
    """A card's BAR as a CPU sees it: refused reads are all ones, refused writes are lost."""

    def __init__(self, card: Transport, size: int = 1 << 16) -> None:
        self.card, self.size, self.gone = card, size, False

    def __len__(self) -> int:
        return self.size // 4

    def __getitem__(self, index: int) -> int:
        try:
            return 0xFFFF_FFFF if self.gone else self.card.read32(4 * index)
        except BusError:
            return 0xFFFF_FFFF

    def __setitem__(self, index: int, value: int) -> None:
        if self.gone:
            return
        try:
            self.card.write32(4 * index, value)
        except BusError:
            return


class SerialPeer:
    """The golden UART bridge at the other end of a pseudo-terminal, in a thread.

    `to_bridge` and `to_host` may change what passes: they take bytes and return bytes.
    """

    def __init__(self, card: Transport) -> None:
        self.bridge = UartBridge(TransportBus(card))
        self.to_bridge: Callable[[bytes], bytes] = bytes
        self.to_host: Callable[[bytes], bytes] = bytes
        self.far, near = os.openpty()
        tty.setraw(near)
        tty.setraw(self.far)
        self.path = os.ttyname(near)
        self._near = near  # held open, so that a host that leaves is no end of file
        self._wake, self._end = os.pipe()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            ready, _, _ = select.select([self.far, self._wake], [], [], TIMEOUT_MS / 1000)
            if self._wake in ready:
                return
            if not ready:
                self.bridge.silence()
                continue
            said = b"".join(
                self.bridge.receive(byte) for byte in self.to_bridge(os.read(self.far, 4096))
            )
            if said:
                os.write(self.far, self.to_host(said))

    def close(self) -> None:
        os.write(self._end, b"!")
        self._thread.join()
        for descriptor in (self.far, self._near, self._wake, self._end):
            os.close(descriptor)


@contextmanager
def serial_peer(card: Transport) -> Iterator[SerialPeer]:
    peer = SerialPeer(card)
    try:
        yield peer
    finally:
        peer.close()


@contextmanager
def udp_server(card: Transport, **options: Any) -> Iterator[EtherboneServer]:
    server = EtherboneServer(card, **options)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()
        server.close()


@contextmanager
def linked(kind: str, card: Emulator) -> Iterator[Transport]:
    """A transport of a kind to an emulated card."""
    if kind == "pci":
        yield SampledLink(PciTransport(FakeBar(card), "pci:fake", lambda: None), card)
    elif kind == "uart":
        with serial_peer(card) as peer:
            yield SampledLink(open_transport(f"uart:{peer.path}@4000000"), card)
    else:
        with udp_server(card) as server:
            yield SampledLink(open_transport(f"udp:127.0.0.1:{server.port}"), card)
