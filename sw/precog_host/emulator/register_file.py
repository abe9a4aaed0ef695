"""The registers of an emulated device: storage, reset values and access rules, out of the map."""

from collections.abc import Callable

from precog_spec.registers.model import Access, RegisterMap, Word

from ..transport import BusError

__all__ = ["RegisterFile"]


class RegisterFile:
    """What every register does; what some do beyond that is told by hooks.

    Parameters
    ----------
    regmap : RegisterMap

    Attributes
    ----------
    written : dict of str to callable
        By word ("BLOCK.REGISTER"): called with what was written, after it was stored.
    tables : dict of str to (callable, callable)
        By table ("BLOCK.TABLE"): called with the word of an entry to be read, and with the word and
        the value of an entry that is written.
    """

    def __init__(self, regmap: RegisterMap) -> None:
        self.map = regmap
        self.written: dict[str, Callable[[int], None]] = {}
        self.tables: dict[str, tuple[Callable[[Word], int], Callable[[Word, int], None]]] = {}
        self._words = {word.address: word for word in regmap.words()}
        self._stored = {
            word.name: word.register.reset
            for word in self._words.values()
            if word.register is not None and word.table is None
        }

    def read32(self, address: int) -> int:
        """The word at `address`; `BusError` where there is none."""
        word = self._word("read", address)
        if word.register is None:
            return word.constant
        if word.table is not None:
            read, _ = self.tables[f"{word.block.name}.{word.table.name}"]
            return read(word)
        return self._stored[word.name]

    def write32(self, address: int, value: int) -> None:
        """Set the word at `address`; `BusError` where there is none."""
        if not 0 <= value < 1 << 32:
            raise ValueError(f"a register's value must have 32 bits, not {value!r}")
        word = self._word("write", address)
        register = word.register
        if register is None:
            return
        if word.table is not None:
            _, write = self.tables[f"{word.block.name}.{word.table.name}"]
            write(word, value)
            return
        writable = register.mask(Access.RW)
        clear = value & register.mask(Access.W1C)
        old = self._stored[word.name]
        self._stored[word.name] = ((old & ~writable) | (value & writable)) & ~clear
        if word.name in self.written:
            self.written[word.name](value)

    def get(self, word: str) -> dict[str, int]:
        """Fields of a register."""
        block, register = word.split(".")
        fields = self.map.block(block).register(register).fields
        return {field.name: field.get(self._stored[word]) for field in fields}

    def put(self, word: str, /, **values: int) -> None:
        """Set fields of a register, whatever software may do with them."""
        block, register = word.split(".")
        for name, value in values.items():
            field = self.map.block(block).register(register).field(name)
            self._stored[word] = field.put(self._stored[word], value)

    def asked(self, word: str, value: int) -> set[str]:
        """Fields of a command register that `value` sets."""
        block, register = word.split(".")
        fields = self.map.block(block).register(register).fields
        return {field.name for field in fields if field.get(value)}

    def _word(self, access: str, address: int) -> Word:
        if address not in self._words:
            raise BusError(access, address, "SLVERR")
        return self._words[address]


def ignored(word: Word, value: int) -> None:
    """Writes to a table that software only reads."""
