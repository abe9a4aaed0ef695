"""What other hosts say of a source: it shortens a trial within bounds; its file is strict."""

import json
import random
from ipaddress import ip_address
from pathlib import Path

import pytest

from precog_host.outcomes import RECEIVERS, read_outcomes, write_outcomes
from precog_host.trial import EVIDENCE, LENT, OWN, Counts, Trial, merged

_A = ip_address("10.0.0.1")
_THERE = [ip_address(f"10.0.2.{n}") for n in range(20)]
_RIGHT = dict.fromkeys(_THERE, Counts(20, 20, 30, 0))
_WRONG = dict.fromkeys(_THERE, Counts(20, 0, 30, 30))
_MODEL = "ab" * 32


def _noted(trial: Trial, *outcomes: tuple[int, bool, bool]) -> None:
    for times, crowded, guessed in outcomes:
        for _ in range(times):
            trial.note(_A, crowded=crowded, guessed=guessed)


def test_a_prior_shortens_a_trial_and_never_replaces_it() -> None:
    for receivers, needed in ((1, 6), (2, 4), (3, 2), (20, 2)):
        trial = Trial(dict(list(_RIGHT.items())[:receivers]))
        _noted(trial, (EVIDENCE, False, False))
        assert trial.lent(_A) == receivers * LENT
        for _ in range(needed):
            assert not trial.heeds(_A)
            _noted(trial, (1, True, True))
        assert trial.heeds(_A)
        assert trial.evidence(_A) == (needed, EVIDENCE)
        _noted(trial, (1, True, False))
        assert not trial.heeds(_A)


def test_a_prior_has_others_until_the_host_has_its_own() -> None:
    """Before, no start has shown what false alarms there are."""
    bare, told = Trial(), Trial(_RIGHT)
    for trial in (bare, told):
        _noted(trial, (OWN, True, True))
    assert (bare.heeds(_A), told.heeds(_A)) == (False, True)
    _noted(told, (EVIDENCE - OWN, True, True))
    assert told.skill(_A) is None
    for trial in (told,):
        for peer in _THERE[:EVIDENCE]:
            trial.note(peer, crowded=False, guessed=True)
    assert not told.heeds(_A)  # its own others were all false alarms: those of the prior are void


def test_a_false_prior_makes_a_trial_no_longer() -> None:
    """Hosts that say a source was always wrong: eight starts of its own are enough as before."""
    for prior in (_WRONG, None):
        trial = Trial(prior)
        _noted(trial, (EVIDENCE, False, False), (EVIDENCE - 1, True, True))
        assert not trial.heeds(_A)
        _noted(trial, (1, True, True))
        assert trial.heeds(_A)
        assert trial.skill(_A) == 1


def test_one_that_is_inverted_is_never_heeded_whatever_others_say(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        trial, says = Trial(_RIGHT), rng.random()
        for _ in range(80):
            assert not trial.heeds(_A)
            crowded = rng.random() < says
            trial.note(_A, crowded=crowded, guessed=not crowded)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("crowded", [0.2, 0.5, 0.8])
def test_what_a_false_prior_costs_is_bounded(share: float, crowded: float, seed: int) -> None:
    """Hosts that say a coin was always right: on average it is heeded at .18 of its first 32
    starts at most, two false alarms among them, and later as without them. Bounds have a margin."""
    rng = random.Random(seed)
    heeded = alarms = later = 0
    times, first, all_ = 400, 32, 200
    for _ in range(times):
        trial = Trial(_RIGHT)
        for n in range(all_):
            is_crowded, guessed = rng.random() < crowded, rng.random() < share
            heeds = trial.heeds(_A)
            if n < first:
                heeded += heeds
                alarms += heeds and guessed and not is_crowded
            elif n >= 100:
                later += heeds
            trial.note(_A, crowded=is_crowded, guessed=guessed)
    assert 0 < heeded < 0.24 * times * first
    assert alarms < 3.5 * times
    assert later < 0.09 * times * (all_ - 100)


def test_a_false_prior_lasts_where_all_starts_are_crowded(seed: int) -> None:
    """No false alarm is possible there: a coin is heeded at .74 of the first 32 starts, and misses
    half of them, until other starts have ended at this host."""
    rng = random.Random(seed)
    heeded = misses = later = 0
    times, first = 300, 32
    for _ in range(times):
        trial = Trial(_RIGHT)
        for n in range(2 * first):
            guessed, heeds = rng.random() < 0.5, trial.heeds(_A)
            if n < first:
                heeded += heeds
                misses += heeds and not guessed
            else:
                later += heeds
            trial.note(_A, crowded=True, guessed=guessed)
            if n == first - 1:
                for peer in _THERE:
                    trial.note(peer, crowded=False, guessed=rng.random() < 0.5)
    assert 0.66 * times * first < heeded < 0.82 * times * first
    assert 0.32 * times * first < misses < 0.42 * times * first
    assert later < 0.2 * times * first


def test_outcomes_are_a_host_s_own(seed: int) -> None:
    rng = random.Random(seed)
    trial = Trial(_RIGHT)
    assert trial.outcomes() == {}
    starts = [(rng.random() < 0.5, rng.random() < 0.5) for _ in range(40)]
    for crowded, guessed in starts:
        trial.note(_A, crowded=crowded, guessed=guessed)
    counts = Counts(
        sum(c for c, _ in starts),
        sum(c and g for c, g in starts),
        sum(not c for c, _ in starts),
        sum(g and not c for c, g in starts),
    )
    assert trial.outcomes() == {_A: counts}
    twice = Counts(*(2 * count for count in counts))
    assert merged([trial.outcomes(), {}, trial.outcomes(), _RIGHT]) == {_A: twice, **_RIGHT}


def test_a_file_is_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.json"
    said = {_A: Counts(9, 8, 20, 3), ip_address("fd00::7"): Counts(0, 0, 1, 1)}
    for outcomes in ({}, said):
        write_outcomes(path, _MODEL, outcomes)
        assert read_outcomes(path, _MODEL) == outcomes
    assert [one.name for one in tmp_path.iterdir()] == ["outcomes.json"]
    with pytest.raises(ValueError, match=f"SHA-256 begins with {'cd' * 8}, not with '{'ab' * 8}'"):
        read_outcomes(path, "cd" * 32)
    with pytest.raises(OSError, match="nobody"):
        write_outcomes(tmp_path / "nobody" / "outcomes.json", _MODEL, said)


_COUNTS = {"crowded": 9, "hits": 8, "others": 20, "alarms": 3}


@pytest.mark.parametrize(
    ("receivers", "message"),
    [
        ([], "receivers an object"),
        ({"10.0.0": _COUNTS}, "receiver must be an IPv4 or IPv6 address, not"),
        ({"fe80::7%eth0": _COUNTS}, "receiver must have no scope, not %eth0"),
        ({"10.0.0.7": 9}, "must have crowded, hits, others, alarms alone"),
        ({"10.0.0.7": {"crowded": 9, "hits": 8}}, "must have crowded, hits, others, alarms alone"),
        ({"10.0.0.7": _COUNTS | {"more": 1}}, "must have crowded, hits, others, alarms alone"),
        ({"10.0.0.7": _COUNTS | {"hits": 10}}, "must be 0 <= hits <= crowded"),
        ({"10.0.0.7": _COUNTS | {"alarms": -1}}, "must be 0 <= hits <= crowded"),
        ({"10.0.0.7": _COUNTS | {"others": 1 << 40}}, "must be 0 <= hits <= crowded"),
        ({"10.0.0.7": _COUNTS | {"hits": 1.5}}, "must be whole numbers"),
        ({"10.0.0.7": _COUNTS | {"hits": True}}, "must be whole numbers"),
        ({"10.0.0.7": _COUNTS | {"hits": "8"}}, "must be whole numbers"),
        ({"fd00::7": _COUNTS, "fd00:0::7": _COUNTS}, "each receiver must be there once"),
        ({str(n): _COUNTS for n in range(RECEIVERS + 1)}, f"receivers must be at most {RECEIVERS}"),
    ],
)
def test_a_file_is_read_strictly(tmp_path: Path, receivers: object, message: str) -> None:
    path = tmp_path / "outcomes.json"
    path.write_text(json.dumps({"model": _MODEL, "receivers": receivers}))
    with pytest.raises(ValueError, match="a file that precog qp follow --outcomes wrote") as left:
        read_outcomes(path, _MODEL)
    assert message in str(left.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expecting value"),
        ("\x00\xff", "Expecting value"),
        ("[]", "it must have model and receivers"),
        ('{"model": "a"}', "it must have model and receivers"),
        ('{"model": 7, "receivers": {}}', "model must be text"),
        ("[" * 100_000, "JSON must be nested at most 32 deep"),
        (" " * (1 << 20) + "{}", "must have at most 1048576 bytes"),
    ],
)
def test_what_is_no_such_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "outcomes.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="a file that precog qp follow --outcomes wrote") as left:
        read_outcomes(path, _MODEL)
    assert message in str(left.value)
