"""``precog study fairness``: how fairly each law shares a bottleneck.

Writes ``fairness.json``, and a page with ``--page``.

With ``--device rtl`` the Verilated RTL decides for every law wherever two flows meet, and for more
flows in shorter runs. The golden NIC decides the same runs, and any decision, sample or event that
differs fails the command; that is why golden may stand for the RTL in the rest of the longer runs.
"""

import argparse
import dataclasses
import sys
import time
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from precog_host.device import Device
from precog_host.driver.law import STANDARD
from precog_sim.agreement import tell_agreement
from precog_sim.commit import commit_name
from precog_sim.loop import Comparison, compare, run_in_loop
from precog_sim.network import Record, Result
from precog_sim.targets import new_file, new_folder
from precog_studies.fairness.measure import Fairness, measure
from precog_studies.fairness.page import page
from precog_studies.fairness.settings import (
    COUNTS,
    LAWS,
    LINE_GBPS,
    MIN_GBPS,
    SPLIT_GBPS,
    Case,
    cases,
)
from precog_studies.record import finish, write_record

__all__ = ["agreement_cases", "device_of", "main", "record", "run_case"]

_PROBES = 4000
_QPS = max(COUNTS)
_WIDE = 140  # columns of a file or a pipe
_MANY_US = 5_000.0  # of the RTL's runs with more than two flows
_TITLES = ("Jain", "ratio", "util.", "queue p50 KB", "p99 KB", "max KB", "marks", "pauses")


def run_case(case: Case, uri: str, *, seed: int = 0, log: bool = False) -> Result:
    """One run with the device `uri` deciding; its log is kept on request."""
    kept = Record(packets=False, log=log, probe_us=case.horizon_us / _PROBES, probes=_PROBES + 96)
    with Device.open(uri) as device:
        return run_in_loop(device, case.setup(), case.scenario(), seed=seed, record=kept)


def agreement_cases(horizon_us: float) -> list[Case]:
    """What the RTL decides as well as the golden NIC: every case, with many flows its beginning."""
    short = min(_MANY_US, horizon_us)
    return [
        case if case.flows == 2 else dataclasses.replace(case, horizon_us=short)
        for case in cases(horizon_us)
    ]


def _key(case: Case) -> dict[str, Any]:
    return {
        "experiment": case.experiment,
        "law": case.law.name,
        "flows": case.flows,
        "jitter_us": case.jitter_us,
        "burst": case.burst,
        "horizon_us": case.horizon_us,
    }


def record(
    found: Sequence[tuple[Case, Fairness]],
    agreed: Sequence[tuple[Case, Comparison]],
    *,
    device: str,
    seed: int,
    seconds: float,
) -> dict[str, Any]:
    """What is written to ``fairness.json``."""
    by_rtl = [case for case, _ in agreed]
    return {
        "device": device,
        "seed": seed,
        "seconds": round(seconds, 1),
        "line_gbps": LINE_GBPS,
        "start_gbps": list(SPLIT_GBPS),
        "min_gbps": MIN_GBPS,
        "laws": {
            law.name: {
                "why": law.why,
                "algorithm": law.setup.algorithm,
                "preset": {"timely": law.setup.timely, "dcqcn": law.setup.dcqcn}.get(
                    law.setup.algorithm, law.setup.preset
                ),
                "parameters": dict(law.setup.law_values),
            }
            for law in LAWS
        },
        "results": [
            _key(case)
            | {"decided_by": "rtl = golden" if case in by_rtl else "golden"}
            | dataclasses.asdict(figures)
            for case, figures in found
        ],
        "agreement": [_key(case) | dataclasses.asdict(same) for case, same in agreed],
    }


def _show(console: Console, found: Sequence[tuple[Case, Fairness]]) -> None:
    table = Table(title="Long flows over one bottleneck, second half of the run")
    for heading in ("experiment", "flows", "jitter µs", "law"):
        table.add_column(heading)
    for heading in _TITLES:
        table.add_column(heading, justify="right")
    previous = ("", 0, 0.0)
    for case, x in found:
        group = (case.experiment, case.flows, case.jitter_us)
        if group != previous:
            table.add_section()
        previous = group
        table.add_row(
            case.experiment,
            str(case.flows),
            f"{case.jitter_us:g}",
            case.law.name,
            f"{x.jain:.3f}",
            "-" if x.ratio is None else f"{x.ratio:.3g}",
            f"{x.utilisation:.3f}",
            f"{x.queue_p50_kb:,.1f}",
            f"{x.queue_p99_kb:,.1f}",
            f"{x.queue_max_kb:,.1f}",
            f"{x.marks:,}",
            f"{x.pauses:,}",
        )
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments; 1 where the RTL and the golden NIC differ."""
    parser = argparse.ArgumentParser(prog="precog study fairness", description=__doc__)
    parser.add_argument("--out", type=new_folder, default="build/fairness")
    parser.add_argument("--device", choices=("golden", "rtl"), default="golden")
    parser.add_argument("--horizon-us", type=float, default=100_000.0, help="length of each run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", type=new_file, help="where the page goes; by default nowhere")
    words = sys.argv[1:] if arguments is None else list(arguments)
    given = parser.parse_args(words)
    began = time.monotonic()
    console = Console()
    if not console.is_terminal:
        console.width = _WIDE
    todo = cases(given.horizon_us)
    twice = agreement_cases(given.horizon_us) if given.device == "rtl" else []
    found: list[tuple[Case, Fairness]] = []
    agreed: list[tuple[Case, Comparison]] = []
    with Progress(console=console, transient=True) as progress:
        for case in progress.track(todo, description="golden"):
            found.append(
                (case, measure(run_case(case, device_of("emu", case), seed=given.seed), case.flows))
            )
        for case in progress.track(twice, description="RTL and golden"):
            golden, rtl = (
                run_case(case, device_of(scheme, case), seed=given.seed, log=True)
                for scheme in ("emu", "sim")
            )
            agreed.append((case, compare(golden, rtl)))
    seconds = time.monotonic() - began
    written = {
        "command": " ".join(["precog study fairness", *words]),
        "commit": commit_name("sim", "models", "sw", "hw"),
        **record(found, agreed, device=given.device, seed=given.seed, seconds=seconds),
    }
    path = given.out / "fairness.json"
    write_record(path, written)
    _show(console, found)
    agree = tell_agreement(console, [(_key(case), same) for case, same in agreed])
    finish(path, given.page, lambda: page(written, path.as_posix()))
    return int(not agree)


def device_of(scheme: str, case: Case) -> str:
    """A device with room for the flows, and with a law engine where the law is a program.

    64 queue pairs are what every device has unless told.
    """
    options = [f"qps={_QPS}"] * (case.flows > 64)
    options += ["law_cores=1"] * (case.law.setup.algorithm in STANDARD)
    return f"{scheme}:{','.join(options)}"


if __name__ == "__main__":
    raise SystemExit(main())
