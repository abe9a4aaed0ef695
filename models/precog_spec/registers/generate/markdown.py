"""A page in Markdown."""

from collections.abc import Iterable, Iterator

from precog_spec.markdown import table
from precog_spec.registers.generate.parts import field_doc, has_reset, unit, version
from precog_spec.registers.model import WORD_BYTES, Block, Register, RegisterMap

__all__ = ["markdown"]


def markdown(regmap: RegisterMap) -> str:
    """A page with one section per block."""
    blocks = [
        [block.name, f"`{placed.base:#06x}`", f"`{block.type:#010x}`", version(block), block.doc]
        for placed, block in ((placed, placed.block) for placed in regmap.blocks)
    ]
    lines = [
        "# Registers",
        "",
        "32-bit words behind AXI4-Lite. A write must carry all four byte strobes; it, a misaligned "
        "access and an address outside the map answer SLVERR and change nothing.",
        "",
        "Blocks form a linked list that starts at 0: type, version, byte offset of the next block.",
        "",
        table(("block", "base", "type", "version", "what"), blocks),
    ]
    for placed in regmap.blocks:
        lines += ["", f"## {placed.block.name}", "", placed.block.doc, "", *_block(placed.block)]
    return "\n".join([*lines, ""])


def _block(block: Block) -> Iterator[str]:
    if block.registers:
        yield _fields("offset", [(f"{block.offset(x.name):#06x}", x) for x in block.registers])
    for one in block.tables:
        yield ""
        yield (
            f"**{one.name}**: {one.count} entries, {one.stride} bytes apart, from "
            f"`{block.table_offset(one.name):#06x}`; described by the words at "
            f"`{block.descriptor_offset(one.name):#06x}`. {one.doc}"
        )
        yield ""
        places = (f"{n * WORD_BYTES:#04x}" for n in range(len(one.registers)))
        yield _fields("in entry", zip(places, one.registers, strict=True))


def _fields(place: str, registers: Iterable[tuple[str, Register]]) -> str:
    """The fields of registers, each of which stands at an offset."""
    rows = []
    for offset, register in registers:
        for field in register.fields:
            bits = f"{field.lsb + field.bits - 1}:{field.lsb}" if field.bits > 1 else field.lsb
            reset = f"`{field.reset:#x}`" if has_reset(register, field) else ""
            cells = [f"`{offset}`", register.name, bits, field.name, field.access.value, reset]
            rows.append([*cells, unit(field), field_doc(field)])
    head = [place, "register", "bits", "field", "access", "reset", "unit", "what"]
    return table(head, rows)
