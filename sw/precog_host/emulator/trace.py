"""The trace FIFO of an emulated device: the golden one behind its register block."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from precog_models.nic import GoldenNic
from precog_models.trace import TraceFifo, TraceFilter
from precog_spec.contract import DECISION_FIELDS, Flag, TraceKind
from precog_spec.law_fields import NO_SCORE
from precog_spec.registers.model import Word
from precog_spec.registers.trace import TRACE_DEPTH, TRACE_EVENTS, TRACE_FILTER, TRACE_KINDS

from .counters import EmulatedCounters
from .interrupt import EmulatedInterrupt
from .register_file import RegisterFile, ignored

__all__ = ["EmulatedTrace"]

_DECISION = [name for name, _ in DECISION_FIELDS]


class EmulatedTrace:
    """Records in, the host's window out.

    Parameters
    ----------
    file : RegisterFile
    interrupts : EmulatedInterrupt
        It is told when TRACE.STATE may have changed.

    Attributes
    ----------
    fifo : TraceFifo
    """

    def __init__(self, file: RegisterFile, interrupts: EmulatedInterrupt) -> None:
        self._file, self._interrupts = file, interrupts
        self.fifo = TraceFifo(TRACE_DEPTH)
        names = [name for name, _ in TRACE_EVENTS]
        counters = EmulatedCounters(names, lambda: {n: getattr(self.fifo, n) for n in names})
        interrupts.levels["trace"] = lambda: bool(file.get("TRACE.STATE")["reached"])
        self._filter()
        file.written |= {
            "TRACE.COMMAND": self._command,
            "TRACE.THRESHOLD": self._show,
            **{f"TRACE.{register.name}": self._filter for register in TRACE_FILTER},
        }
        file.tables |= {
            "TRACE.RECORDS": (self._read, ignored),
            "TRACE.COUNTERS": (counters.read, ignored),
        }

    def offer(self, record: Mapping[str, int]) -> None:
        """A record, as `precog_models.trace.pack` has it."""
        self.fifo.offer(record)
        self._show()

    def decided(
        self,
        nic: GoldenNic,
        decision: NDArray[np.int64],
        *,
        rtt: int,
        t: int,
        model: tuple[int, int],
    ) -> None:
        """A decision [8] of `nic`, with what it was made of, and what its program did.

        Parameters
        ----------
        nic : GoldenNic
        decision : ndarray of int64, shape (8,)
        rtt, t : int
            Of the sample; of an event 0, and its time.
        model : tuple of int
            Set and version of the model that answered.
        """
        row = dict(zip(_DECISION, decision.tolist(), strict=True))
        scored = row["flags"] >> Flag.SCORED & 1
        head = {name: row[name] for name in ("qp", "flags")}
        head |= {"t": t, "score": nic.score(row["qp"]) if scored else NO_SCORE}
        self.offer(
            {
                "kind": int(TraceKind.DECISION),
                **head,
                "rtt": rtt,
                "set": model[0],
                "version": model[1],
                **{name: row[name] for name in ("srtt", "rtt_pred", "rate")},
            }
        )
        if nic.engine is not None and nic.runs_program(row["qp"]):
            self.offer({"kind": int(TraceKind.PROGRAM), **head, **nic.engine.told()})

    def reset(self) -> None:
        """The FIFO is empty; its next record is number 0."""
        self.fifo.reset()
        self._show()

    # --- registers -------------------------------------------------------------------------------

    def _filter(self, _: int = 0) -> None:
        wanted, qp = self._file.get("TRACE.FILTER"), self._file.get("TRACE.QP")["qp"]
        self.fifo.filter = TraceFilter(
            sum(wanted[f"{name}s"] << n for n, name in enumerate(TRACE_KINDS)),
            qp if wanted["one_qp"] else None,
            self._file.get("TRACE.EVERY")["every"],
        )

    def _show(self, _: int = 0) -> None:
        level, threshold = len(self.fifo.records), self._file.get("TRACE.THRESHOLD")["threshold"]
        self._file.put("TRACE.STATE", level=level, reached=int(0 < threshold <= level))
        self._interrupts.look()

    def _command(self, value: int) -> None:
        command = self._file.map.block("TRACE").register("COMMAND")
        if command.field("clear").get(value):
            self.fifo.clear()
        self.fifo.pop(command.field("pop").get(value))
        self._show()

    def _read(self, word: Word) -> int:
        assert word.register is not None
        if word.index >= len(self.fifo.records):
            return 0
        return self.fifo.records[word.index][int(word.register.name.removeprefix("WORD"))]
