"""The counts of senders of an emulated device: the golden ones behind their register block."""

from collections.abc import Callable

from precog_models.packet.senders import Senders, SendersConfig, level_of
from precog_spec.registers.senders import SENDERS_EVENTS, SENDERS_PARAMETERS

from .counters import EmulatedCounters
from .register_file import RegisterFile, ignored

__all__ = ["EmulatedSenders"]


class EmulatedSenders:
    """Parameters, counts and counters through the registers.

    Parameters
    ----------
    file : RegisterFile
    senders : Senders
        The card's.
    slots : int
        Queue pairs.
    believed : callable
        Hears of a level that is believed: the slot, the level, ticks.
    """

    def __init__(
        self,
        file: RegisterFile,
        senders: Senders,
        slots: int,
        believed: Callable[[int, int, int], None],
    ) -> None:
        self._file, self._senders, self._time = file, senders, 0
        self._slots, self._believed = slots, believed
        names = [name for name, _ in SENDERS_EVENTS]
        counters = EmulatedCounters(names, lambda: {n: getattr(senders, n) for n in names})
        file.written |= {f"SENDERS.{one.name}": self._configure for one in SENDERS_PARAMETERS}
        file.written["SENDERS.BELIEF"] = self._believe
        file.written["SENDERS.COMMAND"] = self._command
        file.tables["SENDERS.COUNTERS"] = counters.read, ignored
        self._configure()

    def passed(self, t: int) -> None:
        """It is `t` ticks, and what came is counted."""
        self._time = t
        for register, count in (("COUNT", self._senders.count(t)), ("OWN", self._senders.own(t))):
            self._file.put(f"SENDERS.{register}", count=count, level=level_of(count))

    def _command(self, value: int) -> None:
        if not self._file.asked("SENDERS.COMMAND", value):
            return
        slot = self._file.get("SENDERS.SELECT")["index"]
        if slot >= self._slots:
            self._file.put("SENDERS.ERROR", range=1)
            return
        row = self._senders.row(slot)
        self._file.put("SENDERS.TOLD", level=row.level, believed=row.believed, most=row.most)

    def _believe(self, value: int) -> None:
        register = self._file.map.block("SENDERS").register("BELIEF")
        slot, level = (register.field(name).get(value) for name in ("qp", "level"))
        if slot >= self._slots:
            return
        news = self._senders.believe(slot, level, self._time)
        if news is not None:
            self._believed(slot, news, self._time)

    def _configure(self, _: int = 0) -> None:
        values: dict[str, int] = {}
        for register in SENDERS_PARAMETERS:
            values |= self._file.get(f"SENDERS.{register.name}")
        say, heed, own = (bool(values.pop(name)) for name in ("say", "heed", "own"))
        self._senders.config = SendersConfig(say, heed, own, **values)
        self.passed(self._time)
