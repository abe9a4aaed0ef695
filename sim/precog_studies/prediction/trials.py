"""A source of guesses stands a trial before it is heeded.

In runs of other seeds receivers say N, and no flow obeys a guess. A guess of a level that would be
heeded is right where the receiver's word with the flow's first 64 KB is one level lower at most. A
source is heeded if more than half of these guesses are right.
"""

from functools import cache

import numpy as np

from precog_net.workloads import Traffic
from precog_sim.network import Result
from precog_studies.prediction.arms import ARMS, Arm
from precog_studies.prediction.cases import TAUGHT, closed_loop, known_levels
from precog_studies.prediction.guesses import LEAST
from precog_studies.prediction.starts.predictors import predictors
from precog_studies.prediction.starts.windows import known, windows

__all__ = ["RIGHT", "right"]

RIGHT = 0.5  #: share of right guesses that a source must surpass
_HEEDED = 2  # least level that changes a start


@cache
def _runs(case: str) -> list[tuple[int, Result, Traffic]]:
    """Runs in which no guess is heeded."""
    return [(seed, *closed_loop(case, ARMS["echo"], seed)[:2]) for seed in TAUGHT]


@cache
def right(case: str, arm: Arm) -> float:
    """Share of an arm's guesses that are right in a case's trial; 0 if it has none."""
    made = hits = 0
    for seed, result, traffic in _runs(case):
        if arm.predictor:
            told = known(traffic, result.heard, result.heard_us)
            guesses = predictors()[arm.predictor](windows(traffic, told))
        else:
            guesses = np.array(arm.hints(traffic, known_levels(case), seed).guesses)
        counts = (guesses >= _HEEDED) & (traffic.size > LEAST)
        made += int(counts.sum())
        hits += int((result.heard[counts] >= guesses[counts] - 1).sum())
    return hits / made if made else 0.0
