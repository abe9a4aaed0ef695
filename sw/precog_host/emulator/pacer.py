"""The pacer of an emulated device: the golden pacer behind its register block."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from precog_models.pace.pacer import Grant, Pacer, State
from precog_spec.contract import MTU_LOG2_MIN, PRIORITIES, TICK_FRAC_BITS, Fmt, QueueEvent
from precog_spec.frames.headers import PATH_MTUS
from precog_spec.registers.model import resets
from precog_spec.registers.pacer import PACER_CONFIG, PACER_EVENTS

from .counters import EmulatedCounters
from .profiler import EmulatedProfiler
from .register_file import RegisterFile, ignored

__all__ = ["EmulatedPacer"]

_LARGEST_MTU = max(PATH_MTUS).bit_length() - 1


class EmulatedPacer:
    """Connections, rates and counters through the registers; grants as soon as they are due.

    Unlike hardware it needs no time for what it does: every decision takes effect at once, and of
    those made together the last one of each queue pair.

    Parameters
    ----------
    file : RegisterFile
    qps : int
    profiler : EmulatedProfiler, optional
        Hears of requests, grants, beginnings and time.

    Attributes
    ----------
    pacer : Pacer
    pause : int
        PFC: priorities that get no grants, besides those of the register.
    """

    def __init__(
        self, file: RegisterFile, qps: int, profiler: EmulatedProfiler | None = None
    ) -> None:
        self._file = file
        self._profiler = profiler
        self.pacer = Pacer(qps)
        self.pause = 0
        self._now = 0
        self._enabled = [False] * qps
        self._rows = [resets(PACER_CONFIG) for _ in range(qps)]
        self._counters = EmulatedCounters([name for name, _ in PACER_EVENTS])
        for qp in range(qps):
            self._begin(qp)
        self._configure()
        file.written |= {
            "PACER.COMMAND": self._command,
            "PACER.OVERHEAD": self._configure,
        }
        file.tables["PACER.COUNTERS"] = self._counters.read, ignored

    # --- what the core says ----------------------------------------------------------------------

    def command(self, qp: int, config: Mapping[str, int], asked: set[str]) -> None:
        """A queue pair was configured (`apply`) or reset (`clear`)."""
        was = self._enabled[qp]
        enable = bool(config["enable"]) if "apply" in asked else was
        self._enabled[qp] = enable
        if enable and ("clear" in asked or not was):
            self._order(qp, config["init_rate"], 0)
        elif "apply" in asked and not enable:
            self._begin(qp)

    def decide(self, decisions: NDArray[np.int64]) -> None:
        """Rates and windows that the core decided on together, [n, 8]."""
        last = {int(row[0]): (int(row[1]), int(row[2])) for row in decisions}
        self._counters.add("rates_merged", len(decisions) - len(last))
        for qp, (rate, window) in last.items():
            self._order(qp, rate, window)

    def _order(self, qp: int, rate: int, window: int) -> None:
        """Give a queue pair its new rate and window, and its waiting packet a new time."""
        pacer, now = self.pacer, self._now
        pacer.limit(qp, window, now)
        pacer.set_rate(qp, rate, now)
        self._counters.add("rates", 1)
        if pacer.rows[qp].changed:
            pacer.retime(qp)
            self._counters.add("retimed", 1)

    # --- what a transport asks for ---------------------------------------------------------------

    def request(self, qp: int, size: int, t: int) -> None:
        """More bytes to send, at `t` ticks."""
        self._now = t
        self._counters.add("requests" if self._enabled[qp] else "requests_refused", 1)
        if self._enabled[qp]:
            self.pacer.request(qp, size, t)
            self._tell(qp, QueueEvent.ARRIVAL, size)

    def acknowledge(self, qp: int, psn: int, t: int) -> None:
        """All packets before `psn` have arrived, at `t` ticks."""
        self._now = t
        self._counters.add("acks" if self._enabled[qp] else "acks_refused", 1)
        if self._enabled[qp]:
            self.pacer.acknowledge(qp, psn, t)

    def grants(self, until: int) -> Iterator[Grant]:
        """All grants up to `until` ticks, each when its queue pair is due, in order of time."""
        pacer = self.pacer
        while True:
            pause = self.pause | self._file.get("PACER.PAUSE")["pause"]
            for priority in reversed(range(PRIORITIES)):
                if pacer.ready[priority] and not pause >> priority & 1:
                    break
            else:
                if not self._wait(until):
                    return
                continue
            qp = pacer.ready[priority][0]
            grant = pacer.grant(qp, priority, self._now)
            if grant is not None:
                pacer.charge(qp, self._now)
                self._counters.add("grants", 1)
                self._counters.add("granted_bytes", grant.size)
                self._tell(qp, QueueEvent.DEPARTURE, grant.size)
                yield grant

    def _wait(self, until: int) -> bool:
        """Let time pass until somebody is due; False if that is after `until`."""
        wrap, fine = 1 << Fmt.TIME.width, 1 << TICK_FRAC_BITS
        waiting = [
            (-(-row.due // fine) - self._now) % wrap
            for row in self.pacer.rows
            if row.state is State.WAITING
        ]
        passes = (until - self._now) % wrap
        over = not waiting or min(waiting) > passes
        self._now = until if over else (self._now + min(waiting)) % wrap
        if self._profiler is not None:
            self._profiler.pass_time(self._now)
        if over:
            return False
        for qp, row in enumerate(self.pacer.rows):
            if row.state is State.WAITING:
                self.pacer.fire(qp, self._now)
        return True

    # --- registers -------------------------------------------------------------------------------

    def _begin(self, qp: int) -> None:
        row = self._rows[qp]
        mtu = row["mtu_log2"] if row["mtu_log2"] >= MTU_LOG2_MIN else _LARGEST_MTU
        self.pacer.configure(qp, row["priority"], mtu - MTU_LOG2_MIN, row["psn"])
        self._tell(qp, QueueEvent.RESET, 0)

    def _tell(self, qp: int, kind: QueueEvent, size: int) -> None:
        if self._profiler is not None:
            self._profiler.observe(qp, kind, size, self._now)

    def _configure(self, _: int = 0) -> None:
        self.pacer.overhead = self._file.get("PACER.OVERHEAD")["overhead"]

    def _command(self, value: int) -> None:
        asked = self._file.asked("PACER.COMMAND", value)
        qp = self._file.get("PACER.SELECT")["index"]
        if not asked:
            return
        if qp >= len(self._rows):
            self._file.put("PACER.ERROR", range=1)
            return
        if "apply" in asked:
            self._rows[qp] = {
                name: value
                for register in PACER_CONFIG
                for name, value in self._file.get(f"PACER.{register.name}").items()
            }
            self._begin(qp)
        if "fetch" in asked:
            for register in PACER_CONFIG:
                shown = {field.name: self._rows[qp][field.name] for field in register.fields}
                self._file.put(f"PACER.{register.name}", **shown)
