"""``precog study scores``: laws with PSCHED and congestion scores against each law alone.

Writes ``scored.json``. Fails where scores without sense (inverted, garbage) may make a law worse by
more than 5 %: the upper end of the 95 % interval of the ratio of means counts.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from precog_host.device import Device
from precog_sim.agreement import tell_agreement
from precog_sim.commit import commit_name
from precog_sim.loop import Comparison, compare, run_in_loop
from precog_sim.network import QUEUE_SOURCES, Record, Result
from precog_sim.scored.measure import (
    BOUNDED,
    LIMIT,
    Figures,
    Ratio,
    by_chance,
    measure,
    of_means,
    ratios,
)
from precog_sim.scored.networks import NETWORKS, scenario
from precog_sim.scored.settings import ALONE, BUDGET_US, LAWS, SOURCES, Case, cases
from precog_sim.targets import new_folder
from precog_studies.record import write_record

__all__ = ["main", "record", "run_case"]

_PROBE_US = 2.0
_PROBES = 4096
_WIDE = 150
_NONSENSE = ("inverted", "garbage", "forged", "constant", "queue_inverted")
_RTL_SCALE = 0.1  # of the runs that the RTL decides as well
_NAMES = {"slowdown_p50": "slowdown p50", "slowdown_p99": "p99", "queue_p99_kb": "queue p99"}


def run_case(case: Case, uri: str, *, seed: int, scale: float = 1.0) -> Result:
    """One run with the device `uri` deciding."""
    kept = Record(
        packets=False, log=True, scores=case.forecasts, probe_us=_PROBE_US, probes=_PROBES
    )
    with Device.open(uri + case.options) as device:
        return run_in_loop(
            device, case.setup(), scenario(case.network, scale), seed=seed, record=kept
        )


def _mean(runs: Sequence[Figures]) -> dict[str, float]:
    rows = [asdict(figures) for figures in runs]
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def record(
    found: Sequence[tuple[Case, Sequence[Figures], Sequence[Figures]]],
    agreed: Sequence[tuple[Case, Comparison]],
    *,
    seeds: int,
    scale: float,
    seconds: float,
) -> dict[str, Any]:
    """What is written: of each case the mean figures, and ratios to the law alone."""
    return {
        "seeds": seeds,
        "scale": scale,
        "seconds": round(seconds, 1),
        "budget_us": BUDGET_US,
        "limit": LIMIT,
        "results": [
            asdict(case)
            | {"seeds": seeds, "scale": scale}
            | {"figures": _mean(ours)}
            | {
                "ratios": _dicts(ratios(ours, alone, seed=seeds)),
                "of_means": _dicts(of_means(ours, alone, seed=seeds)),
            }
            | ({"by_chance": _dicts(by_chance(ours, seed=seeds))} if case.source == ALONE else {})
            for case, ours, alone in found
        ],
        "agreement": [asdict(case) | asdict(same) for case, same in agreed],
    }


def _dicts(of: Mapping[str, Ratio]) -> dict[str, dict[str, float | None]]:
    return {name: asdict(ratio) for name, ratio in of.items()}


def _broken(written: dict[str, Any]) -> list[str]:
    """Which scores without sense make what worse."""
    return [
        f"{row['network']}, {row['law']}, {_way(row)}: {name} {_text(row['of_means'][name])}"
        for row in written["results"]
        if row["source"] in _NONSENSE and row["skill"]
        for name in BOUNDED
        if row["of_means"][name]["high"] is None or row["of_means"][name]["high"] > LIMIT
    ]


def _way(row: dict[str, Any]) -> str:
    """The scores of a row in words."""
    tree = f", {row['model']}" * (row["source"] in QUEUE_SOURCES)
    return f"{row['source']}{tree}{', echo' * row['echo']}{', receiver' * row['receiver']}"


def _text(ratio: dict[str, float | None]) -> str:
    one = Ratio(**ratio)
    return "-" if one.mean is None else f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]"


def _show(console: Console, written: dict[str, Any]) -> None:
    table = Table(title="Ratios to the law alone: mean over seeds and 95 % interval")
    for heading in ("network", "law", "scores", "monitor"):
        table.add_column(heading)
    for heading in (*_NAMES.values(), "Jain", "pauses", "followed"):
        table.add_column(heading, justify="right")
    for row in written["results"]:
        if row["source"] == ALONE:
            table.add_section()
        table.add_row(
            row["network"],
            row["law"],
            _way(row),
            "on" if row["skill"] else "off",
            *(_text(row["ratios"][name]) for name in (*_NAMES, "jain")),
            f"{row['figures']['pauses']:g}",
            f"{row['figures']['followed']:.2f}",
        )
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments; 1 where nonsense harms, or the RTL and the golden NIC differ."""
    parser = argparse.ArgumentParser(prog="precog study scores", description=__doc__)
    parser.add_argument("--out", type=new_folder, default="build/scores")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--scale", type=float, default=0.5, help="of the flows' sizes")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=NETWORKS)
    parser.add_argument("--laws", nargs="+", choices=LAWS, default=tuple(LAWS))
    known = tuple(dict.fromkeys(str(options["source"]) for options in SOURCES))
    parser.add_argument("--sources", nargs="+", choices=known, default=())
    parser.add_argument("--device", choices=("golden", "rtl"), default="golden")
    words = sys.argv[1:] if arguments is None else list(arguments)
    given = parser.parse_args(words)
    if given.seeds < 1:
        parser.error(f"--seeds must be at least 1, not {given.seeds}")
    began = time.monotonic()
    console = Console()
    if not console.is_terminal:
        console.width = _WIDE
    found: list[tuple[Case, Sequence[Figures], Sequence[Figures]]] = []
    agreed: list[tuple[Case, Comparison]] = []
    groups = [
        cases(network, law, tuple(given.sources))
        for network in given.networks
        for law in given.laws
    ]
    alone: Sequence[Figures] = ()
    with Progress(console=console, transient=True) as progress:
        for case in progress.track([c for group in groups for c in group], description="golden"):
            runs = [
                measure(run_case(case, "emu:", seed=seed, scale=given.scale))
                for seed in range(given.seeds)
            ]
            alone = runs if case.source == ALONE else alone
            found.append((case, runs, alone))
        twice = [c for group in groups for c in group if c.skill] if given.device == "rtl" else []
        for case in progress.track(twice, description="RTL and golden"):
            golden, rtl = (
                run_case(case, uri, seed=0, scale=given.scale * _RTL_SCALE)
                for uri in ("emu:", "sim:")
            )
            agreed.append((case, compare(golden, rtl)))
    seconds = time.monotonic() - began
    written = {
        "command": " ".join(["precog study scores", *words]),
        "commit": commit_name("sim", "models", "sw"),
        **record(found, agreed, seeds=given.seeds, scale=given.scale, seconds=seconds),
    }
    path = given.out / "scored.json"
    write_record(path, written)
    _show(console, written)
    broken = _broken(written)
    for line in broken:
        console.print(f"worse than the law alone by more than {LIMIT - 1:.0%}: {line}")
    agree = tell_agreement(console, agreed)
    console.print(f"{path}, {seconds:.0f} s")
    return int(bool(broken) or not agree)


if __name__ == "__main__":
    raise SystemExit(main())
