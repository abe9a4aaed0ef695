"""Message arrivals: when a flow's bytes are handed to its queue pair.

A flow without one has all of its bytes from its start on. A flow with one may only send what has
come, so that its send queue, bytes handed over and not yet sent, becomes a quantity of its own.
Times are whole picoseconds after the flow's start, drawn with the run's seed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bursts", "Messages", "Poisson", "Trace"]

_MESSAGE_BYTES = 1 << 31  # RDMA's largest message
_CHUNK = 4096
_PS_PER_US = 1e6

_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Messages:
    """Base of all arrival processes.

    Raises
    ------
    ValueError
        A size is not in 1 byte..2 GiB, or a number is out of range.
    """

    def draw(self, rng: np.random.Generator, total: int, until_ps: int) -> tuple[_Ints, _Ints]:
        """Messages of `total` bytes together, the last one cut, as far as they come in time.

        Parameters
        ----------
        rng : numpy.random.Generator
        total : int
            Bytes of the flow.
        until_ps : int
            Messages after that are left out.

        Returns
        -------
        (t_ps, size) : ndarray of int64
            Times never decrease.
        """
        times = [np.zeros(0, dtype=np.int64)]
        sizes = [np.zeros(0, dtype=np.int64)]
        now, left = 0.0, total
        while left > 0 and now <= until_ps:
            gaps, size = self._chunk(rng)
            t = now + np.cumsum(gaps)
            now = float(t[-1])
            end = np.cumsum(size)
            count = int(np.searchsorted(end, left)) + 1  # the message that completes the flow
            size = size[:count]
            if count <= len(end):
                size[-1] -= max(int(end[count - 1]) - left, 0)
            left -= int(size.sum())
            times.append(t[: len(size)].astype(np.int64))
            sizes.append(size)
        t_ps = np.concatenate(times)
        size = np.concatenate(sizes)
        within = t_ps <= until_ps
        return t_ps[within], size[within]

    def _chunk(self, rng: np.random.Generator) -> tuple[NDArray[np.float64], _Ints]:
        """Gaps in ps and sizes of the next messages."""
        raise NotImplementedError(f"{type(self).__name__} must define _chunk")

    @property
    def smallest(self) -> int:
        """Bytes of the smallest message."""
        raise NotImplementedError(f"{type(self).__name__} must define smallest")


@dataclass(frozen=True)
class Poisson(Messages):
    """Messages that come at random: exponential gaps, sizes by weight.

    Parameters
    ----------
    gbps : float
        Mean rate of the bytes that come, Gb/s.
    sizes : tuple of int
        Bytes of a message.
    weights : tuple of float
        How often each size comes, relative to the others; empty: all alike.
    """

    gbps: float
    sizes: tuple[int, ...] = (65536,)
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _check_rate(self.gbps)
        _check_sizes(self.sizes)
        if self.weights and len(self.weights) != len(self.sizes):
            raise ValueError(
                f"message weights must be as many as the {len(self.sizes)} sizes, "
                f"not {len(self.weights)}"
            )
        if self.weights and not (min(self.weights) >= 0 and 0 < sum(self.weights) < np.inf):
            raise ValueError(f"message weights must be >= 0 and not all 0, not {self.weights!r}")

    @property
    def smallest(self) -> int:
        """Bytes of the smallest message."""
        return min(self.sizes)

    def _chunk(self, rng: np.random.Generator) -> tuple[NDArray[np.float64], _Ints]:
        weights = np.array(self.weights or (1.0,) * len(self.sizes))
        share = weights / weights.sum()
        size = rng.choice(np.array(self.sizes, dtype=np.int64), _CHUNK, p=share)
        mean_ps = float(share @ np.array(self.sizes)) * 8e3 / self.gbps
        return rng.exponential(mean_ps, _CHUNK), size


@dataclass(frozen=True)
class Bursts(Messages):
    """On and off by turns, both for exponential times; messages of one size at a rate while on.

    Parameters
    ----------
    gbps : float
        Rate of the bytes that come while it is on, Gb/s.
    on_us, off_us : float
        Mean times. A burst has one message at least.
    size : int
        Bytes of a message.
    """

    gbps: float
    on_us: float
    off_us: float
    size: int = 65536

    def __post_init__(self) -> None:
        _check_rate(self.gbps)
        _check_sizes((self.size,))
        for name in ("on_us", "off_us"):
            if not 0 < getattr(self, name) < np.inf:
                raise ValueError(f"burst {name} must be positive, not {getattr(self, name)!r}")

    @property
    def smallest(self) -> int:
        """Bytes of a message."""
        return self.size

    def _chunk(self, rng: np.random.Generator) -> tuple[NDArray[np.float64], _Ints]:
        spacing_ps = self.size * 8e3 / self.gbps
        bursts = max(int(_CHUNK * spacing_ps / (self.on_us * _PS_PER_US)), 1)
        on = rng.exponential(self.on_us * _PS_PER_US, bursts)
        count = 1 + np.minimum(on // spacing_ps, _CHUNK).astype(np.int64)
        gaps = np.full(int(count.sum()), spacing_ps)
        first = np.cumsum(count) - count
        gaps[first] += rng.exponential(self.off_us * _PS_PER_US, bursts)
        return gaps, np.full(len(gaps), self.size, dtype=np.int64)


@dataclass(frozen=True)
class Trace(Messages):
    """Messages that were measured; the flow ends with them.

    Parameters
    ----------
    t_ps : tuple of int
        When each comes, after the flow's start; never decreasing.
    sizes : tuple of int
        Bytes of each.
    """

    t_ps: tuple[int, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        _check_sizes(self.sizes)
        if len(self.t_ps) != len(self.sizes):
            raise ValueError(
                f"trace must have as many times as sizes, not {len(self.t_ps)} "
                f"and {len(self.sizes)}"
            )
        if self.t_ps[0] < 0 or any(b < a for a, b in zip(self.t_ps, self.t_ps[1:], strict=False)):
            raise ValueError("trace times must be >= 0 and never decrease")

    @property
    def smallest(self) -> int:
        """Bytes of the smallest message."""
        return min(self.sizes)

    def draw(self, rng: np.random.Generator, total: int, until_ps: int) -> tuple[_Ints, _Ints]:
        """The trace itself; `total` must be what its sizes sum to.

        Raises
        ------
        ValueError
            The flow has another size than the trace.
        """
        if total != sum(self.sizes):
            raise ValueError(
                f"flow size must be the trace's {sum(self.sizes)} bytes, not {total!r}"
            )
        t_ps = np.array(self.t_ps, dtype=np.int64)
        within = t_ps <= until_ps
        return t_ps[within], np.array(self.sizes, dtype=np.int64)[within]


def _check_rate(gbps: float) -> None:
    if not 0 < gbps < np.inf:
        raise ValueError(f"message rate must be positive Gb/s, not {gbps!r}")


def _check_sizes(sizes: tuple[int, ...]) -> None:
    if not sizes:
        raise ValueError("message sizes must hold at least one, not none")
    for size in sizes:
        if not 1 <= size <= _MESSAGE_BYTES:
            raise ValueError(f"message size must be in 1..{_MESSAGE_BYTES} bytes, not {size!r}")
