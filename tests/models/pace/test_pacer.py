"""The golden pacer's arithmetic and rules, stated independently."""

import random
from fractions import Fraction

import pytest

from precog_models.pace.pacer import Grant, Pacer, State
from precog_models.pace.reciprocal import GAP_MAX, gap, reciprocal, rescaled
from precog_spec.contract import TICK_FRAC_BITS

RATE_ONE = 1 << 24
TICK = 1 << TICK_FRAC_BITS


def rates(rng: random.Random) -> list[int]:
    edges = [n + d for n in (1 << k for k in range(1, 32)) for d in (-1, 0, 1)]
    return [
        1,
        (1 << 32) - 1,
        *edges,
        *(rng.getrandbits(rng.randrange(1, 33)) | 1 for _ in range(3000)),
    ]


def test_a_gap_is_never_too_short_and_hardly_too_long(seed: int) -> None:
    rng = random.Random(seed)
    for rate in rates(rng):
        size = rng.choice([1, 64, 1500, 4096 + 255])
        exact = Fraction(size * RATE_ONE * TICK, rate)
        found = gap(size, *reciprocal(rate))
        if exact > GAP_MAX:
            assert found == GAP_MAX
        else:
            assert exact <= found <= min(exact * (1 + Fraction(1, 1 << 17)) + 1, GAP_MAX)
    assert reciprocal(0) == reciprocal(1)
    assert max(exponent for _, exponent in map(reciprocal, rates(rng))) == 32


def test_the_rest_of_a_gap_stands_for_the_same_bytes(seed: int) -> None:
    rng = random.Random(seed)
    for old in rates(rng):
        new = rng.choice(rates(rng)[-3000:])
        whole = gap(4096, *reciprocal(old))
        pending = rng.randrange(1, whole + 1)
        exact = Fraction(pending * old, new)
        found = rescaled(pending, old, *reciprocal(new))
        if exact > GAP_MAX:
            assert found == GAP_MAX
        else:
            # A 65536th of a byte that is owed too much, and the rounding of a gap.
            slack = exact / (1 << 17) + 2 + Fraction(RATE_ONE, new) * Fraction(3, 2)
            assert exact <= found <= exact + slack or found == GAP_MAX


def one(rate: int = RATE_ONE, **config: int) -> Pacer:
    pacer = Pacer(2)
    pacer.configure(0, **{"priority": 0, "mtu": 2, "psn": 0} | config)
    pacer.set_rate(0, rate, 0)
    return pacer


def test_one_packet_after_the_other() -> None:
    pacer = one()
    pacer.request(0, 2500, 100)
    assert pacer.grant(0, 0, 105) == Grant(0, 1024, 105)
    assert pacer.charge(0, 110) == (100 + 1024) * TICK  # from when it was due
    assert pacer.rows[0].state is State.WAITING
    pacer.fire(0, 1123)
    assert pacer.rows[0].state is State.WAITING  # not due yet
    pacer.fire(0, 1124)
    assert pacer.grant(0, 0, 1130) == Grant(0, 1024, 1130)
    pacer.charge(0, 1131)
    pacer.fire(0, 2200)
    assert pacer.grant(0, 0, 2200) == Grant(0, 452, 2200)
    assert pacer.charge(0, 2201) == (100 + 2 * 1024 + 452) * TICK
    pacer.fire(0, 3000)
    assert pacer.rows[0].state is State.PARKED


def test_whoever_is_late_catches_up_by_one_packet() -> None:
    pacer = one()
    pacer.request(0, 1 << 20, 0)
    pacer.grant(0, 0, 50_000)
    assert pacer.charge(0, 50_001) == 50_000 * TICK
    assert pacer.rows[0].state is State.READY
    pacer.grant(0, 0, 50_004)
    assert pacer.charge(0, 50_005) == (50_000 + 1024) * TICK
    assert pacer.rows[0].state is State.WAITING


def test_no_credit_while_there_is_nothing_to_send() -> None:
    pacer = one()
    pacer.request(0, 1024, 0)
    pacer.grant(0, 0, 0)
    pacer.charge(0, 1)
    pacer.fire(0, 5000)
    pacer.request(0, 4096, 90_000)
    pacer.grant(0, 0, 90_001)
    assert pacer.charge(0, 90_002) == (90_000 + 1024) * TICK


def test_a_window_counts_packets_in_flight() -> None:
    pacer = one(rate=(1 << 32) - 1, psn=(1 << 24) - 1)
    pacer.limit(0, 2049, 0)
    pacer.request(0, 1 << 20, 0)
    for t in (0, 100, 200):
        assert pacer.grant(0, 0, t) is not None
        pacer.charge(0, t + 50)
    assert pacer.rows[0].state is State.WAITING  # the third filled it: 2 * 1024 < 2049 <= 3 * 1024
    pacer.fire(0, 300)
    assert pacer.rows[0].state is State.PARKED
    pacer.acknowledge(0, 5, 400)  # not in flight
    assert pacer.rows[0].state is State.PARKED
    pacer.acknowledge(0, 0, 500)
    assert pacer.rows[0].state is State.READY


def test_what_the_log_must_not_say() -> None:
    pacer = one()
    with pytest.raises(ValueError, match="QP 0 must be the first of priority 0"):
        pacer.grant(0, 0, 0)
    with pytest.raises(ValueError, match="QP 1 must be in the wheel, it is PARKED"):
        pacer.fire(1, 0)
