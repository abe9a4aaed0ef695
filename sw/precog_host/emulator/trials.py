"""The block TRIAL_SUMS of an emulated device: the golden NIC has what its trials have found."""

from precog_models.nic import GoldenNic
from precog_spec.registers.trials import TRIAL_SUMS
from precog_spec.trial_fields import TRIAL_KINDS

from .register_file import RegisterFile

__all__ = ["EmulatedTrials"]

_WORD = (1 << 32) - 1


class EmulatedTrials:
    """The read-out of the trials.

    Parameters
    ----------
    file : RegisterFile
    nic : GoldenNic
    """

    def __init__(self, file: RegisterFile, nic: GoldenNic) -> None:
        self._file, self._nic = file, nic
        file.written["TRIAL_SUMS.COMMAND"] = self._command

    def _command(self, value: int) -> None:
        asked = self._file.asked("TRIAL_SUMS.COMMAND", value)
        for kind in TRIAL_KINDS:
            if f"fetch_{kind}" in asked:
                self._show(self._nic.trial(kind))

    def _show(self, found: dict[str, int]) -> None:
        for register in TRIAL_SUMS:
            for field in register.fields:
                name, _, half = field.name.rpartition("_")
                if half == "low":
                    value = found[name] & _WORD
                elif half == "high":
                    value = found[name] >> 32
                else:
                    value = found[field.name]
                self._file.put(f"TRIAL_SUMS.{register.name}", **{field.name: value})
