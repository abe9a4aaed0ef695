"""A Precog device in real units: a driver for each block, queue pairs, counters.

One class on every transport: what works on the golden NIC (``emu:``) works on the Verilated RTL
(``sim:``) and on a board.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from precog_spec.config import NicConfig
from precog_spec.contract import CONTRACT_HASH
from precog_spec.registers.counters import COUNTERS
from precog_spec.registers.identity import Identity

from .driver.ecc import EccDriver
from .driver.forecast import ForecastDriver
from .driver.interrupt import InterruptDriver
from .driver.law import LawDriver
from .driver.mac import MacDriver
from .driver.model import ModelDriver
from .driver.pacer import PacerDriver
from .driver.packet import PacketDriver
from .driver.parameters import ParametersDriver
from .driver.port import PortDriver
from .driver.profiler import ProfilerDriver
from .driver.qp import Qp
from .driver.qp_window import QpWindow
from .driver.receiver import ReceiverDriver
from .driver.reset import ResetDriver
from .driver.senders import SendersDriver
from .driver.trace import TraceDriver
from .driver.trials import TrialsDriver
from .driver.watchdog import WatchdogDriver
from .driver.wire import WireDriver
from .opening import open_transport
from .registers import Registers
from .transport import (
    DeviceError,
    SampleTransport,
    SharedTransport,
    Transport,
)

__all__ = ["Device"]


class Device:
    """A device behind a transport.

    Parameters
    ----------
    transport : Transport

    Attributes
    ----------
    registers : Registers
    sizes : NicConfig
    identity : Identity

    Raises
    ------
    DeviceError
        The device is not a Precog that this package knows, or has another contract.
    """

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.registers = Registers(transport)
        self.sizes: NicConfig = self.registers.sizes
        self.identity: Identity = self.registers.identity
        if self.identity.contract_hash != CONTRACT_HASH:
            raise DeviceError(
                f"device contract must be {CONTRACT_HASH:#010x}, "
                f"not {self.identity.contract_hash:#010x}: host package and gateware differ"
            )
        #: The packet path, where the device has one.
        self.packet = PacketDriver(self.registers) if self.sizes.width else None
        #: Gigabit ports, as above.
        self.mac = MacDriver(self.registers) if self.sizes.macs else None
        #: The pacer, as above.
        self.pacer = PacerDriver(self.registers) if self.sizes.grants else None
        #: The queue profiler, as above.
        self.profiler = ProfilerDriver(self.registers) if self.sizes.profile else None
        #: Queue models and scores, as above.
        self.forecast = ForecastDriver(self.registers) if self.sizes.forecast else None
        #: The receiver of congestion scores, as above.
        self.receiver = ReceiverDriver(self.registers) if self.sizes.receiver else None
        #: The count of queue pairs that send to it, as above.
        self.senders = SendersDriver(self.registers) if self.sizes.senders else None
        #: The queue before its own port, as above.
        self.port = PortDriver(self.registers) if self.sizes.port else None
        #: The trace FIFO, as above.
        self.trace = TraceDriver(self.registers) if self.sizes.trace else None
        #: Packets that wait for grants, as above.
        self.wire = WireDriver(self.registers) if self.sizes.wire else None
        #: Check bits of the models, as above.
        self.ecc = EccDriver(self.registers) if self.sizes.ecc else None
        #: Laws that are programs, as above.
        self.law = LawDriver(self.registers) if self.sizes.law_cores else None
        #: Trials of advice, as above.
        self.trials = TrialsDriver(self.registers) if self.sizes.trials else None
        #: Sets of model weights and the slots that stand for them.
        self.model = ModelDriver(self.registers, self.forecast)
        #: Parameters that all queue pairs share.
        self.shared = ParametersDriver(self.registers)
        #: The watchdog, which holds advice while the host is silent.
        self.watchdog = WatchdogDriver(self.registers)
        #: The window onto the configuration and status of one queue pair.
        self.qp_window = QpWindow(self.registers)
        #: What the device interrupts its host for.
        self.interrupt = InterruptDriver(self.registers)
        #: Parts that can be reset while the device works.
        self.reset = ResetDriver(self.registers)
        self.qp_window.wait()  # after its reset the device disables every queue pair first

    @classmethod
    def open(cls, uri: str) -> "Device":
        """The device that `uri` names, such as ``emu:`` or ``sim:``.

        Raises
        ------
        DeviceError
            There is no such transport or device.
        """
        transport = open_transport(uri)
        try:
            return cls(transport)
        except BaseException:
            transport.close()
            raise

    def close(self) -> None:
        """Give the transport back."""
        self.transport.close()

    def release(self) -> None:
        """Let others who share the device have it until the next access, where that can be."""
        if isinstance(self.transport, SharedTransport):
            self.transport.release()

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def tick_ps(self) -> int:
        """Length of a tick in picoseconds."""
        return self.identity.tick_ps

    # --- parameters and counters -----------------------------------------------------------------

    def parameters(self) -> dict[str, float | int]:
        """Parameters that all queue pairs share, in real units."""
        return self.shared.read()

    def set_parameters(
        self,
        preset: str | None = None,
        /,
        *,
        psched: str | None = None,
        **values: float,
    ) -> None:
        """Set shared parameters, as `ParametersDriver.set`.

        Raises
        ------
        ValueError
            A name is unknown or a value does not fit; nothing is written then.
        """
        self.shared.set(preset, psched=psched, **values)

    def apply_preset(self, name: str) -> None:
        """Set all parameters of pid and predpid to those of a preset.

        Raises
        ------
        ValueError
            There is no such preset.
        """
        self.shared.set(name)

    def counters(self) -> dict[str, int]:
        """Events since power-up or the last reset of `counters`, by name."""
        names = [name for name, _ in COUNTERS]
        return self.registers.snapshots.read("COUNTERS", "COUNTERS", names)

    @contextmanager
    def one_instant(self, *, idle: bool = False) -> Iterator[None]:
        """In the context counters of all parts are of one instant.

        Parameters
        ----------
        idle : bool
            Of one in which every sample and every event that was counted had had its decision, or
            was dropped or ignored.

        Raises
        ------
        DeviceError
            The device does not answer, or is never idle.
        """
        with self.registers.snapshots.one_instant(idle=idle):
            yield

    # --- queue pairs -----------------------------------------------------------------------------

    def qp(self, number: int) -> Qp:
        """Queue pair slot `number`.

        Raises
        ------
        ValueError
            The device has no such slot.
        """
        if not 0 <= number < self.sizes.qps:
            raise ValueError(f"QP must be in 0..{self.sizes.qps - 1}, not {number!r}")
        return Qp(self.registers, self.qp_window, self.law, number)

    def decide(self, samples: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give samples [n, 3] to a device that takes them from the host; decisions [m, 8].

        Raises
        ------
        DeviceError
            The transport cannot.
        ValueError
            As `checked_samples`; nothing is decided then.
        """
        return self.sampled().decide(samples)

    def sampled(self) -> SampleTransport:
        """The transport, of a device to which the host gives samples.

        Raises
        ------
        DeviceError
            It takes none.
        """
        if not isinstance(self.transport, SampleTransport):
            raise DeviceError(
                "device takes its samples from the wire, not from the host: use emu: or sim:"
            )
        return self.transport
