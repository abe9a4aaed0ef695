"""A source of guesses stands a trial before it is heeded.

In runs of other seeds receivers say N, and no flow obeys a guess. A start is crowded where the
receiver's word with the flow's first 64 KB is a level of 2 or more: from there on laws heed it.

    skill = share of crowded starts that were guessed so - share of others that were guessed so

Guesses at random have a skill of 0, of whatever mean; false ones less; a source that finds no
crowded start in its trial has none. This is Peirce's skill score (1884).
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

__all__ = ["ENOUGH", "skill"]

ENOUGH = 0.25  #: skill that a source must surpass to be heeded
_HEEDED = 2  # least level that changes a start


@cache
def _runs(case: str) -> list[tuple[int, Result, Traffic]]:
    """Runs in which no guess is heeded."""
    return [(seed, *closed_loop(case, ARMS["echo"], seed)[:2]) for seed in TAUGHT]


@cache
def skill(case: str, arm: Arm) -> float:
    """Skill of an arm's guesses in a case's trial, -1..1."""
    guessed: dict[bool, list[bool]] = {True: [], False: []}
    for seed, result, traffic in _runs(case):
        if arm.predictor:
            told = known(traffic, result.heard, result.heard_us)
            guesses = predictors()[arm.predictor](windows(traffic, told))
        else:
            guesses = np.array(arm.hints(traffic, known_levels(case), seed).guesses)
        for f in np.flatnonzero(traffic.size > LEAST).tolist():
            guessed[bool(result.heard[f] >= _HEEDED)].append(bool(guesses[f] >= _HEEDED))
    hits, alarms = (float(np.mean(guessed[crowded] or [False])) for crowded in (True, False))
    return hits - alarms
