"""The scores' skill monitor: its means in float, and which sources it lets pass."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from precog_models.rate.score_skill import (
    SCORE_SKILL_STATE,
    score_heard,
    score_skilled,
    score_step,
)
from precog_spec.law_fields import JUDGED_MIN

_N = 4000
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def _followed(scores: Ints, outcomes: Bools) -> Bools:
    """Whether each score is followed; score k claims outcome k + 1."""
    state = np.zeros(len(SCORE_SKILL_STATE), dtype=np.int64)
    followed = np.zeros(len(scores), dtype=np.bool_)
    for k, (score, outcome) in enumerate(zip(scores.tolist(), outcomes.tolist(), strict=True)):
        score_step(state, outcome, True, score)
        followed[k] = score_skilled(state)
    return followed


def _outcomes(rng: np.random.Generator, stay: float) -> Bools:
    """A chain that changes with probability 1 - `stay`."""
    return np.asarray(np.cumsum(rng.random(_N) > stay) % 2 == 1)


def _next(outcomes: Bools) -> Ints:
    return np.append(outcomes[1:], False).astype(np.int64) * 100


SOURCES: dict[str, Callable[[np.random.Generator, Bools], Ints]] = {
    "garbage": lambda rng, o: rng.integers(0, 101, _N),
    "inverted": lambda rng, o: 100 - _next(o),
    "always": lambda rng, o: np.full(_N, 100),
    "never": lambda rng, o: np.zeros(_N, dtype=np.int64),
    "even": lambda rng, o: np.full(_N, 50),
    "soft inverted": lambda rng, o: 75 - _next(o) // 2,
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("stay", [0.5, 0.7, 0.9])
def test_sources_without_skill_are_not_followed(source: str, stay: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    outcomes = _outcomes(rng, stay)
    assert _followed(SOURCES[source](rng, outcomes), outcomes).mean() < 0.1


@pytest.mark.parametrize("stay", [0.5, 0.9, 0.97])
@pytest.mark.parametrize("soft", [0, 10])
def test_sources_with_skill_are_followed(stay: float, soft: int, seed: int) -> None:
    """One that knows, and one that knows but hedges."""
    rng = np.random.default_rng(seed)
    outcomes = _outcomes(rng, stay)
    scores = np.clip(_next(outcomes), soft, 100 - soft)
    assert _followed(scores, outcomes)[JUDGED_MIN:].all()


def test_what_lasts_is_skill_for_who_says_that_it_goes_on(seed: int) -> None:
    rng = np.random.default_rng(seed)
    outcomes = _outcomes(rng, 0.97)
    assert _followed(100 * outcomes.astype(np.int64), outcomes)[JUDGED_MIN:].mean() > 0.5


def test_sums_and_the_rule_are_those_of_float(seed: int) -> None:
    rng = np.random.default_rng(seed)
    outcomes, scores = _outcomes(rng, 0.8), rng.integers(0, 101, _N)
    scores = np.where(rng.random(_N) < 0.7, _next(outcomes), scores)
    state = np.zeros(len(SCORE_SKILL_STATE), dtype=np.int64)
    error = often = 0.0
    close = 0
    for k in range(_N):
        score_step(state, bool(outcomes[k]), True, int(scores[k]))
        if k:
            now, keep = 100.0 * outcomes[k], 63 / 64 if k > 64 else 1.0
            error = error * keep + (now - scores[k - 1]) ** 2
            often = often * keep + now
        kept = dict(zip(SCORE_SKILL_STATE, state.tolist(), strict=True))
        for name, value in (("error", error), ("often", often)):
            assert value - 1e-6 <= kept[name] < value + 64  # cut downwards, less than 1 each time
        n = min(k, 64)
        left = max(kept["error"] - 10_000, 0)
        limit = 0.75 * kept["often"] * (100 - kept["often"] / n) if n else 0.0
        if abs(left - limit) > 8:  # the eighths that are cut
            assert score_skilled(state) == (n >= JUDGED_MIN and left < limit), k
        else:
            close += 1
    assert close < _N // 10


def test_all_scores_between_two_samples_are_judged(seed: int) -> None:
    """By the worst of them: brute force over random numbers of scores, held ones among them."""
    rng = np.random.default_rng(seed)
    state = np.zeros(len(SCORE_SKILL_STATE), dtype=np.int64)
    names, claims, total, judged = SCORE_SKILL_STATE, [], 0, 0
    held: list[int] = []
    for _ in range(60):
        came = rng.integers(0, 101, rng.integers(0, 5)).tolist()
        for score in came:
            score_heard(state, score)
        held = came[-1:] or held
        if rng.random() < 0.2:
            held = []  # it is too old
        outcome = bool(rng.integers(2))
        if claims:
            total += max((100 * outcome - score) ** 2 for score in claims)
            judged += 1
        score_step(state, outcome, bool(held), held[0] if held else 0)
        claims = came or held
        assert (state[names.index("error")], state[names.index("judged")]) == (total, judged)


def test_what_is_certain_stays_within_its_format() -> None:
    """Errors and outcomes at their ends for ever."""
    for outcome, score in ((True, 100), (True, 0), (False, 0), (False, 100)):
        state = np.zeros(len(SCORE_SKILL_STATE), dtype=np.int64)
        for _ in range(3000):
            score_step(state, outcome, True, score)
        assert state[SCORE_SKILL_STATE.index("error")] == (0 if score == 100 * outcome else 640_000)
        assert state[SCORE_SKILL_STATE.index("often")] == 6400 * outcome
        assert score_skilled(state) == (score == 100 * outcome)
