"""The predictive scheduler: the formulas by hand, its limits, and the formula in float."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from precog_models.psched_presets import PSCHED_PRESETS
from precog_models.rate.psched import (
    CONGESTED,
    PSCHED_STATE,
    SCORED,
    psched_configure,
    psched_keep,
    psched_output,
    psched_reset,
    psched_score,
)
from precog_spec.contract import Flag
from precog_spec.law_fields import (
    DOUBT_MAX,
    JUDGED_MIN,
    LEVEL_ALONE,
    NO_SCORE,
    PSCHED_CONFIG,
    PSCHED_PARAMETERS,
    SENDERS_AT,
    ScoreCommand,
)

RATE = 1 << 28
LOW, HIGH = RATE >> 5, RATE << 1


class Scheduled:
    """A queue pair at a fixed base rate."""

    def __init__(self, *, priority: int = 0, latency: int = 0, **parameters: int) -> None:
        preset = PSCHED_PRESETS["precog"].parameters(1000) | {"skill": 0} | parameters
        self.parameters = np.array([preset[name[7:]] for name, _ in PSCHED_PARAMETERS])
        self.config = np.array([priority, latency, LOW, HIGH])
        self.state: NDArray[np.int64] = np.zeros(len(PSCHED_STATE), dtype=np.int64)
        psched_reset(self.state, RATE)
        self.flags = self.window = 0

    def score(self, score: int, t: int = 0) -> None:
        psched_score(self.state, score, t)

    def output(
        self,
        t: int = 0,
        *,
        rate: int = RATE,
        srtt: int = 0,
        delay: int = 0,
        window: int = 4096,
        held: bool = False,
        above: bool = False,
    ) -> int:
        value, self.window, self.flags = psched_output(
            self.state,
            self.config,
            self.parameters,
            t,
            rate,
            srtt << 8,
            delay,
            window,
            held,
            above,
        )
        return value

    def event(self, t: int, score: int) -> int:
        """A score that comes at `t`."""
        self.score(score, t)
        value, _, self.flags = psched_output(
            self.state, self.config, self.parameters, t, -1, -1, 0, 0, False
        )
        return value


def test_fields() -> None:
    assert PSCHED_CONFIG == ("sla_priority", "sla_latency", "min_rate", "max_rate")
    assert [name for name, _ in PSCHED_PARAMETERS] == [
        f"psched_{name}" for name in PSCHED_PRESETS["precog"].parameters(1000)
    ]


@pytest.mark.parametrize("increase", [0.1, 0.03, 0.0])
def test_factor_is_that_of_the_formula(increase: float) -> None:
    """000's step, scaled by the priority, to one part in 2**15: every score and priority."""
    for priority, score in itertools.product(range(8), range(101)):
        qp = Scheduled(priority=priority, increase=round(increase * 65536))
        qp.score(score)
        if score > 70:
            factor = 1 - (score / 100 - 0.7) * (1 - priority / 20)
        else:
            factor = min(1 + increase * (1 + priority / 20), 1.1)
        output = qp.output()
        assert abs(output / RATE - factor) < 2**-15, (score, priority)
        assert output <= 1.1 * RATE
        assert qp.flags == SCORED | (CONGESTED if score > 70 else 0)


def test_without_a_score_the_base_law_decides() -> None:
    qp = Scheduled()
    assert (qp.output(), qp.flags) == (RATE, 0)
    qp.score(90)
    assert qp.output() < RATE
    qp.score(NO_SCORE)
    assert (qp.output(), qp.flags) == (RATE, 0)


def test_scores_above_100_count_as_100() -> None:
    qp = Scheduled()
    qp.score(254)
    assert qp.output() == RATE - ((RATE * ((30 * 41943) >> 6)) >> 16)


def test_above_the_threshold_it_rises_to_what_the_bound_leaves_at_most() -> None:
    """Whatever the law wants and however the score moves."""
    qp = Scheduled()
    qp.score(90)
    first = qp.output(delay=4000)
    qp.score(71)
    assert qp.output(rate=3 * RATE // 2, delay=4000) == first
    assert qp.output(rate=2 * RATE, delay=4000) == RATE
    assert qp.output(rate=RATE // 2, delay=4000) < first


@pytest.mark.parametrize("cut", [1, 2, 5])
def test_what_scores_take_is_bounded(cut: int, seed: int) -> None:
    """However the law swings: no ratchet, though all samples find congestion."""
    rng = np.random.default_rng(seed)
    qp = Scheduled(cut=cut)
    for n in range(500):
        rate = int(rng.integers(LOW, RATE))
        assert qp.event(n, 100) >= max(LOW, qp.state[0] - (qp.state[0] >> cut))
        assert qp.output(n, rate=rate, delay=4000) >= max(LOW, rate - (rate >> cut))
        assert qp.flags & CONGESTED


def test_what_scores_take_decays_until_a_sample_finds_congestion() -> None:
    """Half as much after each sample that finds none; in all twice the first cut at most."""
    qp = Scheduled(increase=0)
    for _ in range(3):
        taken = []
        for n in range(40):
            qp.score(100)
            taken.append(RATE - qp.output(delay=4000 * (n == 0)))
        expected = [RATE * 3 // 10, *(RATE >> 1 + min(k, DOUBT_MAX) for k in range(1, 40))]
        assert [abs(a - b) < RATE >> 14 for a, b in zip(taken, expected, strict=True)] == [
            True
        ] * 40
        assert sum(taken[: DOUBT_MAX + 1]) < RATE


def test_what_was_not_cut_is_not_doubted() -> None:
    """Samples without a cut before them leave it as it is."""
    qp = Scheduled()
    for n in range(20):
        qp.score(0 if n % 10 < 9 else 100)
        qp.output()
    assert qp.state[PSCHED_STATE.index("doubt")] == 1


def test_scores_that_no_sample_judges_lapse() -> None:
    """However many come: an attacker who stops the samples gains one lifetime."""
    qp = Scheduled()
    for start in (0, 10**6):
        qp.output(start)
        outputs = [qp.event(start + 1 + t, 100) for t in range(0, 10**6 - 10, 10_000)]
        assert [output < RATE for output in outputs] == [n <= 20 for n in range(100)]


def test_a_forged_score_after_each_right_one_is_not_followed() -> None:
    """The right one holds whenever a sample comes: the forged one is judged all the same."""
    qp = Scheduled(skill=1)
    for n in range(400):
        congested, soon = n % 20 >= 10, (n + 1) % 20 >= 10
        qp.output(n, delay=4000 * congested)
        qp.event(n, 100)
        followed = bool(qp.flags & SCORED)
        qp.event(n, 100 * soon)
        assert not followed
    honest = Scheduled(skill=1)
    for n in range(400):
        honest.output(n, delay=4000 * (n % 20 >= 10))
        honest.event(n, 100 * ((n + 1) % 20 >= 10))
        assert bool(honest.flags & SCORED) == (n > JUDGED_MIN)


def test_a_command_only_takes_away() -> None:
    """HOLD: no rise; REDUCE: as above the threshold, wherever that lies; a new score ends both."""
    qp = Scheduled()
    commands = [command for command in ScoreCommand if command != ScoreCommand.KEEP]
    for score, command in itertools.product(range(101), commands):
        free = Scheduled()
        free.score(score)
        allowed = free.output()
        qp = Scheduled()
        qp.score(score | command << 8)
        output = qp.output()
        assert output == (allowed if command == ScoreCommand.FREE else min(allowed, RATE))
        reduces = score > 70 or command == ScoreCommand.REDUCE
        assert qp.flags == SCORED | (CONGESTED if reduces else 0)
        assert (qp.output(rate=5 * RATE // 4, delay=4000) <= output) == reduces
        assert (qp.output(held=True), qp.flags) == (RATE, 0)
        qp.score(0)
        assert qp.output() > RATE


def test_a_level_alone_keeps_the_score() -> None:
    qp = Scheduled()
    qp.score(90)
    low = qp.output()
    state = qp.state.copy()
    qp.score(LEVEL_ALONE | 3 << SENDERS_AT, 700)
    assert (qp.state == state).all()
    assert qp.output() == low


def test_above_the_engine_s_threshold_no_output_rises(seed: int) -> None:
    """Whatever the score, the law and what scores must leave; the bounds come last."""
    rng = np.random.default_rng(seed)
    rises = 0
    for _ in range(100):
        qp, twin = Scheduled(increase=6553), Scheduled(increase=6553)
        qp.score(int(rng.integers(101)))
        first = qp.event(0, int(rng.integers(101)))
        assert qp.state[PSCHED_STATE.index("has_output")]
        for _ in range(20):
            value = int(rng.integers(101))
            qp.score(value)
            twin.state[:] = qp.state
            rate, delay = int(rng.integers(LOW, HIGH)), int(rng.choice([0, 4000]))
            free = twin.output(rate=rate, delay=delay)
            output = qp.output(rate=rate, delay=delay, above=True)
            assert output == min(free, first, rate if not qp.flags & CONGESTED else free)
            rises += free > output
            qp.state[PSCHED_STATE.index("output")] = first = int(rng.integers(LOW, HIGH))
    assert rises > 100


def test_above_the_engine_s_threshold_no_score_raises_a_first_output() -> None:
    qp = Scheduled()
    qp.score(0)
    assert qp.output(above=True) == RATE
    assert qp.flags == SCORED


def test_hysteresis() -> None:
    qp = Scheduled()
    qp.score(71)
    low = qp.output()
    for score in (70, 66):
        qp.score(score)
        assert qp.output(rate=3 * RATE // 2, delay=4000) == low
        assert qp.flags & CONGESTED
    qp.score(65)
    assert qp.output() > RATE
    assert not qp.flags & CONGESTED
    qp.score(70)
    assert qp.output() > RATE


def test_a_score_of_zero_always_ends_it() -> None:
    """Also where the hysteresis is greater than the threshold."""
    qp = Scheduled(threshold=10, hysteresis=20)
    qp.score(50)
    qp.output()
    qp.score(1)
    qp.output()
    assert qp.flags & CONGESTED
    qp.score(0)
    assert qp.output() > RATE


def test_a_score_ages() -> None:
    """Precisely when, over the wrap of time, and for good."""
    life, start = 200_000, (1 << 40) - 100_000
    qp = Scheduled()
    qp.score(90, start)
    assert qp.output((start + life) % (1 << 40)) < RATE
    assert (qp.output((start + life + 1) % (1 << 40)), qp.flags) == (RATE, 0)
    assert qp.output(start) == RATE
    old = Scheduled()
    old.score(90, 1000)
    assert old.output(0) < RATE  # decided after it, of an earlier sample
    ever = Scheduled(score_ticks=0)
    ever.score(90, 0)
    assert ever.output(1 << 39) < RATE


def test_held_advice_is_none_and_comes_back() -> None:
    qp = Scheduled()
    qp.score(90)
    low = qp.output()
    assert (qp.output(held=True), qp.flags) == (RATE, 0)
    assert qp.output() == low


def test_a_broken_latency_forbids_the_rise() -> None:
    qp = Scheduled(latency=5000)
    qp.score(10)
    assert qp.output(srtt=5000) > RATE
    assert qp.output(srtt=5001) == RATE
    value, window, _ = psched_output(qp.state, qp.config, qp.parameters, 0, -1, -1, 0, 0, False)
    assert value == RATE  # an event knows no RTT: it is as late as before
    assert window == 4096  # nor a window
    qp.output(rate=RATE // 2, window=0)
    assert psched_output(qp.state, qp.config, qp.parameters, 0, -1, -1, 0, 99, False)[1] == 0
    law = psched_output(qp.state, qp.config, qp.parameters, 0, RATE, -1, 0, 5000, False)
    assert law[1] == 5000  # unless its law has decided


def test_bounds_come_last(seed: int) -> None:
    """Any law, any parameters; above the threshold never more than before or the floor."""
    rng = np.random.default_rng(seed)
    for _ in range(200):
        qp = Scheduled(
            priority=int(rng.integers(8)),
            threshold=int(rng.integers(128)),
            hysteresis=int(rng.integers(128)),
            increase=int(rng.integers(1 << 16)),
        )
        low, high = np.sort(rng.integers(0, 1 << 32, 2)).tolist()
        qp.config[2:] = low, high
        last = None
        for _ in range(30):
            score = int(rng.integers(0, 101))
            qp.score(score)
            rate = int(rng.integers(0, 1 << 32))
            output = qp.output(rate=rate)
            assert low <= output <= high
            if score > qp.parameters[0] and last is not None:
                floor = rate - (rate >> int(1 + qp.state[PSCHED_STATE.index("doubt")]))
                assert output <= max(last, min(floor, high))
            last = output


def test_configuration_frees() -> None:
    qp = Scheduled()
    qp.score(90)
    low = qp.output()
    psched_configure(qp.state, True, True, RATE // 4)
    assert (qp.state[0], qp.state[-1]) == (RATE, 4096)  # the law's last rate and window stay
    psched_configure(qp.state, True, False, RATE // 4)
    assert qp.state[-1] == 0
    assert qp.output(rate=HIGH) > low
    psched_configure(qp.state, False, False, RATE // 4)
    assert qp.state.tolist() == [HIGH, 1, *[0] * (len(PSCHED_STATE) - 2)]


def test_switched_on_it_goes_on_from_what_the_law_decided() -> None:
    qp = Scheduled()
    psched_keep(qp.state, RATE // 2, 4096)
    psched_configure(qp.state, True, True, RATE // 4)
    qp.score(90)
    qp.config[2] = 1
    value, window, _ = psched_output(qp.state, qp.config, qp.parameters, 0, -1, -1, 0, 0, False)
    assert value == (RATE // 2 * (65536 - (20 * 41943 >> 6))) >> 16
    assert window == 4096


def test_reset_forgets() -> None:
    qp = Scheduled()
    qp.score(90)
    psched_reset(qp.state, RATE)
    assert (qp.output(rate=-1), qp.flags) == (RATE, 0)


def test_flags_are_the_contracts() -> None:
    assert SCORED == 1 << Flag.SCORED
    assert CONGESTED == 1 << Flag.CONGESTED


def test_scores_are_not_followed_before_enough_have_been_judged() -> None:
    qp = Scheduled(skill=1)
    for n in range(40):
        qp.score(0 if n % 8 < 4 else 100)
        now = qp.output(delay=4000 if (n - 1) % 8 >= 4 else 3999)
        assert bool(qp.flags & SCORED) == (n >= JUDGED_MIN), (
            n
        )  # the first one's judge is the second
        assert now == RATE or n >= JUDGED_MIN


def test_a_score_of_another_time_is_not_judged() -> None:
    """Without a score there is no claim; events judge nothing."""
    qp = Scheduled(skill=1)
    for _ in range(200):
        qp.output()
        psched_output(qp.state, qp.config, qp.parameters, 0, -1, -1, 0, 0, False)
    assert not qp.state[PSCHED_STATE.index("judged")]


def test_what_ruins_the_skill_ends_the_advice_and_skill_wins_it_back() -> None:
    qp = Scheduled(skill=1)
    followed = []
    for n in range(600):
        congested = n % 20 >= 10
        honest = n < 200 or n >= 300
        soon = (n + 1) % 20 >= 10
        qp.score(100 * (soon if honest else not soon))
        qp.output(delay=4000 if congested else 0)
        followed.append(bool(qp.flags & SCORED))
    assert all(followed[JUDGED_MIN:200])
    assert not any(followed[220:300])
    assert all(followed[-100:])
