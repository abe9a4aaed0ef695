"""Check bits of an emulated device: the golden code behind its register block.

No time passes there: nothing decays by itself, a walk is over at once, and no event comes between a
flip and its correction.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from precog_models.nic import GoldenNic
from precog_models.predict.ecc import Found, decode_pairs, decode_program, guard, guard_program
from precog_spec.engine.image_fields import BANKS
from precog_spec.registers.ecc import ecc_events
from precog_spec.registers.model import Word
from precog_spec.secded import PAIRS, PROGRAM_WORDS, STORED_BITS, guarded_pairs, program_bits

from .counters import EmulatedCounters
from .register_file import RegisterFile, ignored

__all__ = ["EmulatedEcc"]

_MOST_ERRORS = 0xFFFF  # of a set that are counted


class EmulatedEcc:
    """Stored words, the host's commands, and what they lead to.

    Parameters
    ----------
    file : RegisterFile
    nic : GoldenNic
    cores : int
        Of its law engine, each with a copy of all programs; 0: there is none.
    changed : callable
        Called when slots were disabled.
    """

    def __init__(
        self, file: RegisterFile, nic: GoldenNic, cores: int, changed: Callable[[], None]
    ) -> None:
        self._file, self._nic, self._changed = file, nic, changed
        self._cores = cores
        names = [name for name, _ in ecc_events(programs=bool(self._cores))]
        self._counters = EmulatedCounters(names)
        #: By set: all copies of all words, [2, 32, 16], [3, 32, 16] with trees.
        self._stored: dict[int, NDArray[np.int64]] = {}
        self._corrected = [0] * nic.sets
        self._disabled = [False] * nic.sets
        self._tree = bool(nic.trees)
        self._pairs = guarded_pairs(tree=self._tree)
        #: By bank: the copies of the cores, [cores, 1542, 2].
        self._programs: dict[int, NDArray[np.int64]] = {}
        self._of_program = ([0] * BANKS, [False] * BANKS)  # corrected, disabled
        file.written["ECC.COMMAND"] = self._command
        file.tables |= {
            "ECC.COUNTERS": (self._counters.read, ignored),
            "ECC.SETS": (self._read_set, ignored),
        }
        if self._cores:
            file.tables["ECC.PROGRAMS"] = (self._read_program, ignored)

    def loaded(self, number: int, image: ArrayLike) -> None:
        """A set holds a new image, 512 words."""
        words = guard(image).reshape(32, 2 * PAIRS)
        self._stored[number] = np.stack([words] * (2 + self._tree))
        self._disabled[number] = False

    def law_loaded(self, bank: int, image: ArrayLike) -> None:
        """A bank holds a new program, 2064 words."""
        self._programs[bank] = np.stack([guard_program(image)] * self._cores)
        self._of_program[1][bank] = False

    # --- registers that do something -------------------------------------------------------------

    def _read_set(self, word: Word) -> int:
        assert word.register is not None
        corrected, disabled = word.register.fields
        number = word.index
        shown = corrected.put(0, self._corrected[number])
        return disabled.put(shown, int(self._disabled[number]))

    def _read_program(self, word: Word) -> int:
        assert word.register is not None
        corrected, disabled = (of_bank[word.index] for of_bank in self._of_program)
        fields = word.register.fields
        return fields[1].put(fields[0].put(0, corrected), int(disabled))

    def _command(self, value: int) -> None:
        asked = self._file.asked("ECC.COMMAND", value)
        if "inject_program" in asked:
            exists, inject = (
                self._file.get("ECC.PROGRAM")["core"] < self._cores,
                self._inject_program,
            )
        else:
            exists, inject = self._file.get("ECC.PLACE")["set"] < self._nic.sets, self._inject
        injects = not asked.isdisjoint(("inject", "inject_program"))
        if injects and exists:
            inject()
            return
        if injects:
            self._event("refused")
        if "scrub" in asked:
            valid = sum(self._nic.set_state(number)[0] for number in range(self._nic.sets))
            self._counters.add("scrubbed", valid * len(self._pairs))
            self._counters.add("passes", 1 + bool(self._cores))
            if self._cores:
                banks = sum(map(self._program_valid, range(BANKS)))
                self._counters.add("scrubbed", banks * self._cores * PROGRAM_WORDS)

    def _program_valid(self, bank: int) -> bool:
        return self._nic.engine is not None and self._nic.engine.valid(bank)

    def _event(self, name: str) -> None:
        self._counters.add(name, 1)
        if name in ("corrected", "uncorrectable", "refused"):
            self._file.put("ECC.ERROR", **{name: 1})

    def _inject(self) -> None:
        place = self._file.get("ECC.PLACE")
        number, row, word, second = (place[n] for n in ("set", "row", "word", "second"))
        tree = place.get("tree", 0)
        copy = 2 + second if tree else second  # there is no second one of the trees'
        if (copy, row, word // 2) not in self._pairs or not self._nic.set_state(number)[0]:
            self._event("refused")
            return
        self._event("injected")
        flips = self._file.get("ECC.FLIPS")
        mask = 1 << flips["first"] | (flips["double"] and 1 << flips["other"])
        even = word & ~1
        pair = self._stored[number][copy, row, even : even + 2]
        pair[word & 1] ^= mask & ((1 << STORED_BITS) - 1)
        fixed, found, at = decode_pairs(pair)
        if found == Found.CLEAN:
            return
        double = int(found == Found.UNCORRECTABLE)
        which, bit = (0, 0) if double else divmod(int(at), STORED_BITS)
        self._file.put("ECC.LAST", set=number, row=row, second=second, any=1)
        self._file.put("ECC.LAST", word=even | which, bit=bit, double=double)
        if self._tree:
            self._file.put("ECC.LAST", tree=tree)
        if not double:
            pair[:] = fixed
            self._corrected[number] = min(self._corrected[number] + 1, _MOST_ERRORS)
            self._event("corrected")
            return
        for slot in range(self._nic.sets):
            of, enable = self._nic.slot(slot)
            if enable and of == number:
                self._nic.map_slot(slot, number, enable=False)
        self._nic.invalidate_set(number)
        self._disabled[number] = True
        self._event("uncorrectable")
        self._changed()

    def _inject_program(self) -> None:
        place = self._file.get("ECC.PROGRAM")
        bank, core, at, half = (place[name] for name in ("bank", "core", "word", "half"))
        if at >= PROGRAM_WORDS or not self._program_valid(bank):
            self._event("refused")
            return
        self._event("injected")
        flips = self._file.get("ECC.FLIPS")
        mask = 1 << flips["first"] | (flips["double"] and 1 << flips["other"])
        data = (1 << program_bits(at)) - 1  # bits that are stored
        pair = self._programs[bank][core, at]
        pair[half] ^= mask & (0xF << 32 | data >> 32 * half & 0xFFFF_FFFF)
        fixed, found, number = decode_program(at, pair)
        if found == Found.CLEAN:
            return
        double = int(found == Found.UNCORRECTABLE)
        which, bit = (0, 0) if double else divmod(number, STORED_BITS)
        self._file.put("ECC.PROGRAM_LAST", word=at, half=which, bank=bank, core=core)
        self._file.put("ECC.PROGRAM_LAST", bit=bit, double=double, any=1)
        corrected, disabled = self._of_program
        if double:
            assert self._nic.engine is not None
            self._nic.engine.spoil(bank)
            disabled[bank] = True
            self._event("uncorrectable")
            self._changed()
            return
        pair[:] = fixed
        corrected[bank] = min(corrected[bank] + 1, _MOST_ERRORS)
        self._event("corrected")
