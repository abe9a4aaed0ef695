"""The receiver: bands by hand, what each does, its limits."""

import random

from precog_models.rate.receiver import BandwidthMeter, Receiver, band_after
from precog_spec.law_fields import NO_SCORE, SCORE_MAX, ScoreCommand
from precog_spec.receiver_fields import RECEIVER_CONFIG, Act, Band, ReceiverKind

PARAMETERS = {
    **{"high": 75, "low": 25, "hysteresis": 5, "ticks": 1000},
    **{"rate": 1, "priority": 1, "quota": 1, "boost": 2, "shift": 1, "limit": 100},
}
CONFIG = {"commands": 1, "boosts": 1, "grows": 1, "base_quota": 64}


def receiver(qps: int = 4, **parameters: int) -> Receiver:
    made = Receiver(qps)
    made.parameters |= PARAMETERS | parameters
    for qp in range(qps):
        made.configure(qp, CONFIG, 0)
    return made


def test_bands_are_those_of_the_prose() -> None:
    """001: 75 to 100 high, 25 to 74 medium, 0 to 24 low; downwards only by the hysteresis."""
    for score in range(SCORE_MAX + 1):
        expected = Band.HIGH if score >= 75 else Band.MEDIUM if score >= 25 else Band.LOW
        assert band_after(int(Band.NONE), score, 75, 25, 5) == expected
        for was in (Band.LOW, Band.MEDIUM, Band.HIGH):
            assert band_after(int(was), score, 75, 25, 0) == expected
            after = band_after(int(was), score, 75, 25, 5)
            assert after >= expected
            if after != expected:  # only because it has not fallen far enough
                assert expected < after <= was
                assert {Band.HIGH: 70, Band.MEDIUM: 20}[Band(after)] <= score


def test_what_oscillates_within_the_hysteresis_changes_nothing() -> None:
    made = receiver()
    bands = []
    for n, score in enumerate([74, 75, 74, 71, 75, 70, 69, 74, 75, 69, 24, 20, 19, 24, 25, 0, 21]):
        done = made.happen(ReceiverKind.SCORE, 1, n, score)
        bands.append(Band(done["band"]).name[0])
    assert "".join(bands) == "MHHHHHMMHMMMLLMLL"


def test_each_band_has_its_command() -> None:
    made = receiver()
    for score, available, command in (
        (80, 1, ScoreCommand.REDUCE),
        (50, 1, ScoreCommand.HOLD),
        (10, 1, ScoreCommand.FREE),
        (10, 0, ScoreCommand.HOLD),
    ):
        done = made.happen(ReceiverKind.SCORE, 2, 5, score, available)
        assert (done["command"], done["score"]) == (command, score)
        assert done["acts"] & Act.COMMAND
        assert bool(done["acts"] & Act.STARVED) == (score < 25 and not available)
    made.configure(2, CONFIG | {"commands": 0}, 6)
    done = made.happen(ReceiverKind.SCORE, 2, 7, 80)
    assert (done["command"], done["score"]) == (ScoreCommand.FREE, 80)
    made.parameters["rate"] = 0
    assert made.happen(ReceiverKind.SCORE, 3, 7, 80)["command"] == ScoreCommand.FREE


def test_priority_and_quota_last_as_long_as_the_band() -> None:
    made = receiver(limit=70)
    done = made.happen(ReceiverKind.SCORE, 0, 0, 90)
    assert (done["boost"], done["quota"]) == (2, 128)
    assert done["acts"] == Act.BAND | Act.COMMAND | Act.BOOST | Act.QUOTA
    done = made.happen(ReceiverKind.SCORE, 1, 0, 90)
    assert (done["boost"], done["quota"], made.used[0]) == (2, 70, 70)  # what the limit leaves
    assert done["acts"] & Act.SHORT
    done = made.happen(ReceiverKind.SCORE, 0, 0, 72)
    assert done["acts"] == Act.COMMAND
    done = made.happen(ReceiverKind.SCORE, 0, 0, 60)
    assert (done["boost"], done["quota"]) == (0, 64)
    assert done["acts"] == Act.BAND | Act.COMMAND | Act.BOOST | Act.QUOTA
    done = made.happen(ReceiverKind.VISIT, 1, 0)
    assert (done["quota"], done["acts"]) == (128, Act.QUOTA)  # there is room now
    made.parameters |= {"priority": 0, "limit": 10}
    done = made.happen(ReceiverKind.VISIT, 1, 0)
    assert (done["boost"], done["quota"], made.used[0]) == (0, 74, 10)
    made.parameters["quota"] = 0
    assert made.happen(ReceiverKind.VISIT, 1, 0)["quota"] == 64
    assert made.used[0] == 0


def test_a_score_ages_and_is_taken_back() -> None:
    made = receiver()
    start = (1 << 40) - 10  # time wraps
    made.happen(ReceiverKind.SCORE, 0, start, 90)
    assert made.happen(ReceiverKind.VISIT, 0, start + 1000 - (1 << 40))["acts"] == 0
    done = made.happen(ReceiverKind.VISIT, 0, start + 1001 - (1 << 40))
    assert (done["band"], done["score"], done["boost"], done["quota"]) == (0, NO_SCORE, 0, 64)
    assert done["acts"] == Act.AGED | Act.BAND | Act.COMMAND | Act.BOOST | Act.QUOTA
    assert made.happen(ReceiverKind.VISIT, 0, 5000)["acts"] == 0
    made.parameters["ticks"] = 0
    made.happen(ReceiverKind.SCORE, 0, 0, 90)
    assert made.happen(ReceiverKind.VISIT, 0, 1 << 38)["band"] == Band.HIGH
    done = made.configure(0, CONFIG | {"base_quota": 10}, 0)
    assert (done["band"], done["score"], done["boost"], done["quota"]) == (0, NO_SCORE, 0, 10)


def test_quotas_together_stay_within_the_limit(seed: int) -> None:
    """Whatever happens, with any parameters but a limit that stays."""
    rng = random.Random(seed)
    for _ in range(20):
        made = receiver(8, limit=rng.randrange(300), shift=rng.randrange(16))
        for t in range(300):
            qp = rng.randrange(8)
            if rng.random() < 0.1:
                config = {name: rng.getrandbits(bits) for name, bits in RECEIVER_CONFIG}
                done = made.configure(qp, config, t)
            else:
                kind = rng.choice([ReceiverKind.SCORE, ReceiverKind.VISIT])
                done = made.happen(kind, qp, t * 50, rng.randrange(101), rng.getrandbits(1))
            extras = [int(row[3]) for row in made.states]
            assert sum(extras) == made.used[0] <= made.parameters["limit"]
            assert done["quota"] == made.configs[qp][3] + extras[qp] < 1 << 16
            assert extras[qp] == 0 or done["band"] == Band.HIGH


def test_bandwidth_is_available_after_a_window_within_the_budget() -> None:
    meter = BandwidthMeter()
    meter.ticks, meter.budget = 10, 1000
    seen = []
    for n in range(40):
        meter.tick(100 if n < 10 else 101 if n < 20 else 0)
        seen.append(meter.available)
    assert seen == [0] * 9 + [1] * 10 + [0] * 10 + [1] * 11
    meter.ticks = 0
    meter.tick(1 << 14)
    assert meter.available
