"""Words to describe registers with: fields, registers, tables, blocks and the map that places them.

A block begins with three words: ``type = 0x4350 << 16 | id``, ``version = major << 16 | minor`` and
``next``, the byte offset of the following block (0 ends the list), so that a driver finds its way
without an address of its own. A table (an indexed resource) is preceded by two words that say
where it lies: its byte offset from the block, and ``stride << 16 | count``.
"""

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = [
    "HEADER_WORDS",
    "VENDOR",
    "WORD_BYTES",
    "Access",
    "Block",
    "Field",
    "PlacedBlock",
    "Register",
    "RegisterMap",
    "Table",
    "Word",
    "resets",
]

VENDOR = 0x4350
WORD_BYTES = 4
HEADER_WORDS = 3
_MIN_BLOCK_BYTES = 0x80
_MIN_ADDRESS_BITS = 16


class Access(enum.Enum):
    """What software may do with a field."""

    RW = "rw"  #: read and write; a read has no side effect
    RO = "ro"  #: read; writes are ignored
    W1C = "w1c"  #: read; writing 1 clears the bit, writing 0 leaves it
    PULSE = "pulse"  #: writing starts something, for one cycle; reads as 0


@dataclass(frozen=True)
class Field:
    """Consecutive bits of a register.

    Parameters
    ----------
    name, doc : str
        Identifier (lower case) and one sentence.
    bits : int
        Width, 1..32.
    access : Access
        What software may do.
    lsb : int
        Position of the lowest bit.
    reset : int
        The bits after reset, unsigned.
    unit : str
        Unit of the value ``integer * 2**-frac_bits``.
    signed : bool
        Two's complement.
    frac_bits : int
        Fraction bits.
    values : tuple of (str, int)
        Names of particular values.

    Raises
    ------
    ValueError
        The field does not fit a 32-bit word or the reset value does not fit the field.
    """

    name: str
    bits: int
    access: Access
    doc: str
    lsb: int = 0
    reset: int = 0
    unit: str = ""
    signed: bool = False
    frac_bits: int = 0
    values: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name != self.name.lower():
            raise ValueError(f"field name must be a lower-case identifier, not {self.name!r}")
        if not 1 <= self.bits <= 32 or not 0 <= self.lsb <= 32 - self.bits:
            raise ValueError(
                f"field {self.name} must lie in bits 0..31, not {self.lsb}+{self.bits}"
            )
        if not 0 <= self.reset < 1 << self.bits:
            raise ValueError(
                f"reset of {self.name} must fit {self.bits} unsigned bits, not {self.reset!r}"
            )

    @property
    def mask(self) -> int:
        """The field's bits in the word."""
        return ((1 << self.bits) - 1) << self.lsb

    @property
    def min(self) -> int:
        """Smallest integer that the field holds."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def max(self) -> int:
        """Largest integer that the field holds."""
        return (1 << (self.bits - int(self.signed))) - 1

    def get(self, word: int) -> int:
        """The field's value in `word`, sign extended."""
        raw = (word & self.mask) >> self.lsb
        return raw - (1 << self.bits) if self.signed and raw >> (self.bits - 1) else raw

    def put(self, word: int, value: int) -> int:
        """`word` with the field set to `value`.

        Raises
        ------
        ValueError
            `value` does not fit.
        """
        if not self.min <= value <= self.max:
            raise ValueError(f"{self.name} must be in {self.min}..{self.max}, not {value!r}")
        return (word & ~self.mask) | ((value << self.lsb) & self.mask)


@dataclass(frozen=True)
class Register:
    """One 32-bit word.

    Parameters
    ----------
    name, doc : str
        Identifier (upper case) and one sentence.
    fields : tuple of Field
        Its fields; other bits read as 0.
    loadable : bool
        Hardware may replace the value of the RW fields.
    constant : bool
        The RO fields always read as their reset values.
    volatile : bool
        Fields change by themselves, without a register access or a packet.
    affects : tuple of str
        What a write may change elsewhere: ``BLOCK.REGISTER`` or ``BLOCK.TABLE``. A write to PULSE
        fields may change whatever hardware sets in its own block, without being told.

    Raises
    ------
    ValueError
        Two fields overlap or share a name.
    """

    name: str
    doc: str
    fields: tuple[Field, ...]
    loadable: bool = False
    constant: bool = False
    volatile: bool = False
    affects: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name != self.name.upper():
            raise ValueError(f"register name must be an upper-case identifier, not {self.name!r}")
        used = 0
        for field in self.fields:
            if used & field.mask:
                raise ValueError(f"fields of {self.name} must not overlap, as {field.name} does")
            used |= field.mask
        names = [field.name for field in self.fields]
        if len(set(names)) != len(names):
            raise ValueError(f"fields of {self.name} must have distinct names, not {names!r}")

    def field(self, name: str) -> Field:
        """The field called `name` (KeyError if there is none)."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(f"{self.name} has no field {name!r}")

    def mask(self, *kinds: Access) -> int:
        """Bits whose access is one of `kinds`."""
        mask = 0
        for field in self.fields:
            if field.access in kinds:
                mask |= field.mask
        return mask

    @property
    def reset(self) -> int:
        """The word after reset, as far as the bank itself decides it."""
        word = 0
        for field in self.fields:
            if field.access is not Access.PULSE:
                word |= field.reset << field.lsb
        return word


def resets(registers: Iterable[Register]) -> dict[str, int]:
    """Reset values of all fields by name."""
    return {field.name: field.reset for register in registers for field in register.fields}


@dataclass(frozen=True)
class Table:
    """`count` equal groups of registers, `stride` bytes apart; their values live outside the bank.

    A write to an RW field becomes a strobe, a read asks the owner.

    Parameters
    ----------
    name, doc : str
        Identifier (upper case) and one sentence.
    registers : tuple of Register
        One group.
    count : int
        Number of groups.
    """

    name: str
    doc: str
    registers: tuple[Register, ...]
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.count < 1 << 16:
            raise ValueError(f"count of {self.name} must be in 1..65535, not {self.count!r}")
        if not self.registers:
            raise ValueError(f"{self.name} must have a register")

    @property
    def stride(self) -> int:
        """Bytes from one group to the next: a power of two."""
        return WORD_BYTES << (len(self.registers) - 1).bit_length()

    @property
    def shape(self) -> int:
        """Second word of the table's descriptor."""
        return self.stride << 16 | self.count


@dataclass(frozen=True)
class Block:
    """A versioned group of registers and tables.

    Parameters
    ----------
    name, doc : str
        Identifier (upper case) and one sentence.
    id : int
        Low half of the type word.
    version : tuple of int
        (major, minor): a driver refuses an unknown major.
    registers : tuple of Register
    tables : tuple of Table
    """

    name: str
    doc: str
    id: int
    version: tuple[int, int]
    registers: tuple[Register, ...]
    tables: tuple[Table, ...] = ()

    @property
    def type(self) -> int:
        """First word of the block."""
        return VENDOR << 16 | self.id

    def register(self, name: str) -> Register:
        """The register called `name` (KeyError if there is none)."""
        for register in self.registers:
            if register.name == name:
                return register
        raise KeyError(f"{self.name} has no register {name!r}")

    def table(self, name: str) -> Table:
        """The table called `name` (KeyError if there is none)."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(f"{self.name} has no table {name!r}")

    def offset(self, name: str) -> int:
        """Byte offset of the register called `name` from the block's first word."""
        for position, register in enumerate(self.registers):
            if register.name == name:
                return (HEADER_WORDS + position) * WORD_BYTES
        raise KeyError(f"{self.name} has no register {name!r}")

    def descriptor_offset(self, name: str) -> int:
        """Byte offset of the two words that describe the table called `name`."""
        for position, table in enumerate(self.tables):
            if table.name == name:
                return (HEADER_WORDS + len(self.registers) + 2 * position) * WORD_BYTES
        raise KeyError(f"{self.name} has no table {name!r}")

    def table_offset(self, name: str) -> int:
        """Byte offset of the table called `name` from the block's first word.

        A table starts at a multiple of its size rounded up to a power of two, so that its index is
        a slice of the address.
        """
        end = (HEADER_WORDS + len(self.registers) + 2 * len(self.tables)) * WORD_BYTES
        for table in self.tables:
            span = _power_of_two(table.count * table.stride)
            start = -(-end // span) * span
            if table.name == name:
                return start
            end = start + span
        raise KeyError(f"{self.name} has no table {name!r}")

    @property
    def span(self) -> int:
        """Bytes of address space that the block takes: a power of two."""
        if self.tables:
            last = self.tables[-1]
            end = self.table_offset(last.name) + last.count * last.stride
        else:
            end = (HEADER_WORDS + len(self.registers)) * WORD_BYTES
        return _power_of_two(max(end, _MIN_BLOCK_BYTES))


@dataclass(frozen=True)
class PlacedBlock:
    """A block at its byte address, and where the next one is (0: none)."""

    block: Block
    base: int
    next: int


@dataclass(frozen=True)
class Word:
    """One address of the map.

    ``constant`` is the value of a word that never changes (headers and table descriptors); such a
    word has no `register`. ``index`` counts inside a `table`.
    """

    address: int
    name: str
    block: Block
    register: Register | None = None
    table: Table | None = None
    index: int = 0
    constant: int = 0


class RegisterMap:
    """Blocks placed one after the other, the first at 0, each at a multiple of its span.

    Parameters
    ----------
    blocks : tuple of Block

    Raises
    ------
    ValueError
        Two blocks share a name or an id.
    """

    def __init__(self, blocks: tuple[Block, ...]) -> None:
        for what in ("name", "id"):
            seen = [getattr(block, what) for block in blocks]
            if len(set(seen)) != len(seen):
                raise ValueError(f"blocks must have a distinct {what}, not {seen!r}")
        bases = []
        end = 0
        for block in blocks:
            base = -(-end // block.span) * block.span
            bases.append(base)
            end = base + block.span
        following = [*bases[1:], 0]
        self.blocks = tuple(
            PlacedBlock(block, base, after)
            for block, base, after in zip(blocks, bases, following, strict=True)
        )
        self.size = end

    @property
    def address_bits(self) -> int:
        """Width of a byte address, the same for every small map, so that ports are stable."""
        return max(_MIN_ADDRESS_BITS, (self.size - 1).bit_length())

    def block(self, name: str) -> Block:
        """The block called `name` (KeyError if there is none)."""
        return self.placed(name).block

    def placed(self, name: str) -> PlacedBlock:
        """The block called `name` with its address (KeyError if there is none)."""
        for placed in self.blocks:
            if placed.block.name == name:
                return placed
        raise KeyError(f"the map has no block {name!r}")

    def words(self) -> Iterator[Word]:
        """Every mapped address, ascending inside each block."""
        for placed in self.blocks:
            yield from _block_words(placed)


def _block_words(placed: PlacedBlock) -> Iterator[Word]:
    block, base = placed.block, placed.base
    header = (
        ("TYPE", block.type),
        ("VERSION", block.version[0] << 16 | block.version[1]),
        ("NEXT", placed.next),
    )
    for position, (name, value) in enumerate(header):
        yield Word(base + position * WORD_BYTES, f"{block.name}.{name}", block, constant=value)
    for register in block.registers:
        name = f"{block.name}.{register.name}"
        yield Word(base + block.offset(register.name), name, block, register)
    for table in block.tables:
        at = base + block.descriptor_offset(table.name)
        name = f"{block.name}.{table.name}"
        yield Word(at, f"{name}_OFFSET", block, constant=block.table_offset(table.name))
        yield Word(at + WORD_BYTES, f"{name}_SHAPE", block, constant=table.shape)
    for table in block.tables:
        start = base + block.table_offset(table.name)
        for index in range(table.count):
            for position, register in enumerate(table.registers):
                yield Word(
                    start + index * table.stride + position * WORD_BYTES,
                    f"{block.name}.{table.name}[{index}].{register.name}",
                    block,
                    register,
                    table,
                    index,
                )


def _power_of_two(value: int) -> int:
    return 1 << (value - 1).bit_length()
