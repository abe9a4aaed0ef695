"""How much worse a law is with receivers that say N than lockstep alone, figure by figure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from precog_studies.laws.cases import CASES
from precog_studies.laws.goals import judged
from precog_studies.paired import Ratio, paired

__all__ = ["HIGH", "WORSE", "Row", "compared"]

WORSE = 0.02  #: a figure may be worse by this part of lockstep's
HIGH = ("rate_gbps", "jain", "utilisation", "share", "through")  #: figures that should be high

_Runs = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Row:
    """A figure with receivers that say N over lockstep's.

    Parameters
    ----------
    figure : str
    ratio : Ratio
    """

    figure: str
    ratio: Ratio

    @property
    def low(self) -> bool:
        """The figure should be low."""
        return self.figure not in HIGH

    @property
    def bound(self) -> float:
        """The ratio of a figure that is `WORSE` worse."""
        return 1 + WORSE if self.low else 1 - WORSE

    @property
    def met(self) -> bool:
        """It is at most `WORSE` worse."""
        return self.ratio.ratio <= self.bound if self.low else self.ratio.ratio >= self.bound

    @property
    def sure(self) -> bool:
        """The bound is not in the interval."""
        return not self.ratio.low <= self.bound <= self.ratio.high


def compared(case: str, before: _Runs, after: _Runs) -> list[Row]:
    """Every figure of a case of `precog_studies.laws`.

    Parameters
    ----------
    case : str
    before, after : sequence of mapping
        Its runs without and with receivers that say N, by the same seeds.
    """
    if CASES[case].fabric:
        rows = judged(case, {"after": after, "before": before}, "after")
        return [
            Row(row.figure, Ratio(row.bound, row.found, row.found / row.bound, row.low, row.high))
            for row in rows
        ]

    def mean(runs: _Runs, name: str) -> Callable[[Sequence[int]], float]:
        values = np.array([run[name] for run in runs])
        return lambda places: float(values[list(places)].mean())

    return [
        Row(name, paired(mean(before, name), mean(after, name), len(before))) for name in before[0]
    ]
