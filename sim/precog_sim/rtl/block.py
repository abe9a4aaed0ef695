"""`RtlBlock`: a Verilated block, its ports by name, its clock; what its harnesses share."""

import ctypes
import os
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from .build import late_reset, prepared
from .compiling import FAST
from .verilate import BUILD_ROOT, COVERAGE, shared_library

__all__ = ["Bits", "RtlBlock", "block_library"]

_I64 = ctypes.c_int64
_TOP = "precog_block"
#: A block runs for seconds, and at this level compiles in half of the time.
_EFFORT = "-O1"


def block_library(
    verilog: str,
    harness: str,
    *,
    label: str,
    top: str = _TOP,
    root: Path = BUILD_ROOT,
    once: bool = True,
    practice: Sequence[str] = (),
    late: bool = False,
) -> Path:
    """The shared library of a block.

    Parameters
    ----------
    verilog : str
        Its module is `top`.
    harness : str
        Name of the C++ file of this package that runs it.
    label : str
        What is shown while building.
    root : Path
        Where build directories go.
    once : bool
        One evaluation for each edge; otherwise until nothing changes: slower, for logic that looks
        like a loop to Verilator.
    practice : sequence of str
        For a block that runs for minutes, as `shared_library` has it: compiled with more effort,
        its reset tied low as in `build`. Registers start with their reset values.
    late : bool
        A reset may come one cycle later than it is asked for (`build.late_reset`).

    Raises
    ------
    VerilateError
        A tool of the build is missing or failed.
    """
    text = resources.files(__package__).joinpath(f"{harness}.cpp").read_text()
    ports = _ports_header(verilog, top)
    effort = FAST if practice else _EFFORT
    if practice:
        verilog, ports = prepared(verilog, top), f"#define NO_RESET\n{ports}"
    elif late and not os.environ.get(COVERAGE):  # which counts the lines of the top
        verilog, ports = late_reset(verilog, top), f"#define LATE_RESET\n{ports}"
    return shared_library(
        verilog,
        text,
        {"ports.h": ports},
        top=top,
        label=label,
        root=root,
        effort=effort,
        once=once,
        practice=practice,
    )


def _ports_header(verilog: str, top: str) -> str:
    """Text of ``ports.h``: the ports of module `top`, but its clock."""
    body = verilog[verilog.index(f"module {top}(") :]
    body = body[: body.index("endmodule")]
    ports = re.findall(r"^  (?:input|output) (?:\[[^\]]+\] )?(\w+);", body, re.M)
    return "".join(f"PORT({name})\n" for name in ports if name != "clk")


class Bits(NamedTuple):
    """Bits of ports: for each one the port's number, its place in it, and a level."""

    size: int
    numbers: ctypes.Array[ctypes.c_int64]


class RtlBlock:
    """One instance of a block's library, freshly reset; ports have the names of the Verilog.

    Parameters
    ----------
    path : Path
        Made by `block_library`.
    """

    TOP = _TOP

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._library.block_new.restype = ctypes.c_void_p
        self._library.block_name.restype = ctypes.c_char_p
        self._library.block_fault.restype = ctypes.c_char_p
        for name in ("ports", "bytes", "cycles", "tick_until"):
            getattr(self._library, f"block_{name}").restype = _I64
        self._handle = ctypes.c_void_p(self._library.block_new())
        self._library.block_at.restype = ctypes.c_void_p
        self._ports: dict[str, tuple[int, int]] = {}
        self._bytes: dict[str, ctypes.Array[ctypes.c_uint8]] = {}
        self._unsettled = False  # inputs have changed since the last evaluation
        for n in range(self._library.block_ports(self._handle)):
            number = _I64(n)
            name = self._library.block_name(self._handle, number).decode()
            self._ports[name] = n, self._library.block_bytes(self._handle, number)

    def close(self) -> None:
        """Free the instance; harmless twice."""
        if self._handle.value is not None:
            self._library.block_free(self._handle)
            self._handle.value = None
            self._ports.clear()
            self._bytes.clear()

    @property
    def cycles(self) -> int:
        """Cycles since the reset."""
        return int(self._library.block_cycles(self._handle))

    @property
    def fault(self) -> str:
        """Which rule of its stream an output broke."""
        return str(self._library.block_fault(self._handle).decode())

    def poke(self, **values: int) -> None:
        """Set inputs; they are seen from the next cycle on."""
        for name, value in values.items():
            number, size = self._port(name)
            self._library.block_poke(self._handle, _I64(number), value.to_bytes(size, "little"))
        self._unsettled = True

    def peek(self, name: str) -> int:
        """Value of a port, its combinational paths settled."""
        self.evaluate()
        return int.from_bytes(self.port(name), "little")

    def evaluate(self) -> None:
        """Evaluate what a change has not reached yet."""
        if self._unsettled:
            self._library.block_settle(self._handle)
            self._unsettled = False

    def port(self, name: str) -> "ctypes.Array[ctypes.c_uint8]":
        """Bytes of a port in the model, least significant first: up to date after `evaluate`.

        They are the model's own, and gone with it.

        Raises
        ------
        KeyError
            There is none of that name.
        """
        if name not in self._bytes:
            number, size = self._port(name)
            at = self._library.block_at(self._handle, _I64(number))
            self._bytes[name] = (ctypes.c_uint8 * size).from_address(at)
        return self._bytes[name]

    def tick(self, cycles: int = 1) -> None:
        """Clock the block."""
        self._library.block_tick(self._handle, _I64(cycles))

    def bits(self, bits: Sequence[tuple[str, int, bool]]) -> Bits:
        """Bits of ports, each with a level, for `tick_until`."""
        flat = [n for name, at, level in bits for n in (self._port(name)[0], at, level)]
        return Bits(len(bits), (_I64 * len(flat))(*flat))

    def tick_until(self, bits: Bits, most: int) -> int:
        """Clock the block up to the first cycle in which a bit has its level; how many times."""
        count = _I64(bits.size)
        return int(self._library.block_tick_until(self._handle, count, bits.numbers, _I64(most)))

    def pulse(self, strobe: str, **values: int) -> None:
        """One cycle with `strobe` up and `values` set."""
        self.poke(**values, **{strobe: 1})
        self.tick()
        self.poke(**{strobe: 0})

    def _port(self, name: str) -> tuple[int, int]:
        """Number and bytes of a port."""
        if name not in self._ports:
            raise KeyError(f"port must be one of {', '.join(self._ports)}, not {name!r}")
        return self._ports[name]
