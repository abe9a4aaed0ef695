"""A card and NIC, set up by the driver as a host would, with frames going through it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from ipaddress import IPv4Address

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_models.image import pretrained
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt, QueueEvent
from precog_spec.registers.reset import resets_of

from .frames import Host

__all__ = ["CNP_GAP", "HOST_SCORE", "SIZES", "SLOTS", "Ends", "Node", "Out", "Through"]

#: A device with all that scores take part in.
SIZES = NicConfig(qps=4, sets=4, width=64, forecast=True, profile=True, receiver=True)

#: Queue pairs: law, whose score their packets carry, whether PSCHED hears the receiver.
SLOTS: tuple[tuple[str, str, bool], ...] = (
    ("predpid", "rtt", True),
    ("pid", "queue", False),
    ("pid", "max", True),
    ("fixed", "host", True),
)
HOST_SCORE = 33
CNP_GAP = 10_000  #: ticks; half of the interval of the peer's notification point
_INIT_GBPS = 8.0
_RTT_MODEL = "rtt-incast"
_COUNTERS = ("core", "receiver", "forecasts", "profiles", "tx", "rx", "events")


@dataclass(frozen=True)
class Out:
    """A frame as it leaves."""

    frame: bytes
    t: int  #: when its first beat came to the card


@dataclass(frozen=True)
class Through:
    """What came of a frame from the wire."""

    frame: bytes | None  #: for the endpoint
    t: int  #: when its first beat came
    cnps: Sequence[tuple[bytes, Out]]  #: for the wire: as made, and as they leave
    rtt: int | None  #: sample, ticks


@dataclass(frozen=True)
class Ends:
    """The node at the other end, and the QP numbers of each slot, here and there."""

    peer: Host
    local_qps: Sequence[int]
    remote_qps: Sequence[int]


class Node:
    """One end, golden: `SLOTS`, one connection each.

    Parameters
    ----------
    ends : Ends
    sizes : NicConfig
        Of the device.
    tick_ps : int

    Attributes
    ----------
    device : Device
        Whose counters count.
    emulator : Emulator
        The golden one.
    merges : bool
        Events of a law may be told together, so that there are fewer.
    differences : list of str
        Facts in which two devices with the same frames differ; of one device there are none.
    parts : tuple of str
        What may be reset while packets flow.
    """

    merges = False
    parts: tuple[str, ...] = resets_of(SIZES)

    def __init__(self, ends: Ends, *, sizes: NicConfig = SIZES, tick_ps: int = 1000) -> None:
        self.tick_ps = tick_ps
        self.differences: list[str] = []
        self.emulator = Emulator(sizes, tick_ps=tick_ps)
        self.device = Device(self.emulator)
        assert self.emulator.packets is not None
        assert self.emulator.profiler is not None
        self._packets, self._profiler = self.emulator.packets, self.emulator.profiler
        self._before: dict[str, dict[str, int]] = {}  # counts until the last reset of counters
        self._version = 1
        self._set_up(self.device, ends)

    def _set_up(self, device: Device, ends: Ends) -> None:
        path, forecasting, receiving = device.packet, device.forecast, device.receiver
        assert path is not None
        assert forecasting is not None
        assert receiving is not None
        assert device.profiler is not None
        self.path, self.forecasting, self.receiving = path, forecasting, receiving
        self.queues = device.profiler
        device.model.load(pretrained(_RTT_MODEL), slot=0)
        queue = pretrained("queue-1rtt")
        steps = min(queue.weights.steps, device.sizes.steps)
        queue = replace(queue, weights=replace(queue.weights, steps=steps))
        device.model.load(queue, slot=1, queue=True)
        device.set_parameters(psched="precog", psched_skill=0, skill_monitor=0)
        device.profiler.set_parameters(every=8)
        forecasting.set_parameters(rtt_budget_us=4.0)
        receiving.set_parameters(score_us=0)  # what a card has heard lasts until the next score
        path.set_parameters(enabled=1, mode_c=1, interval_ticks=20_000, timeout=400_000)
        path.set_parameters(cnp_gap=CNP_GAP)
        for slot, (law, source, hears) in enumerate(SLOTS):
            path.bind(
                slot,
                IPv4Address(ends.peer.ip),
                remote_qp=ends.remote_qps[slot],
                local_qp=ends.local_qps[slot],
                destination=slot,
                score=HOST_SCORE,
                score_source=source,
            )
            forecasting.configure(slot, model_slot=1)
            device.qp(slot).configure(
                preset="precog",
                enable=True,
                algorithm=law,
                init_gbps=_INIT_GBPS,
                model_slot=0,
                psched=hears,
            )
            receiving.configure(slot, commands=hears)

    def transmit(self, frame: bytes, t: int) -> Out:
        """A frame of the endpoint; what goes to the wire."""
        return Out(self._packets.transmit(frame, t).frame, t)

    def receive(self, frame: bytes, t: int) -> Through:
        """A frame from the wire."""
        arrived = self._packets.receive(frame, t)
        made = [] if arrived.cnp is None else [arrived.cnp]
        cnps = [(cnp, self.transmit(cnp, t)) for cnp in made]
        return Through(arrived.received.frame, t, cnps, arrived.rtt)

    def reset(self, parts: Sequence[str], t: int) -> int:
        """Reset parts at `t`; scores that the laws are told thereby."""
        told = self._bands() if "receiver" in parts else 0
        if "counters" in parts:
            for name in _COUNTERS:
                self._before[name] = self.counts(name)
        self.device.reset.reset(parts)
        return told

    def swap(self, t: int) -> None:
        """Queue pairs get another model of RTTs at `t`."""
        self._version += 1
        self._load(self.device)

    def _load(self, device: Device) -> None:
        image = pretrained(_RTT_MODEL)
        weights = replace(image.weights, version=self._version)
        if all(one.slots for one in device.model.sets()):  # no set is free
            device.model.map_slot(0, 0, enable=False)
        device.model.load(replace(image, weights=weights), slot=0)

    def _bands(self) -> int:
        """Queue pairs with a band whose laws hear of its end."""
        receiver = self.emulator.receiver
        assert receiver is not None
        bands = receiver.receiver.states[:, 0]
        return sum(bool(band) and hears for band, (_, _, hears) in zip(bands, SLOTS, strict=True))

    def counts(self, name: str) -> dict[str, int]:
        """Counters of one block, resets of counters left out; of packets one of their tables."""
        read: dict[str, Callable[[], dict[str, int]]] = {
            "core": self.device.counters,
            "receiver": self.receiving.counters,
            "forecasts": self.forecasting.counters,
            "profiles": self.queues.counters,
            **{table: partial(self._packet_counts, table) for table in ("tx", "rx", "events")},
        }
        before = self._before.get(name, {})
        return {key: n + before.get(key, 0) for key, n in read[name]().items()}

    def _packet_counts(self, table: str) -> dict[str, int]:
        return self.path.counters()[table]

    def finish(self) -> None:
        """All has been said."""

    def queued(self, slot: int, size: int, t: int, *, leaves: bool = False) -> None:
        """Bytes come into a send queue, or leave it."""
        kind = QueueEvent.DEPARTURE if leaves else QueueEvent.ARRIVAL
        self._profiler.observe(slot, kind, size, t)

    def profiles(self) -> int:
        """Samples that the profiler took."""
        return self.counts("profiles")["samples"]

    def rate(self, slot: int) -> float:
        """Bytes per tick that the law allows now."""
        return self.emulator.rate(slot) / (1 << Fmt.RATE.frac_bits)

    def ns(self, t: int) -> int:
        """Nanoseconds as the card has them."""
        return t * self.tick_ps // 1000

    def score(self, slot: int) -> int | None:
        """What a packet of the slot would carry now."""
        return self._packets.card.cps.slots[slot].carried
