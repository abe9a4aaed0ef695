"""Checks of a program before it is loaded: what the gateware would trap on, and stale registers."""

from collections.abc import Iterable, Sequence

from precog_spec.engine.events import EVENT_FIELDS
from precog_spec.engine.isa import (
    CODE_WORDS,
    EVENT_AT,
    OPS,
    REGISTERS,
    RESULTS,
    ROW_WORDS,
    Instruction,
    Op,
    Shape,
    Space,
)

__all__ = ["longest_turns", "read_registers", "successors", "verify"]

_READS_A = (Shape.THREE, Shape.PRODUCT, Shape.INDEX, Shape.STORE, Shape.BRANCH, Shape.SUM)
_HAS_B = (Shape.THREE, Shape.TWO, Shape.PRODUCT, Shape.BRANCH, Shape.SUM, Shape.COPY)
_EVENTS_END = EVENT_AT + len(EVENT_FIELDS)


def successors(code: Sequence[Instruction], here: int) -> tuple[int, ...]:
    """Addresses that may follow."""
    one = code[here]
    target = here + 1 + one.offset
    shape = OPS[one.op].shape
    if shape is Shape.NONE:
        return ()
    if shape is Shape.JUMP:
        return (target,)
    return (here + 1, target) if shape is Shape.BRANCH else (here + 1,)


def read_registers(one: Instruction) -> tuple[int, ...]:
    """Registers that an instruction reads."""
    shape = OPS[one.op].shape
    first = (one.ra,) if shape in _READS_A and not one.memory else ()
    return (*first, one.b) if shape in _HAS_B and one.space is Space.REGISTER else first


def _check_operands(one: Instruction, here: int) -> None:
    shape = OPS[one.op].shape
    if shape is Shape.STORE and not (one.space is Space.ROW and one.b < ROW_WORDS):
        raise ValueError(f"store at {here} must be to s[0..{ROW_WORDS - 1}], not word {one.b}")
    if shape is Shape.INDEX and one.space is not Space.SLOT:
        raise ValueError(f"table at {here} must be in slot memory, not in {one.space.name}")
    if shape not in _HAS_B:
        return
    if one.space is Space.REGISTER and one.b >= REGISTERS:
        raise ValueError(f"register at {here} must be below {REGISTERS}, not {one.b}")
    row = one.b < ROW_WORDS or EVENT_AT <= one.b < _EVENTS_END
    if one.space is Space.ROW and not row:
        raise ValueError(f"operand at {here} must be a row's or an event's word, not {one.b}")


def verify(code: Sequence[Instruction], entries: Iterable[int]) -> None:
    """Refuse a program that could trap, run out of its end, or read what it has not written.

    Raises
    ------
    ValueError
        It could; the message names the address.
    """
    if len(code) > CODE_WORDS:
        raise ValueError(f"program must have {CODE_WORDS} instructions at most, not {len(code)}")
    known: list[frozenset[int] | None] = [None] * len(code)
    for entry in entries:
        if not 0 <= entry < len(code):
            raise ValueError(f"entry must be in 0..{len(code) - 1}, not {entry}")
        known[entry] = frozenset()
    for here, one in enumerate(code):
        written = known[here]
        if written is None:
            continue
        _check_operands(one, here)
        stale = [r for r in read_registers(one) if r not in written]
        if stale:
            raise ValueError(f"register r{stale[0]} must be written before {here} reads it")
        if OPS[one.op].shape in RESULTS:
            written |= {one.rd}
        for after in successors(code, here):
            if after >= len(code):
                raise ValueError(f"program must end with END or a branch, not run on after {here}")
            before = known[after]
            known[after] = written if before is None else before & written


def longest_turns(code: Sequence[Instruction], entry: int) -> tuple[int, list[int]]:
    """Most turns that an event may take from `entry`, and the addresses of such a path."""
    turns = [0] * (len(code) + 1)
    nexts: list[int | None] = [None] * len(code)
    for here in reversed(range(entry, len(code))):
        after = successors(code, here)
        if after:
            nexts[here] = max(after, key=lambda place: turns[place])
        turns[here] = OPS[code[here].op].turns + max((turns[place] for place in after), default=0)
    path: list[int] = []
    place: int | None = entry
    while place is not None:
        path.append(place)
        place = nexts[place] if code[place].op is not Op.END else None
    return turns[entry], path
