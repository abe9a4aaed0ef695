"""The golden trial: honest advice becomes worth it, false advice worthless, and may come back."""

import numpy as np
import pytest

from precog_models.rate.trials import trial_arm, trial_count
from precog_spec.registers.trials import trials_block
from precog_spec.trial_fields import (
    COUNT_BITS,
    DRAWS,
    HOLDS,
    ROUND_LEAST,
    TRIAL_PARAMETERS,
    TRIAL_STATE,
    Verdict,
)

ROUND = 1 << ROUND_LEAST
PER_ROUND = 8  # samples
RATE = 1 << 24


class Loop:
    """A queue whose delay x time is that of advice where it is followed, else 1."""

    def __init__(self, seed: int, *, margin: int = 5) -> None:
        self.rng = np.random.default_rng(seed)
        values = {
            "trial_rtt": 1,
            "trial_margin": margin,
            "trial_least": 64,
            "trial_seed": int(self.rng.integers(1 << 32)),
        }
        self.parameters = np.array([values.get(name, 0) for name, _ in TRIAL_PARAMETERS])
        self.state = np.zeros(len(TRIAL_STATE), dtype=np.int64)
        self.round = 0

    @property
    def verdict(self) -> Verdict:
        return Verdict(self.state[TRIAL_STATE.index("verdict")])

    def go(self, rounds: int, effect: float) -> float:
        """Go on, with 20 % of noise in each delay; the share of rounds that held."""
        held = 0
        for _ in range(rounds):
            for n in range(PER_ROUND):
                t = self.round * ROUND + n * ROUND // PER_ROUND
                arm = trial_arm(self.state, self.parameters, 0, 0, t)
                holds = arm & 1
                delay = 1000 * (1.0 if holds else effect) * self.rng.normal(1, 0.2)
                trial_count(self.state, self.parameters, t, arm, max(int(delay), 0), RATE)
            held += holds
            self.round += 1
        return held / rounds


@pytest.mark.parametrize(("effect", "verdict"), [(0.9, Verdict.WORTH), (1.15, Verdict.WORTHLESS)])
def test_a_verdict_comes_within_400_rounds(effect: float, verdict: Verdict, seed: int) -> None:
    loop = Loop(seed)
    loop.go(400, effect)
    assert loop.verdict == verdict
    share = loop.go(2000, effect)
    assert loop.verdict == verdict
    assert share == pytest.approx(HOLDS[verdict] / DRAWS, abs=0.04)


def test_advice_that_turns_false_is_found_out_and_wins_its_way_back(seed: int) -> None:
    """1,000 rounds are forgotten, or outweighed, within 1,024 and 2,048."""
    loop = Loop(seed)
    loop.go(1000, 0.8)
    assert loop.verdict == Verdict.WORTH
    turns = 2 * (1 << COUNT_BITS) // PER_ROUND
    loop.go(turns, 1.5)
    assert loop.verdict == Verdict.WORTHLESS
    loop.go(2 * turns, 0.5)
    assert loop.verdict == Verdict.WORTH


def test_what_costs_less_than_the_margin_stays(seed: int) -> None:
    loop = Loop(seed, margin=2)
    loop.go(400, 1.0)
    for _ in range(20):
        loop.go(50, 1.1)
        assert loop.verdict == Verdict.WORTH


def test_only_the_second_half_of_a_round_counts(seed: int) -> None:
    loop = Loop(seed)
    for half in (0, 1):
        t = half * ROUND // 2
        for last in (t, t + ROUND // 2 - 1):
            trial_count(loop.state, loop.parameters, last, 2, 7, RATE)
        assert loop.state[TRIAL_STATE.index("follow_count")] == 2 * half


@pytest.mark.parametrize("apart", [0, 1])
def test_draws_are_fair_and_of_their_own(apart: int, seed: int) -> None:
    """Of rounds, of queue pairs that are apart, and of both kinds: no two agree more than chance
    lets them."""
    loop = Loop(seed)
    loop.parameters[:3] = 1, 1, apart
    rounds = 2000
    arms = np.array(
        [
            [
                trial_arm(loop.state.copy(), loop.parameters, kind, qp, n * ROUND) & 1
                for n in range(rounds)
            ]
            for kind, qp in ((0, 0), (0, 1), (1, 0), (1, 1))
        ]
    )
    spread = 5 / (2 * rounds**0.5)  # standard deviations of a fair coin's mean
    assert np.abs(arms.mean(axis=1) - 0.5).max() < spread
    for lag in (1, 2, 3, 4, 8):
        assert np.abs((arms[:, lag:] == arms[:, :-lag]).mean(axis=1) - 0.5).max() < spread
    for one, other in ((0, 1), (2, 3)):
        agree = (arms[one] == arms[other]).mean()
        assert abs(agree - 0.5) < spread if apart else agree == 1
    assert abs((arms[0] == arms[2]).mean() - 0.5) < spread


def test_registers_are_the_golden_models() -> None:
    fields = [f for register in trials_block(1000).registers for f in register.fields]
    assert tuple((f.name, f.bits) for f in fields) == TRIAL_PARAMETERS
