"""A page in Markdown."""

from collections.abc import Iterator

from precog_spec.registers.generate.parts import field_doc, has_reset, unit, version
from precog_spec.registers.model import WORD_BYTES, Block, Register, RegisterMap

__all__ = ["markdown"]


def markdown(regmap: RegisterMap) -> str:
    """A page with one section per block."""
    lines = [
        "# Registers",
        "",
        "32-bit words behind AXI4-Lite. A write must carry all four byte strobes; it, a misaligned "
        "access and an address outside the map answer SLVERR and change nothing.",
        "",
        "Blocks form a linked list that starts at 0: type, version, byte offset of the next block.",
        "",
        "| block | base | type | version | what |",
        "| --- | --- | --- | --- | --- |",
    ]
    for placed in regmap.blocks:
        block = placed.block
        lines.append(
            f"| {block.name} | `{placed.base:#06x}` | `{block.type:#010x}` | {version(block)} "
            f"| {block.doc} |"
        )
    for placed in regmap.blocks:
        lines += ["", f"## {placed.block.name}", "", placed.block.doc, "", *_md_block(placed.block)]
    return "\n".join([*lines, ""])


def _md_block(block: Block) -> Iterator[str]:
    if block.registers:
        yield "| offset | register | bits | field | access | reset | unit | what |"
        yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
        for register in block.registers:
            yield from _md_register(f"{block.offset(register.name):#06x}", register)
    for table in block.tables:
        yield ""
        yield (
            f"**{table.name}**: {table.count} entries, {table.stride} bytes apart, from "
            f"`{block.table_offset(table.name):#06x}`; described by the words at "
            f"`{block.descriptor_offset(table.name):#06x}`. {table.doc}"
        )
        yield ""
        yield "| in entry | register | bits | field | access | reset | unit | what |"
        yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
        for position, register in enumerate(table.registers):
            yield from _md_register(f"{position * WORD_BYTES:#04x}", register)


def _md_register(offset: str, register: Register) -> Iterator[str]:
    for field in register.fields:
        bits = f"{field.lsb + field.bits - 1}:{field.lsb}" if field.bits > 1 else str(field.lsb)
        reset = f"`{field.reset:#x}`" if has_reset(register, field) else ""
        yield (
            f"| `{offset}` | {register.name} | {bits} | {field.name} | {field.access.value} "
            f"| {reset} | {unit(field)} | {field_doc(field)} |"
        )
