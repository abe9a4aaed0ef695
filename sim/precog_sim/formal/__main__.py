"""``python -m precog_sim.formal [NAME ...]``: proofs and their mutants, all or by name."""

import argparse
from collections.abc import Sequence
from fnmatch import fnmatchcase

from precog_sim.targets import new_folder

from .run import MUTANTS, PROOFS, run


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 if every claim holds and every mutant was caught."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", default=["*"], help="proofs, such as path.tx.near.64 or 'editor.*'"
    )
    parser.add_argument("--list", action="store_true", help="names and claims; nothing is run")
    parser.add_argument("--no-mutants", action="store_true", help="the proofs alone")
    parser.add_argument("--out", type=new_folder, default="build/formal", help="folder for results")
    arguments = parser.parse_args(argv)
    for name in arguments.names:
        if not any(fnmatchcase(proof.name, name) for proof in PROOFS):
            parser.error(f"a name must be one of those that --list shows, not {name!r}")

    def chosen(name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in arguments.names)

    proofs = [proof for proof in PROOFS if chosen(proof.name)]
    mutants = [mutant for mutant in MUTANTS if chosen(mutant.proof)]
    if arguments.no_mutants:
        mutants = []
    if arguments.list:
        for proof in proofs:
            count = sum(mutant.proof == proof.name for mutant in mutants)
            print(f"{proof.name}  {count} mutants  {proof.claim}")
        return 0
    reports = run(proofs, mutants, out=arguments.out)
    failed = [report for report in reports if not report.ok]
    print(f"{len(reports) - len(failed)} of {len(reports)} as they must be, in {arguments.out}")
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
