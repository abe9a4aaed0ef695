"""Texts made from a register map: SystemRDL 2.0, a C header, and a Markdown page."""

from collections.abc import Iterator

from precog_hw.regmap.model import (
    WORD_BYTES,
    Access,
    Block,
    Field,
    Register,
    RegisterMap,
)

__all__ = ["GENERATORS", "c_header", "markdown", "systemrdl"]

_RDL_ACCESS = {
    Access.RW: "sw = rw; hw = r;",
    Access.RO: "sw = r; hw = w;",
    Access.W1C: "sw = rw; hw = w; onwrite = woclr; we;",
    Access.PULSE: "sw = w; hw = r; singlepulse;",
}


def systemrdl(regmap: RegisterMap) -> str:
    """The map as SystemRDL 2.0, one addrmap called `precog`.

    A PULSE field wider than a bit has no SystemRDL counterpart: it is given as write-only.
    """
    lines = ["addrmap precog {", "    default regwidth = 32;", "    default accesswidth = 32;"]
    for placed in regmap.blocks:
        block = placed.block
        lines.append("    regfile {")
        lines.append(f"        desc = {_quote(block.doc)};")
        for word in regmap.words():
            if word.block is block and word.register is None:
                field = Field("value", 32, Access.RO, "Constant.", reset=word.constant)
                name = word.name.removeprefix(f"{block.name}.")
                register = Register(name, "Says where things lie.", (field,), constant=True)
                lines += _rdl_register(register, f"@ {word.address - placed.base:#x}", 8)
        for register in block.registers:
            lines += _rdl_register(register, f"@ {block.offset(register.name):#x}", 8)
        for table in block.tables:
            lines.append("        regfile {")
            lines.append(f"            desc = {_quote(table.doc)};")
            for position, register in enumerate(table.registers):
                lines += _rdl_register(register, f"@ {position * WORD_BYTES:#x}", 12)
            place = f"@ {block.table_offset(table.name):#x} += {table.stride:#x}"
            lines.append(f"        }} {table.name}[{table.count}] {place};")
        lines.append(f"    }} {block.name} @ {placed.base:#x};")
    return "\n".join([*lines, "};", ""])


def _rdl_register(register: Register, place: str, indent: int) -> list[str]:
    pad = " " * indent
    lines = [f"{pad}reg {{", f"{pad}    desc = {_quote(register.doc)};"]
    for field in register.fields:
        if register.constant:
            access = "sw = r; hw = na;"
        elif field.access is Access.PULSE and field.bits > 1:
            access = "sw = w; hw = r;"
        else:
            access = _RDL_ACCESS[field.access]
        owned = field.access in (Access.RW, Access.W1C) or register.constant
        reset = f" = {field.bits}'h{field.reset:x}" if owned else ""
        lines.append(f"{pad}    field {{ desc = {_quote(_field_doc(field))}; {access} }}")
        lines.append(f"{pad}        {field.name}[{field.lsb + field.bits - 1}:{field.lsb}]{reset};")
    lines.append(f"{pad}}} {register.name} {place};")
    return lines


def c_header(regmap: RegisterMap) -> str:
    """Offsets, masks, shifts and named values as C macros.

    Register offsets count from their block, because a driver finds blocks by their type.
    """
    lines = [
        "/* Registers of Precog, generated from precog_hw.regmap. */",
        "#ifndef PRECOG_REGISTERS_H",
        "#define PRECOG_REGISTERS_H",
        "",
    ]
    for placed in regmap.blocks:
        block = placed.block
        prefix = f"PRECOG_{block.name}"
        lines.append(f"/* {block.name}: {block.doc} */")
        lines.append(f"#define {prefix}_TYPE {block.type:#010x}u")
        lines.append(f"#define {prefix}_MAJOR {block.version[0]}u")
        for register in block.registers:
            name = f"{prefix}_{register.name}"
            lines.append(f"#define {name} {block.offset(register.name):#x}u")
            lines += _c_fields(name, register)
        for table in block.tables:
            name = f"{prefix}_{table.name}"
            lines.append(f"#define {name}_DESCRIPTOR {block.descriptor_offset(table.name):#x}u")
            for position, register in enumerate(table.registers):
                member = f"{name}_{register.name}"
                lines.append(f"#define {member} {position * WORD_BYTES:#x}u")
                lines += _c_fields(member, register)
        lines.append("")
    return "\n".join([*lines, "#endif", ""])


def _c_fields(name: str, register: Register) -> Iterator[str]:
    for field in register.fields:
        macro = f"{name}_{field.name.upper()}"
        yield f"#define {macro}_MASK {field.mask:#010x}u"
        yield f"#define {macro}_SHIFT {field.lsb}u"
        for value, number in field.values:
            yield f"#define {macro}_{value.upper()} {number}u"


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
        version = f"{block.version[0]}.{block.version[1]}"
        lines.append(
            f"| {block.name} | `{placed.base:#06x}` | `{block.type:#010x}` | {version} "
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
        owned = field.access in (Access.RW, Access.W1C) or register.constant
        reset = f"`{field.reset:#x}`" if owned else ""
        yield (
            f"| `{offset}` | {register.name} | {bits} | {field.name} | {field.access.value} "
            f"| {reset} | {_unit(field)} | {_field_doc(field)} |"
        )


def _unit(field: Field) -> str:
    scale = f"2^-{field.frac_bits} " if field.frac_bits else ""
    sign = " (signed)" if field.signed else ""
    return f"{scale}{field.unit}{sign}".strip()


def _field_doc(field: Field) -> str:
    if not field.values:
        return field.doc
    return f"{field.doc} " + ", ".join(f"{number} {name}" for name, number in field.values) + "."


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


#: Text format: function of a map.
GENERATORS = {"rdl": systemrdl, "c": c_header, "md": markdown}
