"""The trial of a source of guesses: its skill by receiver, and that none can lend it to another."""

import random
from collections import defaultdict
from ipaddress import ip_address

import pytest

from precog_host.trial import EVIDENCE, KEPT, LENT, OWN, Trial

_A, _B, _LIAR = (ip_address(f"10.0.0.{n}") for n in (1, 2, 9))
_ELSEWHERE = [ip_address(f"10.0.1.{n}") for n in range(6)]


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


def _right_elsewhere(trial: Trial, receivers: int) -> None:
    for peer in _ELSEWHERE[:receivers]:
        _noted(trial, peer, (EVIDENCE, False, False), (EVIDENCE, True, True))


def test_skill_elsewhere_shortens_a_trial_and_never_replaces_it() -> None:
    """Each receiver lends two crowded starts; two of one's own are needed in any case."""
    for receivers, needed in ((0, 8), (1, 6), (2, 4), (3, 2), (6, 2)):
        trial = Trial()
        _noted(trial, _B, (EVIDENCE, False, False))
        _right_elsewhere(trial, receivers)
        assert trial.lent(_A) == receivers * LENT
        assert needed == max(EVIDENCE - receivers * LENT, OWN)
        for _ in range(needed):
            assert not trial.heeds(_A)
            _noted(trial, _A, (1, True, True))
        assert trial.heeds(_A)
        assert (trial.skill(_A) is None) == (needed < EVIDENCE)
        assert trial.lent(_A) == receivers * LENT
        assert trial.lent(_B) == receivers * LENT + LENT


def test_a_shortened_trial_ends_at_the_first_miss() -> None:
    trial = Trial()
    _right_elsewhere(trial, 6)
    _noted(trial, _A, (OWN, True, True))
    assert trial.heeds(_A)
    _noted(trial, _A, (1, True, False))
    assert not trial.heeds(_A)
    for _ in range(EVIDENCE - OWN - 1):
        assert not trial.heeds(_A)
        _noted(trial, _A, (1, True, True))
    assert trial.heeds(_A)  # 7 of 8 of its own


def test_what_is_lent_must_show_skill() -> None:
    """A source that always guesses a crowded start has hits everywhere, and no skill."""
    trial = Trial()
    for peer in _ELSEWHERE:
        _noted(trial, peer, (EVIDENCE, False, True), (EVIDENCE, True, True))
    _noted(trial, _A, (7, True, True), (EVIDENCE, False, False))
    assert trial.skill(_A) is None
    assert not trial.heeds(_A)
    misses = Trial()
    for peer in _ELSEWHERE:
        _noted(misses, peer, (EVIDENCE, False, False), (EVIDENCE - LENT, True, True))
        _noted(misses, peer, (LENT, True, False))  # it has turned
    _noted(misses, _A, (7, True, True))
    assert misses.heeds(_ELSEWHERE[0])
    assert not misses.heeds(_A)
    _noted(misses, _A, (1, True, True))
    assert misses.heeds(_A)


def test_a_false_alarm_ends_a_shortened_trial_too() -> None:
    trial = Trial()
    _right_elsewhere(trial, 6)
    _noted(trial, _A, (OWN, True, True), (1, False, True))
    assert not trial.heeds(_A)
    _noted(trial, _A, (1, False, False))
    assert trial.heeds(_A)  # one alarm of two


def test_few_others_count_for_less() -> None:
    """Of n others that ended, a skill counts for n / (n + 4); with eight it counts in full."""
    for others, hits, heeded in ((0, 8, False), (1, 8, False), (2, 8, True), (2, 6, False)):
        trial = Trial()
        _noted(trial, _A, (8 - hits, True, False), (hits, True, True), (others, False, False))
        assert trial.heeds(_A) == heeded
        assert trial.skill(_A) is None
    trial = Trial()
    _noted(trial, _A, (3, True, True), (5, True, False), (7, False, False))
    assert not trial.heeds(_A)
    _noted(trial, _A, (1, False, False))
    assert trial.heeds(_A)


def test_one_that_is_inverted_at_a_receiver_is_never_heeded_there(seed: int) -> None:
    """Whatever it was right at before and meanwhile, and whatever the order of the starts."""
    rng = random.Random(seed)
    for _ in range(60):
        trial = Trial()
        _right_elsewhere(trial, rng.randrange(7))
        says = rng.random()
        for _ in range(100):
            assert not trial.heeds(_B)
            peer, crowded = rng.choice([_B, *_ELSEWHERE]), rng.random() < says
            trial.note(peer, crowded=crowded, guessed=crowded != (peer == _B))


@pytest.mark.parametrize(("share", "bound"), [(0.25, 0.08), (0.5, 0.13), (0.75, 0.13)])
def test_a_coin_at_one_receiver_gains_little_by_skill_elsewhere(
    share: float, bound: float, seed: int
) -> None:
    """Right at six receivers, a coin at the seventh: it is heeded for .05, .094 and .099 of the
    first 32 starts there on average; bounds are some five deviations above."""
    rng = random.Random(seed)
    heeded, times = 0, 1000
    for _ in range(times):
        trial = Trial()
        _right_elsewhere(trial, 6)
        for _ in range(32):
            heeded += trial.heeds(_A)
            trial.note(_A, crowded=rng.random() < 0.5, guessed=rng.random() < share)
    assert 0 < heeded < bound * times * 32


@pytest.mark.parametrize("crowded", [0.2, 0.5, 0.8])
def test_a_coin_at_many_receivers_is_seldom_heeded(crowded: float, seed: int) -> None:
    """On average for .013, .050 and .032 of its starts; here 300, soon after the trials' ends."""
    rng = random.Random(seed)
    heeded = asked = 0
    for _ in range(200):
        trial = Trial()
        for _ in range(300):
            peer = rng.choice([_A, _B, *_ELSEWHERE])
            heeded += trial.heeds(peer)
            asked += 1
            trial.note(peer, crowded=rng.random() < crowded, guessed=rng.random() < 0.5)
    assert heeded < 0.065 * asked


def test_sums_are_what_is_kept(seed: int) -> None:
    """Whatever was noted and forgotten on the way, a trial is that of the outcomes left."""
    rng = random.Random(seed)
    trial, kept = Trial(), defaultdict[object, list[tuple[bool, bool]]](list)
    early = 0
    for n in range(1500):
        peer = rng.choice(_ELSEWHERE)
        crowded = rng.random() < 0.3 + 0.1 * _ELSEWHERE.index(peer)
        guessed = crowded if rng.random() < 0.95 else not crowded
        trial.note(peer, crowded=crowded, guessed=guessed)
        kept[peer] = [*kept[peer], (crowded, guessed)][-KEPT:]
        if n % 20 == 0:
            gone = rng.choice(_ELSEWHERE)
            trial.forget(gone)
            kept.pop(gone, None)
        if n % 50:
            continue
        again = Trial()
        for one, outcomes in kept.items():
            for each in outcomes:
                _noted(again, one, (1, *each))
        for one in _ELSEWHERE:
            lent = [sum(c for c, _ in of) for other, of in kept.items() if other != one]
            assert trial.lent(one) == sum(min(each, LENT) for each in lent)
            assert trial.heeds(one) == again.heeds(one)
            early += trial.heeds(one) and trial.skill(one) is None
    assert early > 10
