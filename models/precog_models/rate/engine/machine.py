"""The engine's interpreter: what the gateware does, bit for bit and turn for turn."""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from precog_spec.engine.isa import (
    DIRECT_WORDS,
    EVENT_AT,
    NUMBER_BITS,
    OPS,
    REGISTERS,
    RESULTS,
    RIGHT_MOST,
    ROW_WORDS,
    SLOT_WORDS,
    WORD,
    ZEROS_AT,
    Op,
    Shape,
    Space,
)

from ...jit import njit
from .arithmetic import align, fraction, narrow, product, reciprocal, rsqrt, zeros

__all__ = ["TRACE_WORDS", "Status", "run", "run_many"]


class Status(IntEnum):
    """How an event ended."""

    DONE = 0
    ILLEGAL = 1  # an operation that is none
    OVERRUN = 2  # more turns than the budget
    FELL = 3  # past the program's end
    DAMAGED = 4  # needs a word of its program that is not as it was written


#: Words of a trace line: address, result, turns so far.
TRACE_WORDS = 3

_TURNS = np.array([OPS[op].turns for op in Op], dtype=np.int64)
_OPS = len(Op)
_HAS_RESULT = np.array([OPS[op].shape in RESULTS for op in Op])
_SHIFTS = np.array([OPS[op].shape in (Shape.SUM, Shape.COPY) for op in Op])
_EVENT_WORDS = EVENT_AT
_NUMBER_MASK = (1 << NUMBER_BITS) - 1
_INSTRUCTION_BITS = 32
_SHIFT_MASK = 63
_SHIFT_MAX = WORD - 1

(_NUMBER, _SLOT, _ROW) = (int(Space.NUMBER), int(Space.SLOT), int(Space.ROW))
(_DONE, _ILLEGAL, _OVERRUN, _FELL, _DAMAGED) = (int(status) for status in Status)
(_END, _ADD, _SUB, _RSB, _AND, _MIN, _MAX, _SHL, _SHR, _SLS, _SEQ, _SNE, _SLT, _SGE) = range(14)
(_MOV, _ABS, _MUL, _MLR, _FRC, _RCP, _RSQ, _CLZ, _LDX, _ST) = range(14, 24)
(_BEQ, _BNE, _BLT, _BGE, _JMP, _MLZ) = range(24, 30)


@njit
def _sum(op: int, a: int, b: int) -> int:
    """Results of the adder, the comparisons and the shifters."""
    result = 0
    if op == _ADD:
        result = a + b
    elif op == _SUB:
        result = a - b
    elif op == _RSB:
        result = b - a
    elif op == _AND:
        result = a & b
    elif op == _MIN:
        result = min(a, b)
    elif op == _MAX:
        result = max(a, b)
    elif op == _SHL:
        result = a << (b & _SHIFT_MASK)
    elif op == _SHR:
        result = a >> (b & _SHIFT_MASK)
    elif op == _SLS:
        result = align(a, min(b & _SHIFT_MASK, _SHIFT_MAX))
    elif op == _SEQ:
        result = 1 if a == b else 0
    elif op == _SNE:
        result = 1 if a != b else 0
    elif op == _SLT:
        result = 1 if a < b else 0
    elif op == _SGE:
        result = 1 if a >= b else 0
    return narrow(result, WORD)


@njit
def _unit(op: int, a: int, b: int, c: int) -> int:
    """Results of the multiplier and the table units."""
    result = b
    if op == _MUL:
        result = product(a, b, c, False)
    elif op == _MLR:
        result = product(a, b, c, True)
    elif op == _FRC:
        result = fraction(a, b)
    elif op == _MLZ:
        result = product(a, b, (c - (b >> ZEROS_AT)) & _SHIFT_MASK, False)
    elif op == _RCP:
        result = reciprocal(b) | zeros(b) << ZEROS_AT
    elif op == _RSQ:
        result = rsqrt(b) | (zeros(b) >> 1) << ZEROS_AT
    elif op == _CLZ:
        result = zeros(b)
    elif op == _ABS:
        result = abs(b)
    return narrow(result, WORD)


@njit
def _shifted(result: int, c: int) -> int:
    """A sum that goes to the right by c, or to the left by what c lacks of 63."""
    return result >> c if c <= RIGHT_MOST else narrow(result << (_SHIFT_MASK - c), WORD)


@njit
def _taken(op: int, a: int, b: int) -> bool:
    if op == _BEQ:
        return a == b
    if op == _BNE:
        return a != b
    if op == _BLT:
        return a < b
    if op == _BGE:
        return a >= b
    return True


@njit
def run(
    code: NDArray[np.int64],
    entry: int,
    slot: NDArray[np.int64],
    row: NDArray[np.int64],
    event: NDArray[np.int64],
    budget: int,
    trace: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Let one event run.

    Parameters
    ----------
    code : ndarray of int64
        Encoded instructions; above the 32 bits of a damaged one is something else than 0.
    entry : int
        Address of the first one.
    slot : ndarray of int64, shape (512,)
        Slot memory, words; a damaged one is beyond their range.
    row : ndarray of int64, shape (16,)
        The queue pair's row. Changed in place, if the event ends well.
    event : ndarray of int64
        `events.EVENT_FIELDS`.
    budget : int
        Most turns.
    trace : ndarray of int64, shape (n, 3)
        Filled with a line for each of the first n instructions.

    Returns
    -------
    status : int
        `Status`.
    turns : int
        Taken by it.
    stored : int
        A bit for each word of the row that it stored; 0 if it did not end well.
    """
    registers = np.zeros(REGISTERS, dtype=np.int64)
    after = row.copy()
    place, turns, line, stored = entry, 0, 0, 0
    while place < len(code):
        word = code[place]
        op, rd, ra = word >> 26 & 31, word >> 21 & 31, word >> 16 & 31
        stores = word >> 31 & 1
        space, number, c = word >> 14 & 3, word >> 6 & _NUMBER_MASK, word & 63
        illegal = op >= _OPS or (stores and not _HAS_RESULT[op])
        turns += 0 if illegal else _TURNS[op]
        named = slot[number] if space == _SLOT and op != _LDX else 0
        if word >> _INSTRUCTION_BITS or narrow(named, WORD) != named:
            return _DAMAGED, turns, 0
        if illegal:
            return _ILLEGAL, turns, 0
        if turns > budget:
            return _OVERRUN, turns, 0
        a = registers[ra]
        if word >> 13 & 1:
            a = row[ra] if ra < ROW_WORDS else event[ra - ROW_WORDS]
        if space == _NUMBER:
            b = narrow(number, NUMBER_BITS)
        elif space == _SLOT:
            b = named
        elif space == _ROW:
            at = number - _EVENT_WORDS
            b = row[number % ROW_WORDS] if at < 0 else (event[at] if at < len(event) else 0)
        else:
            b = registers[number % REGISTERS]
        result = 0
        here = place
        place += 1
        if op == _LDX:
            result = slot[(c * DIRECT_WORDS + number + a) % SLOT_WORDS]
            if narrow(result, WORD) != result:
                return _DAMAGED, turns, 0
            registers[rd] = result
        elif op == _ST:
            result = a
            after[number % ROW_WORDS] = a
            stored |= 1 << (number % ROW_WORDS)
        elif _BEQ <= op <= _JMP:
            if _taken(op, a, b):
                place += rd << 6 | c
                result = 1
        elif op != _END:
            result = _sum(op, a, b) if op < _MOV else _unit(op, a, b, c)
            if _SHIFTS[op]:
                result = _shifted(result, c)
            registers[rd] = result
        if stores:
            after[rd % ROW_WORDS] = result
            stored |= 1 << (rd % ROW_WORDS)
        if line < len(trace):
            trace[line, 0] = here
            trace[line, 1] = result
            trace[line, 2] = turns
            line += 1
        if op == _END:
            row[:] = after
            return _DONE, turns, stored
    return _FELL, turns, 0


@njit
def run_many(
    code: NDArray[np.int64],
    entries: NDArray[np.int64],
    slot: NDArray[np.int64],
    rows: NDArray[np.int64],
    events: NDArray[np.int64],
    budget: int,
    ends: NDArray[np.int64],
) -> None:
    """Let events run, each on a row of its own.

    Parameters
    ----------
    code, slot, budget
        As `run`.
    entries : ndarray of int64, shape (6,)
        First address for each kind of event; -1: the law does not hear it.
    rows : ndarray of int64, shape (n, 16)
        Changed in place.
    events : ndarray of int64, shape (n, words)
        The first word of each is its kind.
    ends : ndarray of int64, shape (n, 2)
        Filled with status and turns.
    """
    nothing = np.zeros((0, TRACE_WORDS), dtype=np.int64)
    for n in range(len(events)):
        entry = entries[events[n, 0]]
        if entry < 0:
            ends[n, 0], ends[n, 1] = _DONE, 0
        else:
            status, turns, _ = run(code, entry, slot, rows[n], events[n], budget, nothing)
            ends[n, 0], ends[n, 1] = status, turns
