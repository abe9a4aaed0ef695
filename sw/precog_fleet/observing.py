"""What a card's trace tells: windows of its queues, and statistics of its destinations.

    records ─┬─ forecasts ─► last 12 samples of each queue ─► window of 8, and what came true
             └─ decisions ─► RTTs and rates by destination ─► `Statistics` of an interval

Samples of a queue are one period apart; a longer gap, from records that found no room, starts its
window anew. Nothing here touches a device.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from precog_models.data.windows import HORIZONS, STEPS
from precog_models.image import Image
from precog_models.measure.profiler import denormalise
from precog_models.tree_image import TreeImage
from precog_spec.contract import PROFILE_INPUTS, TRACE_SERIALS, Flag, Fmt, TraceKind

from .bodies import Statistics
from .telemetry import Observation

__all__ = ["Observer", "Scale", "Window", "merged"]

Ints = NDArray[np.int64]

_SPAN = STEPS + max(HORIZONS)
_MAX_RTTS = 4096  # of one destination and interval
_TIME = Fmt.TIME.max + 1
_KBPS = 8_000_000_000 / (1 << Fmt.RATE.frac_bits)  # kb/s of a rate of 1 at 1 ps a tick


@dataclass(frozen=True)
class Scale:
    """How a card measures.

    Parameters
    ----------
    period : int
        Ticks from a sample of a queue to its next one.
    tick_ps : int
        Length of a tick.
    centers, gains : sequence of 4 int
        Of the profiler's normalisation.
    """

    period: int
    tick_ps: int
    centers: Sequence[int]
    gains: Sequence[int]


@dataclass(frozen=True, eq=False)
class Window:
    """Samples of a queue, and what came after them.

    Parameters
    ----------
    ms : int
        Of Unix time at the newest sample.
    t : int
        Ticks, as above.
    qp, set, version : int
        Queue pair; the weight set and version that answered, 0: none.
    probability : int
        Of congestion, as the card forecast it.
    signals : ndarray of int64, shape (8, 4)
        Bytes, ticks, ticks, bytes; oldest first.
    later, highest : ndarray of int64, shape (2,)
        Bytes queued at each horizon; most of the samples until then.
    """

    ms: int
    t: int
    qp: int
    set: int
    version: int
    probability: int
    signals: Ints
    later: Ints
    highest: Ints

    def observation(
        self, device: str, destination: str, image: Image | TreeImage | None, predicted: Ints
    ) -> Observation:
        """The row of telemetry; `image` is what forecast `predicted`, None: nothing did."""
        return Observation(
            t=self.ms,
            device=device,
            qp=self.qp,
            destination=destination,
            set=self.set,
            version=self.version,
            model=0 if image is None else image.crc32,
            signals=self.signals,
            predicted=np.asarray(predicted, dtype=np.int64),
            later=self.later,
            highest=self.highest,
        )


@dataclass
class _Sample:
    signals: Ints
    t: int
    set: int
    version: int
    probability: int


@dataclass
class _Destination:
    """What an interval has brought."""

    rtts: list[int] = field(default_factory=list)  # ticks
    rates: dict[int, int] = field(default_factory=dict)  # the last of each queue pair
    queues: dict[int, int] = field(default_factory=dict)  # bytes, the last of each queue pair


class Observer:
    """The records of one card.

    Parameters
    ----------
    scale : Scale
    destinations : mapping of int to str
        Where each queue pair leads; those without a place are in no statistics.
    stride : int
        Samples from a window of a queue to its next one.

    Attributes
    ----------
    counts : Counter of str
        ``records``, ``lost`` (numbers that are missing), ``samples``, ``broken`` (windows that a
        gap ended), ``windows``, ``strange`` (records of unknown kinds).
    """

    def __init__(
        self, scale: Scale, destinations: Mapping[int, str], *, stride: int = max(HORIZONS)
    ) -> None:
        if stride < 1:
            raise ValueError(f"stride must be at least 1 sample, not {stride!r}")
        self.scale = scale
        self.destinations = dict(destinations)
        self.counts: Counter[str] = Counter()
        self._stride = stride
        self._serial: int | None = None
        self._samples: dict[int, deque[_Sample]] = {}
        self._since: Counter[int] = Counter()
        self._seen: dict[str, _Destination] = {}

    def take(self, records: Sequence[Mapping[str, int]], now: int) -> list[Window]:
        """Windows that a batch of records completes; it was read at `now`, ms."""
        found: list[Window] = []
        forecasts = [one for one in records if one["kind"] == TraceKind.FORECAST]
        values = iter(self._signals(forecasts))
        newest = max((one["t"] for one in forecasts), default=0)
        for record in records:
            self._count(record)
            if record["kind"] == TraceKind.FORECAST:
                names = ("t", "set", "version", "probability")
                sample = _Sample(next(values), **{name: record[name] for name in names})
                window = self._sample(record["qp"], sample, now, newest)
                if window is not None:
                    found.append(window)
            elif record["kind"] == TraceKind.DECISION:
                self._decision(record)
            elif record["kind"] != TraceKind.RECEIVER:
                self.counts["strange"] += 1
        self.counts["windows"] += len(found)
        return found

    def _count(self, record: Mapping[str, int]) -> None:
        self.counts["records"] += 1
        if self._serial is not None:
            self.counts["lost"] += (record["serial"] - self._serial) % TRACE_SERIALS
        self._serial = (record["serial"] + 1) % TRACE_SERIALS

    def _signals(self, forecasts: Sequence[Mapping[str, int]]) -> Ints:
        names = [f"x{n}" for n in range(len(PROFILE_INPUTS))]
        x = np.array([[one[name] for name in names] for one in forecasts], dtype=np.int64)
        x = x.reshape(-1, len(names))
        signed = x - ((x >> (Fmt.X.width - 1)) << Fmt.X.width)
        return denormalise(signed, self.scale.centers, self.scale.gains)

    def _sample(self, qp: int, sample: _Sample, now: int, newest: int) -> Window | None:
        self.counts["samples"] += 1
        place = self._destination(qp)
        if place is not None:
            place.queues[qp] = int(sample.signals[0])
        kept = self._samples.setdefault(qp, deque(maxlen=_SPAN))
        if kept:
            elapsed = (sample.t - kept[-1].t) % _TIME
            if not self.scale.period <= 2 * elapsed <= 3 * self.scale.period:
                self.counts["broken"] += len(kept) > 1
                kept.clear()
                self._since[qp] = 0
        kept.append(sample)
        if len(kept) < _SPAN:
            return None
        due = self._since[qp] == 0
        self._since[qp] = (self._since[qp] + 1) % self._stride
        if not due:
            return None
        samples = [*kept]
        last = samples[STEPS - 1]
        after = np.array([one.signals[0] for one in samples[STEPS:]])
        age_ms = (newest - last.t) % _TIME * self.scale.tick_ps // 1_000_000_000
        return Window(
            ms=now - age_ms if age_ms < now else now,
            **{name: getattr(last, name) for name in ("t", "set", "version", "probability")},
            qp=qp,
            signals=np.stack([one.signals for one in samples[:STEPS]]),
            later=np.array([after[h - 1] for h in HORIZONS]),
            highest=np.array([after[:h].max() for h in HORIZONS]),
        )

    def _decision(self, record: Mapping[str, int]) -> None:
        place = self._destination(record["qp"])
        if place is None:
            return
        place.rates[record["qp"]] = record["rate"]
        if not record["flags"] >> Flag.EVENT & 1 and len(place.rtts) < _MAX_RTTS:
            place.rtts.append(record["rtt"])

    def _destination(self, qp: int) -> _Destination | None:
        name = self.destinations.get(qp)
        return None if name is None else self._seen.setdefault(name, _Destination())

    def seen(self) -> set[str]:
        """Destinations that brought something since their statistics were asked for."""
        return set(self._seen)

    def statistics(self, names: Iterable[str]) -> dict[str, Statistics]:
        """What some destinations brought since they were last asked for; each with an RTT."""
        taken = {name: self._seen.pop(name) for name in sorted(names) if name in self._seen}
        return {name: self._summary(one) for name, one in taken.items() if one.rtts and one.rates}

    def _summary(self, of: _Destination) -> Statistics:
        ns = np.array(of.rtts) * self.scale.tick_ps / 1000
        rate = sum(of.rates.values()) / len(of.rates) * _KBPS / self.scale.tick_ps
        numbers = {
            "n": len(of.rates),
            "rate": rate,
            "mean": ns.mean(),
            "var": ns.var(),
            "p99": np.quantile(ns, 0.99, method="higher"),
            "queue": sum(of.queues.values()),
        }
        return Statistics(**{name: _within(name, value) for name, value in numbers.items()})


def _within(name: str, value: float) -> int:
    low, high = Statistics.BOUNDS[name]
    return min(max(round(float(value)), low), high)


def merged(parts: Iterable[Statistics]) -> Statistics:
    """Statistics of several cards to one destination, as one host's.

    Means weigh each queue pair alike; the variance is that of the whole, the p99 the greatest.
    """
    given = list(parts)
    n = sum(one.n for one in given)
    mean = sum(one.n * one.mean for one in given) / n
    numbers = {
        "n": n,
        "rate": sum(one.n * one.rate for one in given) / n,
        "mean": mean,
        "var": sum(one.n * (one.var + (one.mean - mean) ** 2) for one in given) / n,
        "p99": max(one.p99 for one in given),
        "queue": sum(one.queue for one in given),
    }
    return Statistics(**{name: _within(name, value) for name, value in numbers.items()})
