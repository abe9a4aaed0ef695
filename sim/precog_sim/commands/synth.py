"""``precog synth``: place and route on an ECP5-85, a board's bitstream, or the last tables."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.output import JsonOption, emit, refuse_ignored, table
from precog_models.durable import check_target

__all__ = ["synth"]

_BLOCKS = ("core", "core-ecc", "cps-tx", "cps-rx", "packet")
_LANES = (16, 64, 128)
_WIDTHS = (8, 64, 128, 256, 512)
_AREA = ("lut4", "ff", "dsp", "bram", "commit")
_COLUMNS = {
    "lanes": (
        *("block", "lanes", "fmax_mhz", "latency_cycles", "latency_ns", "interval_cycles"),
        *("predictions_per_s", *_AREA),
    ),
    "width": ("block", "width", "fmax_mhz", "gbps", "goal_gbps", *_AREA),
    "qps": ("block", "qps", "fmax_mhz", "goal_mhz", *_AREA),
}
_TITLES = {"lanes": "core", "width": "packet", "qps": "rate"}


def synth(
    context: typer.Context,
    board: Annotated[
        list[str] | None,
        typer.Option(help="A bitstream for this board, or several; see docs/guide/boards.md."),
    ] = None,
    block: Annotated[
        list[str] | None,
        typer.Option(help=f"{', '.join(_BLOCKS)}; cores and cps-tx by default."),
    ] = None,
    lanes: Annotated[
        list[int] | None, typer.Option(help="cores: 16, 64 or 128; all by default.")
    ] = None,
    width: Annotated[
        list[int] | None,
        typer.Option(help="the others: bits in a beat; 64 and 512 by default."),
    ] = None,
    seed: Annotated[list[int] | None, typer.Option(help="nextpnr seeds; 1-5 by default.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Only show the last run's tables.")] = False,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder.")] = Path("build/synth"),
    json_: JsonOption = False,
) -> None:
    """Synthesise the core and the packet path; list frequency, rate or latency, and resources.

    With --board: write BOARD-seedN.bit and say whether its clocks are fast enough.
    """
    if board:
        refuse_ignored(context, "block", "lanes", "width", "show", why="with --board")
        _boards(board, seed, output, json_)
        return
    if show:
        refuse_ignored(context, "block", "lanes", "width", "seed", why="with --show")
    options: dict[str, tuple[Sequence[object] | None, Sequence[object]]] = {
        "block": (block, _BLOCKS),
        "lanes": (lanes, _LANES),
        "width": (width, _WIDTHS),
    }
    for name, (values, known) in options.items():
        for value in values or ():
            if value not in known:
                choices = ", ".join(map(str, known))
                raise ValueError(f"{name} must be one of {choices}, not {value!r}")
    if block and all(one.startswith("core") for one in block):
        refuse_ignored(context, "width", why="with cores alone")
    if block and not any(one.startswith("core") for one in block):
        refuse_ignored(context, "lanes", why="without a core")
    if not show:
        check_target(output / "summary.json", made=True)  # before minutes of work
        command = [sys.executable, "-m", "precog_sim.synth", "--out", str(output)]
        command += ["--record", str(output / "summary.json")]  # the evidence is of `make synth`
        for name, given in (("block", block), ("lanes", lanes), ("width", width), ("seeds", seed)):
            command += [f"--{name}", *map(str, given)] if given else []
        # Its progress and lines are for people: standard output belongs to the result.
        status = subprocess.run(command, stdout=sys.stderr, check=False).returncode
        if status:
            raise RuntimeError(f"synthesis ended with status {status}")
    record = _read(output / "summary.json")
    emit(record, lambda: _tables(record), json_)


def _boards(names: list[str], seeds: list[int] | None, output: Path, json_: bool) -> None:
    """Bitstreams, each with one seed."""
    from precog_hw.boards.board import board

    from ..synth.boards import COLUMNS, shown

    for name in names:
        board(name)
    if seeds is not None and len(seeds) != 1:
        raise ValueError(f"seed must be one with --board, not {len(seeds)} of them")
    record = output / "boards.json"
    check_target(record, made=True)  # before minutes of work, and whether lines can be added
    if record.exists():
        _read(record)
    command = [sys.executable, "-m", "precog_sim.synth.boards", "--out", str(output)]
    command += ["--record", str(record), "--board", *names]
    command += ["--seed", str(seeds[0])] if seeds else []
    # A board whose timing is not met is in the table, too: what was built is said in any case.
    status = subprocess.run(command, stdout=sys.stderr, check=False).returncode
    if status:
        raise RuntimeError(f"a bitstream was not made, or is too slow (status {status}): see above")
    lines = [x for x in _read(record) if x["board"] in names]
    emit(lines, lambda: table(COLUMNS, [tuple(shown(x).values()) for x in lines], "boards"), json_)


def _read(path: Path) -> list[dict[str, Any]]:
    """The lines of a run."""
    if not path.exists():
        raise ValueError(f"file {path} must exist; run `precog synth` to make it")
    try:
        record = json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"file {path} must be JSON: {error}") from error
    if not isinstance(record, list) or not all(isinstance(line, dict) for line in record):
        raise ValueError(f"file {path} must hold a list of runs; run `precog synth` to make it")
    return record


def _tables(record: list[dict[str, Any]]) -> None:
    """Print the tables that have a line, one for each kind of size."""
    for size, columns in _COLUMNS.items():
        rows = [tuple(line.get(c) for c in columns) for line in record if size in line]
        if rows:
            table(columns, rows, _TITLES[size])
