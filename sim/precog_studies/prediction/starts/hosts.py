"""How soon hosts heed a source of guesses: each with a trial of its own, by receiver.

The study's trials pool all NICs and receivers of three runs. A host (`precog_host.trial`) has only
its own starts, and hits at one receiver earn nothing at another. Here the hosts of a case see its
runs one after the other, and flows do not heed guesses.

``python -m precog_studies.prediction.starts.hosts [CASE [RUNS]]`` prints shares by run: of the
forecasts, of the tree with what became of it in as many runs before as a prior (``tree:prior``), of
a coin, of the tree inverted, and of the tree inverted at half of the receivers, these and the other
half apart.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from precog_models.forecast.starts import CROWDED
from precog_net.workloads import Traffic
from precog_sim.network import Result
from precog_studies.prediction.arms import ARMS
from precog_studies.prediction.cases import CASES, TAUGHT, closed_loop
from precog_studies.prediction.guesses import LEAST, inverted
from precog_studies.prediction.starts.heeding import Hosts
from precog_studies.prediction.starts.predictors import Predictor, predictors
from precog_studies.prediction.starts.windows import known, windows

__all__ = ["Shares", "Source", "forecast", "shares"]

_Ints = NDArray[np.int64]
#: Levels of a run's flows, guessed at their starts.
Source = Callable[[Result, Traffic], _Ints]


class Shares(NamedTuple):
    """Starts of a run that were guessed to be crowded, 0..1; `heeded`: by a host that heeds it."""

    hits: float  #: of crowded starts
    heeded_hits: float
    alarms: float  #: of the others
    heeded_alarms: float


def forecast(predictor: Predictor) -> Source:
    """The source that a predictor is."""

    def made(result: Result, traffic: Traffic) -> _Ints:
        return predictor(windows(traffic, known(traffic, result.heard, result.heard_us)))

    return made


def shares(
    runs: Iterable[tuple[Result, Traffic]],
    source: Source,
    half: int | None = None,
    hosts: Hosts | None = None,
) -> Iterator[Shares]:
    """Shares of one run after the other.

    Parameters
    ----------
    runs : iterable of (Result, Traffic)
    source : callable
    half : int, optional
        Only receivers whose number modulo 2 is this one are counted; all are tried.
    hosts : Hosts, optional
        They learn from the runs; by default they know nothing before.
    """
    hosts = hosts or Hosts()
    for result, traffic in runs:
        guesses = source(result, traffic)
        heeded = hosts.heeds(result, traffic, guesses)
        counts = (traffic.size > LEAST) & (half is None or traffic.dst % 2 == half)
        crowded, guessed = result.heard >= CROWDED, guesses >= CROWDED
        yield Shares(
            *(
                _share(said, counts & starts)
                for starts in (crowded, ~crowded)
                for said in (guessed, guessed & heeded)
            )
        )


def _share(said: NDArray[np.bool_], of: NDArray[np.bool_]) -> float:
    return float(said[of].mean()) if of.any() else 0.0


def _coin(_result: Result, traffic: Traffic) -> _Ints:
    rng = np.random.default_rng(int(traffic.start_ps.sum()))
    return CROWDED * rng.integers(0, 2, len(traffic))


def _sources() -> Mapping[str, tuple[Source, int | None]]:
    """Sources by name, and the receivers that count."""
    tree = forecast(predictors()["tree"])

    def turned(result: Result, traffic: Traffic) -> _Ints:
        return inverted(tree(result, traffic))

    def split(result: Result, traffic: Traffic) -> _Ints:
        return np.where(traffic.dst % 2 == 0, tree(result, traffic), turned(result, traffic))

    return {
        **{name: (forecast(one), None) for name, one in predictors().items()},
        "coin": (_coin, None),
        "inverted": (turned, None),
        "split:right": (split, 0),
        "split:inverted": (split, 1),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(description="Print how soon hosts heed a source of guesses.")
    parser.add_argument("case", nargs="?", default="services", choices=tuple(CASES))
    parser.add_argument(
        "runs", nargs="?", type=int, default=16, choices=range(1, 1001), metavar="N"
    )
    asked = parser.parse_args(arguments)
    before, runs = (
        [
            closed_loop(asked.case, ARMS["echo"], seed)[:2]
            for seed in range(first, first + asked.runs)
        ]
        for first in (TAUGHT[0] - asked.runs, TAUGHT[0])
    )
    tree, others = forecast(predictors()["tree"]), Hosts()
    for _ in shares(before, tree, hosts=others):
        pass
    _print("tree:prior", shares(runs, tree, hosts=Hosts(others.outcomes())))
    for name, (source, half) in _sources().items():
        _print(name, shares(runs, source, half))
    return 0


def _print(name: str, runs: Iterable[Shares]) -> None:
    for number, found in enumerate(runs, 1):
        print(name, number, *(f"{value:.2f}" for value in found))


if __name__ == "__main__":
    raise SystemExit(main())
