"""One Precog device for each guest, with the guest's frames going through it.

A card's time is the lab's: a microsecond of it is a millisecond of the guests', since under
emulation they are a thousand times slower than hosts. The Verilated card counts its own cycles,
which pass only while frames move.
"""

from collections.abc import Sequence
from functools import cache
from ipaddress import IPv4Address
from typing import Protocol

import numpy as np

from precog_host import pairs
from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.rdma_follow import Change, Follower
from precog_host.rdma_list import RdmaQp
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import load
from precog_models.packet.parser import Descriptor
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt
from precog_spec.frames.descriptor import Direction
from precog_spec.frames.headers import ETHERNET, IPV4
from precog_spec.frames.qp_key import IPV4_MAPPED
from precog_spec.law_fields import EventKind

__all__ = ["SCORE", "Card", "GoldenCard", "Passed", "bring_up", "follower", "gbps", "scored"]

#: Score that the host gives to all queue pairs.
SCORE = 40

_CNP_INTERVAL = 20_000  # ticks
_MIN_GBPS = 0.01  # links of slow guests are slow, too
_DCQCN_GBPS = 40.0
_BITS_PER_BYTE = 8
_MTU = 1024
_LAW_SLOT = 0


class Passed:
    """What a card made of a frame.

    Attributes
    ----------
    wire : list of bytes
        Frames for the wire.
    host : bytes or None
        The frame for the guest, where it came from the wire.
    slot : int or None
    descriptor : Descriptor
        Of the frame as it came.
    """

    __slots__ = ("descriptor", "host", "slot", "wire")

    def __init__(
        self,
        wire: Sequence[bytes],
        host: bytes | None,
        slot: int | None,
        descriptor: Descriptor,
    ) -> None:
        self.wire, self.host, self.slot, self.descriptor = list(wire), host, slot, descriptor


class Card(Protocol):
    """A card of the lab."""

    device: Device
    differences: list[str]
    rate_min: int | None  #: least rate that a law has decided on, in RATE's format

    def transmit(self, frame: bytes, t: int) -> Passed:
        """A frame of the guest, at `t` ticks of the lab."""
        ...

    def receive(self, frame: bytes, t: int) -> Passed:
        """A frame from the wire, with the CNPs that it causes in `wire`."""
        ...

    def follow(self, qps: Sequence[RdmaQp], peers: dict[str, IPv4Address]) -> Change:
        """Make the card's queue pairs those of the guest."""
        ...

    def rate(self, slot: int) -> int:
        """What the law allows a slot, in RATE's format."""
        ...

    def close(self) -> None:
        """Nothing more will come."""
        ...


def bring_up(device: Device, link_gbps: float) -> None:
    """Parameters and programs as a host would set them before its first queue pair.

    DCQCN's are for links of 40 Gb/s: on a slower one its times are longer, its steps smaller. Its
    round trips are, too, so that the engine's threshold is out of reach.
    """
    assert device.packet is not None
    slower = max(1.0, _DCQCN_GBPS / link_gbps)
    interval = round(_CNP_INTERVAL * slower)
    device.packet.set_parameters(enabled=1, interval_ticks=interval, cnp_gap=interval // 2)
    if device.law is None:
        return
    made = compile_law(load("dcqcn"))
    paper = {one.name: one.default for one in made.law.parameters}
    scaled = {
        "alpha_ticks": paper["alpha_ticks"] * slower,
        "rate_ticks": paper["rate_ticks"] * slower,
        "byte_count": round(paper["byte_count"] / slower),
        "ai": paper["ai"] / slower,
    }
    values = made.law.integers("paper", device.tick_ps, **scaled)
    device.law.load(made.program, values, slot=_LAW_SLOT)
    period = values["rate_ticks"]
    assert isinstance(period, int)
    device.law.configure(threshold_ticks=Fmt.RTT.max, timer_ticks=period)


def follower(device: Device, algorithm: str) -> Follower:
    """What keeps its queue pairs equal to the guest's."""
    return Follower(device, algorithm=algorithm, mode="s", mtu=_MTU)


def scored(device: Device, change: Change, link_gbps: float) -> None:
    """New queue pairs send the host's score, obey those that come, and begin at the link's rate.

    One that begins at 20 times that rate is cut until the queue is gone, which is far too often,
    and needs minutes of the guests' time to come back.
    """
    assert device.packet is not None
    for one in (*change.added, *change.adopted):
        device.packet.set_score(one.slot, SCORE)
        device.qp(one.slot).configure(
            psched=True, min_gbps=_MIN_GBPS, init_gbps=link_gbps, max_gbps=link_gbps
        )
        if device.receiver is not None:
            device.receiver.configure(one.slot, commands=True)


def gbps(rate: int, tick_ps: int) -> float:
    """A rate in RATE's format as gigabits a second of card time."""
    return rate / (1 << Fmt.RATE.frac_bits) * _BITS_PER_BYTE * 1000 / tick_ps


@cache
def _warm(algorithm: str) -> None:
    """Have golden models compiled now: endpoints would take those seconds for a loss."""
    emulator = Emulator(NicConfig(qps=2, sets=2, law_cores=1))
    pairs.add(Device(emulator), [0], algorithm=algorithm)
    emulator.decide(np.array([[0, 1000, 1000]], dtype=np.int64))
    emulator.happen(np.array([EventKind.CNP, 0, 2000, 0], dtype=np.int64))


class GoldenCard:
    """A golden device.

    Parameters
    ----------
    sizes : NicConfig
    algorithm : str
        Law of all queue pairs.
    link_gbps : float
        Of the wire.
    """

    def __init__(self, sizes: NicConfig, algorithm: str, link_gbps: float = 100.0) -> None:
        self.emulator = Emulator(sizes)
        self.device = Device(self.emulator)
        self.differences: list[str] = []
        self.rate_min: int | None = None
        self._link_gbps = link_gbps
        assert self.emulator.packets is not None
        self._packets = self.emulator.packets
        bring_up(self.device, link_gbps)
        _warm(algorithm)
        self._follower = follower(self.device, algorithm)

    def transmit(self, frame: bytes, t: int) -> Passed:
        """A frame of the guest."""
        sent = self._packets.transmit(frame, t)
        self._watch(sent.slot)
        return Passed([sent.frame], None, sent.slot, sent.descriptor)

    def receive(self, frame: bytes, t: int) -> Passed:
        """A frame from the wire."""
        arrived = self._packets.receive(frame, t)
        made = [] if arrived.cnp is None else [self._packets.transmit(arrived.cnp, t).frame]
        got = arrived.received
        self._watch(got.slot)
        return Passed(made, got.frame, got.slot, got.descriptor)

    def follow(self, qps: Sequence[RdmaQp], peers: dict[str, IPv4Address]) -> Change:
        """Make the card's queue pairs those of the guest."""
        change = self._follower.update(qps, peers=peers)
        scored(self.device, change, self._link_gbps)
        return change

    def rate(self, slot: int) -> int:
        """What the law allows a slot."""
        return self.emulator.rate(slot)

    def slot_of(self, frame: bytes, qpn: int) -> int | None:
        """Slot of a guest's RoCEv2 frame in IPv4 to a queue pair, if the card knows it."""
        remote = IPV4_MAPPED | IPV4.get(frame, ETHERNET.size, "destination")
        return self._packets.card.cps.table.lookup(Direction.TX, remote, qpn)

    def close(self) -> None:
        """Nothing to compare with."""

    def _watch(self, slot: int | None) -> None:
        if slot is not None:
            rate = self.emulator.rate(slot)
            self.rate_min = rate if self.rate_min is None else min(self.rate_min, rate)
