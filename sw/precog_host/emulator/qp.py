"""Queue pairs of an emulated device: the window's commands and each queue pair's last decision."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from precog_models.nic import GoldenNic
from precog_spec.contract import DECISION_FIELDS, TOLD_BY_EVENTS, Flag
from precog_spec.registers.qp import QP_CONFIG, QP_STATUS

from .register_file import RegisterFile

__all__ = ["EmulatedQp"]

Ints = NDArray[np.int64]

_DECISION = [name for name, _ in DECISION_FIELDS]
_ANY = [n for n, name in enumerate(_DECISION) if name in TOLD_BY_EVENTS]
_SAMPLED = [n for n, name in enumerate(_DECISION) if name not in TOLD_BY_EVENTS]
_RATE = _DECISION.index("rate")
_FLAGS = _DECISION.index("flags")


class EmulatedQp:
    """The registers of block QP.

    Parameters
    ----------
    file : RegisterFile
    nic : GoldenNic
        Holds the configurations.
    qps : int
        Number of queue pairs.
    changed : callable
        Called after a configuration was applied.
    cleared : callable
        Called with the number of each queue pair whose state was cleared.
    commanded : callable
        Called with the number and the commands, ``apply`` or ``clear`` among them, once both have
        been executed.
    """

    def __init__(
        self,
        file: RegisterFile,
        nic: GoldenNic,
        qps: int,
        *,
        changed: Callable[[], None],
        cleared: Callable[[int], None],
        commanded: Callable[[int, set[str]], None],
    ) -> None:
        self._file, self._nic, self._qps = file, nic, qps
        self._changed, self._cleared, self._commanded = changed, cleared, commanded
        self._last: Ints = np.zeros((qps, len(_DECISION)), dtype=np.int64)
        self._made: Ints = np.zeros(qps, dtype=np.int64)
        file.written["QP.COMMAND"] = self._command

    def decided(self, decisions: Ints) -> None:
        """Keep the last decision of each queue pair among `decisions` [n, 8]."""
        qp = decisions[:, 0]
        # Of several rows for one QP, numpy's assignment keeps the last.
        self._last[qp[:, None], _ANY] = decisions[:, _ANY]
        sampled = decisions[decisions[:, _FLAGS] >> Flag.EVENT & 1 == 0]
        self._last[sampled[:, :1], _SAMPLED] = sampled[:, _SAMPLED]
        np.add.at(self._made, qp, 1)

    def rate(self, qp: int) -> int:
        """Rate of the last decision, in RATE's format; the initial rate before the first one."""
        decided = int(self._last[qp, _RATE]) if self._made[qp] else 0
        return decided or self._nic.configuration(qp)["init_rate"]

    def clear_all(self) -> None:
        """Clear the state of every queue pair; configurations stay."""
        for qp in range(self._qps):
            self._clear(qp)
            self._commanded(qp, {"clear"})

    def _command(self, value: int) -> None:
        qp = self._file.get("QP.SELECT")["index"]
        asked = self._file.asked("QP.COMMAND", value)
        if not asked:
            return
        if qp >= self._qps:
            self._file.put("QP.ERROR", range=1)
            return
        if "apply" in asked:
            self._apply(qp)
        if "clear" in asked:
            self._clear(qp)
        if asked & {"apply", "clear"}:
            self._commanded(qp, asked)
        if "fetch" in asked:
            self._fetch(qp)

    def _apply(self, qp: int) -> None:
        config: dict[str, int] = {}
        for register in QP_CONFIG:
            config |= self._file.get(f"QP.{register.name}")
        self._nic.configure(qp, config)
        self._changed()

    def _clear(self, qp: int) -> None:
        self._nic.reset_qp(qp)
        self._cleared(qp)

    def _fetch(self, qp: int) -> None:
        status = dict(zip(_DECISION, self._last[qp].tolist(), strict=True))
        status["samples"] = int(self._made[qp]) & 0xFFFF_FFFF
        for registers, shown in ((QP_CONFIG, self._nic.configuration(qp)), (QP_STATUS, status)):
            for register in registers:
                word = f"QP.{register.name}"
                self._file.put(word, **{f.name: shown[f.name] for f in register.fields})
