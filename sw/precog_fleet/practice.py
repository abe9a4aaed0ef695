"""Traffic for emulated and simulated cards, so that a fleet can be tried without a network."""

import random
from collections.abc import Sequence

import numpy as np

from precog_host.device import Device
from precog_host.transport import DeviceError, QueueTransport
from precog_spec.contract import QueueEvent

__all__ = ["PRACTICE_URI", "Practice"]

#: What an agent needs of a card, and room for three plans of each queue pair.
PRACTICE_URI = "emu:qps=4,sets=16,trace=1,forecast=1,profile=1"
_STEP_BYTES = 24_000  # by which a queue grows or drains in a period
_NOISE_BYTES = 6000
_BASE, _NOISE = 5000, 100  # ticks of an RTT
_BYTES_A_TICK = 50


class Practice:
    """Queues of a card that grow and drain in waves, and RTTs that follow them.

    Parameters
    ----------
    card : QueueTransport
        With a queue profiler that neither packets nor grants drive.
    qps : sequence of int
    seed : int
    period : int
        Ticks from a sample to the next one.
    wave : int
        Periods in which a queue grows and drains once.

    Attributes
    ----------
    t : int
        Ticks.
    wave : int
    history : dict of int to dict of int to int
        Bytes of each queue by time.

    Raises
    ------
    DeviceError
        The card has no queue profiler, or packets or grants drive it.
    """

    def __init__(
        self,
        card: QueueTransport,
        qps: Sequence[int],
        seed: int,
        *,
        period: int = 6000,
        wave: int = 40,
    ) -> None:
        if card.told_queues is None:
            raise DeviceError(f"practice needs a card such as {PRACTICE_URI}, without packets")
        self.card = card
        self.t = 0
        self.wave = wave
        self.history: dict[int, dict[int, int]] = {qp: {} for qp in qps}
        self._queues = card.told_queues
        self._period = period
        self._rng = random.Random(seed)
        self._level = dict.fromkeys(qps, 0)
        self._phase = {qp: self._rng.randrange(wave) for qp in qps}
        device = Device(card)
        for qp in qps:
            device.qp(qp).configure(preset="precog", enable=True, algorithm="pid")

    def run(self, periods: int, *, remember: bool = False) -> None:
        """Let this many periods pass; `remember` them in `history`."""
        for _ in range(periods):
            for qp in self._level:
                self._change(qp)
            self.t += self._period
            self._queues.pass_time(self.t)
            if remember:
                for qp, level in self._level.items():
                    self.history[qp][self.t] = level

    def _change(self, qp: int) -> None:
        self._phase[qp] = (self._phase[qp] + 1) % self.wave
        change = _STEP_BYTES if 2 * self._phase[qp] < self.wave else -_STEP_BYTES
        noise = self._rng.randrange(-_NOISE_BYTES, _NOISE_BYTES)
        size = max(change + noise, -self._level[qp])
        self._level[qp] += size
        kind = QueueEvent.ARRIVAL if size > 0 else QueueEvent.DEPARTURE
        self._queues.observe(qp, kind, abs(size), self.t + self._rng.randrange(self._period // 2))
        rtt = _BASE + self._level[qp] // _BYTES_A_TICK + self._rng.randrange(_NOISE)
        self.card.decide(np.array([[qp, rtt, self.t]]))
