"""Check bits of a device's models and programs: the walk over them, its counters, its test."""

from dataclasses import dataclass

from precog_spec.registers.ecc import ECC_BANKS, ecc_events
from precog_spec.secded import PROGRAM_WORDS, guarded_pairs, program_bits

from ..registers import Registers
from ..transport import DeviceError
from ..windows import Windows

__all__ = ["EccDriver", "EccState", "LastError", "LastProgramError", "ProgramErrors", "SetErrors"]

_BUSY_READS = 100_000  # polls of a busy bit before the device counts as hung


@dataclass(frozen=True)
class LastError:
    """Where the last error was."""

    set: int
    row: int
    word: int  #: of a double error the even one of the pair
    second: bool  #: the copy of biases and shifts next to the MAC array
    tree: bool  #: the copy in the trees' memory
    bit: int | None  #: 32 and more are check bits; None: the error was double
    double: bool


@dataclass(frozen=True)
class SetErrors:
    """Errors of one set."""

    set: int
    corrected: int  #: since reset
    disabled: bool  #: by a double error, and not loaded since


@dataclass(frozen=True)
class LastProgramError:
    """Where the last error in a program was."""

    bank: int
    core: int  #: whose copy of the program it was
    word: int  #: 0..1023 instructions, 1024..1535 slot memory, 1536..1541 entries
    bit: int | None  #: those behind the word's data bits are check bits; None: it was double
    double: bool


@dataclass(frozen=True)
class ProgramErrors:
    """Errors of the program in one bank of the law engine."""

    bank: int
    corrected: int  #: since reset
    disabled: bool  #: by a double error, and not loaded since


@dataclass(frozen=True)
class EccState:
    """What the scrubber is to do, and what it found."""

    enabled: bool
    period_cycles: int
    counters: dict[str, int]
    sets: tuple[SetErrors, ...]  #: those with errors
    last: LastError | None
    programs: tuple[ProgramErrors, ...] = ()  #: those with errors
    last_program: LastProgramError | None = None


class EccDriver(Windows):
    """ECC's side of a device.

    Parameters
    ----------
    registers : Registers
        Of a device with ECC.

    Raises
    ------
    DeviceError
        The device has none.
    """

    def __init__(self, registers: Registers) -> None:
        if not registers.sizes.ecc:
            raise DeviceError("device has no check bits: it was built without (ecc=0)")
        super().__init__(registers)
        self._programs = registers.sizes.guards_programs

    def state(self) -> EccState:
        """What the device shows."""
        control = self.registers.fields("ECC", "CONTROL")
        last = self.registers.fields("ECC", "LAST")
        sets = self._errors("SETS", "SET_ERRORS", self.registers.sizes.sets)
        return EccState(
            enabled=bool(control["enable"]),
            period_cycles=control["period"],
            counters=self.registers.snapshots.read(
                "ECC", "COUNTERS", [name for name, _ in ecc_events(programs=self._programs)]
            ),
            sets=tuple(SetErrors(*errors) for errors in sets),
            last=LastError(
                set=last["set"],
                row=last["row"],
                word=last["word"],
                second=bool(last["second"]),
                tree=bool(last.get("tree", 0)),
                bit=None if last["double"] else last["bit"],
                double=bool(last["double"]),
            )
            if last["any"]
            else None,
            programs=self._program_errors(),
            last_program=self._last_program(),
        )

    def _program_errors(self) -> tuple[ProgramErrors, ...]:
        if not self._programs:
            return ()
        banks = self._errors("PROGRAMS", "PROGRAM_ERRORS", ECC_BANKS)
        return tuple(ProgramErrors(*errors) for errors in banks)

    def _errors(self, table: str, register: str, count: int) -> list[tuple[int, int, bool]]:
        """Number, corrected errors and whether it is disabled, of each that has had an error."""
        rows = [self.registers.entry("ECC", table, n, register) for n in range(count)]
        return [
            (n, row["corrected"], bool(row["disabled"]))
            for n, row in enumerate(rows)
            if row["corrected"] or row["disabled"]
        ]

    def _last_program(self) -> LastProgramError | None:
        last = self.registers.fields("ECC", "PROGRAM_LAST") if self._programs else {"any": 0}
        if not last["any"]:
            return None
        data, half, bit = program_bits(last["word"]), last["half"], last["bit"]
        number = data + 4 * half + bit - 32 if bit >= 32 else 32 * half + bit
        return LastProgramError(
            bank=last["bank"],
            core=last["core"],
            word=last["word"],
            bit=None if last["double"] else number,
            double=bool(last["double"]),
        )

    def configure(self, *, enable: bool | None = None, period_cycles: int | None = None) -> None:
        """Change how the device walks on its own; what is None stays.

        Raises
        ------
        ValueError
            The period does not fit; nothing is written then.
        """
        if period_cycles is not None and not 0 <= period_cycles < 1 << 16:
            raise ValueError(f"period must be in 0..65535 cycles, not {period_cycles!r}")
        word = self.registers.fields("ECC", "CONTROL")
        if enable is not None:
            word["enable"] = int(enable)
        if period_cycles is not None:
            word["period"] = period_cycles
        self.registers.write_fields("ECC", "CONTROL", **word)

    def scrub(self) -> None:
        """Have all valid sets and programs checked, now; returns when that is done.

        Raises
        ------
        DeviceError
            The device stays busy or refused.
        """
        self._order(scrub=1)

    def inject(
        self,
        number: int,
        row: int,
        word: int,
        bits: tuple[int, ...],
        *,
        second: bool = False,
        tree: bool = False,
    ) -> LastError:
        """Flip one or two bits of a stored word, and have the device find them before it uses it.

        Parameters
        ----------
        number, row, word : int
            Set, row 0..31 and word 0..15 of its image.
        bits : tuple of int
            0..31 of the data, 32..35 of the check bits; one is corrected, two disable the set.
        second : bool
            In the copy of rows 24..26 next to the MAC array.
        tree : bool
            In the copy of rows 0..30 that trees are read from.

        Returns
        -------
        LastError
            What the device found.

        Raises
        ------
        ValueError
            As `check_place`, or the set is not valid; nothing is written.
        DeviceError
            The device did not find what was injected.
        """
        self.check_place(number, row, word, bits, second=second, tree=tree)
        if not self.registers.entry("MODEL", "SETS", number, "SET_STATE")["valid"]:
            raise ValueError(f"set {number} must hold a valid model: load one first")
        place = {"set": number, "row": row, "word": word, "second": int(second)}
        if self.registers.sizes.tree:
            place["tree"] = int(tree)
        self.registers.write_fields("ECC", "PLACE", **place)
        flips = {"first": bits[0], "other": bits[-1], "double": int(len(bits) == 2)}
        self.registers.write_fields("ECC", "FLIPS", **flips)
        self._order(inject=1)
        last = self.state().last
        there = None if last is None else (last.set, last.row, last.word, last.second, last.tree)
        if len(bits) == 2:
            word &= ~1
        wanted = (number, row, word, second, tree)
        if last is None or there != wanted or last.double != (len(bits) == 2):
            raise DeviceError(f"device must find the error that was injected, it shows {last}")
        return last

    def check_place(
        self,
        number: int,
        row: int,
        word: int,
        bits: tuple[int, ...],
        *,
        second: bool = False,
        tree: bool = False,
    ) -> None:
        """Refuse what `inject` cannot flip, whatever model the set holds.

        Raises
        ------
        ValueError
            There is no such set, row, word, bit or copy, the word is not stored there (of a header
            nowhere), or another number of bits is given.
        """
        sets = self.registers.sizes.sets
        for name, value, limit in (("set", number, sets), ("row", row, 32), ("word", word, 16)):
            if not 0 <= value < limit:
                raise ValueError(f"{name} must be in 0..{limit - 1}, not {value!r}")
        self._check_count(bits)
        for bit in bits:
            if not 0 <= bit < 36:
                raise ValueError(f"bit must be in 0..35, not {bit!r}")
        if tree and not self.registers.sizes.tree:
            raise ValueError("tree must be False: the device was built without trees (tree=0)")
        if tree and second:
            raise ValueError("second must be left out with tree: trees have no second copy")
        copy = 2 if tree else int(second)
        if (copy, row, word // 2) not in guarded_pairs(tree=tree):
            where = ("the set's memory", "the second copy", "the trees' memory")[copy]
            raise ValueError(f"word must be one that {where} stores, not {word} of row {row}")

    def inject_program(
        self, bank: int, word: int, bits: tuple[int, ...], *, core: int = 0
    ) -> LastProgramError:
        """Flip one or two bits of a program's word, and have the device find them.

        Parameters
        ----------
        bank : int
        word : int
            0..1023 instructions, 1024..1535 slot memory, 1536..1541 where events begin.
        bits : tuple of int
            The word's data bits, then 8 check bits; one is corrected, two disable the program.
            Of two both must be of the first 32 data and 4 check bits, or both of the others.
        core : int
            In the copy of this core.

        Returns
        -------
        LastProgramError
            What the device found.

        Raises
        ------
        ValueError
            As `check_program`, or the bank is not valid; nothing is written.
        DeviceError
            The device did not find what was injected.
        """
        half, flips = self.check_program(bank, word, bits, core=core)
        if not self.registers.entry("LAW", "BANKS", bank, "BANK_STATE")["valid"]:
            raise ValueError(f"bank {bank} must hold a valid program: precog law load loads one")
        place = {"word": word, "half": half, "bank": bank, "core": core}
        self.registers.write_fields("ECC", "PROGRAM", **place)
        told = {"first": flips[0], "other": flips[-1], "double": int(len(flips) == 2)}
        self.registers.write_fields("ECC", "FLIPS", **told)
        self._order(inject_program=1)
        last = self._last_program()
        bit = None if len(bits) == 2 else bits[0]
        wanted = LastProgramError(bank, core, word, bit, double=len(bits) == 2)
        if last != wanted:
            raise DeviceError(f"device must find the error that was injected, it shows {last}")
        return wanted

    def check_program(
        self, bank: int, word: int, bits: tuple[int, ...], *, core: int = 0
    ) -> tuple[int, tuple[int, ...]]:
        """Refuse what `inject_program` cannot flip, whatever program the bank holds.

        Returns
        -------
        half : int
            Of the stored word.
        bits : tuple of int
            Of that half, 32..35 its check bits.

        Raises
        ------
        ValueError
            Programs have no check bits, there is no such bank, word, bit or core, or the bits are
            not one, or two of one half.
        """
        sizes = self.registers.sizes
        if not self._programs:
            raise ValueError("bank must be of a law engine: the device has none (law_cores=0)")
        limits = (("bank", bank, ECC_BANKS), ("word", word, PROGRAM_WORDS))
        for name, value, limit in (*limits, ("core", core, sizes.law_cores)):
            if not 0 <= value < limit:
                raise ValueError(f"{name} must be in 0..{limit - 1}, not {value!r}")
        self._check_count(bits)
        data = program_bits(word)
        for bit in bits:
            if not 0 <= bit < data + 8:
                raise ValueError(f"bit of word {word} must be in 0..{data + 7}, not {bit!r}")
        placed = [divmod(bit, 32) if bit < data else _check_place(bit - data) for bit in bits]
        halves = {half for half, _ in placed}
        if len(halves) == 2:
            raise ValueError(
                f"bits must be of one half of the word, not {bits!r}: the first 32 data bits and "
                f"the check bits {data}..{data + 3}, or the others"
            )
        return halves.pop(), tuple(bit for _, bit in placed)

    def _check_count(self, bits: tuple[int, ...]) -> None:
        if len(bits) not in (1, 2) or len(set(bits)) != len(bits):
            raise ValueError(f"bits must be one, or two different ones, not {bits!r}")

    def _order(self, **commands: int) -> None:
        registers = self.registers
        registers.write_fields("ECC", "ERROR", refused=1)
        registers.write_fields("ECC", "COMMAND", **commands)
        for _ in range(_BUSY_READS):
            if not registers.fields("ECC", "STATE")["busy"]:
                break
        else:
            raise DeviceError(
                f"device's scrubber stays busy after {_BUSY_READS} reads: reset the card"
            )
        if registers.fields("ECC", "ERROR")["refused"]:
            registers.write_fields("ECC", "ERROR", refused=1)
            name = next(iter(commands))
            raise DeviceError(
                f"{name} was refused: the set or bank is not valid, or the word is not stored there"
            )


def _check_place(number: int) -> tuple[int, int]:
    """The half that has a check bit of a program's word, and which of its bits that is."""
    return number // 4, 32 + number % 4
