"""How soon hosts heed a source of guesses: each with a trial of its own, by receiver.

The study's trials pool all NICs and receivers of three runs. A host (`precog_host.trial`) has only
its own starts, and hits at one receiver earn nothing at another. Here the hosts of a case see its
runs one after the other, and flows do not heed guesses.

``python -m precog_studies.prediction.starts.hosts [CASE [RUNS]]`` prints shares by run.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from precog_models.forecast.starts import CROWDED
from precog_net.workloads import Traffic
from precog_sim.network import Result
from precog_studies.prediction.arms import ARMS
from precog_studies.prediction.cases import CASES, TAUGHT, closed_loop
from precog_studies.prediction.guesses import LEAST
from precog_studies.prediction.starts.heeding import Hosts
from precog_studies.prediction.starts.predictors import Predictor, predictors
from precog_studies.prediction.starts.windows import known, windows

__all__ = ["Shares", "shares"]


class Shares(NamedTuple):
    """Starts of a run that were guessed to be crowded, 0..1; `heeded`: by a host that heeds it."""

    hits: float  #: of crowded starts
    heeded_hits: float
    alarms: float  #: of the others
    heeded_alarms: float


def shares(runs: Iterable[tuple[Result, Traffic]], predictor: Predictor) -> Iterator[Shares]:
    """Shares of one run after the other.

    Parameters
    ----------
    runs : iterable of (Result, Traffic)
    predictor : callable
        Levels from windows.
    """
    hosts = Hosts()
    for result, traffic in runs:
        told = known(traffic, result.heard, result.heard_us)
        guesses = predictor(windows(traffic, told))
        heeded = hosts.heeds(result, traffic, guesses)
        counts, crowded, guessed = traffic.size > LEAST, result.heard >= CROWDED, guesses >= CROWDED
        yield Shares(
            *(
                _share(said, counts & starts)
                for starts in (crowded, ~crowded)
                for said in (guessed, guessed & heeded)
            )
        )


def _share(said: NDArray[np.bool_], of: NDArray[np.bool_]) -> float:
    return float(said[of].mean()) if of.any() else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(description="Print how soon hosts heed a source of guesses.")
    parser.add_argument("case", nargs="?", default="services", choices=tuple(CASES))
    parser.add_argument(
        "runs", nargs="?", type=int, default=16, choices=range(1, 1001), metavar="N"
    )
    asked = parser.parse_args(arguments)
    seeds = range(TAUGHT[0], TAUGHT[0] + asked.runs)
    runs = [closed_loop(asked.case, ARMS["echo"], seed)[:2] for seed in seeds]
    for name, one in predictors().items():
        for number, found in enumerate(shares(runs, one), 1):
            print(name, number, *(f"{value:.2f}" for value in found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
