"""Which slot of queue models each queue pair of a card names."""

from collections.abc import Mapping, Sequence

__all__ = ["assigned", "one_each"]

_PLANS = 3  # live, shadow and previous: each has a set for each slot
_FIRST = 1  # slot 0 is where models of RTTs are loaded by default


def assigned(qps: Sequence[int], sets: int) -> dict[int, int]:
    """Slots by queue pair: one each where `sets` are enough for all plans, else one for all."""
    own = len(qps) > 0 and _PLANS * len(qps) + _FIRST <= sets
    return {qp: _FIRST + (n if own else 0) for n, qp in enumerate(qps)}


def one_each(slots: Mapping[int, int]) -> bool:
    """Whether each queue pair has a slot of its own, and so may have its own head."""
    return len(set(slots.values())) == len(slots)
