"""A source of guesses stands a trial before it is heeded.

In runs of other seeds receivers say N, and no flow obeys a guess. A start is crowded where the
receiver's word with the flow's first 64 KB is a level of 2 or more: from there on laws heed it.

    skill = share of crowded starts that were guessed so - share of others that were guessed so

Guesses at random have a skill of 0, of whatever mean; false ones less; a source that finds no
crowded start in its trial has none. This is Peirce's skill score (1884).
"""

from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from precog_models.forecast.starts import CROWDED
from precog_models.forecast.starts import skill as skill_score
from precog_net.workloads import Traffic
from precog_sim.network import Result
from precog_studies.prediction.arms import ARMS, Arm
from precog_studies.prediction.cases import TAUGHT, closed_loop, known_levels
from precog_studies.prediction.guesses import LEAST
from precog_studies.prediction.starts.heeding import Hosts
from precog_studies.prediction.starts.predictors import Predictor, predictors
from precog_studies.prediction.starts.windows import known, windows

__all__ = ["error_of", "hosts_after", "skill", "skill_of"]

_Guessed = tuple[Result, Traffic, NDArray[np.int64]]  # a run, its flows, their guesses


@cache
def _run(case: str, seed: int) -> tuple[Result, Traffic]:
    """A run in which no guess is heeded."""
    return closed_loop(case, ARMS["echo"], seed)[:2]


def _runs(case: str) -> list[tuple[int, Result, Traffic]]:
    return [(seed, *_run(case, seed)) for seed in TAUGHT]


@cache
def skill(case: str, arm: Arm) -> float:
    """Skill of an arm's guesses in a case's trial, -1..1."""
    if arm.predictor:
        return skill_of(case, predictors()[arm.predictor])
    told = (
        (result, traffic, np.array(arm.hints(traffic, known_levels(case), seed).guesses))
        for seed, result, traffic in _runs(case)
    )
    return _skill(told)


def skill_of(case: str, predictor: Predictor) -> float:
    """Skill of a predictor in a case's trial, -1..1."""
    return _skill(_guessed(case, predictor))


@cache
def hosts_after(case: str, arm: Arm) -> Hosts:
    """Hosts that have tried an arm's guesses in its earlier runs, or were told what became of them
    there; not to be changed."""
    hosts = Hosts()
    for seed in range(TAUGHT[0], TAUGHT[0] + (arm.earlier or 0)):
        result, traffic = _run(case, seed)
        if arm.predictor:
            told = known(traffic, result.heard, result.heard_us)
            guesses = predictors()[arm.predictor](windows(traffic, told))
        else:
            guesses = np.array(arm.hints(traffic, known_levels(case), seed).guesses)
        hosts.heeds(result, traffic, guesses)
    return Hosts(hosts.outcomes()) if arm.told else hosts


def error_of(case: str, predictor: Predictor) -> float:
    """Mean distance, in levels, from a predictor's guesses to what its flows heard in the trial."""
    parts = [
        np.abs(guesses - result.heard)[traffic.size > LEAST]
        for result, traffic, guesses in _guessed(case, predictor)
    ]
    return float(np.concatenate(parts).mean())


def _guessed(case: str, predictor: Predictor) -> Iterator[_Guessed]:
    for _, result, traffic in _runs(case):
        told = known(traffic, result.heard, result.heard_us)
        yield result, traffic, predictor(windows(traffic, told))


def _skill(trial: Iterable[_Guessed]) -> float:
    guessed: dict[bool, list[bool]] = {True: [], False: []}
    for result, traffic, guesses in trial:
        for f in np.flatnonzero(traffic.size > LEAST).tolist():
            guessed[bool(result.heard[f] >= CROWDED)].append(bool(guesses[f] >= CROWDED))
    hits, alarms = (float(np.mean(guessed[crowded] or [False])) for crowded in (True, False))
    return skill_score(hits, alarms)
