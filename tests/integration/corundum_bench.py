"""What Corundum is to its application block, with a MAC that reports what it has sent.

The wrapper and the taps are Verilated by themselves, in seconds: the pins of the NIC in them lead
out of the bench to those of the NIC that the other tests have built, whose clock is the same.
"""

import gc
import random
import re
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from amaranth.hdl import UnusedElaboratable

from precog_hw.corundum.control import AppControl
from precog_hw.corundum.export import app_core, module_ports
from precog_hw.corundum.interface import APP_ID, PARAMETERS, PORTS
from precog_hw.corundum.wrapper import app_block
from precog_hw.export import block_verilog, port_map
from precog_hw.nic import PrecogNic
from precog_hw.stream.axis import AxisPorts
from precog_sim.rtl.axil import PinTransport
from precog_sim.rtl.block import RtlBlock, block_library
from precog_sim.rtl.packet_nic import PacketNic
from precog_spec.config import NicConfig

PORT_COUNT = 2  # a NIC at the first
ADDRESS_BITS = 24
TAG_BITS, TS_BITS = 16, 96
CNP_TAG = (1 << TAG_BITS) - 1
_PAYLOAD = re.compile(r"(s_axil_(?:aw|ar|w|r|b)|.*_t)(?:addr|prot|data|strb|resp|keep|last|user)$")
_WIDTHS = {port.name: port.width for port in PORTS}


class Frame(NamedTuple):
    """A packet; `side` is a tag on its way out, a time stamp on its way in."""

    data: bytes
    side: int
    bad: bool = False


@dataclass
class Run:
    """What came out, and of each input the cycles in which its beats were taken."""

    tx: list[Frame] = field(default_factory=list)
    rx: list[Frame] = field(default_factory=list)
    completions: list[tuple[int, int]] = field(default_factory=list)
    sent: list[tuple[int, int]] = field(default_factory=list)  # what the MAC said: tag, time
    cycles: int = 0


def parameters(width: int, tick_ps: int) -> dict[str, str]:
    """Unlike each other, and unlike the defaults."""
    return {
        "PORTS_PER_IF": str(PORT_COUNT),
        **{"CLK_PERIOD_NS_NUM": str(tick_ps), "CLK_PERIOD_NS_DENOM": "1000"},
        **{"AXIL_APP_CTRL_ADDR_WIDTH": str(ADDRESS_BITS), "RAM_SEG_COUNT": "4"},
        **{"AXIS_DATA_WIDTH": str(2 * width), "AXIS_SYNC_DATA_WIDTH": str(width)},
        **{"DDR_CH": "3", "HBM_CH": "2", "PTP_PEROUT_COUNT": "5", "APP_GPIO_IN_WIDTH": "7"},
    }


def stub(width: int, config: NicConfig, tick_ps: int, *, inside: str | None = None) -> str:
    """A module with a NIC's ports: outputs are zero, or those of `inside`'s inputs."""
    with warnings.catch_warnings():
        # Elaborating takes seconds and changes no port.
        warnings.simplefilter("ignore", UnusedElaboratable)
        ports = port_map(AxisPorts(PrecogNic(config, tick_ps=tick_ps)))
        gc.collect()
    lines = [f"module precog_nic_{width}({', '.join(ports)}, clk, rst);"]
    lines += ["  input clk;", "  input rst;"]
    inward = [name for name, (_, direction) in ports.items() if direction.value == "input"]
    lines.append(f"  wire unused = &{{ 1'h0, clk, rst, {', '.join(inward)} }};")
    for name, (value, direction) in ports.items():
        lines.append(f"  {direction.value} [{len(value) - 1}:0] {name};")
        if direction.value == "output":
            driven = f"{inside}.nic_{name}" if inside and _coupled(name) else f"{len(value)}'h0"
            lines.append(f"  assign {name} = {driven};")
    return "\n".join([*lines, "endmodule", ""]).replace("[0:0] ", "")


def _bits(expression: str, values: dict[str, str]) -> int:
    """Value of an expression of Verilog over parameters."""
    if not expression:
        return 1
    if chosen := re.fullmatch(r"\(?(.+?) \? (.+) : (.+?)\)?( \+ 1)?", expression):
        yes = _bits(chosen[1], values)
        return _bits(chosen[2] if yes else chosen[3], values) + bool(chosen[4])
    named = re.sub(
        r"[A-Z]\w*", lambda found: str(_bits(values[found[0]], values)), expression
    ).replace("$clog2", "clog2")
    names = {"clog2": lambda value: (int(value) - 1).bit_length()}
    return int(eval(named.replace("/", "//"), names))


def _coupled(name: str) -> bool:
    return name.startswith("s_axil_") or re.match(r"[sm]_axis_[tr]x_", name) is not None


def bench_text(width: int, nic: str, tick_ps: int, *, coupled: bool) -> str:
    """The block with all its ports, and those of the NIC in it if it is not there."""
    values = PARAMETERS | parameters(width, tick_ps)
    address_bits = len_of(nic, width, "s_axil_awaddr")
    pins = {
        name: (direction, bits)
        for name, (direction, bits) in module_ports(nic, f"precog_nic_{width}").items()
        if coupled and _coupled(name)
    }
    names = [*(port.name for port in PORTS), *(f"nic_{name}" for name in pins)]
    lines = [f"module precog_block({', '.join(names)});"]
    lines += [f"  parameter {name} = {value};" for name, value in values.items()]
    for port in PORTS:
        span = f"[{port.range}] " if port.range else ""
        lines.append(f"  {'input' if port.inward else 'output'} {span}{port.name};")
    for name, (direction, bits) in pins.items():
        # What the NIC's stub takes is seen outside, what it gives comes from there.
        outward = direction == "input"
        lines.append(f"  {'output' if outward else 'input'} [{bits - 1}:0] nic_{name};")
        if outward:
            inside = f"dut.port[0].precog.width_{width}.nic.nic"
            lines.append(f"  assign nic_{name} = {inside}.{name};")
    joined = ", ".join(f".{name}({name})" for name in values)
    connected = ", ".join(f".{port.name}({port.name})" for port in PORTS)
    lines += [f"  mqnic_app_block #({joined}) dut ({connected});", "endmodule", ""]
    return "\n".join(lines) + "".join(
        (
            app_block([width], nics=1, address_bits=address_bits, tick_ps=tick_ps, app_id=APP_ID),
            block_verilog(AppControl(1, address_bits), name="precog_app_control"),
            app_core(width, nic, address_bits=address_bits),
        )
    )


def len_of(text: str, width: int, port: str) -> int:
    """Bits of a port of the NIC."""
    return module_ports(text, f"precog_nic_{width}")[port][1]


@cache
def library(config: NicConfig, tick_ps: int) -> Path:
    """The bench without a NIC."""
    nic = stub(config.width, config, tick_ps, inside="precog_block")
    text = bench_text(config.width, nic, tick_ps, coupled=True)
    return block_library(text, "packet_harness", label=f"Corundum, {config.width} bits")


class Bench(RtlBlock):
    """The block, freshly reset, with the NIC that belongs into it.

    Parameters
    ----------
    config : NicConfig
    tick_ps : int
    """

    def __init__(self, config: NicConfig, tick_ps: int) -> None:
        super().__init__(library(config, tick_ps))
        self.width = config.width
        self.nic = PacketNic(config, tick_ps=tick_ps).block
        names = [name for name in self._ports if name.startswith("nic_")]
        outward = re.compile(
            r"nic_(s_axil_(aw|w|ar)ready|s_axil_[br](?!ready).*|s_axis_.*_tready"
            r"|m_axis_.*_t(?!ready).*)"
        )
        self._from_nic = [name[4:] for name in names if outward.fullmatch(name)]
        self._to_nic = [name[4:] for name in names if not outward.fullmatch(name)]
        self._seen: dict[str, int] = {}
        self._given: dict[str, int] = {}
        self._vectors: dict[str, int] = {}
        self._bits = {port.name: self._part(port.width) for port in PORTS}
        self.poke(m_axis_sync_tx_cpl_ready=0)
        self.nic.poke(m_decision_tready=1)

    def close(self) -> None:
        """Free both."""
        self.nic.close()
        super().close()

    def tick(self, cycles: int = 1) -> None:
        """Clock both, whose pins stay as they are for all of the cycles."""
        self.settle()
        super().tick(cycles)
        self.nic.tick(cycles)

    def settle(self) -> None:
        """Let what depends on inputs within a cycle follow, on both sides of the pins."""
        for _ in range(4):
            told = _pins(self._from_nic, self.nic.peek)
            changed = {f"nic_{n}": v for n, v in told.items() if self._seen.get(n) != v}
            self.poke(**changed)
            self._seen |= told
            asked = _pins(self._to_nic, lambda name: self.peek(f"nic_{name}"))
            changed = {n: v for n, v in asked.items() if self._given.get(n) != v}
            if not changed:
                return
            self.nic.poke(**changed)
            self._given |= asked
        raise AssertionError("pins must settle")

    def put(self, name: str, value: int, port: int = 0) -> None:
        """Set one port's part of a vector."""
        bits = self._bits[name]
        old = self._vectors.get(name, 0) & ~(((1 << bits) - 1) << port * bits)
        self._vectors[name] = old | value << port * bits
        self.poke(**{name: self._vectors[name]})

    def get(self, name: str, port: int = 0) -> int:
        """One port's part of a vector."""
        bits = self._bits[name]
        return self.peek(name) >> port * bits & ((1 << bits) - 1)

    def part(self, name: str) -> int:
        """Bits of one port's part of a vector."""
        return self._bits[name]

    def bytes_of(self, name: str) -> int:
        """Room that the simulation has for a port."""
        return self._ports[name][1]

    def bits_of(self, name: str, width: int) -> int:
        """Bits of a whole port, for the parameters that `parameters` sets."""
        return _bits(_WIDTHS[name], PARAMETERS | parameters(width, 1000))

    def _part(self, width: str) -> int:
        """Bits of one port of the block's vectors over ports, 0 for others."""
        sizes = {
            **{"AXIS_SYNC_DATA_WIDTH": self.width, "AXIS_SYNC_KEEP_WIDTH": self.width // 8},
            **{"AXIS_SYNC_TX_USER_WIDTH": 1 + TAG_BITS, "AXIS_SYNC_RX_USER_WIDTH": 1 + TS_BITS},
            **{"PTP_TS_WIDTH": TS_BITS, "TX_TAG_WIDTH": TAG_BITS},
        }
        whole, _, each = width.partition("*")
        return sizes.get(each, 0) if each else int(whole == "PORT_COUNT")

    def run(
        self,
        tx: Iterable[Frame] = (),
        rx: Iterable[Frame] = (),
        *,
        rng: random.Random,
        idle: float = 0.0,
        stall: float = 0.0,
        settle: int = 150,
    ) -> Run:
        """Frames both ways until nothing has moved for `settle` cycles; the MAC reports."""
        run = Run()
        sources = {"tx": _Source(tx), "rx": _Source(rx)}
        sinks: dict[str, list[tuple[bytes, int]]] = {"tx": [], "rx": []}
        reports: deque[tuple[int, int]] = deque()
        held: dict[str, tuple[int, ...]] = {}
        quiet = 0
        while quiet < settle:
            for way, source in sources.items():
                self._offer(way, source, rng.random() >= idle)
                self.put(f"m_axis_sync_{way}_tready", int(rng.random() >= stall))
            said = bool(reports) and rng.random() >= idle
            if said:
                tag, ts = reports[0]
                self.put("s_axis_sync_tx_cpl_tag", tag)
                self.put("s_axis_sync_tx_cpl_ts", ts)
            self.put("s_axis_sync_tx_cpl_valid", int(said))
            self.put("m_axis_sync_tx_cpl_ready", int(rng.random() >= stall))
            self.settle()
            moved = False
            for way, source in sources.items():
                if source.on and self.get(f"s_axis_sync_{way}_tready"):
                    source.taken(self.width // 8)
                    moved = True
                names = ("tdata", "tkeep", "tlast", "tuser")
                beat = tuple(self.get(f"m_axis_sync_{way}_{name}") for name in names)
                valid = self.get(f"m_axis_sync_{way}_tvalid")
                assert way not in held or (valid and beat == held[way]), "an offer must stay"
                held.pop(way, None)
                if not valid:
                    continue
                if not self.get_input(f"m_axis_sync_{way}_tready"):
                    held[way] = beat
                    continue
                moved = True
                self._arrived(way, beat, sinks[way], run, reports, rng)
            if said and self.get("s_axis_sync_tx_cpl_ready"):
                reports.popleft()
                moved = True
            if self.get("m_axis_sync_tx_cpl_valid") and self.get_input("m_axis_sync_tx_cpl_ready"):
                tag = self.get("m_axis_sync_tx_cpl_tag")
                run.completions.append((tag, self.get("m_axis_sync_tx_cpl_ts")))
            self.tick()
            run.cycles += 1
            waiting = any(source.frames for source in sources.values()) or reports
            quiet = 0 if moved else quiet + 1
            assert not (waiting and quiet > 20_000), "nothing moves"
            if waiting:
                quiet = min(quiet, settle - 1)
        for way in sources:
            self.put(f"s_axis_sync_{way}_tvalid", 0)
        return run

    def get_input(self, name: str, port: int = 0) -> int:
        """What `put` has set."""
        bits = self._bits[name]
        return self._vectors.get(name, 0) >> port * bits & ((1 << bits) - 1)

    def _offer(self, way: str, source: "_Source", wanted: bool) -> None:
        if not source.on and source.frames and wanted:
            source.on = True
            frame, size = source.frames[0], self.width // 8
            part = frame.data[source.at : source.at + size]
            last = source.at + size >= len(frame.data)
            self.put(f"s_axis_sync_{way}_tdata", int.from_bytes(part, "little"))
            self.put(f"s_axis_sync_{way}_tkeep", (1 << len(part)) - 1)
            self.put(f"s_axis_sync_{way}_tlast", int(last))
            self.put(f"s_axis_sync_{way}_tuser", frame.side << 1 | (frame.bad and last))
        self.put(f"s_axis_sync_{way}_tvalid", int(source.on))

    def _arrived(
        self,
        way: str,
        beat: tuple[int, ...],
        beats: list[tuple[bytes, int]],
        run: Run,
        reports: deque[tuple[int, int]],
        rng: random.Random,
    ) -> None:
        data, keep, last, user = beat
        count, size = keep.bit_count(), self.width // 8
        assert keep == (1 << count) - 1
        assert count == size or (last and count)
        beats.append((data.to_bytes(size, "little")[:count], user))
        if not last:
            return
        sides = {user >> 1 for _, user in beats}
        assert len(sides) == 1, "what is beside a packet is the same on all of its beats"
        frame = Frame(b"".join(part for part, _ in beats), sides.pop(), bool(user & 1))
        beats.clear()
        getattr(run, way).append(frame)
        if way == "tx":
            reports.append((frame.side, rng.getrandbits(TS_BITS)))
            run.sent.append(reports[-1])


def _pins(names: Sequence[str], peek: Callable[[str], int]) -> dict[str, int]:
    """Handshakes, and of what they offer as much as counts."""
    seen = {name: peek(name) for name in names if name.endswith(("valid", "ready"))}
    for name in names:
        if name not in seen:
            offer = _PAYLOAD.sub(r"\1valid", name)
            if seen[offer]:
                seen[name] = peek(name)
    return seen


class _Source:
    """Frames that wait, and how far the first of them is."""

    def __init__(self, frames: Iterable[Frame]) -> None:
        self.frames = deque(frames)
        self.at = 0
        self.on = False

    def taken(self, size: int) -> None:
        self.on = False
        self.at += size
        if self.at >= len(self.frames[0].data):
            self.frames.popleft()
            self.at = 0


class _Renamed:
    """The registers' pins under the names that the transport has for them."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def poke(self, **values: int) -> None:
        self._bench.poke(**{_renamed(name): value for name, value in values.items()})

    def peek(self, name: str) -> int:
        self._bench.settle()
        return self._bench.peek(_renamed(name))

    def tick(self, cycles: int = 1) -> None:
        self._bench.tick(cycles)

    def close(self) -> None:
        """The bench is closed by whoever made it."""


def _renamed(name: str) -> str:
    return name.replace("s_axil_", "s_axil_app_ctrl_")


def transport(bench: Bench) -> PinTransport:
    """The host's way to the block's registers."""
    return PinTransport(_Renamed(bench), ADDRESS_BITS)  # type: ignore[arg-type]


def completions(frames: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those that are the host's."""
    return [report for report in frames if report[0] != CNP_TAG]
