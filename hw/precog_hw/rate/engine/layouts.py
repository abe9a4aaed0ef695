"""Inputs and outputs of a core of the law engine."""

from amaranth.hdl import signed, unsigned
from amaranth.lib import data

from precog_spec.engine.events import EVENT_FIELDS
from precog_spec.engine.isa import CODE_WORDS, ROW_WORDS, SLOT_WORDS, WORD

__all__ = [
    "CODE_WRITE",
    "ENTRY_WRITE",
    "ID_BITS",
    "SLOT_WRITE",
    "event_layout",
    "result_layout",
    "row_layout",
]

_SLOT_BITS = 3
_KIND_BITS = 3

#: Number that an event keeps in the cores: nine for each of eight.
ID_BITS = 7

#: A word of a program's code.
CODE_WRITE = data.StructLayout(
    {
        "slot": unsigned(_SLOT_BITS),
        "place": unsigned((CODE_WORDS - 1).bit_length()),
        "word": unsigned(32),
    }
)
#: A word of a program's parameters, constants and tables.
SLOT_WRITE = data.StructLayout(
    {
        "slot": unsigned(_SLOT_BITS),
        "place": unsigned((SLOT_WORDS - 1).bit_length()),
        "word": signed(WORD),
    }
)
#: Where a program begins for a kind of event; `heard` 0: the law does not hear it.
ENTRY_WRITE = data.StructLayout(
    {
        "slot": unsigned(_SLOT_BITS),
        "kind": unsigned(_KIND_BITS),
        "heard": unsigned(1),
        "place": unsigned((CODE_WORDS - 1).bit_length()),
    }
)


def event_layout(qp_bits: int) -> data.StructLayout:
    """An event of a queue pair whose law is in `slot`."""
    fields = {name: unsigned(form.width) for name, form, _ in EVENT_FIELDS}
    return data.StructLayout(
        {
            "slot": unsigned(_SLOT_BITS),
            "qp": unsigned(qp_bits),
            "id": unsigned(ID_BITS),
            "words": data.StructLayout(fields),
        }
    )


def row_layout(qp_bits: int) -> data.StructLayout:
    """A word of a queue pair's row, as the host sets it."""
    return data.StructLayout(
        {
            "qp": unsigned(qp_bits),
            "place": unsigned((ROW_WORDS - 1).bit_length()),
            "word": signed(WORD),
        }
    )


def result_layout(qp_bits: int, *, ecc: bool = False) -> data.StructLayout:
    """An event's end; with `ecc`, a word of its program may have been damaged."""
    return data.StructLayout(
        {
            "qp": unsigned(qp_bits),
            "slot": unsigned(_SLOT_BITS),
            "id": unsigned(ID_BITS),
            "status": unsigned(2),  # `machine.Status`
            **({"damaged": unsigned(1)} if ecc else {}),  # instead: `machine.Status.DAMAGED`
            "turns": unsigned(12),
            "rated": unsigned(1),  # `rate` was stored
            "windowed": unsigned(1),  # `window` was stored
            "rate": unsigned(32),
            "window": unsigned(32),
        }
    )
