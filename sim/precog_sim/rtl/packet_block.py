"""`PacketBlock`: any Verilated block with packet streams, driven by frames at random speed."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from amaranth.lib import wiring

from .block import RtlBlock, block_library
from .library import RtlError
from .packet_abi import (
    AXIS,
    Arrays,
    Frames,
    Monitor,
    Sink,
    Source,
    Wire,
    frames_of,
    pack_user,
    point,
)
from .verilate import BUILD_ROOT

__all__ = ["Frames", "PacketBlock", "Run", "Wire", "packet_library"]

_I64 = ctypes.c_int64
_ENDLESS = (1 << 63) - 1  # frames that a sink never has


def packet_library(
    block: wiring.Component,
    *,
    label: str,
    root: Path = BUILD_ROOT,
    once: bool = True,
    practice: Sequence[str] = (),
) -> Path:
    """The shared library of a block.

    Parameters
    ----------
    block : wiring.Component
        Its packet streams become AXI-Stream ports.
    label : str
        What is shown while building.
    root : Path
        Where build directories go.
    once : bool
    practice : sequence of str
        As `block_library`.

    Raises
    ------
    VerilateError
        A tool of the build is missing or failed.
    """
    from precog_hw.export import block_verilog

    text = block_verilog(block, name=RtlBlock.TOP)
    return block_library(
        text, "packet_harness", label=label, root=root, once=once, practice=practice, late=True
    )


@dataclass
class Run:
    """A run's result: streams by name, monitors by their strobe's name.

    Attributes
    ----------
    cycles : int
    sources, sinks : dict of str to Frames
    events : dict of str to list of (cycle, values)
        Values of the monitor's ports, in a cycle with the strobe up.
    """

    cycles: int
    sources: dict[str, Frames] = field(default_factory=dict)
    sinks: dict[str, Frames] = field(default_factory=dict)
    events: dict[str, list[tuple[int, tuple[int, ...]]]] = field(default_factory=dict)


class PacketBlock(RtlBlock):
    """One instance of a block's library, freshly reset; ports have the names of the Verilog.

    Parameters
    ----------
    path : Path
        Made by `packet_library`.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._library.packet_run.restype = _I64
        # A run of one short frame would spend most of its time on making these.
        self._sinks: dict[str, tuple[Sink, Arrays]] = {}
        self._monitors: dict[tuple[str, ...], tuple[Monitor, Arrays]] = {}

    def run(
        self,
        sources: Mapping[str, Sequence[Wire]],
        sinks: Sequence[str],
        *,
        monitors: Mapping[str, Sequence[str]] | None = None,
        clocks: Mapping[str, int] | None = None,
        seed: int = 1,
        idle: float = 0.0,
        stall: float = 0.0,
        settle: int = 400,
        watchdog: int = 20_000,
        held: int = 64,
        wanted: Mapping[str, int] | None = None,
    ) -> Run:
        """Send frames and take all that comes.

        Parameters
        ----------
        sources : mapping of str to sequence of Wire
            Frames for each input stream, by prefix ("s_axis").
        sinks : sequence of str
            Output streams, by prefix.
        monitors : mapping of str to sequence of str
            Ports to note whenever the strobe is up.
        clocks : mapping of str to int
            Inputs that grow by so much every cycle.
        seed : int
            Of idle cycles and back-pressure.
        idle, stall : float
            Probability that a beat is not offered, not taken.
        settle : int
            Cycles without movement after which the run ends.
        watchdog : int
            Cycles without movement after which waiting frames are a failure.
        held : int
            Frames that may come besides those that go in: made inside, or kept from runs before.
        wanted : mapping of str to int, optional
            Frames by sink: the run ends as soon as each of these sinks has its number.

        Raises
        ------
        RtlError
            The block hangs or breaks a rule of the stream.
        """
        monitors, clocks = monitors or {}, clocks or {}
        inward = [self._source(name, list(f), idle) for name, f in sources.items()]
        count = sum(len(f) for f in sources.values())
        size = sum(len(wire.data) for f in sources.values() for wire in f)
        outward = [
            self._sink(name, 2 * count + held, 2 * size + 1024 * held, stall) for name in sinks
        ]
        watched = [
            self._monitor(s, p, 8 * (count + held) + settle + 4096) for s, p in monitors.items()
        ]
        numbers = (_I64 * max(1, len(clocks)))(*(self._port(name)[0] for name in clocks))
        steps = (ctypes.c_uint64 * max(1, len(clocks)))(*clocks.values())
        c_in = (Source * max(1, len(inward)))(*(made for made, _ in inward))
        c_out = (Sink * max(1, len(outward)))(*(made for made, _ in outward))
        for n, name in enumerate(sinks):
            c_out[n].wanted = wanted.get(name, 0) if wanted else _ENDLESS
        c_watch = (Monitor * max(1, len(watched)))(*(made for made, _ in watched))
        result = self._library.packet_run(
            self._handle,
            _I64(len(inward)),
            c_in,
            _I64(len(outward)),
            c_out,
            _I64(len(watched)),
            c_watch,
            _I64(len(clocks)),
            numbers,
            steps,
            ctypes.c_uint64(seed),
            _I64(settle),
            _I64(watchdog),
        )
        if result < 0:
            sent = {name: c_in[n].sent for n, name in enumerate(sources)}
            taken = {name: c_out[n].taken for n, name in enumerate(sinks)}
            cause = {
                -1: f"nothing moved for {watchdog} cycles",
                -2: self.fault,
                -3: "more came out than can have gone in",
            }[result]
            raise RtlError(f"{cause}; frames sent {sent}, taken {taken}")
        run = Run(cycles=result)
        for n, (name, frames) in enumerate(sources.items()):
            arrays = inward[n][1]
            run.sources[name] = Frames(
                list(frames), arrays["first"].tolist(), arrays["last"].tolist()
            )
        for n, name in enumerate(sinks):
            run.sinks[name] = frames_of(c_out[n].taken, outward[n][1])
        for n, (strobe, ports) in enumerate(monitors.items()):
            run.events[strobe] = self._events(c_watch[n].seen, watched[n][1], ports)
        return run

    def _axis(self, prefix: str) -> list[int]:
        return [self._port(f"{prefix}_{name}")[0] for name in AXIS]

    def _source(self, prefix: str, frames: list[Wire], idle: float) -> tuple[Source, Arrays]:
        blob = np.frombuffer(b"".join(f.data for f in frames) or b"\0", dtype=np.uint8).copy()
        arrays: Arrays = {
            "data": blob,
            "offsets": np.cumsum([0, *(len(f.data) for f in frames)], dtype=np.int64),
            "user": np.array([pack_user(f) for f in frames] or [0], dtype=np.uint64),
            "first": np.zeros(len(frames), dtype=np.int64),
            "last": np.zeros(len(frames), dtype=np.int64),
        }
        made = Source(*self._axis(prefix), len(frames), round(256 * idle))
        point(made, arrays)
        return made, arrays

    def _sink(self, prefix: str, room: int, bytes_room: int, stall: float) -> tuple[Sink, Arrays]:
        """Room of earlier runs, if there is enough of it."""
        kept = self._sinks.get(prefix)
        if kept is None or kept[1]["user"].size < room or kept[1]["data"].size < bytes_room:
            arrays: Arrays = {
                "data": np.zeros(bytes_room, dtype=np.uint8),
                "offsets": np.zeros(room + 1, dtype=np.int64),
                "user": np.zeros(room, dtype=np.uint64),
                "first": np.zeros(room, dtype=np.int64),
                "last": np.zeros(room, dtype=np.int64),
            }
            made = Sink(*self._axis(prefix))
            point(made, arrays)
            kept = self._sinks[prefix] = made, arrays
        kept[0].room, kept[0].bytes_room, kept[0].stall_256 = room, bytes_room, round(256 * stall)
        return kept

    def _monitor(self, strobe: str, ports: Sequence[str], room: int) -> tuple[Monitor, Arrays]:
        """Room of earlier runs, if there is enough of it."""
        kept = self._monitors.get((strobe, *ports))
        if kept is not None and kept[1]["cycle"].size >= room:
            kept[0].room = room
            return kept
        found = [self._port(name) for name in ports]
        stride = sum(size for _, size in found)
        arrays: Arrays = {
            "port": np.array([number for number, _ in found] or [0], dtype=np.int64),
            "data": np.zeros(max(1, stride * room), dtype=np.uint8),
            "cycle": np.zeros(room, dtype=np.int64),
        }
        made = Monitor(strobe=self._port(strobe)[0], ports=len(found), room=room, stride=stride)
        point(made, arrays)
        kept = self._monitors[(strobe, *ports)] = made, arrays
        return kept

    def _events(
        self, seen: int, arrays: Arrays, ports: Sequence[str]
    ) -> list[tuple[int, tuple[int, ...]]]:
        sizes = [self._port(name)[1] for name in ports]
        raw, at, made = arrays["data"][: seen * sum(sizes)].tobytes(), 0, []
        for n in range(seen):
            values = []
            for size in sizes:
                values.append(int.from_bytes(raw[at : at + size], "little"))
                at += size
            made.append((int(arrays["cycle"][n]), tuple(values)))
        return made
