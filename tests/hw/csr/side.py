"""The hardware side of a bank in a bench: which bit of a port belongs to which field of the map.

A bench has, besides AXI4-Lite, the same ports whatever the bank is: ``w1c_set`` sets bits of W1C
fields, ``w1c`` shows them; ``pulses`` shows PULSE fields in the cycle in which they are written,
else 0; bit n of ``load`` loads ``load_data`` into the n-th loadable register; ``count`` makes all
64-bit counters of the bench count.
"""

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from precog_spec.registers.model import Access, Field, Register, RegisterMap, Table, Word

__all__ = [
    "COUNT_START",
    "Place",
    "hardware_words",
    "is_clock",
    "is_counters",
    "loadable",
    "own_words",
    "places",
    "width",
]

#: What the counters of a bench start from: soon their low half wraps.
COUNT_START = 0x1_FFFF_FF00


class Place(NamedTuple):
    """A field and its lowest bit in a port."""

    word: Word
    register: Register
    field: Field
    at: int


def own_words(regmap: RegisterMap) -> Iterator[tuple[Word, Register]]:
    """Words of registers that are not in tables."""
    for word in regmap.words():
        if word.register is not None and word.table is None:
            yield word, word.register


def places(regmap: RegisterMap, access: Access) -> list[Place]:
    """The fields of an access kind, side by side."""
    found: list[Place] = []
    for word, register in own_words(regmap):
        for field in register.fields:
            if field.access is access:
                found.append(Place(word, register, field, width(found)))
    return found


def width(found: list[Place]) -> int:
    """Bits of a port that has these fields; one, unused, if there are none."""
    return found[-1].at + found[-1].field.bits if found else 0


def loadable(regmap: RegisterMap) -> list[tuple[Word, Register]]:
    """Registers that hardware may load."""
    return [(word, register) for word, register in own_words(regmap) if register.loadable]


def is_counters(table: Table) -> bool:
    """Whether a table is one of 64-bit counters in two halves, or a clock."""
    return [register.name for register in table.registers] == ["LOW", "HIGH"]


def is_clock(table: Table) -> bool:
    """Whether a table is a clock, whose high half is that of the last read of the low one."""
    return table.name == "CLOCK"


def hardware_words(regmap: RegisterMap, counter: Callable[[Word], int]) -> dict[str, int]:
    """What words read whose value is the hardware's: random bits, the same in every run.

    Words of counters read what `counter` says, RW words of tables 0.
    """
    rng = random.Random(1)
    words = {}
    for word in regmap.words():
        register = word.register
        if register is None or register.constant:
            continue
        mask = register.mask(Access.RO)
        if word.table is not None and is_counters(word.table):
            words[word.name] = counter(word)
        elif word.table is not None and register.mask(Access.RW):
            words[word.name] = 0
        elif mask:
            words[word.name] = register.reset & ~mask | rng.getrandbits(32) & mask
    return words
