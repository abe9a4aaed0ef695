"""The queue profiler of an emulated device: the golden one behind its register block."""

from collections.abc import Callable, Sequence

from precog_models.measure.profiler import Profiler, ProfileSample
from precog_spec.contract import QueueEvent
from precog_spec.registers.profiler import (
    PROFILER_EVENTS,
    PROFILER_INPUTS,
    PROFILER_PARAMETERS,
    PROFILER_VALUES,
)

from .counters import EmulatedCounters
from .register_file import RegisterFile, ignored

__all__ = ["EmulatedProfiler"]

_WORD = (1 << 32) - 1


class EmulatedProfiler:
    """Numbers, parameters and counters through the registers; samples for `use`.

    Parameters
    ----------
    file : RegisterFile
    qps : int

    Attributes
    ----------
    profiler : Profiler
    use : callable
        Gets every sample; none by default.
    order : sequence of int
        Queue pairs as they have their turns when time passes; the gateware begins anywhere.
    """

    def __init__(self, file: RegisterFile, qps: int) -> None:
        self._file = file
        self._qps = qps
        self.order: Sequence[int] = range(qps)
        self.profiler = Profiler(qps)
        self.use: Callable[[ProfileSample], None] = lambda _: None
        self._counters = EmulatedCounters([name for name, _ in PROFILER_EVENTS])
        self._configure()
        file.written |= {
            "PROFILER.COMMAND": self._command,
            **{f"PROFILER.{register.name}": self._configure for register in PROFILER_PARAMETERS},
        }
        file.tables["PROFILER.COUNTERS"] = self._counters.read, ignored

    def observe(self, qp: int, kind: QueueEvent, size: int, t: int) -> None:
        """Something happened to a queue pair's send queue, at `t` ticks."""
        if kind is not QueueEvent.RESET:
            self._counters.add("events", 1)
        self._sampled(self.profiler.observe(qp, kind, size, t))

    def pass_time(self, t: int) -> None:
        """It is `t` ticks: each queue pair has its turn."""
        if self.profiler.period:
            for qp in self.order:
                self._sampled(self.profiler.visit(qp, t))

    def clear(self) -> None:
        """Counts and peaks of all queue pairs start again."""
        for qp in range(self._qps):
            self.profiler.read(qp, clear=True)

    def _sampled(self, sample: ProfileSample | None) -> None:
        if sample is not None:
            self._counters.add("samples", 1)
            self.use(sample)

    # --- registers -------------------------------------------------------------------------------

    def _configure(self, _: int = 0) -> None:
        get, golden = self._file.get, self.profiler
        golden.period = get("PROFILER.PERIOD")["period"]
        golden.every = get("PROFILER.EVERY")["every"]
        golden.centers, golden.gains = (
            [get(f"PROFILER.{name}_{part}".upper())[f"{name}_{part}"] for name in PROFILER_INPUTS]
            for part in ("center", "gain")
        )

    def _command(self, value: int) -> None:
        asked = self._file.asked("PROFILER.COMMAND", value)
        qp = self._file.get("PROFILER.SELECT")["index"]
        if not asked:
            return
        if qp >= self._qps:
            self._file.put("PROFILER.ERROR", range=1)
            return
        numbers = self.profiler.read(qp, clear="clear" in asked)
        for name in ("bytes_in", "bytes_out"):
            numbers[f"{name}_low"] = numbers[name] & _WORD
            numbers[f"{name}_high"] = numbers[name] >> 32
        for register in PROFILER_VALUES:
            shown = {field.name: numbers[field.name] for field in register.fields}
            self._file.put(f"PROFILER.{register.name}", **shown)
