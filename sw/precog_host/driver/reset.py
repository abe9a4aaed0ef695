"""Resets of a device's parts while it works."""

from collections.abc import Iterable

from precog_spec.registers.parts import lacking
from precog_spec.registers.reset import RESET_BLOCKS, resets_of

from ..registers import Registers
from ..transport import DeviceError

__all__ = ["ResetDriver"]

_BUSY_READS = 100_000  # polls before a reset counts as hung: 16384 queue pairs take their time


class ResetDriver:
    """Parts of a device that can be brought back to where they began.

    Packets and samples go on: none is lost, and every decision that is owed is made.

    Parameters
    ----------
    registers : Registers
    """

    def __init__(self, registers: Registers) -> None:
        self._registers = registers
        #: Names of the parts of this device.
        self.parts = resets_of(registers.sizes)

    def begin(self, parts: Iterable[str]) -> None:
        """Have these parts reset; one that is being reset begins anew.

        Raises
        ------
        ValueError
            None is named, or one that there is not, or that this device was built without; nothing
            is reset then.
        """
        asked = dict.fromkeys(parts)
        if not asked:
            raise ValueError(f"parts to be reset must be some of {', '.join(self.parts)}, not none")
        sizes = self._registers.sizes
        lacks = {name: lacking(sizes, part) for name, part, _ in RESET_BLOCKS}
        for name in asked:
            if name in self.parts:
                continue
            known = ", ".join(self.parts)
            why = f": it was built without ({lacks[name]}=0)" if name in lacks else ""
            raise ValueError(f"part must be one of {known} on this device, not {name!r}{why}")
        self._registers.write_fields("RESET", "COMMAND", **dict.fromkeys(asked, 1))

    def under_way(self) -> tuple[str, ...]:
        """Parts that are being reset."""
        state = self._registers.fields("RESET", "STATE")
        return tuple(name for name, busy in state.items() if busy)

    def reset(self, parts: Iterable[str]) -> tuple[str, ...]:
        """As `begin`; returns what was reset once all of it is done.

        Raises
        ------
        DeviceError
            The device does not come to an end.
        ValueError
            As `begin`.
        """
        asked = tuple(dict.fromkeys(parts))
        self.begin(asked)
        busy: tuple[str, ...] = ()
        for _ in range(_BUSY_READS):
            busy = self.under_way()
            if not set(busy) & set(asked):
                return asked
        raise DeviceError(
            f"device's reset of {', '.join(busy)} does not end within {_BUSY_READS} reads: reset "
            "the card"
        )
