"""`FeedBlock`: a Verilated block that turns several streams into one, at full speed."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from amaranth.lib import wiring
from numpy.typing import NDArray

from .block import RtlBlock, block_library
from .library import RtlError
from .verilate import BUILD_ROOT

__all__ = ["FeedBlock", "FeedRun", "feed_library"]

_I64 = ctypes.c_int64
_P8 = ctypes.POINTER(ctypes.c_uint8)
_STROBES = 8
_EXPORTED = {"payload": "tdata", "valid": "tvalid", "ready": "tready"}

Bytes = NDArray[np.uint8]


class _Feed(ctypes.Structure):
    _fields_ = [
        *((name, _I64) for name in ("payload", "valid", "ready", "paired", "words")),
        ("data", _P8),
        ("paired_data", _P8),
        ("taken", _I64),
    ]


@dataclass
class FeedRun:
    """Results of a run.

    Attributes
    ----------
    cycles : int
    ports : dict of str to ndarray of uint8, shape (n, bytes)
        Every watched port's value with each result.
    counts : list of int
        How often each bit of the strobes was up.
    """

    cycles: int
    ports: dict[str, Bytes]
    counts: list[int]


def feed_library(block: wiring.Component, *, label: str, root: Path = BUILD_ROOT) -> Path:
    """The shared library of a block with streams in and a stream `o`.

    Raises
    ------
    VerilateError
        A tool of the build is missing or failed.
    """
    from precog_hw.export import port_map
    from precog_hw.verilog import verilog_text

    text = verilog_text(block, name=RtlBlock.TOP, ports=port_map(block))
    return block_library(text, "feed_harness", label=label, root=root, late=True)


class FeedBlock(RtlBlock):
    """One instance of a block's library, freshly reset.

    Parameters
    ----------
    path : Path
        Made by `feed_library`.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._library.feed_run.restype = _I64

    def size(self, name: str) -> int:
        """Bytes of a port, or of a stream's payload."""
        return self._port(name if name in self._ports else self._part(name, "payload"))[1]

    def _part(self, name: str, part: str) -> str:
        """Name of a stream's port: as of a component, or as the NIC's export has it."""
        exported = f"s_{name.removeprefix('i_')}_{_EXPORTED[part]}"
        return exported if exported in self._ports else f"{name}_{part}"

    def run(
        self,
        feeds: Mapping[str, Bytes],
        count: int,
        *,
        paired: Mapping[str, tuple[str, Bytes]],
        watch: Sequence[str],
        strobes: str,
        seed: int = 1,
        idle: float = 0.0,
        stall: float = 0.0,
        watchdog: int = 50_000,
    ) -> FeedRun:
        """Offer the words of all streams, each in order, and take `count` results.

        Parameters
        ----------
        feeds : mapping of str to ndarray of uint8, shape (n, bytes)
            Payloads by stream.
        count : int
        paired : mapping of str to (str, ndarray of uint8)
            A port that goes with a stream's payload, and its values.
        watch : sequence of str
            Ports to note with each result, besides ``o_payload``.
        strobes : str
            A port of 8 bits or less; how often each is up is counted.
        seed : int
            Of idle cycles and back-pressure.
        idle, stall : float
            Probability that a word is not offered, a result not taken.
        watchdog : int
            Cycles without a transfer that are a failure.

        Raises
        ------
        RtlError
            The block hangs, gives a result too many, or takes an offer back.
        """
        kept, made = [], []
        for name, payloads in feeds.items():
            port, values = paired.get(name, ("", np.zeros((1, 1), dtype=np.uint8)))
            data = [np.ascontiguousarray(one) for one in (payloads, values)]
            kept.append(data)
            made.append(
                _Feed(
                    *(self._port(self._part(name, part))[0] for part in _EXPORTED),
                    self._port(port)[0] if port else -1,
                    len(payloads),
                    *(one.ctypes.data_as(_P8) for one in data),
                    0,
                )
            )
        watched = [self._port(name) for name in ("o_payload", *watch)]
        sizes = [size for _, size in watched]
        results = np.zeros((count, sum(sizes)), dtype=np.uint8)
        counts = (_I64 * _STROBES)()
        cycles = self._library.feed_run(
            self._handle,
            _I64(len(made)),
            (_Feed * len(made))(*made),
            *(_I64(self._port(f"o_{part}")[0]) for part in ("valid", "ready")),
            _I64(count),
            _I64(len(watched)),
            (_I64 * len(watched))(*(number for number, _ in watched)),
            results.ctypes.data_as(_P8),
            _I64(self._port(strobes)[0]),
            counts,
            ctypes.c_uint64(seed),
            _I64(round(256 * idle)),
            _I64(round(256 * stall)),
            _I64(watchdog),
        )
        if cycles < 0:
            cause = {-1: f"nothing moved for {watchdog} cycles", -3: f"more than {count} results"}
            raise RtlError(cause.get(cycles, self.fault))
        ends = np.cumsum([0, *sizes])
        ports = {
            name: np.ascontiguousarray(results[:, ends[n] : ends[n + 1]])
            for n, name in enumerate(("o_payload", *watch))
        }
        return FeedRun(int(cycles), ports, list(counts))
