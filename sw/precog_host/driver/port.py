"""The queue before a device's own port, in real units."""

from dataclasses import dataclass

from precog_spec.registers.port import most_bits

from ..registers import Registers
from ..transport import DeviceError
from .epochs import epoch_number, epoch_us

__all__ = ["PortDriver", "PortParameters"]


@dataclass(frozen=True)
class PortParameters:
    """What is counted, and where."""

    enable: bool  #: bytes that senders announce are counted
    slot: int  #: QP slot that is set aside for the port
    epoch_us: float  #: a queue pair without data in this epoch and the last has nothing announced
    most: int  #: bytes that a queue pair can have announced


class PortDriver:
    """The queue before a device's own port: bytes announced to it that have not come.

    The profiler's numbers of `slot` are those of this queue, and the slot's queue model forecasts
    it. Connections with the score source ``port`` tell their senders.

    Parameters
    ----------
    registers : Registers
        Of a device with it.

    Raises
    ------
    DeviceError
        The device has no such queue.
    """

    def __init__(self, registers: Registers) -> None:
        if not registers.sizes.port:
            raise DeviceError(
                "device does not count announced bytes: it was built without (port=0)"
            )
        self.registers = registers

    def announced(self) -> int:
        """Bytes that are announced now and have not come."""
        return self.registers.fields("PORT", "ANNOUNCED")["announced"]

    def parameters(self) -> PortParameters:
        """As the device has them, in real units."""
        control = self.registers.fields("PORT", "CONTROL")
        return PortParameters(
            enable=bool(control["enable"]),
            slot=self.registers.fields("PORT", "SLOT")["slot"],
            epoch_us=epoch_us(control["epoch"], self.registers.identity.tick_ps),
            most=self.registers.fields("PORT", "MOST")["most"],
        )

    def set_parameters(
        self,
        *,
        enable: bool | None = None,
        slot: int | None = None,
        epoch_us: float | None = None,
        most: int | None = None,
    ) -> None:
        """Change some of them. What is None stays.

        Parameters
        ----------
        epoch_us : float
            The shortest epoch that the device has is taken that is no shorter. Another one, or
            another `enable`, withdraws what is announced.

        Raises
        ------
        ValueError
            A number does not fit; nothing is written then.
        """
        sizes = self.registers.sizes
        control = self.registers.fields("PORT", "CONTROL")
        now = dict(control)
        words: dict[str, dict[str, int]] = {}
        for register, name, value, top in (
            ("SLOT", "slot", slot, sizes.qps - 1),
            ("MOST", "most", most, (1 << most_bits(sizes.qps)) - 1),
        ):
            if value is None:
                continue
            if not 0 <= value <= top:
                raise ValueError(f"{name} must be in 0..{top}, not {value!r}")
            words[register] = {name: value}
        if epoch_us is not None:
            control["epoch"] = epoch_number(epoch_us, self.registers.identity.tick_ps)
        if enable is not None:
            control["enable"] = int(enable)
        if control != now:
            words["CONTROL"] = control
        for register, values in words.items():
            self.registers.write_fields("PORT", register, **values)
