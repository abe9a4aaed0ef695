"""``python -m precog_sim.faults``: random bit flips in weights and state of the running RTL.

Writes summary.json; fails where a claim of `precog_sim.faults.campaign` does not hold.
"""

import argparse
import json
import time
from dataclasses import asdict

from rich.progress import Progress

from precog_sim.rtl.library import RtlNic
from precog_sim.targets import new_folder
from precog_spec.config import PRESETS

from .campaign import Faults

__all__ = ["main"]

_SINGLES, _STATES = 192, 24  # in a round


def main() -> int:
    """Exit status: 0 if every claim holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=new_folder, default="build/faults", help="folder for results")
    parser.add_argument("--preset", default="tiny", choices=sorted(PRESETS))
    parser.add_argument("--flips", type=int, default=100_000, help="least number, of all kinds")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    config = PRESETS[arguments.preset]
    start = time.process_time()
    with RtlNic(config) as nic, Progress() as progress:
        faults = Faults(nic, config, arguments.seed)
        flips = faults.found.flips
        task = progress.add_task("flipping bits", total=arguments.flips)
        rounds = 0
        while sum(flips.values()) < arguments.flips:
            faults.single(_SINGLES)
            for _ in range(6):
                faults.state(_STATES)
            for _ in range(2):
                faults.double()
            rounds += 1
            progress.update(task, completed=sum(flips.values()))
        cycles = nic.cycles
    found = faults.found
    summary = {
        "preset": arguments.preset,
        "seed": arguments.seed,
        "rounds": rounds,
        "holds": found.holds,
        "all_flips": sum(flips.values()),
        **asdict(found),
        "cycles": cycles,
        "cpu_s": round(time.process_time() - start, 1),
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(summary, indent=1, sort_keys=True)
    (arguments.out / "summary.json").write_text(text + "\n")
    print(text)
    return int(not found.holds)


if __name__ == "__main__":
    raise SystemExit(main())
