"""RoCEv2 frames as the lab sorts them: whom they are for, and what is sent again."""

from dataclasses import dataclass

from precog_spec.frames.headers import BTH, ETHERNET, IPV4, ROCE_PORT, UDP
from precog_spec.frames.opcodes import RELIABLE_REQUESTS

__all__ = ["Request", "Requests", "request"]

_IP_AT = ETHERNET.size
_UDP_AT = _IP_AT + IPV4.size
_BTH_AT = _UDP_AT + UDP.size
_UDP_IN_IPV4 = (b"\x08\x00\x45", 17)
_PSN_MASK = (1 << 24) - 1
_HALF = 1 << 23


@dataclass(frozen=True)
class Request:
    """Base transport header of a frame."""

    opcode: int
    dest_qp: int
    psn: int


def request(frame: bytes) -> Request | None:
    """What a guest's frame says, or None if it is not RoCEv2 in IPv4 without options."""
    kind, protocol = _UDP_IN_IPV4
    if frame[12:15] != kind or len(frame) < _BTH_AT + BTH.size or frame[_IP_AT + 9] != protocol:
        return None
    if UDP.get(frame, _UDP_AT, "destination_port") != ROCE_PORT:
        return None
    return Request(
        BTH.get(frame, _BTH_AT, "opcode"),
        BTH.get(frame, _BTH_AT, "dest_qp"),
        BTH.get(frame, _BTH_AT, "psn"),
    )


class Requests:
    """Requests of each connection by PSN: one that is not ahead of all before was sent again.

    Attributes
    ----------
    again : int
    """

    def __init__(self) -> None:
        self.again = 0
        self._last: dict[tuple[int, int, int], int] = {}

    def sent(self, source: int, destination: int, found: Request) -> None:
        """A guest has sent it."""
        if found.opcode not in RELIABLE_REQUESTS:
            return
        key = source, destination, found.dest_qp
        last = self._last.get(key)
        ahead = 1 if last is None else (found.psn - last) & _PSN_MASK
        if 0 < ahead < _HALF:
            self._last[key] = found.psn
        else:
            self.again += 1

    def forget(self) -> None:
        """Connections have gone: their numbers may be given again."""
        self._last.clear()
