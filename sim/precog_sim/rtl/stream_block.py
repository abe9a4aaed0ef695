"""`StreamBlock`: a Verilated block with streams of words, driven by a script at full speed."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from amaranth.hdl import Signal
from amaranth.lib import wiring
from numpy.typing import NDArray

from .block import RtlBlock, block_library
from .library import RtlError
from .packet_abi import Arrays, point
from .verilate import BUILD_ROOT

__all__ = ["Link", "StreamBlock", "StreamRun", "stream_library"]

_I64 = ctypes.c_int64
_P8 = ctypes.POINTER(ctypes.c_uint8)
_EXPORTED = {"payload": "tdata", "valid": "tvalid", "ready": "tready"}
_PI64 = ctypes.POINTER(ctypes.c_int64)


class _Source(ctypes.Structure):
    _fields_ = [
        *((name, _I64) for name in ("payload", "valid", "ready", "words", "stride")),
        ("data", _P8),
        ("not_before", _PI64),
        ("taken_at", _PI64),
        ("taken", _I64),
    ]


class _Sink(ctypes.Structure):
    _fields_ = [
        *((name, _I64) for name in ("payload", "valid", "ready", "size_bit", "size_bits")),
        *((name, _I64) for name in ("extra", "num", "den", "stall_256", "room", "stride")),
        ("data", _P8),
        ("cycle", _PI64),
        ("taken", _I64),
        ("free_at", _I64),
    ]


class _Monitor(ctypes.Structure):
    _fields_ = [
        *((name, _I64) for name in ("strobe", "port", "room", "stride")),
        ("data", _P8),
        ("cycle", _PI64),
        ("seen", _I64),
    ]


@dataclass(frozen=True)
class Link:
    """How a sink takes words: each keeps it busy for (size + extra) * num / den cycles.

    Attributes
    ----------
    size : tuple of int
        First bit and number of bits of a word's size.
    extra : int
    num, den : int
        Cycles per byte; 0 / 1 for a sink that is never busy.
    stall : float
        Probability per cycle that nothing is taken.
    """

    size: tuple[int, int] = (0, 0)
    extra: int = 0
    num: int = 0
    den: int = 1
    stall: float = 0.0


@dataclass
class StreamRun:
    """What a run gave.

    Attributes
    ----------
    taken : dict of str to (n,) int64
        Cycle in which each word of a source was taken; shorter than its script if it was not.
    words : list of (cycle, word)
        Taken by the sink.
    events : list of (cycle, word)
        Noted by the monitor.
    """

    taken: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    words: list[tuple[int, int]] = field(default_factory=list)
    events: list[tuple[int, int]] = field(default_factory=list)


def stream_library(block: wiring.Component, *, label: str, root: Path = BUILD_ROOT) -> Path:
    """The shared library of a block.

    Raises
    ------
    VerilateError
        A tool of the build is missing or failed.
    """
    from precog_hw.export import port_map
    from precog_hw.verilog import verilog_text

    # The constant `ready` of a stream that is always ready is no port.
    ports = {n: port for n, port in port_map(block).items() if isinstance(port[0], Signal)}
    text = verilog_text(block, name=RtlBlock.TOP, ports=ports)
    return block_library(text, "stream_harness", label=label, root=root, late=True)


class StreamBlock(RtlBlock):
    """One instance of a block's library, freshly reset; ports have the names of the Verilog.

    Parameters
    ----------
    path : Path
        Made by `stream_library`.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._library.stream_run.restype = _I64

    def run(
        self,
        cycles: int,
        sources: Mapping[str, Sequence[tuple[int, int]]],
        *,
        sink: str,
        monitor: str,
        clock: tuple[str, int],
        link: Link,
        seed: int = 1,
        room: int = 1_000_000,
        watchdog: int = 100_000,
    ) -> StreamRun:
        """Clock the block for `cycles`.

        Parameters
        ----------
        cycles : int
        sources : mapping of str to sequence of (cycle, word)
            For each input stream: what it offers, from which cycle on.
        sink, monitor : str
            The output stream that is taken, and the one, or the strobed value, that is watched.
        clock : (str, int)
            An input that grows by one every cycle, and its bits.
        link : Link
        seed : int
            Of random stalls.
        room : int
            For words and events.
        watchdog : int
            Cycles after which a word that is not taken is a failure.

        Raises
        ------
        RtlError
            The block hangs or breaks a rule of the stream.
        """
        made = [self._source(name, words) for name, words in sources.items()]
        c_sources = (_Source * max(1, len(made)))(*(source for source, _ in made))
        out, out_arrays = self._sink(sink, link, room)
        seen, seen_arrays = self._monitor(monitor, room)
        number, _ = self._port(clock[0])
        result = self._library.stream_run(
            self._handle, _I64(cycles), _I64(len(made)), c_sources, ctypes.byref(out),
            ctypes.byref(seen), _I64(number), _I64(clock[1]), ctypes.c_uint64(seed), _I64(watchdog),
        )  # fmt: skip
        if result < 0:
            cause = {
                -1: f"a word was not taken for {watchdog} cycles",
                -2: self.fault,
                -3: f"there is room for {room} words only",
            }[result]
            taken = {name: c_sources[n].taken for n, name in enumerate(sources)}
            raise RtlError(f"{cause}; taken {taken}, cycle {self.cycles}")
        run = StreamRun(
            words=_words(out.taken, out.stride, out_arrays),
            events=_words(seen.seen, seen.stride, seen_arrays),
        )
        for n, name in enumerate(sources):
            run.taken[name] = made[n][1]["taken_at"][: c_sources[n].taken]
        return run

    def _stream(self, name: str) -> list[int]:
        return [self._port(self._part(name, part))[0] for part in ("payload", "valid", "ready")]

    def _part(self, name: str, part: str) -> str:
        """Name of a stream's port: as of a component, or as the NIC's export has it."""
        exported = f"{name}_{_EXPORTED[part]}"
        return exported if exported in self._ports else f"{name}_{part}"

    def _source(self, name: str, words: Sequence[tuple[int, int]]) -> tuple[_Source, Arrays]:
        stride = self._port(self._part(name, "payload"))[1]
        raw = b"".join(word.to_bytes(stride, "little") for _, word in words) or b"\0"
        arrays: Arrays = {
            "data": np.frombuffer(raw, dtype=np.uint8).copy(),
            "not_before": np.array([cycle for cycle, _ in words] or [0], dtype=np.int64),
            "taken_at": np.zeros(max(1, len(words)), dtype=np.int64),
        }
        made = _Source(*self._stream(name), len(words), stride)
        point(made, arrays)
        return made, arrays

    def _sink(self, name: str, link: Link, room: int) -> tuple[_Sink, Arrays]:
        stride = self._port(self._part(name, "payload"))[1]
        arrays: Arrays = {
            "data": np.zeros(stride * room, dtype=np.uint8),
            "cycle": np.zeros(room, dtype=np.int64),
        }
        made = _Sink(
            *self._stream(name), *link.size, link.extra, link.num, link.den,
            round(256 * link.stall), room, stride,
        )  # fmt: skip
        point(made, arrays)
        return made, arrays

    def _monitor(self, name: str, room: int) -> tuple[_Monitor, Arrays]:
        strobed = f"{name}_stb" in self._ports
        payload, stride = self._port(name if strobed else f"{name}_payload")
        strobe, _ = self._port(f"{name}_stb" if strobed else f"{name}_valid")
        arrays: Arrays = {
            "data": np.zeros(stride * room, dtype=np.uint8),
            "cycle": np.zeros(room, dtype=np.int64),
        }
        made = _Monitor(strobe, payload, room, stride)
        point(made, arrays)
        return made, arrays


def _words(count: int, stride: int, arrays: Arrays) -> list[tuple[int, int]]:
    raw = arrays["data"][: count * stride].tobytes()
    cycles = arrays["cycle"][:count].tolist()
    return [
        (cycles[n], int.from_bytes(raw[n * stride : (n + 1) * stride], "little"))
        for n in range(count)
    ]
