"""Interrupts of an emulated device: causes, what is enabled of them, the line."""

from collections.abc import Callable

from precog_spec.registers.interrupt import causes_of

from .register_file import RegisterFile

__all__ = ["EmulatedInterrupt"]


class EmulatedInterrupt:
    """The golden twin of `precog_hw.adapters.interrupt`.

    Parameters
    ----------
    file : RegisterFile
    sizes : NicConfig

    Attributes
    ----------
    levels : dict of str to callable
        By cause: whether what brings it up is there now. Such a cause cannot be cleared meanwhile.
    """

    def __init__(self, file: RegisterFile, sizes: object) -> None:
        self._file = file
        self._causes = causes_of(sizes)
        self.levels: dict[str, Callable[[], bool]] = {}
        file.written |= {
            "INTERRUPT.CAUSE": self._settle,
            "INTERRUPT.ENABLE": self._settle,
            "INTERRUPT.RAISE": self._raised,
        }

    def happened(self, *causes: str) -> None:
        """Causes come up."""
        self._file.put("INTERRUPT.CAUSE", **dict.fromkeys(causes, 1))
        self._settle()

    def _raised(self, value: int) -> None:
        self.happened(*self._file.asked("INTERRUPT.RAISE", value))

    def _settle(self, _: int = 0) -> None:
        there = {name: 1 for name, is_up in self.levels.items() if is_up()}
        self._file.put("INTERRUPT.CAUSE", **there)
        up, enabled = (self._file.get(f"INTERRUPT.{name}") for name in ("CAUSE", "ENABLE"))
        pending = any(up[name] and enabled[name] for name in self._causes)
        self._file.put("INTERRUPT.STATE", pending=int(pending))

    def look(self) -> None:
        """A level may have changed."""
        self._settle()
