"""RTTch in its repaired form, rule by rule."""

import numpy as np

from precog_models.rate.target_adjuster import nominal_target, target_step
from precog_spec.contract import Fmt

BASE, NOMINAL, MARGIN = 4000, 5000 << 8, 200 << 8


def run(rtts: list[int], threshold: int = 6, **changes: int) -> tuple[list[int], list[bool]]:
    state = np.zeros(3, dtype=np.int64)
    values = {"base": BASE, "nominal": NOMINAL, "margin": MARGIN} | changes
    targets, fired = [], []
    for rtt in rtts:
        target, hit = target_step(
            state, rtt, values["base"], values["nominal"], True, threshold, values["margin"]
        )
        targets.append(target)
        fired.append(hit)
    return targets, fired


def test_nominal() -> None:
    assert nominal_target(False, 123, 4000, 77) == 123
    assert nominal_target(True, 123, 4000, 77) == (4000 << 8) + 77
    assert nominal_target(True, 0, Fmt.RTT.max, Fmt.SRTT.max) == Fmt.SRTT.max


def test_fires_above_the_threshold_and_starts_again() -> None:
    _, fired = run([6000] * 16)
    assert [n for n, hit in enumerate(fired) if hit] == [6, 13]


def test_move_is_the_decaying_mean_and_counts_from_the_next_sample() -> None:
    targets, _ = run([6000] * 8)
    mean = 0
    for _ in range(7):
        mean += ((1000 << 8) - mean + 4) >> 3
    assert targets[:7] == [NOMINAL] * 7
    assert targets[7] == NOMINAL + mean


def test_moves_down_too() -> None:
    targets, _ = run([4500] * 8)
    assert targets[7] < NOMINAL


def test_crossing_resets_the_count() -> None:
    _, fired = run(([6000] * 6 + [4500]) * 5)
    assert not any(fired)


def test_threshold_255_never_fires() -> None:
    _, fired = run([6000] * 600, threshold=255)
    assert not any(fired)
    _, fired = run([4500] * 600, threshold=255)
    assert not any(fired)


def test_stays_between_base_plus_margin_and_three_bases() -> None:
    targets, _ = run([200_000] * 100)
    assert max(targets) == 3 * BASE << 8
    targets, _ = run([BASE] * 400)
    assert min(targets) == (BASE << 8) + MARGIN
    assert run([5000], nominal=1)[0] == [(BASE << 8) + MARGIN]
    # Where the bounds cross, the upper one holds.
    assert run([5000], margin=Fmt.SRTT.max)[0] == [3 * BASE << 8]


def test_new_base_moves_the_target_at_once() -> None:
    state = np.zeros(3, dtype=np.int64)
    for _ in range(7):
        target_step(state, 6000, BASE, nominal_target(True, 0, BASE, 1000), True, 6, MARGIN)
    offset = int(state[0])
    assert offset > 0
    nominal = nominal_target(True, 0, 4400, 1000)
    assert target_step(state, 6000, 4400, nominal, True, 6, MARGIN)[0] == nominal + offset


def test_off_means_nominal_and_no_memory() -> None:
    state = np.array([5, 6, 7], dtype=np.int64)
    assert target_step(state, 9000, BASE, 1, False, 0, MARGIN) == (1, False)
    assert state.tolist() == [0, 0, 0]
