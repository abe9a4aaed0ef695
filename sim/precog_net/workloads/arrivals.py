"""Flows that arrive at random: Poisson from every host, and incasts on top."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .sizes import Sizes
from .traffic import Traffic

__all__ = ["MOST_FLOWS", "Incasts", "Place", "Poisson"]

_SECOND_PS = 10**12
MOST_FLOWS = 5_000_000  #: of a workload
_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Place:
    """Where and how long flows arrive.

    Parameters
    ----------
    hosts : int
    gbps : float
        Of a host's link.
    duration_ps : int
        Flows start within it.
    """

    hosts: int
    gbps: float
    duration_ps: int

    @property
    def capacity(self) -> float:
        """Bytes that all hosts together can send within the duration."""
        return self.hosts * self.gbps * 1e9 / 8 * self.duration_ps / _SECOND_PS


@dataclass(frozen=True, eq=False)
class Poisson:
    """Each host starts flows at random to others, drawn alike.

    Parameters
    ----------
    name : str
        Class of the flows.
    sizes : Sizes
    load : float
        Bytes that are offered over what the hosts' links carry.
    """

    name: str
    sizes: Sizes
    load: float

    def draw(self, place: Place, rng: np.random.Generator) -> Traffic:
        """The flows of a run, by host and start.

        Raises
        ------
        ValueError
            They would be too many.
        """
        expected = self.load * place.capacity / self.sizes.mean
        check_count(self.name, expected)
        counts = rng.poisson(expected / place.hosts, place.hosts)
        src = np.repeat(np.arange(place.hosts), counts)
        start = np.floor(rng.random(len(src)) * place.duration_ps).astype(np.int64)
        dst = rng.integers(0, place.hosts - 1, len(src))
        dst += dst >= src  # any host but the source
        size = self.sizes.draw(rng, len(src))
        return Traffic(start, src, dst, size, (self.name,) * len(src))


@dataclass(frozen=True)
class Incasts:
    """At random times `degree` random hosts send `size` bytes each to another at once.

    Parameters
    ----------
    degree, size : int
    load : float
        As of `Poisson`.
    """

    degree: int
    size: int
    load: float

    def draw(self, place: Place, rng: np.random.Generator) -> Traffic:
        """The flows of a run, by incast.

        Raises
        ------
        ValueError
            There are not enough hosts, or the flows would be too many.
        """
        if self.degree >= place.hosts:
            raise ValueError(
                f"incast degree must be below the {place.hosts} hosts, not {self.degree}"
            )
        expected = self.load * place.capacity / (self.degree * self.size)
        check_count("incast", expected * self.degree)
        count = int(rng.poisson(expected))
        start = np.floor(rng.random(count) * place.duration_ps).astype(np.int64)
        chosen = np.array(
            [rng.permutation(place.hosts)[: self.degree + 1] for _ in range(count)],
            dtype=np.int64,
        ).reshape(count, self.degree + 1)
        flows = count * self.degree
        return Traffic(
            np.repeat(start, self.degree),
            chosen[:, 1:].reshape(-1),
            np.repeat(chosen[:, 0], self.degree),
            np.full(flows, self.size, dtype=np.int64),
            ("incast",) * flows,
        )


def check_count(name: str, flows: float) -> None:
    """Refuse a workload that would not fit.

    Raises
    ------
    ValueError
        It is too large.
    """
    if not flows <= MOST_FLOWS:
        raise ValueError(
            f"workload {name} must make at most {MOST_FLOWS} flows, not about {flows:.3g}: give a "
            "lower load or a shorter time"
        )
