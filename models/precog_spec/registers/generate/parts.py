"""What the generators share: a block's words as registers, and how facts read in prose."""

from collections.abc import Iterator

from precog_spec.registers.model import Access, Block, Field, PlacedBlock, Register, RegisterMap

__all__ = ["field_doc", "has_reset", "members", "register_doc", "unit", "version"]

HEADER_DOCS = {
    "TYPE": "What block this is: vendor in the high half, kind in the low one.",
    "VERSION": "Major number in the high half: a driver refuses one that it does not know.",
    "NEXT": "Byte offset of the next block from the map's first word; 0: there is none.",
}
_PLACE_DOC = "Byte offset of the table from the block's first word."
_SHAPE_DOC = "The table's stride in bytes in the high half, its number of entries in the low one."


def members(regmap: RegisterMap, placed: PlacedBlock) -> Iterator[tuple[int, Register]]:
    """(byte offset, register) of a block's words but those of its tables, in address order.

    Words that the bank adds (header, descriptors of tables) come as constant registers with one
    field, `value`.
    """
    block = placed.block
    for word in regmap.words():
        if word.block is not block or word.table is not None:
            continue
        register = word.register
        if register is None:
            name = word.name.removeprefix(f"{block.name}.")
            doc = HEADER_DOCS.get(name) or (_PLACE_DOC if name.endswith("_OFFSET") else _SHAPE_DOC)
            field = Field("value", 32, Access.RO, doc, reset=word.constant)
            register = Register(name, doc, (field,), constant=True)
        yield word.address - placed.base, register


def has_reset(register: Register, field: Field) -> bool:
    """Whether the map decides what the field reads after reset: else hardware does."""
    return field.access is not Access.RO or register.constant


def unit(field: Field) -> str:
    """Unit and format of a field's value."""
    scale = f"2^-{field.frac_bits} " if field.frac_bits else ""
    sign = " (signed)" if field.signed else ""
    return f"{scale}{field.unit}{sign}".strip()


def field_doc(field: Field) -> str:
    """What a field means, with the names of its values."""
    if not field.values:
        return field.doc
    return f"{field.doc} " + ", ".join(f"{number} {name}" for name, number in field.values) + "."


def register_doc(register: Register) -> str:
    """What a register means, and what else a write to it may change."""
    if not register.affects:
        return register.doc
    others = ", ".join(register.affects)
    return f"{register.doc} A write may change {others}, as far as the device has them."


def version(block: Block) -> str:
    """A block's version."""
    return f"{block.version[0]}.{block.version[1]}"
