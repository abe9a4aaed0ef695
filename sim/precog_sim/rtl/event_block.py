"""`EventBlock`: any Verilated block that turns a stream of events into a stream of results."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from amaranth.lib import data, wiring
from numpy.typing import NDArray

from .block import RtlBlock, block_library
from .library import RtlError
from .verilate import BUILD_ROOT

__all__ = ["EventBlock", "EventRun", "event_library", "pack", "unpack"]

_I64 = ctypes.c_int64
_WORD = 64

Table = NDArray[np.int64]


def event_library(block: wiring.Component, *, label: str, root: Path = BUILD_ROOT) -> Path:
    """The shared library of a block with streams `i` and `o`.

    Parameters
    ----------
    block : wiring.Component
    label : str
        What is shown while building.
    root : Path
        Where build directories go.

    Raises
    ------
    VerilateError
        A tool of the build is missing or failed.
    """
    from precog_hw.export import port_map
    from precog_hw.verilog import verilog_text

    text = verilog_text(block, name=RtlBlock.TOP, ports=port_map(block))
    return block_library(text, "event_harness", label=label, root=root, late=True)


def _places(layout: data.Layout) -> list[tuple[int, int, bool]]:
    """Lowest bit, width and signedness of every leaf of a structure of structures, in order."""
    places = []
    for _, field in layout:
        if isinstance(field.shape, data.Layout):
            places += [
                (field.offset + offset, width, signed)
                for offset, width, signed in _places(field.shape)
            ]
        else:
            signed = getattr(field.shape, "signed", False)
            places.append((field.offset, field.width, signed))
    return places


def pack(layout: data.Layout, table: Table, size: int) -> NDArray[np.uint8]:
    """Rows of leaf values, each up to 64 bits wide, as payloads of `size` bytes."""
    places = _places(layout)
    words = np.zeros((len(table), size // 8 + 2), dtype=np.uint64)
    for column, (lsb, width, _) in enumerate(places):
        value = table[:, column].astype(np.uint64) & np.uint64((1 << width) - 1)
        word, shift = divmod(lsb, _WORD)
        words[:, word] |= value << np.uint64(shift)
        if shift + width > _WORD:
            words[:, word + 1] |= value >> np.uint64(_WORD - shift)
    return np.ascontiguousarray(words.view(np.uint8)[:, :size])


def unpack(layout: data.Layout, payloads: NDArray[np.uint8]) -> Table:
    """The inverse of `pack`."""
    places = _places(layout)
    size = payloads.shape[1]
    padded = np.zeros((len(payloads), 8 * (size // 8 + 2)), dtype=np.uint8)
    padded[:, :size] = payloads
    words = padded.view(np.uint64)
    table = np.zeros((len(payloads), len(places)), dtype=np.int64)
    for column, (lsb, width, signed) in enumerate(places):
        word, shift = divmod(lsb, _WORD)
        value = words[:, word] >> np.uint64(shift)
        if shift + width > _WORD:
            value |= words[:, word + 1] << np.uint64(_WORD - shift)
        number = (value & np.uint64((1 << width) - 1)).astype(np.int64)
        if signed:
            number -= (number >> (width - 1)) << width
        table[:, column] = number
    return table


@dataclass
class EventRun:
    """What came of a run.

    Attributes
    ----------
    cycles : int
    latency : ndarray of int64, shape (n,)
        Cycles from each event's transfer to its result's offer.
    ports : dict of str to ndarray of uint8, shape (n, bytes)
        Every watched port's value with each result.
    """

    cycles: int
    latency: Table
    ports: dict[str, NDArray[np.uint8]]


class EventBlock(RtlBlock):
    """One instance of a block's library, freshly reset.

    Parameters
    ----------
    path : Path
        Made by `event_library`.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._library.event_run.restype = _I64

    def poke_struct(self, name: str, layout: data.Layout, values: Mapping[str, int]) -> None:
        """Set an input that is a structure."""
        self.poke(**{name: int(layout.const(values).as_bits())})

    def events(
        self,
        layout: data.Layout,
        table: Table,
        watch: Sequence[str] = (),
        *,
        seed: int = 1,
        idle: float = 0.0,
        stall: float = 0.0,
        watchdog: int = 20_000,
    ) -> EventRun:
        """Send events, and take a result for each.

        Parameters
        ----------
        layout : data.Layout
            Of the payload of `i`.
        table : ndarray of int64, shape (n, fields)
        watch : sequence of str
            Ports to note with each result, besides ``o_payload``.
        seed : int
            Of idle cycles and back-pressure.
        idle, stall : float
            Probability that an event is not offered, a result not taken.
        watchdog : int
            Cycles without a transfer that are a failure.

        Raises
        ------
        RtlError
            The block hangs, or gives a result too many, or takes an offer back.
        """
        numbers = [
            self._port(f"{stream}_{part}")[0]
            for stream in "io"
            for part in ("payload", "valid", "ready")
        ]
        watched = [self._port(name) for name in ("o_payload", *watch)]
        sizes = [size for _, size in watched]
        count = len(table)
        payloads = pack(layout, table, self._port("i_payload")[1])
        results = np.zeros((count, sum(sizes)), dtype=np.uint8)
        latency = np.zeros(count, dtype=np.int64)
        cycles = self._library.event_run(
            self._handle,
            *(_I64(number) for number in numbers),
            _I64(count),
            payloads.ctypes.data_as(ctypes.c_void_p),
            _I64(len(watched)),
            (_I64 * len(watched))(*(number for number, _ in watched)),
            results.ctypes.data_as(ctypes.c_void_p),
            latency.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_uint64(seed),
            _I64(round(256 * idle)),
            _I64(round(256 * stall)),
            _I64(watchdog),
        )
        if cycles == -1:
            raise RtlError(f"nothing moved for {watchdog} cycles")
        if cycles < 0:
            raise RtlError(self.fault)
        ends = np.cumsum([0, *sizes])
        ports = {
            name: np.ascontiguousarray(results[:, ends[n] : ends[n + 1]])
            for n, name in enumerate(("o_payload", *watch))
        }
        return EventRun(int(cycles), latency, ports)
