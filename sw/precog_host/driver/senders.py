"""The counts of queue pairs that send to a device, and of its own flows, in real units."""

from dataclasses import dataclass

from precog_spec.frames.cps import LEVEL_MAX
from precog_spec.registers.senders import SENDERS_EVENTS, SENDERS_PARAMETERS, SENDERS_ROW

from ..registers import Registers
from ..transport import DeviceError
from ..units import from_real, to_real
from ..windows import Windows
from . import epochs

__all__ = ["SendersDriver", "SendersParameters", "Sending", "Told"]

(_HOLD,) = (one.field("hold") for one in SENDERS_PARAMETERS if one.name == "HOLD")


@dataclass(frozen=True)
class SendersParameters:
    """What is done with the count."""

    say: bool  #: shims that leave say the level
    heed: bool  #: levels that shims bring are heeded
    own: bool  #: a level counts as 0 where the device's own flows are more than half of 2**level
    epoch_us: float  #: a queue pair counts while it sent in this epoch or the last
    least: int  #: bytes of a message that counts
    hold_us: float  #: a level no greater than all of this time is no news


@dataclass(frozen=True)
class Sending:
    """Queue pairs that send now."""

    count: int  #: queue pairs
    level: int  #: binary logarithm of it, rounded up, 0..15


@dataclass(frozen=True)
class Told:
    """Levels of a queue pair's receiver."""

    level: int  #: that which is in force, 0..15
    believed: bool  #: it is the host's; no shim has replaced it
    most: int  #: the greatest that shims brought since the queue pair's reset


class SendersDriver(Windows):
    """A device's count of senders.

    Parameters
    ----------
    registers : Registers
        Of a device with it.

    Raises
    ------
    DeviceError
        The device does not count them.
    """

    def __init__(self, registers: Registers) -> None:
        if not registers.sizes.senders:
            raise DeviceError("device does not count senders: it was built without (senders=0)")
        super().__init__(registers)

    def count(self) -> Sending:
        """Those that send to the device."""
        return Sending(**self.registers.fields("SENDERS", "COUNT"))

    def own(self) -> Sending:
        """The device's own flows."""
        return Sending(**self.registers.fields("SENDERS", "OWN"))

    def parameters(self) -> SendersParameters:
        """As the device has them, in real units."""
        control = self.registers.fields("SENDERS", "CONTROL")
        tick_ps = self.registers.identity.tick_ps
        return SendersParameters(
            say=bool(control["say"]),
            heed=bool(control["heed"]),
            own=bool(control["own"]),
            epoch_us=epochs.epoch_us(control["epoch"], tick_ps),
            least=self.registers.fields("SENDERS", "LEAST")["least"],
            hold_us=float(
                to_real(_HOLD, self.registers.fields("SENDERS", "HOLD")["hold"], tick_ps)
            ),
        )

    def set_parameters(
        self,
        *,
        say: bool | None = None,
        heed: bool | None = None,
        own: bool | None = None,
        epoch_us: float | None = None,
        least: int | None = None,
        hold_us: float | None = None,
    ) -> None:
        """Change some of them. What is None stays.

        Parameters
        ----------
        epoch_us : float
            The shortest epoch that the device has is taken that is no shorter. Another one begins
            with counts of 0.

        Raises
        ------
        ValueError
            A number does not fit; nothing is written then.
        """
        control = self.registers.fields("SENDERS", "CONTROL")
        now = dict(control)
        for name, value in (("say", say), ("heed", heed), ("own", own)):
            if value is not None:
                control[name] = int(value)
        if epoch_us is not None:
            control["epoch"] = epochs.epoch_number(epoch_us, self.registers.identity.tick_ps)
        words: dict[str, dict[str, int]] = {}
        if least is not None:
            if not 0 <= least < 1 << 32:
                raise ValueError(f"least must be in 0..{(1 << 32) - 1} bytes, not {least!r}")
            words["LEAST"] = {"least": least}
        if hold_us is not None:
            words["HOLD"] = {"hold": from_real(_HOLD, hold_us, self.registers.identity.tick_ps)}
        if control != now:
            words["CONTROL"] = control
        for register, values in words.items():
            self.registers.write_fields("SENDERS", register, **values)

    def believe(self, slot: int, level: int) -> None:
        """Tell a queue pair's law of a level of its receiver, before the first packet.

        The first level that a shim brings replaces it.

        Raises
        ------
        ValueError
            There is no such slot or level; nothing is written then.
        DeviceError
            The device does not heed levels, so that nothing would come of it.
        """
        self._check(slot)
        if not 0 <= level <= LEVEL_MAX:
            raise ValueError(f"level must be in 0..{LEVEL_MAX}, not {level!r}")
        self.need_heed()
        self.registers.write_fields("SENDERS", "BELIEF", qp=slot, level=level)

    def need_heed(self) -> None:
        """Raise `DeviceError` unless the device heeds levels."""
        if not self.registers.fields("SENDERS", "CONTROL")["heed"]:
            raise DeviceError(
                "beliefs need a device that heeds levels: precog packet senders set --heed"
            )

    def told(self, slot: int) -> Told:
        """What a queue pair's receiver has said, and shims that were heeded have brought.

        Raises
        ------
        ValueError
            There is no such slot.
        """
        self._check(slot)
        row = self._fetch("SENDERS", slot, SENDERS_ROW)
        return Told(row["level"], bool(row["believed"]), row["most"])

    def counters(self) -> dict[str, int]:
        """Events since reset."""
        return self.registers.snapshots.read(
            "SENDERS", "COUNTERS", [name for name, _ in SENDERS_EVENTS]
        )

    def _check(self, slot: int) -> None:
        qps = self.registers.sizes.qps
        if not 0 <= slot < qps:
            raise ValueError(f"slot must be in 0..{qps - 1}, not {slot!r}")
