"""What the queue profiler's log says, replayed through the golden model."""

import random
from collections import Counter, defaultdict
from collections.abc import Mapping

from precog_models.measure.profiler import Profiler, ProfileSample
from precog_spec.contract import PROFILE_CENTER, PROFILE_GAIN, QueueEvent

__all__ = ["Replay", "some_event", "some_parameters"]

_WORD = (1 << 32) - 1
_TIME = 1 << 40


def some_event(rng: random.Random, t: int) -> tuple[int, int, int]:
    """Kind, bytes, and time: sizes and times of all lengths, also such as nobody would send."""
    kind = rng.choices([0, 1, 2, 3, 5], [10, 10, 1, 1, 1])[0]
    size = rng.choice([0, 1, 4096, rng.getrandbits(rng.randrange(1, 33)), _WORD])
    jump = rng.choice([0, 1, 30, rng.getrandbits(rng.randrange(1, 41))])
    return kind, size, (t + jump) % _TIME


def some_parameters(rng: random.Random) -> dict[str, int | list[int]]:
    """Of a profiler; each of centers and gains has all lengths."""

    def wide(bits: int) -> int:
        return rng.choice([0, (1 << bits) - 1, rng.getrandbits(rng.randrange(1, bits + 1))])

    return {
        "period": rng.choice([0, 1, rng.randrange(2, 3000), _WORD]),
        "every": rng.choice([0, 1, 2, rng.randrange(3, 40), (1 << 16) - 1]),
        "centers": [wide(PROFILE_CENTER.width) for _ in range(4)],
        "gains": [wide(PROFILE_GAIN.width) for _ in range(4)],
    }


class Replay:
    """Golden model behind the log.

    Attributes
    ----------
    samples : dict of int to list of ProfileSample
        Of each queue pair, those behind the last one that came out.
    values : dict of str to int
        What the last read must show.
    """

    def __init__(self, qps: int) -> None:
        self.golden = Profiler(qps)
        self.samples: dict[int, list[ProfileSample]] = defaultdict(list)
        self._out: dict[int, ProfileSample] = {}
        self._last: dict[int, ProfileSample] = {}
        self.values: dict[str, int] | None = None
        self.seen: Counter[str] = Counter()

    def set_parameters(self, parameters: Mapping[str, int | list[int]]) -> None:
        """All of them; nothing is on its way."""
        for name, value in parameters.items():
            setattr(self.golden, name, value)

    def commit(self, qp: int, kind: int, size: int, t: int) -> None:
        """An event took effect."""
        event, sample = QueueEvent(kind), None
        self.seen[event.name] += 1
        if event in (QueueEvent.READ, QueueEvent.CLEAR):
            self.values = self.golden.read(qp, clear=event is QueueEvent.CLEAR)
        elif event is QueueEvent.VISIT:
            sample = self.golden.visit(qp, t)
        else:
            sample = self.golden.observe(qp, event, size, t)
        if sample is not None:
            self.samples[qp].append(sample)
            self._last[qp] = sample
            self.seen[f"{event.name} sampled"] += 1

    def sample(self, qp: int, t: int, *x: int) -> None:
        """A sample came out: the next one of its queue pair, or a later one."""
        came, left = ProfileSample(qp, t, x), self.samples[qp]
        assert came in left, (came, left[:3])
        del left[: left.index(came) + 1]
        self._out[qp] = came
        self.seen["out"] += 1

    def drained(self) -> None:
        """The last sample of every queue pair came out."""
        assert self._out == self._last
        self.samples.clear()

    @property
    def sampled(self) -> int:
        """Samples taken."""
        return sum(count for name, count in self.seen.items() if name.endswith("sampled"))
