"""What a device interrupts its host for."""

from collections.abc import Iterable
from dataclasses import dataclass

from precog_spec.registers.interrupt import causes_of

from ..registers import Registers

__all__ = ["InterruptDriver", "InterruptState"]


@dataclass(frozen=True)
class InterruptState:
    """The device's interrupt line and what is behind it."""

    pending: bool  #: the line is up
    causes: dict[str, bool]  #: what happened and was not cleared, by name
    enabled: dict[str, bool]  #: what of it interrupts


class InterruptDriver:
    """Causes, and which of them interrupt.

    Parameters
    ----------
    registers : Registers
    """

    def __init__(self, registers: Registers) -> None:
        self._registers = registers
        #: Names of the causes that this device can have.
        self.causes = causes_of(registers.sizes)

    def state(self) -> InterruptState:
        """What the device shows."""
        up, enabled = (
            {name: bool(bit) for name, bit in self._registers.fields("INTERRUPT", word).items()}
            for word in ("CAUSE", "ENABLE")
        )
        pending = bool(self._registers.fields("INTERRUPT", "STATE")["pending"])
        return InterruptState(pending, up, enabled)

    def enable(self, causes: Iterable[str]) -> None:
        """Let these causes interrupt, and no others.

        Raises
        ------
        ValueError
            The device has no such cause; nothing is written then.
        """
        self._registers.write_fields("INTERRUPT", "ENABLE", **self._bits(causes))

    def clear(self, causes: Iterable[str]) -> None:
        """The host knows of them; one whose reason is still there comes up again.

        Raises
        ------
        ValueError
            The device has no such cause; nothing is written then.
        """
        self._registers.write_fields("INTERRUPT", "CAUSE", **self._bits(causes))

    def bring_up(self, causes: Iterable[str]) -> None:
        """Bring causes up as if they had happened, to try who listens.

        Raises
        ------
        ValueError
            The device has no such cause; nothing is written then.
        """
        self._registers.write_fields("INTERRUPT", "RAISE", **self._bits(causes))

    def _bits(self, causes: Iterable[str]) -> dict[str, int]:
        asked = set(causes)
        for name in sorted(asked - set(self.causes)):
            known = ", ".join(self.causes)
            raise ValueError(f"cause must be one of {known} on this device, not {name!r}")
        return {name: int(name in asked) for name in self.causes}
