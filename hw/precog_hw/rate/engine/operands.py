"""An instruction's operands: registers and numbers, words of the row, the event, slot memory.

All memories are read in stage 3, by its word there; an operand is chosen in stage 4.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.memory import Memory

from precog_spec.engine.isa import WORD, Space

from .execute import Word
from .units import delayed

__all__ = ["first_operand", "last_operand"]


def first_operand(
    m: Module,
    word: Word,
    register: Value,
    row: tuple[Memory, Value],
    event: tuple[Memory, Value],
) -> Value:
    """The first operand.

    Parameters
    ----------
    m : Module
    word : Word
        The instruction, in stage 3.
    register : Value
        Register `ra`, in stage 4.
    row, event : tuple of Memory and Value
        Where words are, and which queue pair's or buffer's they are.
    """
    (rows, qp), (heard, buffer) = row, event
    of_row, of_event = rows.read_port(), heard.read_port()
    m.d.comb += [
        of_row.addr.eq(Cat(word.ra[:4], qp)),
        of_event.addr.eq(Cat(word.ra[:4], Const(0, 1), buffer)),
    ]
    sources = {
        "register": (~word.memory, register),
        "row": (word.memory & ~word.ra[-1], of_row.data),
        "event": (word.memory & word.ra[-1], of_event.data),
    }
    return _chosen(m, "first", Const(0, WORD), sources)


def last_operand(
    m: Module,
    word: Word,
    register: Value,
    of_slot: Value,
    row: tuple[Memory, Value],
    event: tuple[Memory, Value],
) -> Value:
    """The last operand; as `first_operand`, and `of_slot` is the word of slot memory."""
    (rows, qp), (heard, buffer) = row, event
    of_row, of_event = rows.read_port(), heard.read_port()
    m.d.comb += [
        of_event.addr.eq(Cat(word.b[:5], buffer)),
        of_row.addr.eq(Cat(word.b[:4], qp)),
    ]
    in_row = word.space == Space.ROW
    number = Mux(word.space == Space.NUMBER, word.b, 0).as_signed()
    sources = {
        "register": (word.space == Space.REGISTER, register),
        "slot": (word.space == Space.SLOT, of_slot),
        "event": (in_row & word.b[-1], of_event.data),
        "row": (in_row & ~word.b[-1], of_row.data),
    }
    return _chosen(m, "last", delayed(m, number, 1, "number").as_signed(), sources)


def _chosen(m: Module, name: str, found: Value, sources: dict[str, tuple[Value, Value]]) -> Value:
    """One of several words; without one, what was found."""
    value = Signal(signed(WORD), name=name)
    # The memories come late in stage 4: which one counts is known before.
    for source, (wanted, word) in sources.items():
        chosen = delayed(m, wanted, 1, f"{name}_{source}")
        found = found | (word & chosen.replicate(WORD).as_signed())
    m.d.comb += value.eq(found)
    return value
