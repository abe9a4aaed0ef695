"""Laws that are programs: loading them, the slots that stand for them, the safety layer."""

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_models.rate.engine.image import image_name, image_of
from precog_models.rate.engine.program import Program
from precog_spec.engine.image_fields import BANKS, IMAGE_WORDS, ISA_VERSION
from precog_spec.registers.law import LAW_EVENTS, LAW_LOAD_STATUS, LAW_SLOTS, TRAPS

from ..registers import Registers
from ..transport import DeviceError

__all__ = ["STANDARD", "LawDriver", "LawSlot", "LawState"]

#: Laws whose program an engine gets when a queue pair is to run them, and its preset.
STANDARD = {"timely": "precog", "dcqcn": "vendor"}

_BUSY_READS = 10_000  # polls of a busy bit before the device counts as hung
_TEXT = {number: name.replace("_", " ") for name, number in LAW_LOAD_STATUS}
_OK = dict(LAW_LOAD_STATUS)["ok"]
_NAMES = 4


@dataclass(frozen=True)
class LawSlot:
    """One slot, as the device shows it."""

    slot: int
    law: str | None  #: None: it has none, and its queue pairs run the safe law
    bank: int
    version: int  #: CRC-32 of the program
    trapped: bool  #: a trap disabled it
    damaged: bool = False  #: an uncorrectable word of its program disabled it


@dataclass(frozen=True)
class LawState:
    """The engine and what happened in it."""

    cores: int
    isa: int
    code_words: int
    memory_words: int
    budget: int
    threshold_ticks: int
    timer_ticks: int  #: in which programs hear four times that time has passed
    trap: dict[str, object] | None  #: the last one: slot, status, qp
    counters: dict[str, int]
    slots: tuple[LawSlot, ...]


class LawDriver:
    """The law engine's side of a device.

    Parameters
    ----------
    registers : Registers
        Of a device with a law engine.

    Raises
    ------
    DeviceError
        The device has none, or its programs are of another version.
    """

    def __init__(self, registers: Registers) -> None:
        if not registers.sizes.law_cores:
            raise DeviceError("device has no law engine: it was built without (law_cores=0)")
        self._registers = registers
        self._placed: dict[int, str] = {}
        seen = registers.fields("LAW", "CAPABILITIES")
        wanted = {"isa": ISA_VERSION, "slots": LAW_SLOTS, "image": IMAGE_WORDS}
        for name, value in wanted.items():
            if seen[name] != value:
                raise DeviceError(
                    f"law engine's {name} must be {value}, not {seen[name]}: host package and "
                    "gateware differ"
                )

    def load(self, program: Program, values: dict[str, int | list[int]], *, slot: int) -> LawSlot:
        """Load a program into a bank that no slot stands for, check it there, then map `slot`.

        The map changes in one write and only once the hardware has accepted the image: until then,
        and after any failure, the slot's queue pairs run what they ran before. State that the same
        law has left is kept.

        Raises
        ------
        ValueError
            There is no such slot, the program could trap or has other parameters.
        DeviceError
            No bank is free, or the device refused.
        """
        self._check_slot(slot)
        image = image_of(program, values)
        bank = self._free_bank()
        self.write_bank(bank, image)
        self._map(slot, bank, enable=True)
        return self.slots()[slot]

    def write_bank(self, bank: int, image: NDArray[np.int64], *, crc: int | None = None) -> None:
        """Write an image into a bank and commit it.

        Parameters
        ----------
        bank : int
            No slot may stand for it.
        image : ndarray of int64
            Words of 32 bits; the device says no to a wrong number.
        crc : int, optional
            That the device is to expect; that of `image` if not given.

        Raises
        ------
        ValueError
            There is no such bank, or the image is far too long.
        DeviceError
            The device refused; the bank is then not valid.
        """
        if not 0 <= bank < BANKS:
            raise ValueError(f"bank must be in 0..{BANKS - 1}, not {bank!r}")
        if len(image) > 2 * IMAGE_WORDS:
            raise ValueError(
                f"image must have {2 * IMAGE_WORDS} words at most, not {len(image)}: it must have "
                f"{IMAGE_WORDS}"
            )
        sent = zlib.crc32(image.astype("<u4").tobytes()) if crc is None else crc
        registers = self._registers
        registers.write_fields("LAW", "ERROR", load=1)  # a stale error is not this load's
        registers.write_fields("LAW", "BANK", bank=bank)
        registers.write_fields("LAW", "COMMAND", begin=1)
        self._check_load(bank)
        for word in image.tolist():
            registers.write("LAW", "DATA", word)
        registers.write("LAW", "CRC", sent)
        registers.write_fields("LAW", "COMMAND", commit=1)
        self._check_load(bank)
        code = registers.fields("LAW", "STATUS")["code"]
        if code != _OK:
            raise DeviceError(f"law's program was not accepted: {_TEXT.get(code, code)}")

    def unload(self, slot: int) -> None:
        """Let `slot` stand for no program; its queue pairs run the safe law.

        Raises
        ------
        ValueError
            There is no such slot, or it has none already.
        """
        self._check_slot(slot)
        entry = self._registers.entry("LAW", "SLOTS", slot, "SLOT")
        if not entry["enable"]:
            raise ValueError(f"law slot {slot} must have a program: precog law list shows them")
        self._map(slot, entry["bank"], enable=False)

    def slots(self) -> list[LawSlot]:
        """All slots."""
        return [self._slot(slot) for slot in range(LAW_SLOTS)]

    def place(self, law: str) -> int:
        """The slot of one of `STANDARD`: with its program, or the last one free for `fulfil`.

        Raises
        ------
        DeviceError
            No slot is free.
        """
        slots = self.slots()
        own = [one.slot for one in slots if one.law == law]
        own += [one.slot for one in slots if one.law is None and self._placed.get(one.slot) == law]
        if own:
            return own[0]
        free = [one.slot for one in slots if one.law is None and one.slot not in self._placed]
        if not free:
            raise DeviceError(
                f"all {LAW_SLOTS} law slots have programs, and none has {law}: take one away first "
                "(precog law del)"
            )
        self._placed[free[-1]] = law
        return free[-1]

    def fulfil(self, slot: int) -> None:
        """Load the law that `place` has given an empty slot to, if it has.

        Raises
        ------
        DeviceError
            As `load`.
        """
        law = self._placed.pop(slot, None)
        if law is None or self._registers.entry("LAW", "SLOTS", slot, "SLOT")["enable"]:
            return
        from precog_models.laws.compiler.compile import compile_law
        from precog_models.laws.compiler.load import load

        made = compile_law(load(law))
        values = made.law.integers(STANDARD[law], self._registers.identity.tick_ps)
        self.load(made.program, values, slot=slot)

    def named(self, slot: int) -> str:
        """One of `STANDARD` if the slot has its program, else ``law:SLOT``."""
        law = self._slot(slot).law
        return law if law in STANDARD else f"law:{slot}"

    def state(self) -> LawState:
        """What the device shows."""
        registers = self._registers
        seen, sizes = registers.fields("LAW", "CAPABILITIES"), registers.fields("LAW", "SIZES")
        trap = registers.fields("LAW", "TRAP")
        names = {number: name for name, number in TRAPS}
        happened = {**trap, "status": names[trap["status"]]} if trap["status"] else None
        return LawState(
            cores=seen["cores"],
            isa=seen["isa"],
            code_words=sizes["code"],
            memory_words=sizes["memory"],
            budget=registers.fields("LAW", "BUDGET")["budget"],
            threshold_ticks=registers.fields("LAW", "THRESHOLD")["threshold"],
            timer_ticks=registers.fields("LAW", "TIMER")["timer"],
            trap=dict(happened) if happened else None,
            counters=registers.snapshots.read("LAW", "COUNTERS", [name for name, _ in LAW_EVENTS]),
            slots=tuple(self.slots()),
        )

    def configure(
        self,
        *,
        budget: int | None = None,
        threshold_ticks: int | None = None,
        timer_ticks: int | None = None,
    ) -> None:
        """Change the budget, the RTT threshold or the timer; what is None stays.

        Raises
        ------
        ValueError
            A value does not fit; nothing is written then.
        """
        wanted = (
            ("BUDGET", "budget", budget),
            ("THRESHOLD", "threshold", threshold_ticks),
            ("TIMER", "timer", timer_ticks),
        )
        for register, name, value in wanted:
            least = 0 if name == "timer" else 1
            most = (1 << self._registers.register("LAW", register).field(name).bits) - 1
            if value is not None and not least <= value <= most:
                unit = "" if name == "budget" else " ticks"
                raise ValueError(f"{name} must be in {least}..{most}{unit}, not {value!r}")
        for register, name, value in wanted:
            if value is not None:
                self._registers.write_fields("LAW", register, **{name: value})

    def _slot(self, slot: int) -> LawSlot:
        registers = self._registers
        entry = registers.entry("LAW", "SLOTS", slot, "SLOT")
        state = registers.entry("LAW", "SLOTS", slot, "SLOT_STATE")
        bank = entry["bank"]
        version = registers.entry("LAW", "BANKS", bank, "BANK_VERSION")["version"]
        words = [
            registers.entry("LAW", "BANKS", bank, f"BANK_NAME{n}")[f"name{n}"]
            for n in range(_NAMES)
        ]
        law = image_name(words) if entry["enable"] else None
        return LawSlot(
            *(slot, law, bank, version if entry["enable"] else 0),
            trapped=bool(state["trapped"]),
            damaged=bool(state.get("damaged", 0)),
        )

    def _free_bank(self) -> int:
        used = {
            entry["bank"]
            for slot in range(LAW_SLOTS)
            if (entry := self._registers.entry("LAW", "SLOTS", slot, "SLOT"))["enable"]
        }
        free = sorted(set(range(BANKS)) - used)
        if not free:
            raise DeviceError(
                f"all {BANKS} banks have programs that slots stand for: take one away first "
                "(precog law del)"
            )
        return free[0]

    def _check_slot(self, slot: int) -> None:
        if not 0 <= slot < LAW_SLOTS:
            raise ValueError(f"law slot must be in 0..{LAW_SLOTS - 1}, not {slot!r}")

    def _check_load(self, bank: int) -> None:
        registers = self._registers
        for _ in range(_BUSY_READS):
            status = registers.fields("LAW", "STATUS")
            if not status["busy"]:
                break
        else:
            raise DeviceError(
                f"loader of laws stays busy after {_BUSY_READS} reads: reset the card"
            )
        if registers.fields("LAW", "ERROR")["load"]:
            registers.write_fields("LAW", "ERROR", load=1)
            reason = _TEXT.get(status["code"], f"code {status['code']}")
            raise DeviceError(f"law's program was refused by bank {bank}: {reason}")

    def _map(self, slot: int, bank: int, *, enable: bool) -> None:
        registers = self._registers
        registers.write_fields("LAW", "ERROR", map=1)
        registers.write_entry("LAW", "SLOTS", slot, "SLOT", bank=bank, enable=int(enable))
        if registers.fields("LAW", "ERROR")["map"]:
            registers.write_fields("LAW", "ERROR", map=1)
            raise DeviceError(f"law slot {slot} was refused: bank {bank} is not valid")
