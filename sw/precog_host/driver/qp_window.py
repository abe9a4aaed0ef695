"""Commands of the QP window: one queue pair at a time is applied, cleared or fetched."""

from ..windows import Windows

__all__ = ["QpWindow"]

_FIRST_READS = 10_000  # for a reset of 16384 queue pairs; a card in which one is stuck opens, too


class QpWindow(Windows):
    """The register window through which one queue pair is read and written at a time."""

    def command(self, number: int, *commands: str) -> None:
        """Have the QP window execute commands on queue pair `number`, and wait for their end.

        Raises
        ------
        DeviceError
            The device refused, or does not come to an end.
        """
        self._command("QP", number, **dict.fromkeys(commands, 1))

    def wait(self) -> None:
        """Wait until the window is idle, but not for ever: commands tell of one that stays busy."""
        self._idle("QP", _FIRST_READS)
