"""``python -m precog_sim.synth.boards``: bitstreams for boards, and the table of them.

For each board: synthesise, place and route with one seed, pack. The bitstream is
``OUT/BOARD-seedN.bit``; ``OUT/boards.json`` and the tracked record get its line, in place of the
seed's line before and of those of another netlist. The exit status is not 0 if one does not fit or
has a clock that is too slow, or if two builds differ: two of this run, with ``--twice``, or this
run's and the recorded one of the same netlist, seed and tools, of another machine perhaps.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from precog_hw.boards.board import BOARDS
from precog_models.durable import write_durably
from precog_sim.commit import commit_name
from precog_sim.targets import new_file, new_folder

from .bitstream import BitstreamError, build, row
from .page import boards_page, clocks_text
from .target import SynthError

__all__ = ["COLUMNS", "main", "shown"]

RECORD = Path("docs/evidence/data/boards.json")
PAGE = Path("docs/evidence/bitstreams.md")
COLUMNS = ("board", "seed", "met", "clocks_mhz", "lut4", "ff", "bram", "dsp", "seconds", "sha256")


def main() -> int:
    """Exit status: 0 if every bitstream was made and is fast enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--board", nargs="+", default=list(BOARDS), choices=tuple(BOARDS))
    parser.add_argument("--seed", type=int, default=1, help="nextpnr's; by default 1")
    parser.add_argument("--out", type=new_folder, default="build/synth")
    parser.add_argument("--record", type=new_file, default=str(RECORD))
    parser.add_argument(
        "--twice", action="store_true", help="make each once more from nothing, and compare"
    )
    arguments = parser.parse_args()
    status = 0
    for name in arguments.board:
        print(f"{name}: synthesis, place and route, ten to forty minutes ...", flush=True)
        try:
            built = build(name, arguments.seed, arguments.out, anew=arguments.twice)
        except SynthError as error:  # it does not fit: the others may
            print(f"{name}: {error}", file=sys.stderr)
            status = 1
            continue
        line = row(built, commit_name("hw", "models"))
        other = _recorded(arguments.record, line)
        if arguments.twice:
            other = build(name, arguments.seed, arguments.out, anew=True).sha256
        if other is not None:
            line["reproduced"] = other == built.sha256
            if not line["reproduced"]:
                print(f"{name}: two builds differ: {built.sha256} and {other}")
                status = 1
        for path in {arguments.out / "boards.json", arguments.record}:
            _update(path, line)
        if arguments.record == RECORD:
            PAGE.write_text(boards_page(json.loads(RECORD.read_text())))
        print(", ".join(f"{key} {value}" for key, value in shown(line).items()))
        print(built.bitstream)
        try:
            built.check()
        except BitstreamError as error:
            print(error, file=sys.stderr)
            status = 1
    return status


def shown(line: dict[str, Any]) -> dict[str, Any]:
    """A line for people: `COLUMNS`."""
    used, available = line["used"], line["available"]
    part = {
        label: f"{used[name]} of {available[name]}"
        for label, name in (
            ("lut4", "TRELLIS_COMB"),
            ("ff", "TRELLIS_FF"),
            ("bram", "DP16KD"),
            ("dsp", "MULT18X18D"),
        )
    }
    values = (
        line | part | {"clocks_mhz": clocks_text(line), "seconds": sum(line["seconds"].values())}
    )
    return {name: values[name] for name in COLUMNS}


def _recorded(path: Path, line: dict[str, Any]) -> str | None:
    """The recorded digest of another build of the line's bitstream.

    One that took exactly the same times is the same build, whose results were kept; that it was
    compared before still counts.
    """
    for entry in json.loads(path.read_text()) if path.exists() else []:
        if any(entry.get(name) != line[name] for name in ("board", "seed", "netlist", "tools")):
            continue
        if entry["seconds"] != line["seconds"] or entry.get("reproduced"):
            return str(entry["sha256"])
    return None


def _update(path: Path, line: dict[str, Any]) -> None:
    """Put the line among those of its board's netlist; there are none of another netlist then."""
    kept = json.loads(path.read_text()) if path.exists() else []
    by_name = {
        (entry["board"], entry["seed"]): entry
        for entry in [*kept, line]
        if entry["board"] != line["board"] or entry.get("netlist") == line["netlist"]
    }
    order = list(BOARDS)
    lines = sorted(by_name.values(), key=lambda one: (order.index(one["board"]), one["seed"]))
    write_durably(path, (json.dumps(lines, indent=1) + "\n").encode(), made=True)


if __name__ == "__main__":
    raise SystemExit(main())
