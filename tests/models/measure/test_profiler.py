"""The queue profiler against the queue that it describes."""

import random
from collections import deque
from fractions import Fraction

import numpy as np
import pytest

from precog_models.measure.profiler import (
    PROFILE_STATE,
    Profiler,
    denormalise,
    normalise,
    normalise_one,
)
from precog_spec.contract import (
    PROFILE_CENTER,
    PROFILE_FIELDS,
    PROFILE_GAIN,
    PROFILE_INPUTS,
    QUEUE_VALUE_FIELDS,
    Fmt,
    QueueEvent,
)

WORD = (1 << 32) - 1


def plain(value: int, center: int, gain: int) -> int:
    """The rule in fractions: log2 with a linear, truncated mantissa, times gain, to X."""
    n = min(value, WORD) + 1
    e = n.bit_length() - 1
    mantissa = Fraction(n - (1 << e), 1 << e)
    log = e + Fraction(int(mantissa * 2048), 2048)
    exact = (log - Fraction(center, 2048)) * Fraction(gain, 1 << 14) * 4096
    return max(-(1 << 15), min((1 << 15) - 1, (exact + Fraction(1, 2)).__floor__()))


def test_normaliser(seed: int) -> None:
    rng = random.Random(seed)
    values = [0, 1, 2, 3, 4095, 4096, WORD - 1, WORD, WORD + 1, 1 << 40]
    values += [rng.getrandbits(rng.randrange(1, 41)) for _ in range(500)]
    centers = [rng.choice([0, 32768, (1 << 17) - 1, rng.getrandbits(17)]) for _ in values]
    gains = [rng.choice([0, 4096, (1 << 16) - 1, rng.getrandbits(16)]) for _ in values]
    wanted = [plain(*numbers) for numbers in zip(values, centers, gains, strict=True)]
    assert normalise(values, centers, gains).tolist() == wanted
    scalars = [normalise_one(*numbers) for numbers in zip(values, centers, gains, strict=True)]
    assert scalars == wanted


def test_normalised_numbers_are_taken_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one = PROFILE_GAIN.one
    centers = rng.integers(8 << PROFILE_CENTER.frac_bits, 16 << PROFILE_CENTER.frac_bits, 4)
    gains = rng.integers(one // 4, one // 2, 4)  # nothing up to 2**24 saturates
    values = np.exp2(rng.uniform(0, 24, (200, 4))).astype(np.int64) - 1
    x = normalise(values, centers, gains)
    found = denormalise(x, centers, gains)
    assert (normalise(found, centers, gains) == x).all()
    assert (found <= values).all()
    assert (values - found <= values / 1000).all()
    below = normalise(np.maximum(found - 1, 0), centers, gains)
    assert ((below < x) | (found == 0)).all()  # there is no smaller one


def test_normaliser_by_hand() -> None:
    """log2(1024) = 10, less 8, times 0.5 is 1; log2(1) - 16 at full gain saturates."""
    assert normalise_one(1023, 8 << 11, 1 << 13) == 1 << Fmt.X.frac_bits
    assert normalise_one(0, 16 << 11, (1 << 16) - 1) == Fmt.X.min
    assert normalise([[1023, 0]], [8 << 11, 0], [1 << 13, 1]).tolist() == [[4096, 0]]


class Messages:
    """A queue of packets with a list of all that happened to it."""

    def __init__(self) -> None:
        self.waiting: deque[list[int]] = deque()  # bytes left, when it came
        self.arrivals: list[tuple[int, int]] = []
        self.departures: list[tuple[int, int]] = []
        self.services: list[int] = []
        self.levels = [0]

    def arrive(self, size: int, t: int) -> None:
        self.arrivals.append((size, t))
        self.waiting.append([size, t])
        self.levels.append(self.level)

    def depart(self, most: int, t: int) -> int:
        """At most so many bytes leave, of as many messages as they are of."""
        arrived, left = self.waiting[0][1], most
        while left and self.waiting:
            sent = min(left, self.waiting[0][0])
            self.waiting[0][0] -= sent
            left -= sent
            if not self.waiting[0][0]:
                self.waiting.popleft()
        previous = self.departures[-1][1] if self.departures else arrived
        self.services.append(t - max(arrived, previous))
        self.departures.append((most - left, t))
        self.levels.append(self.level)
        return most - left

    @property
    def level(self) -> int:
        return sum(size for size, _ in self.waiting)

    def values(self) -> dict[str, int]:
        times = [t for _, t in self.arrivals]
        return {
            "occupancy": self.level,
            "inter_arrival": times[-1] - times[-2] if len(times) > 1 else 0,
            "service": self.services[-1] if self.services else 0,
            "size": self.arrivals[-1][0] if self.arrivals else 0,
            "peak": max(self.levels),
            "arrivals": len(self.arrivals),
            "departures": len(self.departures),
            "bytes_in": sum(size for size, _ in self.arrivals),
            "bytes_out": sum(size for size, _ in self.departures),
        }


def test_numbers_and_samples_of_events(seed: int) -> None:
    """Two queues, time that wraps; every third event of each brings a sample."""
    rng = random.Random(seed)
    golden = Profiler(3)
    golden.every, golden.centers, golden.gains = 3, [0, 20000, 9000, 4], [5000, 7000, 60000, 1]
    queues = {0: Messages(), 2: Messages()}
    t, wrap = 1 << 40, Fmt.TIME.max
    t -= rng.randrange(1, 4000)
    for _ in range(600):
        qp, t = rng.choice([0, 2]), t + rng.randrange(40)
        queue = queues[qp]
        if queue.level and rng.random() < 0.6:
            kind, size = QueueEvent.DEPARTURE, queue.depart(1024, t)
        else:
            kind, size = QueueEvent.ARRIVAL, rng.choice([1, 64, 1024, 5000])
            queue.arrive(size, t)
        sample = golden.observe(qp, kind, size, t & wrap)
        values = queue.values()
        assert golden.read(qp) == values
        if (values["arrivals"] + values["departures"]) % 3:
            assert sample is None
        else:
            assert sample is not None
            assert (sample.qp, sample.t) == (qp, t & wrap)
            inputs = [values[name] for name in PROFILE_INPUTS]
            assert list(sample.x) == normalise(inputs, golden.centers, golden.gains).tolist()
    assert not any(golden.read(1).values())


def test_samples_of_periods(seed: int) -> None:
    """A sample per period while visits are often enough; else one per visit, and no debt."""
    rng = random.Random(seed)
    golden = Profiler(1)
    golden.period = 1000
    assert golden.visit(0, 500) is None
    assert golden.visit(0, 2500) is None, "a queue without arrivals is not sampled"
    golden.observe(0, QueueEvent.ARRIVAL, 64, 2600)
    t, taken = 2500, []
    while t < 60_000:
        t += rng.randrange(1, 300)
        if golden.visit(0, t):
            taken.append(t)
    assert [(at - 2500) // 1000 for at in taken] == list(range(1, len(taken) + 1))
    assert golden.visit(0, t + 7300) is not None
    assert golden.visit(0, t + 8299) is None
    assert golden.visit(0, t + 8300) is not None
    golden.observe(0, QueueEvent.RESET, 0, t + 8400)
    assert golden.visit(0, t + 20_000) is None
    golden.observe(0, QueueEvent.ARRIVAL, 64, t + 20_001)
    golden.period = 0
    assert golden.visit(0, t + 30_000) is None


def test_limits() -> None:
    """Occupancy and times saturate, counts wrap, nothing goes below 0; a reset keeps counts."""
    golden = Profiler(1)
    row = golden.rows[0]
    row[PROFILE_STATE.index("arrivals")] = WORD
    row[PROFILE_STATE.index("bytes_in")] = (1 << 48) - 1
    golden.observe(0, QueueEvent.DEPARTURE, 7, 3)
    golden.observe(0, QueueEvent.ARRIVAL, WORD, 5)
    golden.observe(0, QueueEvent.ARRIVAL, 2, 5 + (1 << 33))
    golden.observe(0, QueueEvent.DEPARTURE, 5, 5 + (1 << 34))
    read = golden.read(0, clear=True)
    assert (read["occupancy"], read["peak"]) == (WORD - 5, WORD)
    assert (read["inter_arrival"], read["service"]) == (WORD, WORD)
    assert (read["arrivals"], read["departures"]) == (1, 2)
    assert (read["bytes_in"], read["bytes_out"]) == (WORD + 1, 12)
    read = golden.read(0)
    assert (read["peak"], read["arrivals"], read["bytes_out"]) == (WORD - 5, 0, 0)
    golden.observe(0, QueueEvent.ARRIVAL, 1, 9)
    golden.observe(0, QueueEvent.RESET, 0, 10)
    assert golden.read(0) == dict.fromkeys((n for n, _ in QUEUE_VALUE_FIELDS), 0) | {
        "peak": WORD - 4,
        "arrivals": 1,
        "bytes_in": 1,
    }
    golden.observe(0, QueueEvent.ARRIVAL, 9, 12)
    assert golden.read(0)["inter_arrival"] == 0, "not across connections"


@pytest.mark.parametrize("every", [0, 1, 2])
def test_every(every: int) -> None:
    golden = Profiler(1)
    golden.every = every
    taken = [golden.observe(0, QueueEvent.ARRIVAL, 1, t) is not None for t in range(4)]
    assert taken == [bool(every) and (n + 1) % every == 0 for n in range(4)]


def test_layouts() -> None:
    assert [name for name, _ in PROFILE_FIELDS] == ["qp", "t", "x0", "x1", "x2", "x3"]
    assert PROFILE_STATE[: len(QUEUE_VALUE_FIELDS)] == tuple(n for n, _ in QUEUE_VALUE_FIELDS)
    assert np.all(Profiler(2).rows == 0)
