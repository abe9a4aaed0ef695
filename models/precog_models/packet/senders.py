"""How many queue pairs send to this card, and what shims bring of their senders' counts.

    data that `trust` lets act ─► sent in this epoch? ─► queue pairs of this and the last epoch
                                                          └─► level: log2, rounded up ─► shims

    data to the wire ──────────► sent in this epoch? ─► the card's own flows
                                                          ▼
    level of a shim ─► 0 if more than half as many are the card's own
                       └─► more than all of the queue pair's in the last HOLD, or less than these?
                           └─► its law hears of it
    level that the host believes ─► its law hears of it; the first shim's replaces it

An incast is over before one of its senders has seen its queue; the receiver sees all of them after
a packet each. What it says may cut a rate, so that shims are heeded as their scores are: of a known
queue pair in mode S to an enabled destination, with a right ICRC, and, on answers, a PSN in flight.
A level that goes up and down within HOLD is heard once.

Where the card itself has more than half as many flows, its own link holds them back, not the
receiver's: a simulated host takes the level for 0, and so does the card.

A message that its RETH announces as short does not count: its sender has nothing to hold back.
"""

from dataclasses import dataclass
from typing import NamedTuple

from precog_spec.contract import Fmt
from precog_spec.frames.cps import EPOCH_LEAST, HOLD_STEP, LEVEL_MAX
from precog_spec.frames.opcodes import ANNOUNCED, ANNOUNCES, UNTOLD, WHOLE

from .parser import Descriptor

__all__ = ["Said", "SenderCount", "Senders", "SendersConfig", "level_of"]

_EPOCHS, _WORD = 16, 0xFFFF_FFFF
_TIMES = Fmt.TIME.max >> HOLD_STEP


@dataclass(frozen=True)
class SendersConfig:
    """Registers.

    Raises
    ------
    ValueError
        A number does not fit its register.
    """

    say: bool = False  # shims that leave say the level
    heed: bool = False  # shims that come are heeded
    own: bool = True  # a level is 0 where more than half as many flows are the card's own
    epoch: int = 6  # an epoch has 256 << this many ticks
    least: int = 100_000  # bytes of a message that counts
    hold: int = 500_000  # ticks in which only a greater level is news

    def __post_init__(self) -> None:
        for name, most in (("epoch", _EPOCHS - 1), ("least", _WORD), ("hold", _WORD)):
            if not 0 <= getattr(self, name) <= most:
                raise ValueError(f"{name} must be 0..{most}, not {getattr(self, name)!r}")


def level_of(count: int) -> int:
    """Binary logarithm of a number of queue pairs, rounded up; 15 at most."""
    return min(max(count - 1, 0).bit_length(), LEVEL_MAX)


class Said(NamedTuple):
    """The greatest level of a queue pair's shims, and when it came; or one that is believed."""

    level: int
    time: int  # steps of HOLD
    believed: bool = False
    most: int = 0  # of the shims since the reset


_NOTHING = Said(0, 0)


class SenderCount:
    """Queue pairs with data in this epoch or the last one.

    Parameters
    ----------
    slots : int
        Queue pairs.

    Attributes
    ----------
    joined : int
        Queue pairs counted anew.
    """

    def __init__(self, slots: int) -> None:
        self.joined = 0
        self._large = [False] * slots  # a WRITE has begun that counts
        self._epoch = 0
        self._now: set[int] = set()  # those that sent in the epoch
        self._before: set[int] = set()  # those that sent in the one before, and have not since

    def heard(self, slot: int, packet: Descriptor, t: int, config: SendersConfig) -> None:
        """A queue pair's packet at `t` ticks."""
        self._pass(t, config)
        if not packet.payload:
            return
        length = packet.dma_length if packet.opcode in ANNOUNCES else packet.payload
        large = length >= config.least
        if packet.opcode in ANNOUNCES:
            self._large[slot] = large
        counts = (
            packet.opcode in UNTOLD
            or (packet.opcode in ANNOUNCED and self._large[slot])
            or (packet.opcode in ANNOUNCES | WHOLE and large)
        )
        if counts:
            self.joined += slot not in self._now | self._before
            self._now.add(slot)
            self._before.discard(slot)

    def count(self, t: int, config: SendersConfig) -> int:
        """Queue pairs that sent in the epoch of `t` ticks or in the one before."""
        self._pass(t, config)
        return len(self._now) + len(self._before)

    def reset(self, slot: int) -> None:
        """Forget a queue pair."""
        self._large[slot] = False
        self._now.discard(slot)
        self._before.discard(slot)

    def clear(self) -> None:
        """No queue pair has sent."""
        self._now, self._before = set(), set()

    def _pass(self, t: int, config: SendersConfig) -> None:
        """Epochs end."""
        bits = EPOCH_LEAST + config.epoch
        epoch = (t & Fmt.TIME.max) >> bits
        passed = (epoch - self._epoch) & (Fmt.TIME.max >> bits)
        if passed:
            self._before = self._now if passed == 1 else set()
            self._now = set()
        self._epoch = epoch


class Senders:
    """State: when each queue pair last sent either way, and the greatest level that it brought.

    Parameters
    ----------
    slots : int
        Queue pairs.

    Attributes
    ----------
    config : SendersConfig
    joined, heard, risen, outnumbered : int
        Queue pairs that send to the card, counted anew; shims heeded; of them those whose level has
        risen, and those whose level counts as 0 because of the card's own flows.
    """

    def __init__(self, slots: int) -> None:
        self._config = SendersConfig()
        self.heard = self.risen = self.outnumbered = 0
        self._senders, self._flows = SenderCount(slots), SenderCount(slots)
        self._said = [_NOTHING] * slots

    @property
    def joined(self) -> int:
        """Queue pairs that send to the card, counted anew."""
        return self._senders.joined

    @property
    def config(self) -> SendersConfig:
        """Registers; another epoch begins with counts of 0."""
        return self._config

    @config.setter
    def config(self, config: SendersConfig) -> None:
        if config.epoch != self._config.epoch:
            self._senders.clear()
            self._flows.clear()
        self._config = config

    def arrived(self, slot: int, packet: Descriptor, t: int) -> None:
        """A packet that may have an effect came for a queue pair at `t` ticks."""
        self._senders.heard(slot, packet, t, self._config)

    def sent(self, slot: int, packet: Descriptor, t: int) -> None:
        """A whole packet of a queue pair left at `t` ticks."""
        self._flows.heard(slot, packet, t, self._config)

    def count(self, t: int) -> int:
        """Queue pairs that sent to the card in the epoch of `t` ticks or in the one before."""
        return self._senders.count(t, self._config)

    def own(self, t: int) -> int:
        """The card's own flows: queue pairs with data to the wire in these two epochs."""
        return self._flows.count(t, self._config)

    def level(self, t: int) -> int:
        """What a shim that leaves at `t` ticks says."""
        return level_of(self.count(t)) if self._config.say else 0

    def told(self, slot: int, level: int, t: int) -> int | None:
        """A shim brought `level` for a queue pair at `t` ticks.

        Returns
        -------
        int or None
            The level if its law is to hear of it. After a pause close to a multiple of 2**40 ticks
            a fall may be missed.
        """
        if not self._config.heed:
            return None
        self.heard += 1
        if self._is_outnumbered(level, t):
            self.outnumbered += 1
            level = 0
        was = self._said[slot]
        time = (t & Fmt.TIME.max) >> HOLD_STEP
        old = was.believed or (time - was.time) & _TIMES > self._config.hold >> HOLD_STEP
        rises = level > was.level
        most = max(was.most, level)
        if rises or old:
            self._said[slot] = Said(level, time, most=most)
        else:
            self._said[slot] = was._replace(most=most)
        self.risen += rises
        return level if rises or (old and level != was.level) else None

    def believe(self, slot: int, level: int, t: int) -> int | None:
        """The host believes `level` of a queue pair's receiver; the next shim's replaces it.

        Returns
        -------
        int or None
            As `told`.
        """
        if not self._config.heed:
            return None
        if self._is_outnumbered(level, t):
            level = 0
        was = self._said[slot]
        self._said[slot] = was._replace(level=level, believed=True)
        return level if level != was.level else None

    def said(self, slot: int) -> int:
        """The level in force of a queue pair; 0 if shims are not heeded."""
        return self._said[slot].level if self._config.heed else 0

    def row(self, slot: int) -> Said:
        """What a queue pair's receiver has said, heeded or not now."""
        return self._said[slot]

    def reset(self, slot: int) -> None:
        """Forget a queue pair."""
        self._senders.reset(slot)
        self._flows.reset(slot)
        self._said[slot] = _NOTHING

    def _is_outnumbered(self, level: int, t: int) -> bool:
        """Whether 2**level are less than twice as many as the card's own flows."""
        return self._config.own and 0 < level <= level_of(self.own(t))
