"""Statistics of many, some of whom lie: properties of the median, the clamps and the age."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precog_fleet.bodies import Statistics
from precog_fleet.robust import (
    QUORUM,
    Shared,
    Voice,
    congestion,
    median,
    shared,
    start_rate,
)

from .support import NOW, stats

AGE = 5000


def numbers(name: str) -> st.SearchStrategy[int]:
    low, high = Statistics.BOUNDS[name]
    return st.integers(low, high)


ANY = st.builds(Statistics, **{name: numbers(name) for name in Statistics.BOUNDS})


def voices(given_: list[Statistics], who: str = "host") -> list[Voice]:
    return [Voice(f"{who}{n}", NOW, one) for n, one in enumerate(given_)]


@given(st.lists(ANY, min_size=3, max_size=12), st.data())
def test_liars_below_half_stay_within_what_honest_ones_say(
    honest: list[Statistics], data: st.DataObject
) -> None:
    lies = data.draw(st.lists(ANY, max_size=len(honest) - 1))
    said = [*voices(honest), *voices(lies, "liar")]
    said = data.draw(st.permutations(said))
    known = shared(said, NOW, age_ms=AGE)
    if len(said) < QUORUM:
        assert known is None
        return
    assert known is not None
    for name in ("rate", "mean", "p99"):
        told = [getattr(one, name) for one in honest]
        assert min(told) <= getattr(known, name) <= max(told)
    counts = [one.n for one in honest]
    assert min(counts) * len(said) <= known.n <= max(counts) * len(said)
    # ... and so do what is made of it.
    line = 100_000_000
    rates = [
        start_rate(
            Shared(len(said), n * len(said), rate, 0, 0), own=line, least=line // 16, most=line
        )
        for n in (min(counts), max(counts))
        for rate in (min(o.rate for o in honest), max(o.rate for o in honest))
        if n
    ]
    found = start_rate(known, own=line, least=line // 16, most=line)
    assert line // 16 <= found <= line
    if rates and min(counts):
        assert min(rates) <= found <= max(rates)
    scores = [
        congestion(Shared(9, 9, 1, mean, mean), base_ns=5000, budget_ns=20_000)
        for mean in (min(o.mean for o in honest), max(o.mean for o in honest))
    ]
    score = congestion(known, base_ns=5000, budget_ns=20_000)
    assert score is not None
    assert scores[0] <= score <= scores[1]  # type: ignore[operator]


@given(st.lists(ANY, min_size=1, max_size=9), st.integers(1, 9))
def test_a_voice_counts_once(given_: list[Statistics], times: int) -> None:
    """However often a reporter speaks, its newest word alone counts."""
    old = [Voice("host0", NOW - n, stats(mean=1)) for n in range(1, times)]
    said = voices(given_)
    assert shared([*old, *said], NOW, age_ms=AGE, quorum=1) == shared(
        said, NOW, age_ms=AGE, quorum=1
    )


@pytest.mark.parametrize(("age", "counts"), [(0, 1), (AGE, 1), (AGE + 1, 0), (-10, 1), (-11, 0)])
def test_the_old_and_those_of_the_future_are_silent(age: int, counts: int) -> None:
    said = [Voice(f"host{n}", NOW, stats()) for n in range(QUORUM - 1)]
    said.append(Voice("late", NOW - age, stats()))
    known = shared(said, NOW, age_ms=AGE, skew_ms=10)
    assert (known is not None) == bool(counts)


def test_by_hand() -> None:
    said = voices(
        [stats(n=n, rate=1000 * n, mean=5000 + n, p99=9000 + n) for n in (1, 2, 3, 4, 65535)]
    )
    assert shared(said, NOW, age_ms=AGE) == Shared(5, 15, 3000, 5003, 9003)
    assert shared(said[:4], NOW, age_ms=AGE) is None
    known = Shared(5, 15, 3000, 13_000, 14_000)
    assert start_rate(known, own=9, least=0, most=10_000) == 3000 * 15 // 16
    assert start_rate(known, own=9, least=5000, most=10_000) == 5000
    assert start_rate(None, own=9000, least=100, most=10_000) == 9000
    assert start_rate(Shared(5, 0, 3000, 1, 1), own=9000, least=100, most=10_000) == 9000
    assert congestion(known, base_ns=5000, budget_ns=16_000) == 50
    assert congestion(known, base_ns=5000, budget_ns=1000) == 100
    assert congestion(known, base_ns=50_000, budget_ns=1000) == 0
    assert congestion(None, base_ns=5000, budget_ns=16_000) is None
    assert median([3, 1, 2, 9]) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: median([]), "median must be of one value or more"),
        (lambda: start_rate(None, own=1, least=5, most=4), "clamp must be 0 <= least <= most"),
        (
            lambda: congestion(None, base_ns=1, budget_ns=0),
            "budget_ns must be at least 1, not 0",
        ),
    ],
)
def test_refusals(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
