"""A golden card and NIC, set up by the driver as a host would, with frames going through it."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from precog_host.device import Device
from precog_host.emulator import Emulator
from precog_hw.regmap.precog import Sizes
from precog_models.contract import QueueEvent
from precog_models.image import pretrained

from .frames import Host

__all__ = ["HOST_SCORE", "SIZES", "SLOTS", "Node", "Through"]

#: A device with all that scores take part in.
SIZES = Sizes(qps=4, sets=4, width=64, forecast=1, profile=1, receiver=1)

#: Queue pairs: law, whose score their packets carry, whether PSCHED hears the receiver.
SLOTS: tuple[tuple[str, str, bool], ...] = (
    ("predpid", "rtt", True),
    ("dcqcn", "queue", False),
    ("dcqcn", "max", True),
    ("timely", "host", True),
)
HOST_SCORE = 33
_INIT_GBPS = 8.0


@dataclass(frozen=True)
class Through:
    """What came of a frame from the wire."""

    frame: bytes | None  #: for the endpoint
    cnps: Sequence[tuple[bytes, bytes]]  #: for the wire: as made, and as they leave
    rtt: int | None  #: sample, ticks


class Node:
    """One end: `SLOTS`, one connection each.

    Parameters
    ----------
    peer : Host
    local_qps, remote_qps : sequence of int
        Of each slot.
    """

    def __init__(self, peer: Host, local_qps: Sequence[int], remote_qps: Sequence[int]) -> None:
        self.emulator = Emulator(SIZES)
        self.device = device = Device(self.emulator)
        path, forecasting, receiving = device.packets, device.forecasting, device.receiving
        assert path is not None
        assert forecasting is not None
        assert receiving is not None
        assert device.queues is not None
        assert self.emulator.packets is not None
        assert self.emulator.profiler is not None
        self.path, self.forecasting, self.receiving = path, forecasting, receiving
        self._packets, self._profiler = self.emulator.packets, self.emulator.profiler
        device.load_model(pretrained("rtt-incast"), slot=0)
        device.load_model(pretrained("queue-1rtt"), slot=1, queue=True)
        device.set_parameters(psched="precog", psched_skill=0, skill_monitor=0, dcqcn="paper")
        device.queues.set_parameters(every=8)
        forecasting.set_parameters(rtt_budget_us=4.0)
        receiving.set_parameters(score_us=0)  # what a card has heard lasts until the next score
        path.set_parameters(enabled=1, mode_c=1, interval_ticks=20_000, timeout=400_000)
        for slot, (law, source, hears) in enumerate(SLOTS):
            path.bind(
                slot,
                IPv4Address(peer.ip),
                remote_qp=remote_qps[slot],
                local_qp=local_qps[slot],
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

    def transmit(self, frame: bytes, t: int) -> bytes:
        """A frame of the endpoint; what goes to the wire."""
        return self._packets.transmit(frame, t).frame

    def receive(self, frame: bytes, t: int) -> Through:
        """A frame from the wire."""
        arrived = self._packets.receive(frame, t)
        made = [] if arrived.cnp is None else [arrived.cnp]
        cnps = [(cnp, self._packets.transmit(cnp, t).frame) for cnp in made]
        return Through(arrived.received.frame, cnps, arrived.rtt)

    def queued(self, slot: int, size: int, t: int, *, leaves: bool = False) -> None:
        """Bytes come into a send queue, or leave it."""
        kind = QueueEvent.DEPARTURE if leaves else QueueEvent.ARRIVAL
        self._profiler.observe(slot, kind, size, t)

    def profiles(self) -> int:
        """Samples that the profiler took."""
        assert self.device.queues is not None
        return self.device.queues.counters()["samples"]

    def rate(self, slot: int) -> float:
        """Bytes per tick that the law allows now."""
        return self.emulator.rate(slot) / (1 << 24)

    def score(self, slot: int) -> int | None:
        """What a packet of the slot would carry now."""
        return self._packets.card.cps.slots[slot].carried
