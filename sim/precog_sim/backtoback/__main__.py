"""``python -m precog_sim.backtoback``: two NICs back to back, RC endpoints behind them.

The wire between them loses, delays, reorders and marks; the NICs are golden ones, or each in RTL
together with its golden twin. Writes JSON, every minute the results so far; fails if anything
is not accounted for.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.progress import Progress

from precog_sim.targets import new_file

from .account import check
from .node import SLOTS
from .run import BackToBack
from .waiting import WaitingSettings

__all__ = ["main", "report"]

_SHOWN = 20  # differences
_DISTURB_TICKS = 100_000
_EVERY_S = 60.0  # between two reports of a run that goes on


def report(run: BackToBack) -> dict[str, Any]:
    """What happened, for people and machines."""
    sides: list[dict[str, Any]] = []
    for side in range(2):
        seen, wire, node = run.seen[side], run.wires[side], run.nodes[side]
        ends: dict[str, int] = {}
        for end in run.ends[side]:
            for name, count in end.counts.items():
                ends[name] = ends.get(name, 0) + count
        sides.append(
            {
                "frames": wire.sent,
                "lost": wire.lost,
                "marked": wire.marked,
                "overtaken": wire.overtaken,
                "queue_max_bytes": wire.queue_max,
                "endpoint": ends,
                "cnps": sum(seen.cnps),
                "resets": seen.resets,
                "models_swapped": seen.swaps,
                "rtt_samples": sum(seen.samples),
                "rtt_us": [seen.rtt_min / 1e3, seen.rtt_max / 1e3],
                "scores_sent": {
                    f"{slot} {source}": len(seen.scores_sent[slot])
                    for slot, (_, source, _) in enumerate(SLOTS)
                },
                "scores_heard": sum(seen.scores_followed),
                "counters": {
                    "packets": {name: node.counts(name) for name in ("tx", "rx", "events")},
                    **{name: node.counts(name) for name in ("core", "receiver", "forecasts")},
                },
            }
        )
    for shown, stage in zip(sides, run.waiting, strict=False):
        shown["waiting"] = {n: getattr(stage, n) for n in ("shut", "expired", "dropped")}
    return {
        "requests": sum(side["endpoint"]["sent"] for side in sides),
        "frames": sum(side["frames"] for side in sides),
        "ticks": run.now,
        "wire": asdict(run.wires[0].settings),
        "sides": sides,
        "differences": run.differences,
    }


def _made(chosen: argparse.Namespace) -> BackToBack:
    if chosen.windows is not None:
        return BackToBack(chosen.packets, chosen.seed, waiting=WaitingSettings(chosen.windows))
    disturb = _DISTURB_TICKS if chosen.disturb_ticks is None else chosen.disturb_ticks
    if not chosen.rtl:
        return BackToBack(chosen.packets, chosen.seed, disturb_ticks=disturb)
    from . import rtl_node  # builds simulations: golden NICs need no tool for that

    return BackToBack(
        chosen.packets,
        chosen.seed,
        *rtl_node.ways(chosen.packets),
        rtl_node.RtlNode,
        disturb_ticks=disturb,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m precog_sim.backtoback", description=__doc__)
    parser.add_argument("--packets", type=int, default=100_000, help="requests of both ends")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--disturb-ticks",
        type=int,
        help="mean time between resets or model swaps of an end: 100000; 0: none",
    )
    parser.add_argument("--out", type=new_file, default="build/soak/backtoback.json")
    parser.add_argument(
        "--windows",
        type=int,
        nargs=len(SLOTS),
        metavar="BYTES",
        help="packets wait in wire mode, each queue pair with such a window; 0: no limit",
    )
    parser.add_argument(
        "--rtl", action="store_true", help="NICs in RTL, each compared with its golden twin"
    )
    chosen = parser.parse_args(arguments)
    if chosen.windows is not None and min(chosen.windows) < 0:
        parser.error(f"--windows must not be negative, not {min(chosen.windows)}")
    if chosen.packets < 1:
        parser.error(f"--packets must be positive, not {chosen.packets}")
    if chosen.disturb_ticks is not None and chosen.disturb_ticks < 0:
        parser.error(f"--disturb-ticks must not be negative, not {chosen.disturb_ticks}")
    if chosen.windows is not None and (chosen.rtl or chosen.disturb_ticks):
        parser.error("--windows goes neither with --rtl nor with --disturb-ticks: leave those out")
    began = time.process_time()
    run = _made(chosen)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)

    def written(*, finished: bool) -> dict[str, Any]:
        spent = time.process_time() - began
        found = {"finished": finished, "seed": chosen.seed, "cpu_s": spent, **report(run)}
        part = chosen.out.with_suffix(".part")
        part.write_text(json.dumps(found, indent=1) + "\n")
        os.replace(part, chosen.out)
        return found

    with Progress() as progress:
        task = progress.add_task("requests", total=chosen.packets)
        due = time.monotonic() + _EVERY_S

        def show(sent: int) -> None:
            nonlocal due
            progress.update(task, completed=sent)
            if time.monotonic() >= due:
                written(finished=False)
                due = time.monotonic() + _EVERY_S

        run.run(progress=show)
    check(run)
    found = written(finished=True)
    for side in found["sides"]:
        print(
            f"{side['frames']} frames: {side['lost']} lost, {side['marked']} marked, "
            f"{side['overtaken']} overtaken; {side['rtt_samples']} RTTs, {side['cnps']} CNPs sent, "
            f"{side['scores_heard']} scores heard, "
            f"{sum(side['resets'].values())} parts reset, {side['models_swapped']} models swapped"
        )
        if "waiting" in side:
            print("  waited: " + ", ".join(f"{n} {name}" for name, n in side["waiting"].items()))
    print(f"{found['requests']} requests, {len(run.differences)} differences; {chosen.out}")
    for line in run.differences[:_SHOWN]:
        print(line)
    return int(bool(run.differences))


if __name__ == "__main__":
    sys.exit(main())
