"""Traffic of a network simulation, played to emulated cards: one sender's queues to each card.

The simulator offers its traffic as an entry point; this package does not import it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points

import numpy as np
from numpy.typing import NDArray

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_models.data.queue_trace import QueueTrace
from precog_spec.contract import QueueEvent

from ..errors import FleetError

__all__ = [
    "ENTRY_POINT_GROUP",
    "Network",
    "Replay",
    "Source",
    "destinations",
    "emulated",
    "simulator",
    "steps_of",
]

ENTRY_POINT_GROUP = "precog.traffic"
Ints = NDArray[np.int64]
#: From a group, a law, senders, a load, a seed, a length and a delay to queues and RTTs.
Source = Callable[..., tuple[QueueTrace, Ints]]

_CHANGE, _RTT = 0, 1
_BLOCK = 1024


def simulator() -> Source:
    """The traffic that is installed.

    Raises
    ------
    FleetError
        There is none.
    """
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        found: Source = point.load()
        return found
    raise FleetError("traffic needs the simulator: pip install 'precog[sim]'")


@dataclass(frozen=True)
class Network:
    """A simulated network that all cards send into.

    Parameters
    ----------
    group, law : str
        As the simulator names them.
    load : float
        Bytes that come, as a share of the bottleneck.
    delay_us : float
        Of each link: three times that of the networks that shipped models know.
    """

    group: str
    law: str
    load: float
    delay_us: float = 3.0

    def runs(
        self, source: Source, queues: int, senders: int, seed: int, horizon_us: float
    ) -> list[tuple[QueueTrace, Ints]]:
        """One run for each queue of a card."""
        return [
            source(
                group=self.group,
                law=self.law,
                senders=senders,
                load=self.load,
                seed=seed + n,
                horizon_us=horizon_us,
                delay_us=self.delay_us,
            )
            for n in range(queues)
        ]


def steps_of(runs: Sequence[tuple[QueueTrace, Ints]], sender: int) -> Ints:
    """What happens to a sender's card, in order: [n, 4] of time, kind, queue pair and value."""
    rows = []
    for qp, (trace, rtts) in enumerate(runs):
        mine = trace.queue == sender
        for kind, t, value in (
            (_CHANGE, trace.t[mine], trace.size[mine]),
            (_RTT, rtts[rtts[:, 0] == sender, 2], rtts[rtts[:, 0] == sender, 1]),
        ):
            rows.append(np.stack([t, np.full_like(t, kind), np.full_like(t, qp), value], axis=1))
    joined = np.concatenate(rows)
    found: Ints = joined[np.argsort(joined[:, 0], kind="stable")]
    return found


def _rows(steps: Ints) -> Iterator[list[int]]:
    """Steps one by one, of which only a block at a time are Python's, for the sake of memory."""
    for at in range(0, len(steps), _BLOCK):
        yield from steps[at : at + _BLOCK].tolist()


class Replay:
    """Plays steps to one emulated card.

    Parameters
    ----------
    emulator : Emulator
        With a queue profiler that no packets drive.
    qps : sequence of int
    period : int
        Ticks from a sample of a queue to its next one.

    Attributes
    ----------
    t : int
        Ticks.
    """

    def __init__(self, emulator: Emulator, qps: Sequence[int], period: int) -> None:
        assert emulator.profiler is not None
        self.t = 0
        self._emulator, self._profiler = emulator, emulator.profiler
        self._qps, self._period = tuple(qps), period
        self._steps: Iterator[list[int]] = iter(())
        self._next: list[int] | None = None
        self._since = 0
        device = Device(emulator)
        assert device.profiler is not None
        device.profiler.set_parameters(period_us=period / 1000)
        for qp in qps:
            device.qp(qp).configure(preset="precog", enable=True, algorithm="pid")

    def switch(self, steps: Ints) -> None:
        """Other traffic begins, on new connections: what waited in the queues is gone."""
        for qp in self._qps:
            self._profiler.observe(qp, QueueEvent.RESET, 0, self.t)
        self._steps, self._since = _rows(steps), self.t
        self._next = next(self._steps, None)

    def run(self, periods: int) -> None:
        """Let this many periods pass.

        Raises
        ------
        FleetError
            The traffic has ended.
        """
        for _ in range(periods):
            self._period_of(self.t + self._period)

    def _period_of(self, end: int) -> None:
        while True:
            if self._next is None:
                raise FleetError("traffic has ended before the demo has: simulate more of it")
            t, kind, qp, value = self._next
            t += self._since
            if t > end:
                break
            self._next = next(self._steps, None)
            if kind == _RTT:
                self._emulator.decide(np.array([[qp, value, t]]))
            else:
                event = QueueEvent.ARRIVAL if value > 0 else QueueEvent.DEPARTURE
                self._profiler.observe(qp, event, abs(value), t)
        self.t = end
        self._profiler.pass_time(end)


def destinations(qps: Sequence[int]) -> Mapping[int, str]:
    """Where the queue pairs of every card lead: each to the receiver of its own network."""
    return {qp: f"10.0.0.{qp + 1}" for qp in qps}


def emulated(qps: int) -> Emulator:
    """A new emulated card with all that an agent needs, and room for three plans."""
    sets = 1 << (3 * qps).bit_length()
    device = Device.open(f"emu:qps={qps},sets={sets},trace=1,forecast=1,profile=1")
    assert isinstance(device.transport, Emulator)
    return device.transport
