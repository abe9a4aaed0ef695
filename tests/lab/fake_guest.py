"""A guest without QEMU: its socket, its queue pairs and its answers are the test's."""

import json
import socket
from collections import deque

from precog_lab.guest import Address, Answer
from precog_sim.backtoback.frames import Host, Packet, build

__all__ = ["FakeGuest", "frame"]


class FakeGuest:
    """What `Lab` uses of a guest.

    Attributes
    ----------
    pairs_now : list of (int, int)
        Numbers of its queue pairs, here and there.
    got : list of bytes
        Frames that were delivered.
    full : bool
        Its queue takes nothing.
    """

    def __init__(self, number: int) -> None:
        self.address = Address(number)
        self.frames, self._far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.commands, self._commands = socket.socketpair()
        self.pairs, self._pairs = socket.socketpair()
        self.frames.setblocking(False)
        self.pairs_now: list[tuple[int, int]] = []
        self.got: list[bytes] = []
        self.full = False
        self.asked = 0
        self._questions: deque[int] = deque()

    def send(self, frame: bytes) -> None:
        """The guest's kernel sends a frame."""
        self._far.send(frame)

    def receive(self) -> bytes | None:
        try:
            return self.frames.recv(1 << 16)
        except BlockingIOError:
            return None

    def deliver(self, frame: bytes) -> bool:
        if not self.full:
            self.got.append(frame)
        return not self.full

    def ask_pairs(self, question: int) -> None:
        self.asked += 1
        self._questions.append(question)
        self._pairs.send(b"x")

    def listed(self) -> list[tuple[int, str]]:
        self.pairs.recv(1)
        entries = [
            {"ifname": "rxe0", "port": 1, "lqpn": here, "rqpn": there, "type": "RC", "state": "RTS"}
            for here, there in self.pairs_now
        ]
        return [(self._questions.popleft(), json.dumps(entries))]

    def answers(self) -> list[Answer]:
        return []

    def check(self) -> None:
        """It lives."""

    def tail(self) -> str:
        return f"last words of {self.address.number}"

    def close(self) -> None:
        for one in (
            *(self.frames, self._far, self.commands, self._commands, self.pairs, self._pairs),
        ):
            one.close()


def _host(number: int) -> Host:
    address = Address(number)
    ip = int.from_bytes(bytes(map(int, address.ip.split("."))), "big")
    return Host(int.from_bytes(address.mac_bytes, "big"), ip)


def frame(source: int, destination: int, dest_qp: int, psn: int, payload: bytes = b"data") -> bytes:
    """A SEND of a guest, which the wire may mark."""
    packet = Packet(4, dest_qp, psn, True, payload=payload)
    return build(packet, _host(source), _host(destination), 50_000)
