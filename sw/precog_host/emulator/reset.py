"""Resets of an emulated device's parts: the golden twin of `precog_hw.adapters.reset`."""

from collections.abc import Callable, Mapping

from .register_file import RegisterFile

__all__ = ["EmulatedReset"]


class EmulatedReset:
    """Every reset is done at once: STATE is always 0.

    Parameters
    ----------
    file : RegisterFile
    parts : mapping of str to callable
        `regmap.reset.resets_of` the device's sizes: what brings each back to where it began.
    """

    def __init__(self, file: RegisterFile, parts: Mapping[str, Callable[[], None]]) -> None:
        self._file, self._parts = file, dict(parts)
        file.written["RESET.COMMAND"] = self._command

    def _command(self, value: int) -> None:
        asked = self._file.asked("RESET.COMMAND", value)
        for name, begin_again in self._parts.items():
            if name in asked:
                begin_again()
