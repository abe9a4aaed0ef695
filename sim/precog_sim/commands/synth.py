"""``precog synth``: place and route on an ECP5-85, or the table of the last run."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from precog_host.output import JsonOption, emit, refuse_ignored, table

__all__ = ["synth"]

_LANES = (16, 64, 128)
_COLUMNS = (
    "lanes",
    "fmax_mhz",
    "latency_cycles",
    "latency_ns",
    "interval_cycles",
    "predictions_per_s",
    "lut4",
    "ff",
    "dsp",
    "bram",
    "commit",
)


def synth(
    context: typer.Context,
    lanes: Annotated[list[int] | None, typer.Option(help="16, 64 or 128; all by default.")] = None,
    seed: Annotated[list[int] | None, typer.Option(help="nextpnr seeds; 1-5 by default.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Only show the last run's table.")] = False,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder.")] = Path("build/synth"),
    json_: JsonOption = False,
) -> None:
    """Synthesise the core and list frequency, latency and resources per lane count."""
    if show:
        refuse_ignored(context, "lanes", "seed", why="with --show")
    for count in lanes or ():
        if count not in _LANES:
            raise ValueError(f"lanes must be 16, 64 or 128, not {count!r}")
    if not show:
        command = [sys.executable, "-m", "precog_sim.synth", "--out", str(output)]
        for name, values in (("--lanes", lanes), ("--seeds", seed)):
            command += [name, *map(str, values)] if values else []
        # Its progress and lines are for people: standard output belongs to the result.
        status = subprocess.run(command, stdout=sys.stderr, check=False).returncode
        if status:
            raise RuntimeError(f"synthesis ended with status {status}")
    path = output / "summary.json"
    if not path.exists():
        raise ValueError(f"file {path} must exist; run `precog synth` to make it")
    try:
        rows = json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"file {path} must be JSON: {error}") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"file {path} must hold a list of runs; run `precog synth` to make it")
    emit(rows, lambda: table(_COLUMNS, [tuple(r.get(c) for c in _COLUMNS) for r in rows]), json_)
