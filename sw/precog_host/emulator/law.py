"""The law engine of an emulated device: its register block around the golden unit."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from precog_models.nic import GoldenNic
from precog_models.rate.engine.image import judged
from precog_spec.engine.image_fields import BANKS, IMAGE_WORDS, NAME_AT, LoadStatus
from precog_spec.engine.isa import SLOTS
from precog_spec.registers.law import LAW_EVENTS
from precog_spec.registers.model import Word

from .counters import EmulatedCounters
from .interrupt import EmulatedInterrupt
from .register_file import RegisterFile, ignored

__all__ = ["EmulatedLaw"]

_TOO_MANY = IMAGE_WORDS + 1  # where the loader's count stops


class EmulatedLaw:
    """Loads, slots, counters.

    Parameters
    ----------
    file : RegisterFile
    nic : GoldenNic
        With a law engine.
    interrupts : EmulatedInterrupt
    failed : callable
        Called when a load or a write of the map was refused.
    loaded : callable
        Called with a bank and its image when it has been loaded.
    """

    def __init__(
        self,
        file: RegisterFile,
        nic: GoldenNic,
        interrupts: EmulatedInterrupt,
        failed: Callable[[], None],
        loaded: Callable[[int, NDArray[np.int64]], None],
    ) -> None:
        assert nic.engine is not None
        self._file, self._engine, self._failed = file, nic.engine, failed
        self._interrupts, self._loaded = interrupts, loaded
        self._loading: int | None = None
        self._image: list[int] = []
        self._names = [[0] * 4 for _ in range(BANKS)]
        self._traps = 0
        self._counters = EmulatedCounters([name for name, _ in LAW_EVENTS], self._counts)
        file.written |= {
            "LAW.THRESHOLD": self._set_parameters,
            "LAW.BUDGET": self._set_parameters,
            "LAW.COMMAND": self._command,
            "LAW.DATA": self._data,
        }
        file.tables |= {
            "LAW.SLOTS": (self._read_slot, self._map_slot),
            "LAW.BANKS": (self._read_bank, ignored),
            "LAW.COUNTERS": (self._counters.read, ignored),
        }
        self._set_parameters()

    def look(self) -> None:
        """Events have happened: traps among them show."""
        counts = self._engine.counts()
        traps = counts["trapped"] + counts["overrun"]
        if traps != self._traps:
            self._traps = traps
            last = self._engine.last()
            self._file.put("LAW.TRAP", **{name: last[name] for name in ("slot", "status", "qp")})
            self._file.put("LAW.ERROR", trap=1)
            self._interrupts.happened("trap")

    def _counts(self) -> dict[str, int]:
        return {**self._engine.counts(), "merged": 0}  # no acknowledgement waits here

    def _set_parameters(self, _: int = 0) -> None:
        threshold = self._file.get("LAW.THRESHOLD")["threshold"]
        budget = self._file.get("LAW.BUDGET")["budget"]
        self._engine.set_parameters(threshold=threshold, budget=budget)

    def _fail(self, bit: str, status: LoadStatus | None = None) -> None:
        self._file.put("LAW.ERROR", **{bit: 1})
        if status is not None:
            self._file.put("LAW.STATUS", code=int(status))
        self._failed()

    def _command(self, value: int) -> None:
        asked = self._file.asked("LAW.COMMAND", value)
        if "begin" in asked:
            self._begin(self._file.get("LAW.BANK")["bank"])
        elif "commit" in asked:
            self._commit()

    def _begin(self, bank: int) -> None:
        self._loading = None
        self._image = []
        self._file.put("LAW.WORDS", words=0)
        if bank in {of for of, enable, _ in map(self._engine.slot, range(SLOTS)) if enable}:
            self._fail("load", LoadStatus.BANK_IN_USE)
            return
        self._engine.invalidate(bank)
        self._loading = bank
        self._file.put("LAW.STATUS", code=int(LoadStatus.LOADING))

    def _data(self, value: int) -> None:
        if self._loading is None:
            self._fail("load", LoadStatus.NOT_BEGUN)
            return
        if len(self._image) < _TOO_MANY:
            self._image.append(value)
        place = len(self._image) - 1 - NAME_AT
        if 0 <= place < len(self._names[0]):
            self._names[self._loading][place] = value
        self._file.put("LAW.WORDS", words=len(self._image))

    def _commit(self) -> None:
        bank, self._loading = self._loading, None
        if bank is None:
            self._fail("load", LoadStatus.NOT_BEGUN)
            return
        image = np.array(self._image, dtype=np.int64)
        status = judged(image, self._file.get("LAW.CRC")["crc"])
        if status != LoadStatus.OK:
            self._fail("load", status)
            return
        self._engine.load(bank, image)
        self._loaded(bank, image)
        self._file.put("LAW.STATUS", code=int(status))

    def _read_slot(self, word: Word) -> int:
        assert word.register is not None
        bank, enable, trapped = self._engine.slot(word.index)
        if word.register.name == "SLOT_STATE":
            return int(trapped) | self._engine.damaged(word.index) << 1
        bank_field, enable_field = word.register.fields
        return enable_field.put(bank_field.put(0, bank), int(enable))

    def _map_slot(self, word: Word, value: int) -> None:
        assert word.register is not None
        if word.register.name != "SLOT":
            return
        bank, enable = (field.get(value) for field in word.register.fields)
        if not self._engine.map_slot(word.index, bank, enable=bool(enable)):
            self._fail("map")

    def _read_bank(self, word: Word) -> int:
        assert word.register is not None
        name = word.register.name
        if name == "BANK_STATE":
            return int(self._engine.valid(word.index))
        if name == "BANK_VERSION":
            return self._engine.version(word.index)
        return self._names[word.index][int(name[-1])]
