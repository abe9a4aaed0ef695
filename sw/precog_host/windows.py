"""Register blocks that are windows on one row of many."""

from precog_spec.registers.model import Register

from .registers import Registers
from .transport import DeviceError

__all__ = ["Windows"]

_BUSY_READS = 100_000  # polls of a busy bit before the device counts as hung


class Windows:
    """What the driver does with every such block.

    Parameters
    ----------
    registers : Registers
    """

    def __init__(self, registers: Registers) -> None:
        self.registers = registers

    def _fields(self, block: str, registers: tuple[Register, ...]) -> dict[str, int]:
        return {
            name: value
            for register in registers
            for name, value in self.registers.fields(block, register.name).items()
        }

    def _fetch(self, block: str, index: int, registers: tuple[Register, ...]) -> dict[str, int]:
        self._command(block, index, fetch=1)
        return self._fields(block, registers)

    def _command(self, block: str, index: int, **commands: int) -> None:
        self.registers.write_fields(block, "SELECT", index=index)
        self._do(block, f" {index}", **commands)

    def _do(self, block: str, row: str = "", **commands: int) -> None:
        """Have commands executed; an error bit that stands already is not theirs.

        Raises
        ------
        DeviceError
            The device stays busy or refused the command; `row` is the one that it is about.
        """
        self.registers.write_fields(block, "ERROR", range=1, overrun=1)
        self.registers.write_fields(block, "COMMAND", **commands)
        if not self._idle(block, _BUSY_READS):
            raise DeviceError(
                f"{block} window stays busy after {_BUSY_READS} reads: restart the predictor with "
                "precog device reset predictor, or reset the card"
            )
        errors = [name for name, bit in self.registers.fields(block, "ERROR").items() if bit]
        if errors:
            self.registers.write_fields(block, "ERROR", **dict.fromkeys(errors, 1))
            raise DeviceError(f"{block}{row} command was refused: {' and '.join(errors)}")

    def _idle(self, block: str, reads: int) -> bool:
        """Whether no command is being executed, after at most `reads` reads."""
        states = (self.registers.fields(block, "STATE") for _ in range(reads))
        return any(not state["busy"] for state in states)
