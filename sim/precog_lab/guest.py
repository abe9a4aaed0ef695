"""A guest: a QEMU process, the socket of its network card, and two channels into it.

``-netdev dgram`` makes one datagram of one frame. The channels are virtio serial ports: one takes
commands, the other answers with the guest's queue pairs. A guest powers off when they are closed.
"""

import base64
import binascii
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .image import Image
from .machine import NO_EXTRAS, Extras, machine
from .packages import LabError

__all__ = ["Address", "Answer", "Guest"]

_FRAME_MAX = 1 << 16
_TAIL_LINES = 12
_START_S = 10.0


@dataclass(frozen=True)
class Address:
    """A guest's identity."""

    number: int

    @property
    def ip(self) -> str:
        """IPv4 address."""
        return f"10.0.0.{self.number + 1}"

    @property
    def mac(self) -> str:
        """Ethernet address."""
        return f"52:54:00:c9:05:{self.number + 1:02x}"

    @property
    def mac_bytes(self) -> bytes:
        """As a frame has it."""
        return bytes.fromhex(self.mac.replace(":", ""))


@dataclass(frozen=True)
class Answer:
    """What came of a command."""

    number: str
    status: int
    output: str  #: its last 24,000 bytes


class Guest:
    """One guest, running.

    Parameters
    ----------
    image : Image
    accel : str
        kvm or tcg.
    address : Address
    peers : sequence of Address
    folder : Path
        For sockets and the serial line's text; its path is short.
    mtu : int
        Of the network card, bytes.
    extras : Extras

    Attributes
    ----------
    frames : socket
        Datagrams are frames; connected, not blocking.
    commands, pairs : socket
        The two channels; not blocking.

    Raises
    ------
    LabError
        QEMU does not start.
    """

    def __init__(
        self,
        image: Image,
        accel: str,
        address: Address,
        peers: Sequence[Address],
        folder: Path,
        *,
        mtu: int = 1500,
        extras: Extras = NO_EXTRAS,
    ) -> None:
        self.address = address
        self.serial = folder / f"serial{address.number}"
        names = {
            part: folder / f"{part}{address.number}" for part in ("here", "there", "run", "qp")
        }
        self.frames = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.frames.bind(str(names["here"]))
        self.frames.setblocking(False)
        servers = [_server(names[part]) for part in ("run", "qp")]
        known = ",".join(f"{peer.ip}@{peer.mac}" for peer in peers)
        append = f"lab.ip={address.ip} lab.mtu={mtu} lab.peers={known}"
        command = machine(image, accel, append, extras)
        command += ["-serial", f"file:{self.serial}"]
        command += ["-netdev", _netdev(names["there"], names["here"])]
        command += [
            "-device",
            f"virtio-net-pci,netdev=n0,mac={address.mac},host_mtu={mtu},rombar=0",
        ]
        command += ["-device", "virtio-serial-pci"]
        for number, part in enumerate(("run", "qp"), 1):
            command += ["-chardev", f"socket,id=c{number},path={names[part]},server=off"]
            command += ["-device", f"virtserialport,chardev=c{number},nr={number}"]
        self._errors = folder / f"errors{address.number}"
        with self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                pass_fds=extras.descriptors,
            )
        try:
            self.commands, self.pairs = (self._accept(server) for server in servers)
        finally:
            for server in servers:
                server.close()
        self._connect(names["there"])
        self._text = {self.commands: b"", self.pairs: b""}
        self._asked = 0

    def _accept(self, server: socket.socket) -> socket.socket:
        try:
            channel, _ = server.accept()
        except TimeoutError:
            self.stop()
            raise LabError(f"QEMU must start within {_START_S:.0f} s: {self.tail()}") from None
        channel.setblocking(False)
        return channel

    def _connect(self, path: Path) -> None:
        """QEMU makes its network card after the channels."""
        give_up = time.monotonic() + _START_S
        while True:
            try:
                self.frames.connect(str(path))
            except (FileNotFoundError, ConnectionRefusedError):
                self.check()
                if time.monotonic() > give_up:
                    raise LabError(f"QEMU must open its card's socket: {self.tail()}") from None
                time.sleep(0.01)
            else:
                return

    # --- frames ----------------------------------------------------------------------------------

    def receive(self) -> bytes | None:
        """The next frame that the guest has sent, if there is one."""
        try:
            return self.frames.recv(_FRAME_MAX)
        except BlockingIOError:
            return None

    def deliver(self, frame: bytes) -> bool:
        """Give a frame to the guest; false if its queue is full."""
        try:
            self.frames.send(frame)
        except (BlockingIOError, ConnectionRefusedError):
            self.check()
            return False
        return True

    # --- channels --------------------------------------------------------------------------------

    def run(self, command: str) -> str:
        """Start a command of one line; the number that its answer bears."""
        self._asked += 1
        number = f"c{self._asked}"
        self.commands.sendall(f"{number} {' '.join(command.split())}\n".encode())
        return number

    def answers(self) -> list[Answer]:
        """Answers that have come; the first is the guest's own, ``ready``."""
        found = []
        for line in self._lines(self.commands):
            number, _, rest = line.partition(" ")
            status, _, output = rest.partition(" ")
            try:
                text = base64.b64decode(output).decode("utf-8", "replace")
                found.append(Answer(number, int(status), text))
            except (ValueError, binascii.Error):
                raise LabError(f"guest {self.address.number} said {line[:80]!r}") from None
        return found

    def ask_pairs(self, question: int) -> None:
        """Have the guest list its queue pairs."""
        self.pairs.sendall(f"{question}\n".encode())

    def listed(self) -> list[tuple[int, str]]:
        """Lists that have come: the number of the question, and rdma's JSON."""
        found = []
        for line in self._lines(self.pairs):
            number, _, text = line.partition(" ")
            found.append((int(number), text or "[]"))
        return found

    def _lines(self, channel: socket.socket) -> list[str]:
        try:
            part = channel.recv(1 << 16)
        except BlockingIOError:
            return []
        except ConnectionResetError:
            part = b""
        if not part:
            self.check(gone=True)
        *lines, self._text[channel] = (self._text[channel] + part).split(b"\n")
        return [line.decode("utf-8", "replace") for line in lines]

    # --- life ------------------------------------------------------------------------------------

    def check(self, *, gone: bool = False) -> None:
        """Nothing, while the guest lives.

        Raises
        ------
        LabError
            QEMU has ended.
        """
        if gone or self.process.poll() is not None:
            raise LabError(f"guest {self.address.number} has ended: {self.tail()}")

    def tail(self) -> str:
        """The end of what the guest said on its serial line, and QEMU on standard error."""
        text = ""
        for path in (self.serial, self._errors):
            if path.exists():
                text += path.read_bytes().decode("utf-8", "replace")
        lines = [line.rstrip() for line in text.splitlines() if line.strip()]
        return "\n".join(lines[-_TAIL_LINES:]) or "its serial line is silent"

    def stop(self) -> None:
        """End the guest."""
        self.process.kill()
        self.process.wait()
        for channel in ("frames", "commands", "pairs"):
            if hasattr(self, channel):
                getattr(self, channel).close()


def _server(path: Path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(path))
    server.listen(1)
    server.settimeout(_START_S)
    return server


def _netdev(local: Path, remote: Path) -> str:
    ends = (("local", local), ("remote", remote))
    return "dgram,id=n0," + ",".join(f"{end}.type=unix,{end}.path={path}" for end, path in ends)
