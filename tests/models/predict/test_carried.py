"""Predicted scores that packets carry: who wins, how long it holds, what takes it away."""

import random

import pytest

from precog_models.predict.carried import CarriedResult, CarriedScores
from precog_spec.carried import CarriedKind
from precog_spec.contract import NO_SCORE, CarriedScore, Fmt

QUEUE, RTT, VISIT, FORGET = CarriedKind
ALIVE = {"queue_live": True, "rtt_live": True}


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (CarriedScore.HOST, [NO_SCORE, NO_SCORE, NO_SCORE]),
        (CarriedScore.QUEUE, [30, 30, 30]),
        (CarriedScore.RTT, [NO_SCORE, 70, NO_SCORE]),
        (CarriedScore.MAX, [30, 70, 30]),
    ],
)
def test_whose_score_is_carried(source: CarriedScore, shown: list[int]) -> None:
    """Of a model of RTTs that has no answer any more, too."""
    scores = CarriedScores(2)
    told = []
    for t, (kind, score) in enumerate(((QUEUE, 31), (RTT, 71), (RTT, 0))):
        done = scores.happen(kind, 1, t, score=score, source=source, **ALIVE)
        seen = scores.happen(VISIT, 1, t, source=source, **ALIVE)
        assert (seen.put, seen.score) == (False, done.score)
        told.append(done.score)
    assert told == shown
    assert scores.holding() == ([1] if shown[-1] != NO_SCORE else [])
    done = scores.happen(FORGET, 1, 9, source=source, **ALIVE)
    assert (done.put, done.score, done.expired) == (True, NO_SCORE, False)
    assert scores.holding() == []


@pytest.mark.parametrize("start", [0, Fmt.TIME.max - 50])
def test_a_score_holds_as_long_as_its_age(start: int) -> None:
    """Also over the wrap of time; the other model's goes on."""
    scores = CarriedScores(1)
    scores.age = 100

    def at(t: int, kind: CarriedKind, score: int = 0) -> tuple[bool, int, bool]:
        when = (start + t) & Fmt.TIME.max
        done = scores.happen(kind, 0, when, score=score, source=CarriedScore.MAX, **ALIVE)
        return done.put, done.score, done.expired

    assert at(0, QUEUE, 91) == (True, 90, False)
    assert at(40, RTT, 11) == (True, 90, False)
    assert at(100, VISIT) == (False, 90, False)
    assert at(101, VISIT) == (True, 10, True)
    assert at(140, VISIT) == (False, 10, False)
    assert at(1000, RTT, 21) == (True, 20, False)
    assert at(1101, VISIT) == (True, NO_SCORE, True)
    scores.age = 0
    assert at(2000, QUEUE, 1) == (True, 0, False)
    assert at(1 << 39, VISIT) == (False, 0, False)


def test_a_model_that_is_gone_takes_its_score_with_it(seed: int) -> None:
    rng = random.Random(seed)
    scores = CarriedScores(1)
    held = {QUEUE: 0, RTT: 0}
    for t in range(400):
        kind = rng.choice(list(CarriedKind))
        live = {"queue_live": rng.random() < 0.7, "rtt_live": rng.random() < 0.7}
        score = rng.randrange(102)
        done = scores.happen(kind, 0, t, score=score, source=CarriedScore.MAX, **live)
        if kind in held:
            held[kind] = score
        if kind is FORGET:
            held = dict.fromkeys(held, 0)
        gone = [k for k in held if held[k] and not live[f"{k.name.lower()}_live"]]
        held |= dict.fromkeys(gone, 0)
        best = max(held.values())
        assert done.score == (best - 1 if best else NO_SCORE)
        assert done.expired == bool(gone)
        assert done.put == (kind is not VISIT or bool(gone))


def test_a_port_s_score_reaches_a_queue_pair_with_a_visit() -> None:
    scores = CarriedScores(4)
    scores.age, scores.port = 100, 3
    port = CarriedScore.PORT

    def visit(t: int) -> CarriedResult:
        return scores.happen(CarriedKind.VISIT, 1, t, source=port, queue_live=False, rtt_live=True)

    assert not visit(0).put
    scores.happen(CarriedKind.QUEUE, 3, 5, score=78, source=CarriedScore.HOST, **ALIVE)
    assert visit(6) == CarriedResult(put=True, score=77, expired=False)
    assert not visit(200).put  # it is the port's own queue pair that ages
    scores.happen(CarriedKind.VISIT, 3, 106, source=CarriedScore.HOST, **ALIVE)
    assert visit(201) == CarriedResult(put=True, score=NO_SCORE, expired=True)
    for gone in ("model", "slot"):
        scores.happen(CarriedKind.QUEUE, 3, 300, score=9, source=CarriedScore.HOST, **ALIVE)
        assert visit(300).score == 8
        if gone == "model":
            live = {"queue_live": False, "rtt_live": True}
            scores.happen(CarriedKind.VISIT, 3, 301, source=CarriedScore.HOST, **live)
        else:
            scores.port = 2
        assert visit(301).score == NO_SCORE
