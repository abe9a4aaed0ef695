"""The receiver of an emulated device: the golden one behind its register block."""

from collections.abc import Iterator

import numpy as np

from precog_models.rate.receiver import Receiver
from precog_spec.contract import TraceKind
from precog_spec.law_fields import SCORE_BITS, ScoreCommand
from precog_spec.receiver_fields import RECEIVER_STATE, Act, Band, ReceiverKind
from precog_spec.registers.model import resets
from precog_spec.registers.receiver import RECEIVER_EVENTS, RECEIVER_PARAMETERS, RECEIVER_QP_CONFIG

from .ageing import Ageing
from .counters import EmulatedCounters
from .pacer import EmulatedPacer
from .register_file import RegisterFile, ignored
from .trace import EmulatedTrace

__all__ = ["EmulatedReceiver"]

_BAND, _SCORE_T = (
    next(n for n, (name, _) in enumerate(RECEIVER_STATE) if name == wanted)
    for wanted in ("band", "score_t")
)


class EmulatedReceiver:
    """Rows, parameters and counters through the registers; commands, priorities and quotas out.

    Hardware visits queue pairs all the time, this one before each score and each change of a row
    those that have a band, if a visit may change anything.

    Parameters
    ----------
    file : RegisterFile
    qps : int
    pacer : EmulatedPacer or None
        Whose priorities rise.
    trace : EmulatedTrace or None

    Attributes
    ----------
    receiver : Receiver
    quotas : list of int
        Cells of each queue pair.
    now : int
        Ticks of what happened last.
    """

    def __init__(
        self,
        file: RegisterFile,
        qps: int,
        pacer: EmulatedPacer | None,
        trace: EmulatedTrace | None,
    ) -> None:
        self._file, self._pacer, self._trace = file, pacer, trace
        self.receiver = Receiver(qps)
        self._counters = EmulatedCounters([name for name, _ in RECEIVER_EVENTS])
        self._rows = [resets(RECEIVER_QP_CONFIG) for _ in range(qps)]
        self.quotas = [row["base_quota"] for row in self._rows]
        self.now = 0
        self._windows, self._sent, self._available = 0, 0, False
        self._ageing = Ageing()
        self._configure()
        for _ in self.reset():  # as at power-up: the laws have nothing to hear of it
            pass
        file.written |= {
            "RECEIVER.COMMAND": self._command,
            **{f"RECEIVER.{register.name}": self._configure for register in RECEIVER_PARAMETERS},
        }
        file.tables["RECEIVER.COUNTERS"] = self._counters.read, ignored

    # --- packets ---------------------------------------------------------------------------------

    def sent(self, size: int, t: int) -> None:
        """This many bytes have left at `t` ticks."""
        self._pass(t)
        self._sent += size

    def score(self, qp: int, score: int, t: int) -> Iterator[tuple[int, int]]:
        """A score has come; queue pairs and values of the scores that go to the laws."""
        self._pass(t)
        yield from self.visit(t)
        yield from self._happen(ReceiverKind.SCORE, qp, score=score, available=self._available)

    def visit(self, t: int) -> Iterator[tuple[int, int]]:
        """Look at all queue pairs; as `score`."""
        self._pass(t)
        if not self._ageing.over(t):
            return
        states = self.receiver.states
        # What happens on the way, such as cells that are given back, makes another look due.
        self._ageing.looked(t, (), 0)
        for qp in np.flatnonzero(states[:, _BAND]).tolist():
            yield from self._happen(ReceiverKind.VISIT, qp)
        if not self._ageing.over(t):
            times = states[states[:, _BAND] != 0, _SCORE_T].tolist()
            self._ageing.looked(t, times, self.receiver.parameters["ticks"])

    def reset(self) -> Iterator[tuple[int, int]]:
        """No queue pair has a band any more; as `score`."""
        for qp in range(len(self._rows)):
            yield from self._happen(ReceiverKind.CONFIGURE, qp)

    def _pass(self, t: int) -> None:
        """Windows of the meter end."""
        self.now = t
        window = self._file.get("RECEIVER.WINDOW")["window_ticks"]
        passed = t // window if window else 0
        if window == 0:
            self._available = True
        elif passed != self._windows:
            budget = self._file.get("RECEIVER.BUDGET")["budget"]
            last = self._sent if passed == self._windows + 1 else 0
            self._available, self._sent = last <= budget, 0
        self._windows = passed

    def _happen(self, kind: ReceiverKind, qp: int, **what: int) -> Iterator[tuple[int, int]]:
        if kind == ReceiverKind.CONFIGURE:
            done = self.receiver.configure(qp, self._rows[qp], self.now)
        else:
            done = self.receiver.happen(kind, qp, self.now, **what)
        acts = Act(done["acts"])
        if Act.QUOTA in acts:  # others may get what is left, or less
            self._ageing.changed()
        self._count(kind, done, acts)
        if Act.BOOST in acts and self._pacer is not None:
            self._pacer.pacer.boost(qp, done["boost"])
        self.quotas[qp] = done["quota"]
        if acts and self._trace is not None:
            shown = ("score", "band", "was", "command", "boost", "quota")
            record = {name: done[name] for name in shown}
            head = {"kind": int(TraceKind.RECEIVER), "qp": qp, "t": self.now}
            self._trace.offer({**head, **record, "flags": int(acts)})
        if Act.COMMAND in acts:
            yield qp, done["score"] | done["command"] << SCORE_BITS

    def _count(self, kind: ReceiverKind, done: dict[str, int], acts: Act) -> None:
        commands = Act.COMMAND in acts
        counted = {
            "scores": kind == ReceiverKind.SCORE,
            **{
                f"to_{band.name.lower()}": Act.BAND in acts and done["band"] == band
                for band in (Band.LOW, Band.MEDIUM, Band.HIGH)
            },
            "aged": Act.AGED in acts,
            "reduced": commands and done["command"] == ScoreCommand.REDUCE,
            "held": commands and done["command"] == ScoreCommand.HOLD,
            "starved": Act.STARVED in acts,
            "boosted": Act.BOOST in acts and done["boost"] != 0,
            "restored": Act.BOOST in acts and done["boost"] == 0,
            "quotas": Act.QUOTA in acts and kind != ReceiverKind.CONFIGURE,
            "short": Act.SHORT in acts,
        }
        for name, count in counted.items():
            self._counters.add(name, int(count))

    # --- registers -------------------------------------------------------------------------------

    def _configure(self, _: int = 0) -> None:
        for register in RECEIVER_PARAMETERS:
            self.receiver.parameters |= self._file.get(f"RECEIVER.{register.name}")
        self._ageing.changed()

    def _command(self, value: int) -> None:
        asked = self._file.asked("RECEIVER.COMMAND", value)
        qp = self._file.get("RECEIVER.SELECT")["index"]
        if not asked:
            return
        if qp >= len(self._rows):
            self._file.put("RECEIVER.ERROR", range=1)
            return
        if "apply" in asked:
            self._rows[qp] = {
                name: value
                for register in RECEIVER_QP_CONFIG
                for name, value in self._file.get(f"RECEIVER.{register.name}").items()
            }
            for _ in self._happen(ReceiverKind.CONFIGURE, qp):
                pass
        if "fetch" in asked:
            for register in RECEIVER_QP_CONFIG:
                shown = {field.name: self._rows[qp][field.name] for field in register.fields}
                self._file.put(f"RECEIVER.{register.name}", **shown)
