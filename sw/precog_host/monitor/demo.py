"""Queue pairs that do something, to practise on without a network."""

import numpy as np

from precog_host.device import Device
from precog_host.driver.law import STANDARD
from precog_host.emulator.device import Emulator
from precog_host.transport import DeviceError, SharedTransport
from precog_models.image import pretrained
from precog_spec.law_fields import EventKind

__all__ = ["Demo"]

_LAWS = ("predpid", "pid", "timely", "dcqcn", "predpid", "fixed")
_ELSE = "pid"  # where there is no law engine for a program
_SAMPLES = 40  # of each queue pair between two snapshots
_BASE, _SWING, _NOISE = 4_200, 2_600, 40  # ticks of 1 ns


class Demo:
    """Sets up queue pairs with the shipped model and feeds them RTTs of a queue that swings.

    The same with every run.
    """

    def __init__(self) -> None:
        self._rng = np.random.default_rng(1)
        self._t = 1
        self._round = 0
        self._device: Device | None = None

    @staticmethod
    def check(device: Device) -> bool:
        """Whether the device is to be fed from here, not by its server, which does the same.

        Raises
        ------
        DeviceError
            It takes no samples; nothing was written to it.
        """
        if not isinstance(device.transport, SharedTransport):
            device.sampled()
            return True
        if not device.transport.is_fed():
            raise DeviceError(
                "device is served without a demo: serve it with precog serve --demo, or leave "
                "--demo out"
            )
        return False

    def __call__(self, device: Device) -> None:
        """Let some time pass on a device that takes samples, from here or from its server.

        Raises
        ------
        DeviceError
            As `check`.
        """
        if not self.check(device):
            return
        if device is not self._device:
            self._set_up(device)
            self._device = device
        qps = len(_LAWS)
        n = np.arange(_SAMPLES * qps)
        swing = np.sin((self._round * _SAMPLES + n / qps) / 110.0) ** 2
        rtt = _BASE + _SWING * swing + self._rng.normal(0, _NOISE, len(n))
        t = self._t + 700 * n
        rows = np.stack([n % qps, np.maximum(rtt, 1).astype(np.int64), t], axis=1)
        if isinstance(device.transport, Emulator):
            score = int(100 * swing[-1])  # as a peer would send it
            for qp in range(qps):
                event = [EventKind.SCORE, qp, self._t, score]
                device.transport.happen(np.array(event, dtype=np.int64))
        device.decide(rows.astype(np.int64))
        self._t += 700 * len(n)
        self._round += 1

    @staticmethod
    def _set_up(device: Device) -> None:
        device.apply_preset("precog")
        device.set_parameters(psched_skill=0)
        device.model.load(pretrained())
        for number, wanted in enumerate(_LAWS):
            law = _ELSE if wanted in STANDARD and device.law is None else wanted
            model = 0 if law == "predpid" else None
            device.qp(number).configure(
                preset="precog", enable=True, algorithm=law, model_slot=model
            )
            device.qp(number).configure(psched=True)
