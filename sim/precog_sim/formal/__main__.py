"""``python -m precog_sim.formal``: every proof and every mutant."""

import argparse
from pathlib import Path

from .run import run


def main() -> int:
    """Exit status: 0 if every claim holds and every mutant was caught."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/formal"), help="folder for results")
    arguments = parser.parse_args()
    reports = run(out=arguments.out)
    failed = [report for report in reports if not report.ok]
    print(f"{len(reports) - len(failed)} of {len(reports)} as they must be, in {arguments.out}")
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
