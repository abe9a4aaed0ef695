"""The code that guards stored weights, and where the guarded words lie (standard library only).

Single errors are corrected and double errors detected (SECDED) by a code of odd columns: the
columns of its parity matrix are all different and have an odd number of ones, so one error has an
odd syndrome, a column, and two have an even one that is not 0 (M. Y. Hsiao, 1970). Data columns
have as few ones as possible, evenly spread over the rows: few gates, and equally many for each
check bit.

An image's words 2k and 2k + 1 of a row are one code word of 64 data bits and 8 check bits, four
next to each word: so a stored word has 36 bits, those of an ECP5 block RAM.

Words of the law engine's programs have 8 check bits of the same code each. They are shorter than 64
bits, and the bits that they lack count as zeros: single errors still have different odd syndromes.
A program's words are numbered: instructions, then its slot memory, then where its events begin.
"""

from functools import cache
from itertools import combinations

from precog_spec.engine.events import EVENTS
from precog_spec.engine.isa import CODE_WORDS, SLOT_WORDS, WORD

__all__ = [
    "PAIRS",
    "PAIR_BITS",
    "PROGRAM_AT_BITS",
    "PROGRAM_ENTRIES",
    "PROGRAM_SLOT",
    "PROGRAM_WORDS",
    "SECOND_ROWS",
    "STORED_BITS",
    "TAIL_PAIRS",
    "TAIL_ROW",
    "check_bits",
    "columns",
    "guarded_pairs",
    "program_bits",
]

PAIR_BITS = 64
STORED_BITS = 36  # of a word: 32 of data, then 4 of its pair's check bits, those of the even first
TAIL_ROW = 31
TAIL_PAIRS = 5  # of it that are stored; the rest is the header
SECOND_ROWS = (24, 27)  # biases and shifts are stored twice: at the cell, and the MAC array
PAIRS = 8  # in a row
#: Numbers of a program's words: from here on slot memory; entries; as many words as there are.
PROGRAM_SLOT = CODE_WORDS
PROGRAM_ENTRIES = PROGRAM_SLOT + SLOT_WORDS
PROGRAM_WORDS = PROGRAM_ENTRIES + len(EVENTS)
PROGRAM_AT_BITS = (PROGRAM_WORDS - 1).bit_length()
_INSTRUCTION_BITS = 32
_ENTRY_BITS = (CODE_WORDS - 1).bit_length() + 1  # its address, and whether the event is heard


def check_bits(data_bits: int) -> int:
    """How many check bits a word needs.

    Raises
    ------
    ValueError
        There are no data bits.
    """
    if data_bits < 1:
        raise ValueError(f"data bits must be 1 or more, not {data_bits!r}")
    check = 2
    while (1 << (check - 1)) - check < data_bits:  # odd columns, less those of the check bits
        check += 1
    return check


@cache
def columns(data_bits: int) -> tuple[int, ...]:
    """Columns of the parity matrix: bit r of column n says that check bit r covers data bit n.

    Check bit r's own column is 1 << r.

    Raises
    ------
    ValueError
        There are no data bits.
    """
    rows = check_bits(data_bits)
    chosen: list[int] = []
    load = [0] * rows
    weight = 3
    while len(chosen) < data_bits:
        left = [sum(1 << r for r in ones) for ones in combinations(range(rows), weight)]
        while left and len(chosen) < data_bits:
            # The one whose rows are the emptiest; of equals the first.
            best = min(left, key=lambda c: sorted((load[r] for r in _ones(c)), reverse=True))
            left.remove(best)
            chosen.append(best)
            for r in _ones(best):
                load[r] += 1
        weight += 2
    return tuple(chosen)


def guarded_pairs(*, tree: bool = False) -> tuple[tuple[int, int, int], ...]:
    """Every guarded pair of a set in the order in which it is scrubbed: (copy, row, pair).

    `copy` 1 is the second one, at the MAC array; 2, with `tree`, is in the trees' memory.
    """
    first = [(0, row, pair) for row in range(TAIL_ROW) for pair in range(PAIRS)]
    first += [(0, TAIL_ROW, pair) for pair in range(TAIL_PAIRS)]
    second = [(1, row, pair) for row in range(*SECOND_ROWS) for pair in range(PAIRS)]
    third = [(2, row, pair) for row in range(TAIL_ROW) for pair in range(PAIRS)] if tree else []
    return (*first, *second, *third)


def program_bits(at: int) -> int:
    """Data bits of a program's word.

    Raises
    ------
    ValueError
        There is no such word.
    """
    if not 0 <= at < PROGRAM_WORDS:
        raise ValueError(f"program's word must be in 0..{PROGRAM_WORDS - 1}, not {at!r}")
    if at < PROGRAM_SLOT:
        return _INSTRUCTION_BITS
    return WORD if at < PROGRAM_ENTRIES else _ENTRY_BITS


def _ones(column: int) -> list[int]:
    return [r for r in range(column.bit_length()) if column >> r & 1]
