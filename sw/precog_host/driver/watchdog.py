"""The watchdog: advice is held while the host is silent."""

from dataclasses import dataclass

from ..registers import Registers
from ..units import from_real, to_real

__all__ = ["Watchdog", "WatchdogDriver"]


@dataclass(frozen=True)
class Watchdog:
    """The watchdog's setting and its state."""

    period_us: float | None  #: None: there is none
    expired: bool  #: advice of every kind is held


class WatchdogDriver:
    """The watchdog of a device.

    Parameters
    ----------
    registers : Registers
    """

    def __init__(self, registers: Registers) -> None:
        self._registers = registers
        self._tick_ps = registers.identity.tick_ps

    def set(self, period_us: float) -> None:
        """Hold advice of every kind whenever `kick` does not come within `period_us`; 0: never.

        The device counts clock cycles, and with packets one is a tick; without, what a tick is to
        its clock is its integrator's affair. On an emulated device no time passes.

        Raises
        ------
        ValueError
            The period is negative, shorter than a tick, or longer than the device can count.
        """
        field = self._registers.registers("WATCHDOG")[0].fields[0]
        period = from_real(field, period_us, self._tick_ps)
        self.kick()
        self._registers.write_fields("WATCHDOG", "PERIOD", period=period)
        self.kick()

    def kick(self) -> None:
        """Tell the watchdog that the host is alive."""
        self._registers.write_fields("WATCHDOG", "COMMAND", kick=1)

    def state(self) -> Watchdog:
        """How the watchdog is set, and whether it holds advice."""
        field = self._registers.registers("WATCHDOG")[0].fields[0]
        period = self._registers.fields("WATCHDOG", "PERIOD")["period"]
        expired = bool(self._registers.fields("WATCHDOG", "STATE")["expired"])
        return Watchdog(float(to_real(field, period, self._tick_ps)) or None, expired)
