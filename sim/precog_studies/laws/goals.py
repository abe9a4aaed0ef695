"""What must be shown, line by line, and how far a law is from it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_net.summary import BINS, percentile, place
from precog_sim.network import estimate
from precog_studies.laws.cases import CASES
from precog_studies.paired import paired

__all__ = ["GOALS", "Goal", "Row", "judged"]

HPCC = "hpcc"
_FEWEST = 100  # flows of a bin that is judged


@dataclass(frozen=True)
class Goal:
    """A bound of a figure: one of two numbers, or else `factor` times HPCC's in the same seeds.

    Parameters
    ----------
    figure : str
    at_least, at_most : float, optional
    factor : float
    below : bool
        Of HPCC's: the figure must be at most that.
    """

    figure: str
    at_least: float | None = None
    at_most: float | None = None
    factor: float = 1.0
    below: bool = True


_NO_SLOWER = tuple(Goal(name) for name in ("rtt_mean_us", "rtt_p99_us", "rtt_max_us"))
_THESIS = (
    *_NO_SLOWER,
    Goal("rate_gbps", at_least=17.3),
    Goal("jain", at_least=0.99),
    Goal("finish_ms", at_most=54.0),
)

#: Bounds of the lines with figures; those of fat trees are made of their bins.
GOALS: dict[str, tuple[Goal, ...]] = {
    "thesis10": _THESIS,
    "thesis100": _THESIS,
    "n5": tuple(Goal(name, factor=1.02) for name in ("rtt_p99_us", "rtt_max_us")),
    "n20": _NO_SLOWER,
    "n60": _NO_SLOWER,
    "n200": (Goal("utilisation", at_least=0.95),),
    "long32": (Goal("jain", at_least=0.99), Goal("utilisation", at_least=0.99)),
    "long256": (Goal("jain", at_least=0.98), Goal("utilisation", at_least=0.98)),
    "two": (Goal("jain", at_least=0.98),),
    "noise": (
        Goal("rate_gbps", at_least=16.5),
        Goal("rtt_p99_us", at_most=4.7),
        Goal("utilisation", at_least=0.97),
    ),
    "base_low": (Goal("utilisation", at_least=0.95),),
    "jitter": (Goal("share", at_least=0.25),),
    "acks4": _THESIS,
    "acks16": _THESIS,
    "parking_lot": (
        Goal("rtt_p99_us"),
        Goal("through", below=False),
        Goal("utilisation", at_least=0.95),
    ),
}


@dataclass(frozen=True)
class Row:
    """A goal and what was found.

    Parameters
    ----------
    case, figure : str
    found, half_width : float
        Mean over the seeds and its 95 % interval; of fat trees the value of all seeds' flows
        together, with the interval of the seeds' own values.
    bound : float
    below : bool
        The figure must be at most the bound.
    low, high : float
        95 % interval of found / bound: seeds drawn again, both laws' together; of a bound that is a
        number, the mean's interval.
    against : str
        Whose figure the bound is; empty: a number of the goal.
    """

    case: str
    figure: str
    found: float
    half_width: float
    bound: float
    below: bool
    low: float
    high: float
    against: str = ""

    @property
    def met(self) -> bool:
        """The mean keeps to the bound."""
        return self.found <= self.bound if self.below else self.found >= self.bound

    @property
    def sure(self) -> bool:
        """The interval lies on the mean's side of the bound."""
        return not self.low <= 1 <= self.high


_Values = NDArray[np.float64]
_Part = tuple[str, str, tuple[float, float], tuple[tuple[float, float], ...]]
Runs = Mapping[str, Sequence[Mapping[str, Any]]]  #: of a case, by law, in order of seeds


def _row(case: str, goal: Goal, runs: Runs, ours: str) -> Row:
    mine = estimate([run[goal.figure] for run in runs[ours]])
    number = goal.at_most if goal.at_least is None else goal.at_least
    if number is not None:
        low, high = ((mine.mean + sign * mine.half_width) / number for sign in (-1, 1))
        below = goal.at_least is None
        return Row(case, goal.figure, mine.mean, mine.half_width, number, below, low, high)

    def mean(name: str) -> Callable[[Sequence[int]], float]:
        values = np.array([run[goal.figure] for run in runs[name]])
        return lambda places: float(values[list(places)].mean())

    found = paired(mean(HPCC), mean(ours), len(runs[ours]))
    return Row(
        case,
        goal.figure,
        mine.mean,
        mine.half_width,
        goal.factor * found.before,
        goal.below,
        found.low / goal.factor,
        found.high / goal.factor,
        HPCC,
    )


def _chosen(run: Mapping[str, Any], kind: str, low: float, high: float) -> _Values:
    """Slowdowns of a class's flows of more than `low` and at most `high` bytes, in order."""
    size, slowdown = np.asarray(run["bytes"]), np.asarray(run["slowdown"], dtype=np.float64)
    mine = (np.asarray(run["class"]) == kind) & (size > low) & (size <= high)
    return np.sort(slowdown[mine])


def _pooled(each: Sequence[_Values], share: float) -> Callable[[Sequence[int]], float]:
    """The percentile of some seeds' flows together; NaN of no flow."""

    def made(places: Sequence[int]) -> float:
        values = np.concatenate([each[k] for k in places])
        if not values.size:
            return float("nan")
        at = place(values.size, share)
        return float(np.partition(values, at)[at])

    return made


def _fabric_rows(case: str, runs: Runs, ours: str) -> Iterator[Row]:
    """Tails of all normal flows, of every bin with enough of them, and of the incasts."""
    bins = list(zip((0, *BINS), (*BINS, float("inf")), strict=True))
    workload = CASES[case].fabric
    for against in (name for name in runs if name != ours):
        parts: list[_Part] = [(workload, "all", (0.0, float("inf")), ((0.95, 1.0), (0.99, 1.0)))]
        for low, high in bins:
            name = f"{low / 1e3:g}–{high / 1e3:g} KB".replace("–inf KB", " KB and more")
            loose = 1.1 if against == HPCC else 1.0
            parts.append((workload, name, (low, high), ((0.95, 1.0), (0.99, loose))))
        parts.append(("incast", "incast", (0.0, float("inf")), ((0.99, 1.0),)))
        for kind, name, bounds, shares in parts:
            mine = [_chosen(run, kind, *bounds) for run in runs[ours]]
            theirs = [_chosen(run, kind, *bounds) for run in runs[against]]
            if sum(one.size for one in mine) < _FEWEST:
                continue
            for share, factor in shares:
                found = paired(_pooled(theirs, share), _pooled(mine, share), len(mine))
                yield Row(
                    case,
                    f"p{share * 100:g} {name}",
                    found.after,
                    estimate([percentile(one, share) for one in mine if one.size]).half_width,
                    factor * found.before,
                    True,
                    found.low / factor,
                    found.high / factor,
                    against,
                )


def judged(case: str, runs: Runs, ours: str) -> list[Row]:
    """Every goal of a case."""
    if CASES[case].fabric:
        return list(_fabric_rows(case, runs, ours))
    return [_row(case, goal, runs, ours) for goal in GOALS[case]]
