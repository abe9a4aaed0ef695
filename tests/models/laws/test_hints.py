"""What a receiver's word may do to lockstep: cut to a stated share, and nothing else."""

import numpy as np
from tests.models.laws.law_bench import ThreeWays, compiled

from precog_spec.engine.events import Kind

_BASE, _LINK = 4180, int(12.5 * (1 << 24))
_BDP = 52_250
_WORDS = {"base": _BASE, "max_rate": _LINK, "min_rate": _LINK // 1000, "mtu": 1000}
_WORDS |= {"init_rate": _LINK}


def _ack(k: int, rtt: int = _BASE) -> dict[str, int]:
    return {**_WORDS, "rtt": rtt, "bytes": 1000, "now": 1000 * k, "seq": k, "next": k + 50}


def _started() -> tuple[ThreeWays, int, int]:
    """A flow after its first acknowledgement, its rate and its window."""
    made = compiled("lockstep_hints")
    ways = ThreeWays(made, made.law.integers("default", 1000))
    rate, window = ways.event(Kind.ACK, **_ack(1), rate=_LINK, window=0)[:2]
    return ways, rate, window


def _told(ways: ThreeWays, rate: int, window: int, senders: int, **words: int) -> tuple[int, int]:
    told = {**_WORDS, "now": 5000, "score": 255, "senders": senders, **words}
    got = ways.event(Kind.SCORE, **told, rate=rate, window=window)
    return got[0], got[1]


def test_acknowledgements_are_lockstep_s(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plain, hinted = (
        ThreeWays(one, one.law.integers("default", 1000))
        for one in (compiled("lockstep"), compiled("lockstep_hints"))
    )
    rate = window = 0
    for k in range(1, 400):
        event = _ack(k, _BASE + int(rng.exponential(500)))
        before = plain.event(Kind.ACK, **event, rate=rate or _LINK, window=window)
        assert before == hinted.event(Kind.ACK, **event, rate=rate or _LINK, window=window)
        rate, window = before[:2]


def test_a_rise_cuts_to_one_and_a_half_fair_shares() -> None:
    for senders in range(16):
        ways, rate, window = _started()
        assert window >= _BDP * 0.99
        cut_rate, cut = _told(ways, rate, window, senders)
        share = 1.5 * _BDP / (1 << min(senders, 6)) if senders >= 2 else window
        assert abs(cut - min(share, window)) <= 1
        assert cut_rate <= rate
        assert abs(cut_rate / rate - min(cut / window, 1)) < 0.01


def test_no_word_raises_a_window() -> None:
    ways, rate, window = _started()
    rate, window = _told(ways, rate, window, 6)
    for senders in (5, 2, 1, 0, 6):
        assert _told(ways, rate, window, senders) == (rate, window)


def test_a_held_word_is_not_heeded() -> None:
    ways, rate, window = _started()
    assert _told(ways, rate, window, 15, held=1) == (rate, window)
