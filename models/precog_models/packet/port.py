"""The queue before the card's own port: bytes that its senders have announced and not yet sent.

    data that `trust` lets act ─► announced, at most `most` ─► rest of the queue pair
                                  payload came, or withdrawn ◄─┘        │ sum: the port's queue
                                                                        ▼
                               arrivals and departures of one slot ─► profiler ─► forecast

A WRITE's first packet announces the message's length in its RETH. Each payload that comes lowers
the queue pair's rest; unannounced bytes, such as a SEND's, arrive and depart at once. The
next WRITE withdraws what is left of the one before, and so does a reset, or silence: a queue pair
without data in this epoch and the last one has no rest.

The profiler takes announced bytes for arrivals and the others for departures: its occupancy is the
sum of all rests, and its service times are those of the port.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from precog_spec.contract import Fmt, QueueEvent
from precog_spec.frames.cps import EPOCH_LEAST
from precog_spec.frames.opcodes import ANNOUNCES
from precog_spec.registers.port import most_bits

from .parser import Descriptor

__all__ = ["PortConfig", "PortEvent", "PortQueue"]


@dataclass(frozen=True)
class PortConfig:
    """Registers."""

    enable: bool = False
    epoch: int = 6  # an epoch has 256 << this many ticks
    most: int = 32_767  # bytes that one queue pair can have announced


class PortEvent(NamedTuple):
    """What happens to the port's queue."""

    kind: QueueEvent
    size: int  # bytes
    t: int  # ticks: of the last packet


@dataclass
class _Row:
    left: int = 0  # bytes
    epoch: int = 0  # in which data came last


class PortQueue:
    """Rests of all queue pairs.

    Parameters
    ----------
    slots : int
        Queue pairs.

    Attributes
    ----------
    announced : int
        The sum of all rests, bytes.
    use : callable
        Gets every event; none by default.
    """

    def __init__(self, slots: int) -> None:
        self.announced = 0
        self.use: Callable[[PortEvent], None] = lambda _: None
        self._config = PortConfig()
        self._most = (1 << most_bits(slots)) - 1
        self._rows = [_Row() for _ in range(slots)]
        self._epoch: int | None = None  # another length counts from the next look on
        self._passed = self._t = 0

    @property
    def config(self) -> PortConfig:
        """Registers; with another `enable` or `epoch` all rests are withdrawn.

        Raises
        ------
        ValueError
            `most` does not fit its register.
        """
        return self._config

    @config.setter
    def config(self, config: PortConfig) -> None:
        if not 0 <= config.most <= self._most:
            raise ValueError(f"most must be 0..{self._most}, not {config.most!r}")
        same = (config.enable, config.epoch) == (self._config.enable, self._config.epoch)
        self._config = config
        if not same:
            self._epoch = None
            self._leave(range(len(self._rows)))

    def heard(self, slot: int, packet: Descriptor, t: int) -> None:
        """A packet of a queue pair that may have an effect, which began to come at `t` ticks."""
        if not self._config.enable or not packet.payload:
            return
        self._t = t
        row, payload = self._rows[slot], packet.payload
        withdrawn, announced = 0, 0
        if packet.opcode in ANNOUNCES:
            withdrawn, announced = row.left, min(packet.dma_length, self._config.most)
            row.left = announced
        unannounced = max(payload - row.left, 0)
        row.left = max(row.left - payload, 0)
        row.epoch = self._passed
        self._happen(announced + unannounced, withdrawn + payload)

    def pass_time(self, t: int) -> None:
        """It is `t` ticks: rests of queue pairs that were silent are withdrawn."""
        bits = EPOCH_LEAST + self._config.epoch
        epoch = (t & Fmt.TIME.max) >> bits
        if self._epoch is not None:
            self._passed += (epoch - self._epoch) & (Fmt.TIME.max >> bits)
        self._epoch = epoch
        self._leave(n for n, row in enumerate(self._rows) if self._passed - row.epoch > 1)

    def reset(self, slot: int) -> None:
        """Forget a queue pair."""
        self._leave((slot,))

    def _leave(self, slots: Iterable[int]) -> None:
        for slot in slots:
            left, self._rows[slot].left = self._rows[slot].left, 0
            self._happen(0, left)

    def _happen(self, arrives: int, departs: int) -> None:
        self.announced += arrives - departs
        for kind, size in ((QueueEvent.ARRIVAL, arrives), (QueueEvent.DEPARTURE, departs)):
            if size:
                self.use(PortEvent(kind, size, self._t))
