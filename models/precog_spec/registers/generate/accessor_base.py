"""Typed access to registers over any bus with ``read32(address)`` and ``write32(address, word)``.

``device.PID.ADVICE.advice_limit`` reads a field. An assignment writes its word: other RW fields
keep their values, of W1C and PULSE fields no other bit is set. `Register.write_fields` sets several
fields with one access.
"""

from collections.abc import Callable, Iterator
from typing import Generic, Never, Protocol, Self, TypeVar, overload

_T = TypeVar("_T")


class Bus(Protocol):
    """What carries an access: a transport of `precog_host`, a mapped BAR, a bench."""

    def read32(self, address: int) -> int:
        """The word at a byte address."""

    def write32(self, address: int, value: int) -> None:
        """Set the word at a byte address."""


class Field:
    """Bits of a register; its value is ``integer * 2**-frac_bits``, in `unit`.

    Parameters
    ----------
    lsb, bits : int
        Where they are.
    signed : bool
        Two's complement.
    frac_bits : int
    unit : str
    """

    kept = False  # a write of another field writes this one's value again

    def __init__(
        self, lsb: int, bits: int, *, signed: bool = False, frac_bits: int = 0, unit: str = ""
    ) -> None:
        self.lsb, self.bits, self.signed = lsb, bits, signed
        self.frac_bits, self.unit = frac_bits, unit
        self.mask = ((1 << bits) - 1) << lsb
        self.min = -(1 << (bits - 1)) if signed else 0
        self.max = self.min + (1 << bits) - 1
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, register: None, owner: type) -> Self: ...
    @overload
    def __get__(self, register: "Register", owner: type) -> int: ...
    def __get__(self, register: "Register | None", owner: type) -> Self | int:
        """The integer; of the class, the field itself."""
        return self if register is None else self.get(register.read_word())

    def get(self, word: int) -> int:
        """The integer in `word`."""
        value = (word & self.mask) >> self.lsb
        return value - (1 << self.bits) if self.signed and value > self.max else value

    def put(self, value: int) -> int:
        """`value` at its place in a word; ValueError if it does not fit."""
        if not self.min <= value <= self.max:
            raise ValueError(f"{self.name} must be in {self.min}..{self.max}, not {value!r}")
        return (value << self.lsb) & self.mask


class ReadOnly(Field):
    """Only hardware sets it."""

    def __set__(self, register: "Register", value: Never) -> None:
        raise AttributeError(f"{self.name} is read-only")


class ReadWrite(Field):
    """Software sets it."""

    kept = True

    def __set__(self, register: "Register", value: int) -> None:
        register.replace(self, value)


class OneToClear(Field):
    """Bits that go when 1 is written to them."""

    def __set__(self, register: "Register", value: int) -> None:
        register.replace(self, value)


class Pulse(Field):
    """Writing starts something; it reads as 0."""

    def __set__(self, register: "Register", value: int) -> None:
        register.replace(self, value)


class Register:
    """One word at a byte address of a bus."""

    def __init__(self, bus: Bus, byte_address: int) -> None:
        self._bus, self.byte_address = bus, byte_address

    def read_word(self) -> int:
        """All 32 bits."""
        return self._bus.read32(self.byte_address)

    def write_word(self, word: int) -> None:
        """Write all 32 bits."""
        self._bus.write32(self.byte_address, word)

    @classmethod
    def field_list(cls) -> dict[str, Field]:
        """The fields by name."""
        return {name: field for name, field in vars(cls).items() if isinstance(field, Field)}

    def read_fields(self) -> dict[str, int]:
        """All fields, of one access."""
        word = self.read_word()
        return {name: field.get(word) for name, field in self.field_list().items()}

    def write_fields(self, **values: int) -> None:
        """Fields that are not named become 0, or of W1C and PULSE stay as they are."""
        fields = self.field_list()
        self.write_word(sum(fields[name].put(value) for name, value in values.items()))

    def replace(self, field: Field, value: int) -> None:
        """Write `value` to one field; what an assignment does."""
        bits = field.put(value)
        others = sum(f.mask for f in self.field_list().values() if f.kept and f is not field)
        self.write_word(bits | (self.read_word() & others if others else 0))


class Table(Generic[_T]):
    """Equal groups of registers.

    Parameters
    ----------
    entry : callable
        Makes a group of a bus and its byte address.
    bus : Bus
    byte_address, stride, count : int
    """

    def __init__(
        self,
        entry: Callable[[Bus, int], _T],
        bus: Bus,
        byte_address: int,
        *,
        stride: int,
        count: int,
    ) -> None:
        self._entry, self._bus, self.byte_address = entry, bus, byte_address
        self.stride, self.count = stride, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> _T:
        if not 0 <= index < self.count:
            raise IndexError(f"index must be in 0..{self.count - 1}, not {index!r}")
        return self._entry(self._bus, self.byte_address + index * self.stride)

    def __iter__(self) -> Iterator[_T]:
        return (self[index] for index in range(self.count))


def check_block(bus: Bus, name: str, base: int, kind: int, major: int, following: int) -> None:
    """ValueError unless the block that these accessors were generated for is there."""
    found = bus.read32(base), bus.read32(base + 4) >> 16, bus.read32(base + 8)
    if found != (kind, major, following):
        raise ValueError(
            f"{name} at {base:#06x} must have type {kind:#010x}, major version {major} and next "
            f"{following:#06x}, not {found[0]:#010x}, {found[1]} and {found[2]:#06x}: "
            "generate the accessors of this device"
        )
