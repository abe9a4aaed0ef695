"""The queue before an emulated device's port: the golden one behind its register block."""

from precog_models.packet.port import PortConfig, PortEvent, PortQueue
from precog_spec.registers.port import port_parameters

from .carried import EmulatedCarried
from .profiler import EmulatedProfiler
from .register_file import RegisterFile

__all__ = ["EmulatedPort"]


class EmulatedPort:
    """Parameters and sum through the registers; events for the profiler.

    Parameters
    ----------
    file : RegisterFile
    port : PortQueue
        The card's.
    qps : int
    profiler : EmulatedProfiler
        Hears of each event.
    carried : EmulatedCarried
        Hears which slot is the port's.
    """

    def __init__(
        self,
        file: RegisterFile,
        port: PortQueue,
        qps: int,
        profiler: EmulatedProfiler,
        carried: EmulatedCarried,
    ) -> None:
        self._file, self._port, self._qps = file, port, qps
        self._profiler, self._carried = profiler, carried
        self._registers = port_parameters(qps)
        file.written |= {f"PORT.{one.name}": self._configure for one in self._registers}
        port.use = self._happened
        self._configure()

    def passed(self, t: int) -> None:
        """It is `t` ticks."""
        self._port.pass_time(t)

    def _happened(self, event: PortEvent) -> None:
        self._file.put("PORT.ANNOUNCED", announced=self._port.announced)
        slot = self._file.get("PORT.SLOT")["slot"]
        if slot < self._qps:
            self._profiler.observe(slot, *event)

    def _configure(self, _: int = 0) -> None:
        values: dict[str, int] = {}
        for register in self._registers:
            values |= self._file.get(f"PORT.{register.name}")
        slot, enable = values["slot"], bool(values["enable"])
        self._carried.set_port(slot if enable and slot < self._qps else None)
        self._port.config = PortConfig(enable, values["epoch"], values["most"])
