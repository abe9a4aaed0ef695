"""A header as a list of fields: names, widths and offsets, from which code reads and writes.

Network order throughout: fields follow each other from the most significant bit of byte 0, as the
standards draw them. A header is a whole number of bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

__all__ = ["Field", "Header"]


@dataclass(frozen=True)
class Field:
    """One field of a header."""

    name: str
    bits: int
    offset: int  # of its most significant bit, in bits from that of the header's byte 0

    @cached_property
    def byte(self) -> int:
        """First byte that holds a bit of it."""
        return self.offset // 8

    @cached_property
    def end(self) -> int:
        """Byte after the last one that holds a bit of it."""
        return (self.offset + self.bits + 7) // 8

    @cached_property
    def shift(self) -> int:
        """Bits below it in its last byte."""
        return 8 * self.end - self.offset - self.bits

    @cached_property
    def max(self) -> int:
        """Greatest value."""
        return (1 << self.bits) - 1


class Header:
    """Fields of one header.

    Parameters
    ----------
    name : str
        The standard's name.
    fields : tuple of (str, int)
        Name and width in bits, in the order of transmission.

    Raises
    ------
    ValueError
        The widths do not add up to whole bytes, or a name stands twice.
    """

    def __init__(self, name: str, *fields: tuple[str, int]) -> None:
        self.name = name
        made: dict[str, Field] = {}
        offset = 0
        for key, bits in fields:
            if key in made:
                raise ValueError(f"fields of {name} must have different names, not {key!r} twice")
            made[key] = Field(key, bits, offset)
            offset += bits
        if offset % 8:
            raise ValueError(f"{name} must be whole bytes, not {offset} bits")
        self.fields: Mapping[str, Field] = made
        self.size = offset // 8  # bytes

    def __getitem__(self, name: str) -> Field:
        return self.fields[name]

    def get(self, data: bytes | bytearray, at: int, name: str) -> int:
        """Value of a field of the header that begins at byte `at`; bytes past the end read as 0."""
        field = self.fields[name]
        part = data[at + field.byte : at + field.end]
        missing = field.end - field.byte - len(part)
        value = int.from_bytes(part, "big") << (8 * missing)
        return (value >> field.shift) & field.max

    def put(self, data: bytearray, at: int, name: str, value: int) -> None:
        """Write a field of the header that begins at byte `at`.

        Raises
        ------
        ValueError
            The value does not fit, or the header does not lie inside `data`.
        """
        field = self._fitting(name, value)
        if at + field.end > len(data):
            raise ValueError(
                f"{self.name} at byte {at} must lie inside the frame, not end behind its "
                f"{len(data)} bytes"
            )
        first, end = at + field.byte, at + field.end
        word = int.from_bytes(data[first:end], "big")
        word = word & ~(field.max << field.shift) | value << field.shift
        data[first:end] = word.to_bytes(end - first, "big")

    def unpack(self, data: bytes | bytearray, at: int = 0) -> dict[str, int]:
        """Values of all fields; bytes past the end read as 0."""
        return {name: self.get(data, at, name) for name in self.fields}

    def pack(self, **values: int) -> bytes:
        """The header's bytes; a field that is not named is 0.

        Raises
        ------
        ValueError
            A name is unknown or a value does not fit.
        """
        word = 0
        for name, value in values.items():
            field = self._fitting(name, value)
            word |= value << (8 * self.size - field.offset - field.bits)
        return word.to_bytes(self.size, "big")

    def _fitting(self, name: str, value: int) -> Field:
        if name not in self.fields:
            known = ", ".join(self.fields)
            raise ValueError(f"field of {self.name} must be one of {known}, not {name!r}")
        field = self.fields[name]
        if not 0 <= value <= field.max:
            raise ValueError(
                f"{self.name} {name} must be {field.bits} bits unsigned, not {value!r}"
            )
        return field
