"""A C header: offsets, masks, shifts and named values as macros."""

from collections.abc import Iterator

from precog_spec.registers.model import WORD_BYTES, Register, RegisterMap

__all__ = ["c_header"]


def c_header(regmap: RegisterMap) -> str:
    """Offsets, masks, shifts and named values as C macros.

    Register offsets count from their block, because a driver finds blocks by their type.
    """
    lines = [
        "/* Registers of Precog, generated from precog_spec.registers. */",
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
