"""The trial of a source of guesses: its skill by receiver, and that none can lend it to another."""

import random
from collections import defaultdict
from ipaddress import ip_address

import pytest

from precog_host.trial import EVIDENCE, KEPT, Trial

_A, _B, _LIAR = (ip_address(f"10.0.0.{n}") for n in (1, 2, 9))


def _noted(trial: Trial, peer: object, *outcomes: tuple[int, bool, bool]) -> None:
    for times, crowded, guessed in outcomes:
        for _ in range(times):
            trial.note(peer, crowded=crowded, guessed=guessed)  # type: ignore[arg-type]


def test_a_source_without_evidence_is_not_heeded() -> None:
    trial = Trial()
    assert trial.skill(_A) is None
    _noted(trial, _A, (EVIDENCE - 1, True, True), (EVIDENCE, False, False))
    assert trial.evidence(_A) == (EVIDENCE - 1, EVIDENCE)
    assert trial.skill(_A) is None
    assert not trial.heeds(_A)
    _noted(trial, _A, (1, True, True))
    assert trial.skill(_A) == 1
    assert trial.heeds(_A)
    assert not trial.heeds(_B)


def test_others_may_be_of_other_receivers() -> None:
    """A receiver that is always crowded shows no false alarm; those elsewhere count."""
    trial = Trial()
    _noted(trial, _A, (20, True, True))
    assert trial.skill(_A) is None
    _noted(trial, _B, (EVIDENCE, False, False))
    assert trial.skill(_A) == 1
    _noted(trial, _B, (EVIDENCE, False, True))
    assert trial.skill(_A) == 0.5
    assert trial.skill(_B) is None


@pytest.mark.parametrize(
    ("hits", "misses", "alarms", "quiet", "heeded"),
    [(8, 0, 0, 8, True), (6, 10, 2, 14, False), (7, 9, 2, 14, True), (0, 16, 16, 0, False)],
)
def test_a_skill_above_a_quarter_is_enough(
    hits: int, misses: int, alarms: int, quiet: int, heeded: bool
) -> None:
    """6/16 - 2/16 is a quarter, and 7/16 - 2/16 more."""
    trial = Trial()
    _noted(trial, _A, (hits, True, True), (misses, True, False))
    _noted(trial, _A, (alarms, False, True), (quiet, False, False))
    assert trial.heeds(_A) == heeded


def test_what_was_long_ago_does_not_count() -> None:
    trial = Trial()
    _noted(trial, _A, (KEPT // 2, True, True), (KEPT // 2, False, False))
    assert trial.skill(_A) == 1
    _noted(trial, _A, (KEPT // 2, True, False), (KEPT // 2, False, True))
    assert trial.skill(_A) == -1
    assert trial.evidence(_A) == (KEPT // 2, KEPT // 2)
    trial.forget(_A)
    assert trial.evidence(_A) == (0, 0)
    trial.forget(_A)


def test_it_is_what_a_plain_count_says(seed: int) -> None:
    rng = random.Random(seed)
    trial, kept = Trial(), defaultdict[object, list[tuple[bool, bool]]](list)
    peers = [_A, _B, _LIAR]
    compared = borrowed = 0
    for _ in range(2000):
        peer = rng.choice(peers)
        crowded, guessed = rng.random() < (0.95 if peer == _A else 0.4), rng.random() < 0.5
        trial.note(peer, crowded=crowded, guessed=guessed)
        kept[peer] = [*kept[peer], (crowded, guessed)][-KEPT:]
        others = [g for one in kept.values() for c, g in one if not c]
        for one in peers:
            hits = [g for c, g in kept[one] if c]
            own = [g for c, g in kept[one] if not c]
            assert trial.evidence(one) == (len(hits), len(others))
            if min(len(hits), len(others)) < EVIDENCE:
                assert trial.skill(one) is None
                continue
            alarms = sum(own) / len(own) if own else 0
            if len(own) < EVIDENCE:
                alarms = max(alarms, sum(others) / len(others))
                borrowed += 1
            assert trial.skill(one) == sum(hits) / len(hits) - alarms
            compared += 1
    assert compared > 4000
    assert borrowed > 100


def test_a_liar_lends_no_skill(seed: int) -> None:
    """A receiver says what it likes: another's skill never exceeds what its own starts show, and
    with enough of these it is as without the liar."""
    rng = random.Random(seed)
    raised = heeded = alike = 0
    for _ in range(300):
        honest, both = Trial(), Trial()
        hit, alarm = rng.random(), rng.random()
        hits: list[bool] = []
        for _ in range(rng.randrange(60)):
            crowded = rng.random() < 0.5
            guessed = rng.random() < (hit if crowded else alarm)
            hits += [guessed] * crowded
            for trial in (honest, both):
                trial.note(_A, crowded=crowded, guessed=guessed)
        says, says_right = rng.random(), rng.random()
        for _ in range(rng.randrange(100)):
            crowded = rng.random() < says
            both.note(_LIAR, crowded=crowded, guessed=crowded == (rng.random() < says_right))
        alone, beside = honest.skill(_A), both.skill(_A)
        if alone is None:
            if beside is not None:
                assert beside <= sum(hits) / len(hits)
                raised += 1
            continue
        assert beside is not None
        assert beside == alone
        alike += 1
        heeded += both.heeds(_A)
    assert min(heeded, alike) > 10
    assert 0 < raised < 60  # where its own other starts were too few


def test_a_coin_is_seldom_heeded(seed: int) -> None:
    rng = random.Random(seed)
    heeded = asked = 0
    for _ in range(200):
        trial = Trial()
        for _ in range(200):
            heeded += trial.heeds(_A)
            asked += 1
            trial.note(_A, crowded=rng.random() < 0.5, guessed=rng.random() < 0.5)
    assert 0 < heeded < 0.06 * asked
