"""What a start believes: a model's guess where it is heeded, else what the receiver told last."""

import random

import pytest

from precog_host.beliefs import Guess
from precog_host.rdma_follow import Follower
from precog_host.trial import EVIDENCE, believed

from .belief_host import OTHER, PEER, Host, Says, one_list


@pytest.mark.parametrize(
    ("guess", "last", "heeded", "belief"),
    [
        (4, 0, True, 4),
        (4, None, True, 4),
        (0, 4, True, None),  # it earned that
        (1, 4, True, None),
        (None, 4, True, 4),  # it knows too little
        (None, None, True, None),
        (4, 0, False, None),
        (4, None, False, None),
        (0, 4, False, 4),
        (6, 2, False, 2),
        (None, 2, False, 2),
        (4, 1, False, None),  # no level that laws heed
    ],
)
def test_the_rule(guess: int | None, last: int | None, heeded: bool, belief: int | None) -> None:
    assert believed(guess, last, heeded=heeded) == belief


def _passed(host: Host, follower: Follower, model: Says) -> None:
    """The model is right at `PEER` until it is heeded there."""
    for level in [0] * (EVIDENCE + 1) + [4] * EVIDENCE:
        model.next = level
        one_list(host, follower, 0, level)


def test_where_a_model_is_not_heeded_a_host_does_as_one_without(seed: int) -> None:
    """Two hosts see the same starts, and one has a model that is always wrong."""
    rng = random.Random(seed)
    bare, host, model = Host(), Host(), Says()
    beliefs = host.beliefs(model)
    last = Follower(bare.device, mode="s", beliefs=bare.beliefs(None))
    follower = Follower(host.device, mode="s", beliefs=beliefs)
    found: list[tuple[Guess, Guess]] = []
    for _ in range(80):
        level, peer = rng.choice([0, 1, 2, 3, 4]), rng.choice([PEER, OTHER])
        model.next = 0 if level >= 2 else 4
        size = rng.choice([1, 1000])
        pair = (
            one_list(one, by, 0, level, size, peer) for one, by in ((bare, last), (host, follower))
        )
        without, with_ = (guess for guess, _ in pair)
        found.append((without, with_))
    assert [one.belief for one, _ in found] == [one.belief for _, one in found]
    assert [one.level for one, _ in found] == [one.last for _, one in found]
    assert {one.belief for _, one in found} == {None, 2, 3, 4}
    assert not any(one.heeded for _, one in found)
    assert beliefs.trial.skill(PEER) == -1  # its guesses are judged all the same


def test_a_model_that_is_heeded_decides_also_for_no_crowd() -> None:
    host, model = Host(), Says()
    follower = Follower(host.device, mode="s", beliefs=host.beliefs(model))
    _passed(host, follower, model)
    model.next = 0
    guess, _ = one_list(host, follower, 0, 0)  # the last was crowded
    assert (guess.heeded, guess.last, guess.level, guess.belief) == (True, 4, 0, None)
    model.next = 3
    guess, _ = one_list(host, follower, 0, 4)  # the last was not
    assert (guess.heeded, guess.last, guess.level, guess.belief) == (True, 0, 3, 3)


def test_a_model_that_fails_gives_way_to_the_last_level() -> None:
    host, model = Host(), Says()
    follower = Follower(host.device, mode="s", beliefs=host.beliefs(model))
    _passed(host, follower, model)
    guesses = []
    for level in [4, 4, 0, 0] * 10:
        model.next = 4 - level
        guesses.append(one_list(host, follower, 0, level)[0])
    failed = next(n for n, guess in enumerate(guesses) if not guess.heeded)
    assert 0 < failed < 20
    for guess in guesses[:failed]:
        assert guess.belief == (4 if guess.level == 4 else None)
    for guess in guesses[failed:]:
        assert not guess.heeded
        assert guess.belief == (4 if guess.last == 4 else None)
    assert {(guess.level, guess.belief) for guess in guesses[failed:]} == {
        *((0, None), (0, 4), (4, None), (4, 4)),
    }


def test_each_receiver_has_its_own_source() -> None:
    host, model = Host(), Says()
    follower = Follower(host.device, mode="s", beliefs=host.beliefs(model))
    one_list(host, follower, 0, 3, peer=OTHER)
    _passed(host, follower, model)
    model.next = 0
    here, there = (one_list(host, follower, 0, 3, peer=peer)[0] for peer in (PEER, OTHER))
    assert (here.heeded, here.last, here.belief) == (True, 4, None)
    assert (there.heeded, there.last, there.belief) == (False, 3, 3)


def test_a_model_that_knows_no_size_leaves_the_last_level() -> None:
    """The peer's last queue pair was not followed from its start, so that its bytes are unknown."""
    host = Host()
    beliefs = host.beliefs(Says())
    Follower(host.device, mode="s").update(host.qps(0), remote=PEER)
    host.say(0, 3)
    beliefs.end([(0, PEER)])
    guess = beliefs.begin([(1, PEER)])[1]
    assert (guess.level, guess.last, guess.size, guess.belief) == (None, 3, None, 3)


def test_the_last_level_is_that_of_queue_pairs_that_ended() -> None:
    """One that still sends has heard more, and a host without a model does not count it either."""
    for model in (None, Says()):
        host = Host()
        follower = Follower(host.device, mode="s", beliefs=host.beliefs(model))
        one_list(host, follower, 0, 3)
        follower.update(host.qps(1), remote=PEER)
        host.say(1, 4)
        guesses = follower.update(host.qps(1, 2), remote=PEER).guesses
        assert [guess.belief for guess in guesses.values()] == [3]
