"""``python -m precog_sim.synth``: the hardware tables.

For each lane count of the core, each width of the packet path, and each other block with each
number of queue pairs: synthesise, place and route with several seeds, and write it all to
``summary.json``. Of the core also measure latency and interval
in simulation, and simulate the netlist against the golden model; of the packet path also count the
area on UltraScale+. Every step's result is kept by its inputs' digest, so that a run goes on where
the last one stopped; the summary is rewritten as results come in.
"""

import argparse
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from precog_hw.export import PACKET_BLOCKS
from precog_hw.stream.packet import WIDTHS
from precog_sim.commit import commit_name
from precog_sim.targets import new_file, new_folder
from precog_spec.config import PRESETS

from .blocks import LANES
from .netlist_run import run_netlist
from .page import page
from .place import Placed, place
from .rate import QPS, RATE_BLOCKS
from .record import recorded, update
from .subject import Subject, best_of, core_subject, packet_subject, rate_subject

__all__ = ["main"]

TRACKED = Path("docs/evidence/data/synth.json")
PAGE = Path("docs/evidence/blocks.md")
CORES = ("core", "core-ecc")  # without and with SECDED of the models' words


def main() -> int:
    """Exit status: 0 if every block was routed and the netlist equals the golden model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=new_folder, default="build/synth")
    parser.add_argument(
        "--block",
        nargs="+",
        default=[*CORES, "cps-tx", *RATE_BLOCKS],
        choices=(*CORES, *PACKET_BLOCKS, *RATE_BLOCKS),
    )
    parser.add_argument(
        "--lanes", type=int, nargs="+", default=list(LANES), choices=LANES, help="of the core"
    )
    parser.add_argument(
        "--width",
        type=int,
        nargs="+",
        default=[64, 512],
        choices=WIDTHS,
        help="bits in a beat of the packet path",
    )
    parser.add_argument(
        "--qps", type=int, nargs="+", help="queue pairs of what is neither core nor packet path"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--limit-min",
        type=float,
        default=60.0,
        help="minutes for a seed; some routings have no end, and are listed as such (default 60)",
    )
    parser.add_argument(
        "--record", type=new_file, default=str(TRACKED), help="where the demo looks"
    )
    parser.add_argument("--path", action="store_true", help="print each critical path")
    parser.add_argument(
        "--netlist",
        type=int,
        default=3000,
        help="decisions of the core's netlist's simulation; 0: none",
    )
    arguments = parser.parse_args()
    try:  # before hours of work
        _check(arguments)
    except ValueError as error:
        parser.error(str(error))
    wanted = _wanted(arguments)
    placed = _place_all(wanted, arguments)
    unrouted = [name for name in wanted if name not in placed]
    for line, best in placed.values():
        print(_said(line))
        if arguments.path:
            print("  " + "\n  ".join(best.path))
    for name in unrouted:
        print(f"{name}: no seed was routed within {arguments.limit_min:g} minutes")
    if not arguments.netlist or "core" not in arguments.block:
        return bool(unrouted)
    # The smallest NIC holds every kind of cell; a netlist simulates at 10,000 cycles a second.
    result = run_netlist(PRESETS["tiny"], arguments.netlist, 1, arguments.out)
    print(
        f"netlist of the NIC with {result.lanes} lanes: {result.mismatches} mismatches in "
        f"{result.decisions:,} decisions with the vendor's cells {result.first}"
    )
    return bool(result.mismatches or unrouted)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what would fail after hours, or would have no effect.

    Raises
    ------
    ValueError
        A number is out of range, a value stands twice, no block has such a size, or a table that
        is there is none.
    """
    if not arguments.limit_min > 0:
        raise ValueError(f"--limit-min must be above 0, not {arguments.limit_min:g}")
    for name, least in (("jobs", 1), ("netlist", 0)):
        value = getattr(arguments, name)
        if value < least:
            raise ValueError(f"--{name} must be {least} or more, not {value}")
    for name in ("block", "lanes", "width", "qps", "seeds"):
        values = getattr(arguments, name) or ()
        if len(set(values)) < len(values):
            raise ValueError(f"--{name} must have each value once, not {values!r}")
    for qps in arguments.qps or ():
        if qps < 2 or qps & (qps - 1):
            raise ValueError(f"--qps must be powers of two, 2 or more, not {qps}")
    if arguments.qps and not set(arguments.block) & set(RATE_BLOCKS):
        raise ValueError(f"--qps must be left out without a block of {', '.join(RATE_BLOCKS)}")
    for path in (arguments.out / "summary.json", arguments.record):
        recorded(path)


def _wanted(arguments: argparse.Namespace) -> dict[str, Callable[[], Subject]]:
    """What is to be placed, by the name that is shown."""
    wanted: dict[str, Callable[[], Subject]] = {}
    for block in arguments.block:
        if block in CORES:
            for lanes in arguments.lanes:
                ecc = block == "core-ecc"
                make = partial(core_subject, lanes, arguments.out, ecc=ecc)
                wanted[f"{block} {lanes} lanes"] = make
        elif block in RATE_BLOCKS:
            for qps in arguments.qps or [QPS[block]]:
                wanted[f"{block} {qps} QPs"] = partial(rate_subject, block, qps, arguments.out)
        else:
            for width in arguments.width:
                name = f"{block} {width} bits"
                wanted[name] = partial(packet_subject, block, width, arguments.out)
    return wanted


def _place_all(
    wanted: dict[str, Callable[[], Subject]], arguments: argparse.Namespace
) -> dict[str, tuple[dict[str, Any], Placed]]:
    """Synthesise, place and route; each one's line and its best seed, if one has an end."""
    commit = commit_name("hw", "models")
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} steps"),
        TimeElapsedColumn(),
    )
    found: dict[str, tuple[dict[str, Any], Placed]] = {}
    placed: dict[str, list[Placed]] = {name: [] for name in wanted}
    with Progress(*columns) as progress, ThreadPoolExecutor(arguments.jobs) as pool:
        task = progress.add_task("", total=len(wanted) * (1 + len(arguments.seeds)))
        subjects = {}
        for name, make in wanted.items():
            progress.update(task, description=f"Synthesising {name}")
            subjects[name] = make()
            progress.advance(task)
        progress.update(task, description="Placing and routing")
        waiting: dict[Future[Placed], str] = {
            pool.submit(
                place, subject.netlist, subject.target, seed, 60 * arguments.limit_min
            ): name
            for name, subject in subjects.items()
            for seed in arguments.seeds
        }
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                name = waiting.pop(future)
                subject = subjects[name]
                placed[name].append(future.result())
                progress.advance(task)
                best = best_of(placed[name])
                if best.fmax_mhz is None:
                    continue
                line = subject.row(placed[name], commit)
                found[name] = line, best
                for path in (arguments.out / "summary.json", arguments.record):
                    update(path, [line])
                if arguments.record == TRACKED:
                    PAGE.write_text(page(recorded(TRACKED)))
    return {name: found[name] for name in wanted if name in found}


def _said(line: dict[str, Any]) -> str:
    """A line of any table for people."""
    seeds = ", ".join(str(mhz or "no end") for mhz in line["fmax_seeds"].values())
    clock = f"{line['fmax_mhz']} MHz of [{seeds}]"
    area = f"{line['lut4']} LUT4, {line['ff']} FF, {line['dsp']} DSP, {line['bram']} BRAM"
    if "lanes" in line:
        return (
            f"{line['block']}, {line['lanes']:4} lanes: {clock}, {line['latency_cycles']} cycles = "
            f"{line['latency_ns']} ns, one in {line['interval_cycles']} cycles = "
            f"{line['predictions_per_s'] / 1e6:.2f} M/s, {area}"
        )
    if "qps" in line:
        return f"{line['block']} {line['qps']} QPs: {clock} (goal {line['goal_mhz']}), {area}"
    goal = f" (goal {line['goal_gbps']})" if line["goal_gbps"] is not None else ""
    xcup = ", ".join(f"{count} {name}" for name, count in line["xcup"].items() if count)
    return (
        f"{line['block']} {line['width']} bits: {clock}, {line['gbps']} Gb/s{goal}, {area}; "
        f"UltraScale+: {xcup}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
