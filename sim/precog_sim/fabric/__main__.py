"""``python -m precog_sim.fabric``: the simulator's 320-host fat tree against ns-3's.

Writes ``fabric.json`` and ``fabric.md``; fails where a flow is not complete, or the 95th percentile
of all normal flows' slowdowns is further from ns-3's than its limit.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from rich.progress import Progress

from precog_models.durable import write_durably
from precog_sim.commit import commit_name
from precog_sim.fabric.campaign import SEEDED, other_seeds, simulate
from precog_sim.fabric.page import page
from precog_sim.fabric.traffic import LAWS, NETWORKS
from precog_sim.targets import new_file, new_folder

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if every flow is complete and every limit holds."""
    parser = argparse.ArgumentParser(prog="precog_sim.fabric", description=__doc__)
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--laws", nargs="+", choices=LAWS, default=list(LAWS))
    parser.add_argument("--out", type=new_folder, default="build/fabric", help="folder for results")
    parser.add_argument("--page", type=new_file, help="default: into the folder")
    parser.add_argument(
        "--seeds",
        type=int,
        default=9,
        help=f"draws of {', '.join(SEEDED)}; 0 is judged",
    )
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = parser.parse_args(given)
    if asked.seeds < 1:
        parser.error(f"--seeds must be at least 1, not {asked.seeds}")
    commit = commit_name("sim", "models")
    record = asked.out / "fabric.json"
    runs: list[dict[str, Any]] = []
    with Progress() as progress:
        task = progress.add_task("simulating", total=len(asked.networks) * len(asked.laws))
        for network in asked.networks:
            for law in asked.laws:
                line = simulate(NETWORKS[network], law)[1]
                line["other_seeds"] = list(other_seeds(NETWORKS[network], law, asked.seeds))
                runs.append(line)
                progress.advance(task)
    said = {
        "command": " ".join(["python -m precog_sim.fabric", *given]),
        "commit": commit,
        "cpu_s": round(time.process_time(), 1),  # of the process, every seed's runs included
        "runs": runs,
    }
    text = page(said, record.as_posix())
    asked.out.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps(said, indent=1) + "\n")
    write_durably(asked.page or asked.out / "fabric.md", text.encode(), made=True)
    for line in runs:
        distance = line["distance"].get("normal")
        off = "no figure" if distance is None else f"{distance:+.2%}"
        print(f"{line['network']:9} {line['law']:6} {off:>12}, limit {line['within']:.0%}")
    return int(not all(line["holds"] and line["unfinished"] == 0 for line in runs))


if __name__ == "__main__":
    raise SystemExit(main())
