"""The C ABI of ``packet_harness.cpp``: its structures, and frames to and from them."""

import ctypes
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray

from precog_hw.stream.packet import USER

__all__ = [
    "AXIS",
    "Arrays",
    "Frames",
    "Monitor",
    "Sink",
    "Source",
    "Wire",
    "frames_of",
    "pack_user",
    "point",
]

Arrays = dict[str, NDArray[Any]]

_I64 = ctypes.c_int64
_P8 = ctypes.POINTER(ctypes.c_uint8)
_PI64 = ctypes.POINTER(ctypes.c_int64)
_PU64 = ctypes.POINTER(ctypes.c_uint64)
#: Offset and mask of each field: constants of Amaranth would take a fifth of a short run's time.
_USER = {name: (at.offset, (1 << at.width) - 1) for name, at in USER}
AXIS = ("tdata", "tkeep", "tlast", "tuser", "tvalid", "tready")


class Wire(NamedTuple):
    """A frame and what travels with it (`stream.packet.USER`)."""

    data: bytes
    error: bool = False
    time: int = 0
    tag: int = 0


@dataclass
class Frames:
    """What went into or came out of one stream.

    Attributes
    ----------
    frames : list of Wire
    first, last : list of int
        Cycles in which a frame's first and last beat were taken.
    """

    frames: list[Wire] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)


class Source(ctypes.Structure):
    """Frames for one AXI-Stream."""

    _fields_ = [
        *((name, _I64) for name in AXIS),
        ("frames", _I64),
        ("idle_256", _I64),
        ("data", _P8),
        ("offsets", _PI64),
        ("user", _PU64),
        ("sent", _I64),
        ("first", _PI64),
        ("last", _PI64),
    ]


class Sink(ctypes.Structure):
    """Room for the beats of one AXI-Stream output."""

    _fields_ = [
        *((name, _I64) for name in AXIS),
        ("room", _I64),
        ("bytes_room", _I64),
        ("stall_256", _I64),
        ("data", _P8),
        ("offsets", _PI64),
        ("user", _PU64),
        ("first", _PI64),
        ("last", _PI64),
        ("taken", _I64),
        ("wanted", _I64),
    ]


class Monitor(ctypes.Structure):
    """Ports noted whenever a strobe is up."""

    _fields_ = [
        ("strobe", _I64),
        ("ports", _I64),
        ("port", _PI64),
        ("room", _I64),
        ("stride", _I64),
        ("data", _P8),
        ("cycle", _PI64),
        ("seen", _I64),
    ]


def point(made: ctypes.Structure, arrays: Arrays) -> None:
    """Let a structure's pointers point to arrays, which the caller keeps alive."""
    kinds: dict[str, Any] = {name: kind for name, kind, *_ in made._fields_}
    for name, array in arrays.items():
        setattr(made, name, array.ctypes.data_as(kinds[name]))


def pack_user(wire: Wire) -> int:
    """`USER` as the harness takes it."""
    values = {"error": wire.error, "time": wire.time, "tag": wire.tag}
    return sum((values[name] & mask) << offset for name, (offset, mask) in _USER.items())


def frames_of(count: int, arrays: Arrays) -> Frames:
    """What a sink took."""
    offsets = arrays["offsets"]
    raw = arrays["data"][: offsets[count]].tobytes()
    made = Frames(first=arrays["first"][:count].tolist(), last=arrays["last"][:count].tolist())
    for n in range(count):
        bits = int(arrays["user"][n])
        user = {name: bits >> offset & mask for name, (offset, mask) in _USER.items()}
        data = raw[offsets[n] : offsets[n + 1]]
        made.frames.append(Wire(data, bool(user["error"]), user["time"], user["tag"]))
    return made
