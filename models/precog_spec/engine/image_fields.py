"""A program as it is loaded: 32-bit words in one order, and what the loader says of them.

=============  ===================================================================================
words          content
=============  ===================================================================================
0              `FORMAT`
1              `LAW_CONTRACT`
2              tag of the state: a row that another tag has written counts as zeros
3              1: results have a window
4..9           where each kind of event begins, and above it whether it is heard
10             version: the CRC-32 of the program
11..14         name of the law, 16 ASCII characters, the first in the lowest byte
15             0
16..1039       code; behind its end `FILLER`, which is no instruction
1040..2063     slot memory, two words for each of its own: the lower 32 bits, then the others
=============  ===================================================================================

Standard library only.
"""

import hashlib
import json
from enum import IntEnum

from precog_spec.engine.events import EVENT_FIELDS, EVENTS
from precog_spec.engine.isa import (
    CODE_WORDS,
    OPS,
    REGISTERS,
    ROW_WORDS,
    SLOT_WORDS,
    SMALL_BITS,
    WORD,
    Op,
)

__all__ = [
    "BANKS",
    "BUDGET_BITS",
    "CODE_AT",
    "ENTRIES_AT",
    "FILLER",
    "FORMAT",
    "IMAGE_WORDS",
    "ISA_VERSION",
    "LAW_CONTRACT",
    "NAME_AT",
    "NAME_WORDS",
    "SAFE_FALL",
    "SAFE_RISE",
    "SLOT_AT",
    "TAG_AT",
    "VERSION_AT",
    "WINDOWED_AT",
    "LoadStatus",
]

ISA_VERSION = 3
FORMAT = 0x5057_414C + ISA_VERSION  # "LAWP", and the version
BANKS = 8  # places of programs; a slot stands for one of them
TAG_AT, WINDOWED_AT, ENTRIES_AT, VERSION_AT, NAME_AT = 2, 3, 4, 10, 11
NAME_WORDS = 4
CODE_AT = 16
SLOT_AT = CODE_AT + CODE_WORDS
IMAGE_WORDS = SLOT_AT + 2 * SLOT_WORDS
FILLER = 0xFFFF_FFFF
BUDGET_BITS = 10  # most turns of an event

#: The safe law: below the RTT threshold up by a part of the highest rate, above it down by a part
#: of its own; half of it at a notification or a loss. As shifts.
SAFE_RISE, SAFE_FALL = 10, 4


class LoadStatus(IntEnum):
    """What became of the last load."""

    IDLE = 0
    LOADING = 1
    OK = 2
    BAD_CRC = 3
    BAD_LENGTH = 4
    BAD_CONTRACT = 5
    BAD_FORMAT = 6
    BANK_IN_USE = 7
    NOT_BEGUN = 8


def _contract() -> dict[str, object]:
    """What a program relies on."""
    return {
        "isa": (ISA_VERSION, WORD, SMALL_BITS, REGISTERS, CODE_WORDS, SLOT_WORDS, ROW_WORDS),
        "operations": [(op.name, int(op), int(OPS[op].shape), OPS[op].turns) for op in Op],
        "events": EVENTS,
        "words": [(name, form.int_bits, form.frac_bits) for name, form, _ in EVENT_FIELDS],
    }


#: First 32 bits of SHA-256 over instructions and events.
LAW_CONTRACT = int.from_bytes(
    hashlib.sha256(json.dumps(_contract(), sort_keys=True).encode()).digest()[:4], "big"
)
