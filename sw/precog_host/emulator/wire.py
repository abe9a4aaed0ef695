"""Wire mode of an emulated device: no time passes, so no packet waits."""

from precog_models.packet.cps_tx import Sent
from precog_spec.contract import QueueEvent
from precog_spec.frames.descriptor import Reason
from precog_spec.frames.opcodes import ACKNOWLEDGES, CNP
from precog_spec.registers.wire import WIRE_EVENTS, WIRE_ROW

from .counters import EmulatedCounters
from .profiler import EmulatedProfiler
from .register_file import RegisterFile, ignored

__all__ = ["EmulatedWire"]


class EmulatedWire:
    """Registers and counters; each packet leaves as it comes.

    Parameters
    ----------
    file : RegisterFile
    qps, cells : int
    profiler : EmulatedProfiler, optional
        Hears of packets that come and leave, and of time.
    """

    def __init__(
        self, file: RegisterFile, qps: int, cells: int, profiler: EmulatedProfiler | None = None
    ) -> None:
        self._file, self._qps, self._profiler = file, qps, profiler
        self._counters = EmulatedCounters([name for name, _ in WIRE_EVENTS])
        file.put("WIRE.USE", free=cells, shared=0)
        file.written["WIRE.COMMAND"] = self._command
        file.tables["WIRE.COUNTERS"] = self._counters.read, ignored

    def sent(self, packet: Sent, size: int, t: int, *, enabled: bool) -> None:
        """A packet of `size` bytes passes at `t` ticks; `enabled`: whether its queue pair is."""
        if self._profiler is not None:
            self._profiler.pass_time(t)
        opcode = packet.descriptor.opcode
        passes = opcode == CNP or (
            opcode in ACKNOWLEDGES and self._file.get("WIRE.CONTROL")["acks_pass"]
        )
        roce = packet.descriptor.reason is Reason.NONE and not packet.descriptor.shim
        if packet.slot is None or not roce or passes:
            self._counters.add("bypassed", 1)
            return
        for name in ("stored", "sent", *(() if enabled else ("unpaced",))):
            self._counters.add(name, 1)
        if self._profiler is not None:
            for kind in (QueueEvent.ARRIVAL, QueueEvent.DEPARTURE):
                self._profiler.observe(packet.slot, kind, size, t)

    def _command(self, value: int) -> None:
        asked = self._file.asked("WIRE.COMMAND", value)
        if asked and self._file.get("WIRE.SELECT")["index"] >= 2 * self._qps:
            self._file.put("WIRE.ERROR", range=1)
        elif asked:  # no packet waits here, so every row is empty
            for register in WIRE_ROW:
                self._file.put(f"WIRE.{register.name}", **{f.name: 0 for f in register.fields})
