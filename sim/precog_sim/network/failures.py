"""Links that go down and come up again, and the routes that follow after a time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Failure", "LinkState", "link_states"]


@dataclass(frozen=True)
class Failure:
    """Link `link` of the topology is down from `down_us` on, up to `up_us`.

    Packets that are on it then are lost, and so is whatever is sent into it. The ports at its ends
    forget that they were paused, as after any loss of carrier.

    Parameters
    ----------
    link : int
        Its place in `Topology.links`.
    down_us : float
    up_us : float, optional
        None: it stays down.

    Raises
    ------
    ValueError
        A time is negative or not finite, or it comes up before it goes down.
    """

    link: int
    down_us: float
    up_us: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.down_us < math.inf:
            raise ValueError(f"failure down_us must be >= 0 and finite, not {self.down_us!r}")
        if self.up_us is not None and not self.down_us < self.up_us < math.inf:
            raise ValueError(
                f"failure up_us must be after down_us = {self.down_us:g}, not {self.up_us!r}"
            )

    @property
    def down_ps(self) -> int:
        """When it goes down, in picoseconds."""
        return round(self.down_us * 1e6)

    @property
    def up_ps(self) -> int | None:
        """When it comes up, in picoseconds."""
        return None if self.up_us is None else round(self.up_us * 1e6)


@dataclass(frozen=True)
class LinkState:
    """From `begin_ps` on, up to the next state, the links `down` are down."""

    begin_ps: int
    down: frozenset[int]


def link_states(failures: Sequence[Failure], links: int) -> tuple[LinkState, ...]:
    """What is down when; the first state, in which nothing is, ends at time 0 at the earliest.

    Raises
    ------
    ValueError
        A failure is of a link that does not exist, or two of the same link overlap.
    """
    for failure in failures:
        if not 0 <= failure.link < links:
            raise ValueError(f"failure must be of a link in 0..{links - 1}, not {failure.link!r}")
    for link in {failure.link for failure in failures}:
        mine = sorted((f for f in failures if f.link == link), key=lambda f: f.down_ps)
        for before, after in pairwise(mine):
            if before.up_ps is None or before.up_ps >= after.down_ps:
                raise ValueError(
                    f"failures of link {link} must not overlap: it is down from "
                    f"{before.down_us:g} us on and goes down at {after.down_us:g} us"
                )
    times = (
        {-1} | {f.down_ps for f in failures} | {f.up_ps for f in failures if f.up_ps is not None}
    )
    return tuple(
        LinkState(
            t,
            frozenset(
                f.link for f in failures if f.down_ps <= t and (f.up_ps is None or t < f.up_ps)
            ),
        )
        for t in sorted(times)
    )
