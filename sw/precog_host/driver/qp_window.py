"""Commands of the QP window: one queue pair at a time is applied, cleared or fetched."""

from ..registers import Registers
from ..transport import DeviceError

__all__ = ["QpWindow"]

_BUSY_READS = 10_000  # polls of a busy bit before the window counts as hung


class QpWindow:
    """The register window through which one queue pair is read and written at a time.

    Parameters
    ----------
    registers : Registers
    """

    def __init__(self, registers: Registers) -> None:
        self._registers = registers

    def command(self, number: int, *commands: str) -> None:
        """Have the QP window execute commands on queue pair `number`, and wait for their end.

        Raises
        ------
        DeviceError
            The device refused, or does not come to an end.
        """
        registers = self._registers
        registers.write_fields("QP", "SELECT", index=number)
        registers.write_fields("QP", "COMMAND", **dict.fromkeys(commands, 1))
        self.wait()
        errors = [name for name, bit in registers.fields("QP", "ERROR").items() if bit]
        if errors:
            registers.write_fields("QP", "ERROR", **dict.fromkeys(errors, 1))
            raise DeviceError(f"QP {number} command was refused: {', '.join(errors)}")

    def wait(self) -> None:
        """Wait until the window is idle.

        Raises
        ------
        DeviceError
            It stays busy.
        """
        for _ in range(_BUSY_READS):
            if not self._registers.fields("QP", "STATE")["busy"]:
                return
        raise DeviceError("QP window stays busy")
