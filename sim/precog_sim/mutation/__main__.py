"""``python -m precog_sim.mutation [BLOCK ...]``: make mistakes, list those that no test notices."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from precog_sim.targets import new_folder

from .blocks import BLOCKS
from .campaign import Found, campaign

__all__ = ["main"]

_ROOT = Path(__file__).parents[3]


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 if each mutant was noticed or is explained."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [block.name for block in BLOCKS]
    parser.add_argument("blocks", nargs="*", default=names, help=f"of {', '.join(names)}")
    parser.add_argument("--count", type=int, default=8, help="mutants of a block")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=new_folder, default="build/mutation", help="folder")
    arguments = parser.parse_args(argv)
    for name in arguments.blocks:
        if name not in names:
            parser.error(f"a block must be one of {', '.join(names)}, not {name!r}")
    if arguments.count < 1:
        parser.error(f"count must be 1 or more, not {arguments.count}")
    found: list[Found] = []
    for block in BLOCKS:
        if block.name not in arguments.blocks:
            continue
        tree = arguments.out.resolve() / "tree"
        for one in campaign(_ROOT, tree, block, arguments.count, arguments.seed):
            found.append(one)
            said = f"by {one.by}" if one.by else one.why or "NOT NOTICED"
            print(f"{one.file}:{one.line} {one.kind}: {said}", flush=True)
            if not one.by:
                print(f"  - {one.old}\n  + {one.new}", flush=True)
        rows = [asdict(one) for one in found]
        (arguments.out / "summary.json").write_text(json.dumps(rows, indent=1) + "\n")
    left = [one for one in found if not one.ok]
    explained = sum(bool(one.why) for one in found)
    print(f"{len(found)} mutants, {explained} explained, {len(left)} not noticed")
    return bool(left)


if __name__ == "__main__":
    raise SystemExit(main())
