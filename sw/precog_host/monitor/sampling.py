"""Snapshots of a device's queue pairs, across its absence."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from precog_host.device import Device
from precog_host.driver.packet import Binding
from precog_host.transport import DeviceError
from precog_spec.contract import TraceKind

__all__ = ["HISTORY", "History", "QpSample", "Sampler", "Snapshot", "qp_list", "sparkline"]

HISTORY = 32  #: snapshots that a sparkline shows
_WHOLE = 10  # snapshots until what is not enabled, and the bindings, are looked at again
_BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class QpSample:
    """A queue pair at one instant, in real units; None: the device has no such thing.

    Attributes
    ----------
    rtt_us : float or None
        Of the last sample where the device says so (a bound queue pair's destination, or the
        trace), else smoothed.
    score : int or None
        Congestion score: with the trace the last one that moved a decision since the snapshot
        before, else the last one that the queue pair's peer sent.
    decisions_per_s : float or None
        Since the snapshot before; None in the first.
    """

    qp: int
    algorithm: str
    rate_gbps: float
    rtt_us: float | None
    rtt_pred_us: float | None
    target_us: float
    score: int | None
    decisions: int
    decisions_per_s: float | None
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Snapshot:
    """All queue pairs, or why there are none.

    Attributes
    ----------
    t : float
        Seconds since the epoch.
    """

    t: float
    qps: tuple[QpSample, ...] = ()
    error: str | None = None


@dataclass
class History:
    """What sparklines show of one queue pair."""

    rate: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    rtt: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))


class Sampler:
    """Takes snapshots; a device that fails is opened again with the next one.

    Parameters
    ----------
    uri : str
    qps : set of int, optional
        Queue pairs to look at; by default all that are enabled, which every tenth snapshot finds
        out anew: a slow link has much to read.
    trace : bool
        Take RTTs and scores from the trace. Records that are read are gone for other readers.
    before : callable, optional
        Called with the device before each snapshot.
    check : callable, optional
        Called with the device before anything is written to it; refuses one by its error.

    Attributes
    ----------
    history : dict of int to History
    """

    def __init__(
        self,
        uri: str,
        *,
        qps: AbstractSet[int] | None = None,
        trace: bool = False,
        before: Callable[[Device], None] | None = None,
        check: Callable[[Device], object] | None = None,
    ) -> None:
        self.uri = uri
        self.history: dict[int, History] = {}
        self._wanted, self._trace = qps, trace
        self._before, self._check = before, check
        self._device: Device | None = None
        self._round = 0
        self._bindings: list[Binding] = []
        self._last: dict[int, tuple[float, int]] = {}
        self._traced: dict[int, tuple[float | None, int | None]] = {}

    def open(self) -> Device:
        """The device, opened if it is not.

        Raises
        ------
        DeviceError
            There is none, it has no trace and one is asked for, or `check` refuses it.
        ValueError
            It has not all the queue pairs that are asked for.
        """
        if self._device is None:
            opened = Device.open(self.uri)
            try:
                for qp in self._wanted or ():
                    opened.qp(qp)
                if self._check is not None:
                    self._check(opened)
                if self._trace:  # last: it is the one that writes
                    self._set_trace(opened)
            except BaseException:
                opened.close()
                raise
            self._device = opened
            self._last.clear()
            self._round = 0
        return self._device

    def take(self) -> Snapshot:
        """A snapshot; an error of the device is one, too."""
        now = time.time()
        try:
            device = self.open()
            if self._before is not None:
                self._before(device)
            qps = self._sample(device)
            device.release()
        except (DeviceError, OSError) as error:
            self.close()
            return Snapshot(now, error=str(error))
        for qp in qps:
            history = self.history.setdefault(qp.qp, History())
            history.rate.append(qp.rate_gbps)
            if qp.rtt_us is not None:
                history.rtt.append(qp.rtt_us)
        return Snapshot(now, qps)

    def close(self) -> None:
        """Give the device back; harmless twice."""
        device, self._device = self._device, None
        if device is not None:
            device.close()

    def _sample(self, device: Device) -> tuple[QpSample, ...]:
        self._read_trace(device)
        whole = self._round % _WHOLE == 0
        self._round += 1
        if whole:
            self._bindings = device.packet.bindings() if device.packet is not None else []
        wanted = set(range(device.sizes.qps)) if self._wanted is None else self._wanted
        if not whole and self._wanted is None:
            wanted = wanted & self._last.keys()
        seen = self._destinations(device)
        found = []
        for number in sorted(wanted):
            status = device.qp(number).status()
            now = time.monotonic()
            if not status.enable and self._wanted is None:
                self._last.pop(number, None)
                continue
            before = self._last.get(number)
            self._last[number] = now, status.samples
            made = None
            if before is not None and now > before[0]:
                made = ((status.samples - before[1]) & 0xFFFF_FFFF) / (now - before[0])
            rtt, score = self._traced.get(number) or seen.get(number, (None, None))
            found.append(
                QpSample(
                    qp=number,
                    algorithm=status.algorithm,
                    rate_gbps=status.rate_gbps,
                    rtt_us=rtt if rtt is not None else status.srtt_us or None,
                    rtt_pred_us=status.rtt_pred_us,
                    target_us=status.target_us,
                    score=score,
                    decisions=status.samples,
                    decisions_per_s=made,
                    flags=status.flags,
                )
            )
        return tuple(found)

    def _read_trace(self, device: Device) -> None:
        """Each queue pair's last RTT, and the last score that moved a decision since last time."""
        if not self._trace or device.trace is None:
            return
        last = {qp: (rtt, None) for qp, (rtt, _) in self._traced.items()}
        self._traced = dict[int, tuple[float | None, int | None]](last)
        for record in device.trace.drain():
            if record["kind"] != TraceKind.DECISION:
                continue
            shown = device.trace.presented(record)
            before = self._traced.get(record["qp"], (None, None))
            rtt, score = shown["rtt_us"], shown["score"]  # a decision on an event has no RTT
            self._traced[record["qp"]] = (
                before[0] if rtt is None else rtt,
                before[1] if score is None else score,
            )

    @staticmethod
    def _set_trace(device: Device) -> None:
        if device.trace is None:
            raise DeviceError(
                "device has no trace: it was built without one; leave --trace out, or use "
                "emu:trace=1"
            )
        kinds = set(device.trace.state().kinds)
        device.trace.configure(kinds=kinds | {"decision"})

    def _destinations(self, device: Device) -> dict[int, tuple[float | None, int | None]]:
        """Last RTT and last score of each bound queue pair's destination."""
        if device.packet is None or not device.sizes.destinations:
            return {}
        found = {}
        for binding in self._bindings:
            status = device.packet.destination(binding.destination)
            found[binding.slot] = status.rtt_last_us, status.score
        return found


def sparkline(values: Sequence[float], width: int = HISTORY) -> str:
    """Values as blocks between their least and greatest, the last ones at the right."""
    shown = list(values)[-width:]
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    step = (high - low) / (len(_BLOCKS) - 1) or 1.0
    return "".join(_BLOCKS[round((value - low) / step)] for value in shown)


def qp_list(text: str) -> set[int]:
    """Numbers such as ``1,3-5``.

    Raises
    ------
    ValueError
        It is no such list.
    """
    found: set[int] = set()
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        low, dash, high = part.partition("-")
        ends = (low, high) if dash else (low, low)
        if not all(end.isascii() and end.isdecimal() and len(end) < 6 for end in ends):
            raise ValueError(f"queue pairs must be a list such as 1,3-5, not {text!r}")
        first, last = int(ends[0]), int(ends[1])
        if last < first:
            raise ValueError(f"queue pairs must go upwards in {part!r}")
        found |= set(range(first, last + 1))
    return found
