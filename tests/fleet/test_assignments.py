"""Rollouts: shares nest, agents agree on who comes when; what is out of bounds is refused."""

from dataclasses import replace

import pytest

from precog_fleet.assignments import Drift, Rollout
from precog_fleet.fields import PoisonError

ONE = bytes([1]) * 32
TWO = bytes([2]) * 32
ROLLOUT = Rollout(2, TWO, 1, ONE, 100, 77)


def test_shares_nest_and_are_as_large_as_they_say() -> None:
    names = [f"host{k}" for k in range(4000)]
    before: set[str] = set()
    for share in (0, 50, 250, 1000):
        rollout = replace(ROLLOUT, share=share)
        chosen = {name for name in names if rollout.chosen(name)}
        assert before <= chosen
        assert abs(len(chosen) - 4 * share) <= 100  # about four standard deviations
        before = chosen
        for name in names[:50]:
            expected = (2, TWO) if name in chosen else (1, ONE)
            assert rollout.assigned(name) == expected
    assert before == set(names)


def test_the_salt_changes_who_comes_first() -> None:
    names = [f"host{k}" for k in range(1000)]
    first, second = (
        {name for name in names if replace(ROLLOUT, salt=salt).chosen(name)} for salt in (1, 2)
    )
    assert len(first & second) < len(first) / 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"share": 1001}, r"share must be an integer in 0\.\.1000, not 1001"),
        ({"release": -1}, "release must be an integer"),
        ({"previous": True}, "previous must be an integer"),
        ({"digest": b"x"}, "digest must have 32 bytes, not 1"),
        ({"previous_digest": bytes(32)}, "previous_digest must be zeros for release 0 alone"),
        ({"release": 0}, "digest must be zeros for release 0 alone"),
        ({"salt": 1 << 32}, "salt must be an integer"),
    ],
)
def test_rollouts_out_of_bounds(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(ROLLOUT, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["n", "score", "reference", "release", "contract"])
def test_requests_out_of_bounds(field: str) -> None:
    good = {"release": 1, "n": 10, "score": 5, "reference": 6}
    with pytest.raises(PoisonError, match=f"{field} must be an integer"):
        Drift(**(good | {field: -1}))
