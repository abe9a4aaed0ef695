"""What must be shown, line by line, and how far a law is from it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from precog_net.summary import BINS, percentile
from precog_sim.network import estimate
from precog_studies.laws.cases import CASES

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
    against : str
        Whose figure the bound is; empty: a number of the goal.
    """

    case: str
    figure: str
    found: float
    half_width: float
    bound: float
    below: bool
    against: str = ""

    @property
    def met(self) -> bool:
        """The mean keeps to the bound."""
        return self.found <= self.bound if self.below else self.found >= self.bound

    @property
    def distance(self) -> float:
        """By what part of the bound it is missed; 0: it is met."""
        return 0.0 if self.met else abs(self.found / self.bound - 1)


_Part = tuple[str, str, tuple[float, float], tuple[tuple[float, float], ...]]
Runs = Mapping[str, Sequence[Mapping[str, Any]]]  #: of a case, by law, in order of seeds


def _row(case: str, goal: Goal, runs: Runs, ours: str) -> Row:
    mine = estimate([run[goal.figure] for run in runs[ours]])
    against = ""
    if goal.at_least is not None:
        bound, below = goal.at_least, False
    elif goal.at_most is not None:
        bound, below = goal.at_most, True
    else:
        against = HPCC
        bound = goal.factor * estimate([run[goal.figure] for run in runs[HPCC]]).mean
        below = goal.below
    return Row(case, goal.figure, mine.mean, mine.half_width, bound, below, against)


def _chosen(run: Mapping[str, Any], kind: str, low: float, high: float) -> list[float]:
    """Slowdowns of a class's flows of more than `low` and at most `high` bytes, in order."""
    size, slowdown = np.asarray(run["bytes"]), np.asarray(run["slowdown"], dtype=np.float64)
    mine = (np.asarray(run["class"]) == kind) & (size > low) & (size <= high)
    return sorted(slowdown[mine].tolist())


def _tail(
    runs: Runs, name: str, kind: str, bounds: tuple[float, float], share: float
) -> tuple[float, float, int]:
    """Percentile of all seeds' flows, half width of the seeds' own, number of flows."""
    each = [_chosen(run, kind, *bounds) for run in runs[name]]
    pooled = np.sort(np.concatenate(each))
    if not pooled.size:
        return np.nan, np.nan, 0
    own = [percentile(np.array(values), share) for values in each if values]
    return percentile(pooled, share), estimate(own).half_width, pooled.size


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
            for share, factor in shares:
                mine, half, count = _tail(runs, ours, kind, bounds, share)
                if count < _FEWEST:
                    continue
                theirs = _tail(runs, against, kind, bounds, share)[0]
                figure = f"p{share * 100:g} {name}"
                yield Row(case, figure, mine, half, factor * theirs, True, against)


def judged(case: str, runs: Runs, ours: str) -> list[Row]:
    """Every goal of a case."""
    if CASES[case].fabric:
        return list(_fabric_rows(case, runs, ours))
    return [_row(case, goal, runs, ours) for goal in GOALS[case]]
