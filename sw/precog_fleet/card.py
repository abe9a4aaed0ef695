"""An agent's side of one device: bounded reads, models in and out, and faults that end nothing.

Reading never holds the card up: its trace FIFO never waits. A read takes a bounded batch, and
a device that does not answer is closed and opened again later, after ever longer pauses. Others
who share the device get it between the agent's turns.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from precog_host.device import Device
from precog_host.transport import DeviceError
from precog_models.forecast.forecaster import Settings
from precog_models.image import Image
from precog_models.tree_image import TreeImage

from .card_access import (
    all_counters,
    apply_settings,
    begin_samples,
    begin_trace,
    fill_sets,
    scale_of,
    seat_pairs,
)
from .observing import Observer, Window

__all__ = ["Card", "CardDownError"]

_T = TypeVar("_T")

_FIRST_PAUSE_MS = 1000
_LAST_PAUSE_MS = 30_000


class CardDownError(Exception):
    """The device does not answer now."""


class Card:
    """One device.

    Parameters
    ----------
    name : str
        As the host names it.
    open_device : callable
        Opens it; called again after a fault.
    destinations : mapping of int to str, optional
        Where queue pairs lead; what the device's packet path says if not given.
    period_us : float
        From a sample of a queue to its next one, where the device takes none yet: a base RTT.

    Attributes
    ----------
    device : Device or None
        None: it is down.
    counts : Counter of str
        ``opened``, ``faults``, and the observer's of all times.
    error : str
        The last fault; empty while it is up.
    hosted : frozenset of int
        Queue pairs whose packets carry the host's score.
    """

    def __init__(
        self,
        name: str,
        open_device: Callable[[], Device],
        destinations: Mapping[int, str] | None = None,
        *,
        period_us: float = 6.0,
    ) -> None:
        self.name = name
        self.device: Device | None = None
        self.counts: Counter[str] = Counter()
        self.error = ""
        self.hosted: frozenset[int] = frozenset()
        self._open = open_device
        self._given = None if destinations is None else dict(destinations)
        self._period_us = period_us
        self._observer: Observer | None = None
        self._pause = _FIRST_PAUSE_MS
        self._failed_at = self._wait = 0

    # --- up and down -----------------------------------------------------------------------------

    def up(self, now: int) -> bool:
        """Whether the device answers; one that is down is opened again when its pause is over."""
        if self.device is not None:
            return True
        if 0 <= now - self._failed_at < self._wait:  # a clock set back is no reason to wait
            return False
        try:
            self.start()
        except (DeviceError, OSError, ValueError) as error:
            self._fail(error, now)
            return False
        return True

    def start(self) -> None:
        """Open the device, which is down.

        Raises
        ------
        DeviceError, OSError, ValueError
            It does not answer, or is not one that an agent can read.
        """
        self.device = self._open()
        try:
            self._begin(self.device)
        except BaseException:
            self.close()
            raise
        self.counts["opened"] += 1
        self.error, self._pause = "", _FIRST_PAUSE_MS

    def _fail(self, error: Exception, now: int) -> None:
        self.counts["faults"] += 1
        self.error = str(error) or type(error).__name__
        self._failed_at, self._wait = now, self._pause
        self._pause = min(2 * self._pause, _LAST_PAUSE_MS)
        self._forget_observer()
        if self.device is not None:
            device, self.device = self.device, None
            with suppress(DeviceError, OSError):  # it is gone already
                device.close()

    def _begin(self, device: Device) -> None:
        begin_samples(device, self._period_us)
        self._observe(device)
        begin_trace(device)

    def _observe(self, device: Device) -> None:
        self._forget_observer()
        scale = scale_of(device)
        self._observer = Observer(scale, self._destinations(device))

    def _forget_observer(self) -> None:
        if self._observer is not None:
            self.counts.update(self._observer.counts)
            self._observer = None

    def _destinations(self, device: Device) -> dict[int, str]:
        bindings = [] if device.packet is None else device.packet.bindings()
        self.hosted = frozenset(one.slot for one in bindings if one.score_source == "host")
        if self._given is not None:
            return dict(self._given)
        return {one.slot: str(one.remote) for one in bindings}

    def do(self, now: int, work: Callable[[Device], _T]) -> _T:
        """Work on the device; a fault takes it down.

        Raises
        ------
        CardDownError
            It is down, or has just gone down.
        """
        if not self.up(now) or self.device is None:
            raise CardDownError(f"{self.name} is down: {self.error}")
        try:
            done = work(self.device)
            self.device.release()
            return done
        except (DeviceError, OSError) as error:
            self._fail(error, now)
            raise CardDownError(f"{self.name} is down: {self.error}") from error

    # --- reading ---------------------------------------------------------------------------------

    def poll(self, now: int, limit: int) -> list[Window]:
        """Windows that at most `limit` records complete; none while the device is down."""
        try:
            records = self.do(now, lambda device: self._drain(device, limit))
        except CardDownError:
            return []
        assert self._observer is not None
        return self._observer.take(records, now)

    @staticmethod
    def _drain(device: Device, limit: int) -> list[dict[str, int]]:
        assert device.trace is not None
        return [*device.trace.drain(limit)]

    def follow(self, now: int) -> dict[int, str]:
        """Where queue pairs lead now; a device that is down has none."""
        try:
            found = self.do(now, self._destinations)
        except CardDownError:
            return {}
        assert self._observer is not None
        self._observer.destinations = found
        return found

    @property
    def observer(self) -> Observer | None:
        """What has been observed since the device was opened; None while it is down."""
        return self._observer

    def tallies(self) -> Counter[str]:
        """All counts, also of the present observer."""
        return self.counts + (self._observer.counts if self._observer is not None else Counter())

    # --- models ----------------------------------------------------------------------------------

    def load(self, now: int, images: Sequence[Image | TreeImage], keep: Iterable[int]) -> list[int]:
        """Load images into sets that no slot stands for; the sets, in their order.

        Parameters
        ----------
        keep : iterable of int
            Sets that must stay as they are.

        Raises
        ------
        CardDownError
            The device is down.
        ValueError
            It has too few sets, or cannot run such a model.
        """
        kept = set(keep)
        return self.do(now, lambda device: fill_sets(device, self.name, images, kept))

    def settle(self, now: int, settings: Settings) -> None:
        """Set what models share: normalisation, calibration, the first bin of congestion.

        Raises
        ------
        CardDownError
            The device is down.
        """

        def work(device: Device) -> None:
            if apply_settings(device, settings):
                self._observe(device)

        self.do(now, work)

    def switch(self, now: int, sets: Mapping[int, int]) -> None:
        """Let slots stand for sets: one write of the map each.

        Raises
        ------
        CardDownError
            The device is down, or a set is not valid; slots before that one have changed.
        """

        def work(device: Device) -> None:
            for slot, number in sets.items():
                device.model.map_slot(slot, number)

        self.do(now, work)

    def mapped(self, now: int) -> dict[int, tuple[int, int]]:
        """Set and version that each slot stands for.

        Raises
        ------
        CardDownError
            The device is down.
        """
        models = self.do(now, lambda device: device.model.sets())
        return {slot: (m.set, m.version) for m in models if m.valid for slot in m.slots}

    def seat(self, now: int, slots: Mapping[int, int]) -> None:
        """Let queue pairs name slots of queue models.

        Raises
        ------
        CardDownError
            The device is down.
        """
        self.do(now, lambda device: seat_pairs(device, slots))

    def counters(self, now: int) -> dict[str, int]:
        """All counters of the device by a name such as ``packet.events.icrc``; empty while down."""
        try:
            return self.do(now, all_counters)
        except CardDownError:
            return {}

    def close(self) -> None:
        """Give the device back; its models stay."""
        self._forget_observer()
        device, self.device = self.device, None
        if device is not None:
            device.close()
