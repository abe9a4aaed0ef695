"""What a receiver's word may do to lockstep: cut to a stated share, and nothing else."""

from copy import copy
from types import SimpleNamespace

import numpy as np
import pytest
from tests.models.laws.law_bench import ThreeWays, compiled

from precog_models.laws import lockstep, lockstep_hints
from precog_spec.engine.events import EVENT_FIELDS, Kind

_BASE, _LINK = 4180, int(12.5 * (1 << 24))
_BDP = 52_250
_DEEPEST = 4
_FALL = 0.5
_WORDS = {"base": _BASE, "max_rate": _LINK, "min_rate": _LINK // 1000, "mtu": 1000}
_WORDS |= {"init_rate": _LINK}


def _ack(k: int, rtt: int = _BASE) -> dict[str, int]:
    return {**_WORDS, "rtt": rtt, "bytes": 1000, "now": 1000 * k, "seq": k, "next": k + 50}


def _started(
    queue: int = 1500, sign_us: float = 1.0, preset: str = "default", **changes: float
) -> tuple[ThreeWays, int, int]:
    """A flow after its first acknowledgement, which met a queue of 1.5 us; rate and window.

    The sign is 1 us: such a queue makes lockstep itself cut little.
    """
    made = compiled("lockstep_hints")
    ways = ThreeWays(made, made.law.integers(preset, 1000, sign=sign_us, **changes))
    rate, window = ways.event(Kind.ACK, **_ack(1, _BASE + queue), rate=_LINK, window=0)[:2]
    return ways, rate, window


def _told(ways: ThreeWays, rate: int, window: int, senders: int, **words: int) -> tuple[int, int]:
    told = {**_WORDS, "now": 5000, "next": 51, "score": 255, "senders": senders, **words}
    got = ways.event(Kind.SCORE, **told, rate=rate, window=window)
    return got[0], got[1]


def _share(senders: int) -> float:
    return 2 * _BDP / (1 << min(senders, _DEEPEST))


def test_acknowledgements_are_lockstep_s(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plain, hinted = (
        ThreeWays(one, one.law.integers("default", 1000))
        for one in (compiled("lockstep"), compiled("lockstep_hints"))
    )
    rate = window = 0
    for k in range(1, 400):
        event = _ack(k, _BASE + int(rng.exponential(500)))
        before = plain.event(Kind.ACK, **event, rate=rate or _LINK, window=window)[:2]
        assert before == hinted.event(Kind.ACK, **event, rate=rate or _LINK, window=window)[:2]
        rate, window = before


def test_a_word_and_a_queue_cut_to_two_fair_shares() -> None:
    for senders in range(16):
        ways, rate, window = _started()
        assert window > 0.6 * _BDP
        cut_rate, cut = _told(ways, rate, window, senders)
        if senders < 2:
            assert (cut_rate, cut) == (rate, window)
        else:
            assert abs(cut - min(_share(senders), window)) <= 1
            assert cut_rate < rate


def test_a_word_alone_cuts_nothing_until_a_queue_is_met() -> None:
    ways, rate, window = _started(queue=0)
    assert _told(ways, rate, window, 4) == (rate, window)
    again = ways.event(Kind.ACK, **_ack(2, _BASE + 900), rate=rate, window=window)[1]
    assert again > 0.6 * _BDP
    cut = ways.event(Kind.ACK, **_ack(3, _BASE + 1100), rate=rate, window=window)[1]
    assert abs(cut - _share(4)) <= 1
    later = ways.event(Kind.ACK, **_ack(4, _BASE + 1100), rate=rate, window=cut)[1]
    assert later >= 0.5 * cut


def _believing(senders: int, preset: str = "default") -> tuple[ThreeWays, int, int]:
    """A flow that was told a level before its first acknowledgement; rate and window then."""
    made = compiled("lockstep_hints")
    ways = ThreeWays(made, made.law.integers(preset, 1000))
    told = {**_WORDS, "now": 0, "next": 0, "score": 255, "senders": senders}
    rate, window = ways.event(Kind.SCORE, **told, rate=_LINK, window=_BDP)[:2]
    return ways, rate, window


@pytest.mark.parametrize("senders", range(16))
def test_a_belief_is_two_fair_shares(senders: int) -> None:
    ways, rate, window = _believing(senders)
    share = 2 * _BDP / (1 << senders) if senders >= 2 else _BDP
    assert abs(window - max(share, _BDP / 1000)) <= 1
    after = ways.event(Kind.ACK, **_ack(1), rate=rate, window=window)[1]
    assert abs(after - (_share(senders) if senders >= 2 else _BDP)) <= 1


def test_a_belief_without_a_window_limits_it_too() -> None:
    made = compiled("lockstep_hints")
    ways = ThreeWays(made, made.law.integers("default", 1000))
    told = {**_WORDS, "now": 0, "next": 0, "score": 255, "senders": 4}
    window = ways.event(Kind.SCORE, **told, rate=_LINK, window=0)[1]
    assert abs(window - 2 * _BDP / 16) <= 1


@pytest.mark.parametrize(("word", "shares"), [(0, None), (1, None), (2, 4), (3, 8), (6, 16)])
def test_the_first_word_replaces_a_belief(word: int, shares: int | None) -> None:
    """No queue is needed; a word of few senders gives back the window of a start."""
    ways, rate, window = _believing(5)
    rate, window = ways.event(Kind.ACK, **_ack(1), rate=rate, window=window)[:2]
    rate, window = _told(ways, rate, window, word)
    wanted = 2 * _BDP / shares if shares else _BDP
    assert abs(window - wanted) <= 2
    assert rate == pytest.approx(min(_LINK, wanted / _BASE * (1 << 24)), rel=1e-3)


@pytest.mark.parametrize(("word", "part"), [(0, 4), (1, 4), (2, 4), (4, 8)])
def test_a_long_message_keeps_the_window_of_its_start(word: int, part: int) -> None:
    """A quarter of the link is what a level of 3 says; a crowd's word cuts it further."""
    ways, rate, window = _believing(3, "bulk")
    assert abs(window - _BDP / 4) <= 1
    rate, window = ways.event(Kind.ACK, **_ack(1), rate=rate, window=window)[:2]
    window = _told(ways, rate, window, word)[1]
    assert abs(window - _BDP / part) <= 2


def test_a_long_message_starts_no_faster_than_its_queue_pair() -> None:
    ways, rate, window = _believing(3, "bulk")
    slow = {"init_rate": _LINK // 10}
    rate, window = ways.event(Kind.ACK, **_ack(1) | slow, rate=rate, window=window)[:2]
    assert abs(_told(ways, rate, window, 0, **slow)[1] - _BDP / 10) <= 2


def test_a_round_trip_ends_a_belief() -> None:
    """At a link with a queue the count of idle acknowledgements begins; no word cuts alone."""
    ways, rate, window = _believing(5)
    rate, window = ways.event(Kind.ACK, **_ack(1), rate=rate, window=window)[:2]
    late = _ack(60, _BASE + 1100)
    rate, window = ways.event(Kind.ACK, **late, rate=rate, window=window)[:2]
    assert _told(ways, rate, window, 6) == (rate, window)


@pytest.mark.parametrize(("mtu", "needed"), [(1000, 4), (2000, 2)])
def test_few_acknowledgements_raise_a_window_of_few_packets(mtu: int, needed: int) -> None:
    """A cut by a level of 4 leaves 6,531 bytes: more or less than four packets."""
    ways, rate, window = _started()
    rate, cut = _told(ways, rate, window, 4)
    windows = [cut]
    for k in range(60, 60 + needed):
        event = _ack(k) | {"mtu": mtu}
        rate, window = ways.event(Kind.ACK, **event, rate=rate, window=windows[-1])[:2]
        windows.append(window)
    assert windows[-2] < 1.1 * cut
    assert windows[-1] > 1.25 * cut


@pytest.mark.parametrize(
    ("mtu", "changes", "rises"),
    [
        (60_000, {}, True),
        (1000, {}, False),
        (60_000, {"few": 0}, False),
        (60_000, {"idle": 0}, False),
    ],
)
def test_less_than_a_packet_rises_at_an_idle_link_without_a_cut(
    mtu: int, changes: dict[str, float], rises: bool
) -> None:
    """Two acknowledgements are enough, lockstep's own rise apart; 0 of them turn it off."""
    made, plain = compiled("lockstep_hints"), compiled("lockstep")
    hinted = ThreeWays(made, made.law.integers("default", 1000, **changes))
    alone = ThreeWays(plain, plain.law.integers("default", 1000))
    was = (_LINK, 0)
    for k in range(1, 202):
        event = _ack(k, _BASE + 20_000 * (k < 200)) | {"mtu": mtu, "rate": was[0], "window": was[1]}
        now, other = (ways.event(Kind.ACK, **event)[:2] for ways in (hinted, alone))
        assert now == other or (rises and k == 201)
        was = now
    raised = max(1.5 * _BDP / 4, 1.3 * other[1])
    assert abs(now[1] - (raised if rises else other[1])) <= 1


def test_false_words_need_a_queue_of_two_round_trips() -> None:
    """What a few starts leave behind does not suffice for a receiver's lie; an incast's does."""
    made = compiled("lockstep_hints")
    sign = made.law.integers("default", 1000)["sign"]
    assert isinstance(sign, int)
    assert 8000 <= sign < 2 * _BASE
    for queue, cuts in ((7900, False), (8100, True)):
        ways, rate, window = _started(queue, 8.0)
        assert window > 2 * _share(_DEEPEST)
        cut = _told(ways, rate, window, 15)[1]
        assert (cut < window) == cuts
        assert not cuts or abs(cut - _share(_DEEPEST)) <= 1


def _event(**words: int) -> SimpleNamespace:
    return SimpleNamespace(**dict.fromkeys((name for name, _, _ in EVENT_FIELDS), 0) | words)


def test_false_words_have_a_bound(seed: int) -> None:
    """Any words and queues, each step against lockstep's own from the same state: a word takes W
    no further down than 2 part BDP / 2**deepest, and no further up than BDP / 2."""
    rng = np.random.default_rng(seed)
    law = compiled("lockstep_hints").law
    p = SimpleNamespace(**law.integers("default", 1000))
    s = SimpleNamespace(**{one.name: 0 for one in law.state})
    floor, most = _share(_DEEPEST), _BDP / 2
    rate, window, cuts = _LINK, _BDP, 0
    for k in range(1, 6000):
        queue = int(rng.choice([0, 50, 1500, 9000, 40_000]))
        heard = _event(**_ack(k, _BASE + queue), rate=rate, window=window)
        alone = copy(s)
        own_rate, own_window = lockstep.on_ack(p, alone, heard)
        rate, window = lockstep_hints.on_ack(p, s, heard)
        assert min(alone.w, 256 * floor - 256) <= s.w <= max(alone.w, 256 * most)
        assert min(own_window, int(floor) - 1) <= window <= max(own_window, most)
        assert rate >= min(own_rate, 0.999 * _LINK * floor / _BDP)
        if rng.random() < 0.3:
            before, was = s.w, (rate, window)
            said = {"next": k + 50, "senders": int(rng.integers(16))}
            word = _event(**_WORDS, **said, rate=rate, window=window)
            rate, window = lockstep_hints.on_score(p, s, word)
            assert min(before, 256 * floor - 256) <= s.w <= max(before, 256 * most)
            assert min(was[1], int(floor) - 1) <= window <= max(was[1], most)
            assert rate >= min(was[0], 0.999 * _LINK * floor / _BDP)
            cuts += s.w < before
    assert cuts > 20


def test_an_idle_link_ends_a_cut() -> None:
    """Not before a round trip has gone by; a queue starts the count again."""
    ways, rate, window = _started(fall=0)
    rate, window = _told(ways, rate, window, 4)
    cut = window
    for k in (*range(40, 52), 60, 61, 62):
        rate, window = ways.event(Kind.ACK, **_ack(k), rate=rate, window=window)[:2]
        assert window < 1.1 * cut
    rate, window = ways.event(Kind.ACK, **_ack(63, _BASE + 1100), rate=rate, window=window)[:2]
    _told(ways, rate, window, 2)
    for k in range(64, 67):
        rate, window = ways.event(Kind.ACK, **_ack(k), rate=rate, window=window)[:2]
        assert window < 1.6 * cut
    window = ways.event(Kind.ACK, **_ack(67), rate=rate, window=window)[1]
    assert abs(window - 1.5 * _BDP / 4) <= 1


@pytest.mark.parametrize(("word", "shares"), [(0, 4), (1, 4), (2, 4), (3, 8), (4, None)])
@pytest.mark.parametrize("queue", [1500, 9000])
def test_a_lower_level_raises_a_cut_to_a_share(word: int, shares: int | None, queue: int) -> None:
    """At once, whatever queue the flow has met; a cut by a level of 6 leaves two sixteenths."""
    ways, rate, window = _started(queue)
    was = _told(ways, rate, window, 6)
    assert abs(was[1] - _share(_DEEPEST)) <= 1
    rate, window = _told(ways, *was, word)
    wanted = _BDP / shares if shares else 0
    assert abs(window - max(wanted, was[1])) <= 1
    assert rate == pytest.approx(max(was[0], wanted / _BASE * (1 << 24)), rel=1e-3)


def test_a_lower_level_does_not_raise_a_long_message() -> None:
    ways, rate, window = _started(preset="bulk")
    was = _told(ways, rate, window, 6)
    assert abs(was[1] - _share(_DEEPEST)) <= 1
    assert _told(ways, *was, 2) == was


def test_a_lower_level_raises_no_window_without_a_cut() -> None:
    ways, rate, window = _started(queue=0)
    assert _told(ways, rate, window, 6) == (rate, window)
    assert _told(ways, rate, window // 100, 2)[1] == window // 100


@pytest.mark.parametrize(
    ("word", "queue", "rises"),
    [(2, 1900, True), (2, 2100, False), (4, 90, True), (4, 110, False)],
)
def test_a_window_of_its_share_waits_for_an_idle_link(word: int, queue: int, rises: bool) -> None:
    """A cut by a level of 4 leaves less than the share of a level of 2, more than its own."""
    ways, rate, window = _started(fall=0)
    rate, cut = _told(ways, rate, window, 4)
    rate, window = _told(ways, rate, cut, word)
    for k in range(60, 64):
        event = _ack(k, _BASE + queue)
        rate, window = ways.event(Kind.ACK, **event, rate=rate, window=window)[:2]
    wanted = max(1.5 * _BDP / (1 << word), 1.3 * cut)
    assert (window == pytest.approx(wanted, rel=0.05)) == rises
    assert rises or window < 1.1 * cut


@pytest.mark.parametrize(
    ("senders", "kept", "least"),
    [(6, 0.5, _BDP / 128), (5, 0.25, _BDP / 128), (6, 0.0, None), (1, 0.5, None)],
)
def test_less_than_a_packet_keeps_a_part_of_its_share(
    senders: int, kept: float, least: float | None
) -> None:
    """However long the queue is. Lockstep alone has an eighth of a packet at such a one."""
    made = compiled("lockstep_hints")
    ways = ThreeWays(made, made.law.integers("default", 1000, kept=kept))
    queue = 90_000
    rate, window = ways.event(Kind.ACK, **_ack(1, _BASE + queue), rate=_LINK, window=0)[:2]
    rate, window = _told(ways, rate, window, senders)
    for k in range(2, 300):
        event = _ack(k, _BASE + queue)
        rate, window = ways.event(Kind.ACK, **event, rate=rate, window=window)[:2]
    if least is None:
        assert window < 150
    else:
        assert abs(window - least) <= 1


def test_a_held_word_is_not_heeded() -> None:
    ways, rate, window = _started()
    assert _told(ways, rate, window, 15, held=1) == (rate, window)
