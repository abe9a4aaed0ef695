"""SystemRDL 2.0 (Accellera, January 2018)."""

from precog_spec.registers.generate.parts import field_doc, members, register_doc
from precog_spec.registers.model import WORD_BYTES, Access, Field, Register, RegisterMap

__all__ = ["systemrdl"]

#: Section 4.4 of the standard, table 4: what an identifier must not be.
_WORDS = """
abstract accesstype addressingtype addrmap alias all alternate bit boolean bothedge byte
compact component componentwidth constraint default encode enum external false field
fullalign hw inside int internal level longint mem na negedge nonsticky number onreadtype
onwritetype posedge precedencetype property r rclr real ref reg regalign regfile rset ruser
rw rw1 shortint shortreal signal signed string struct sw this true type unsigned w w1 wclr
with within woclr woset wot wr wset wuser wzc wzs wzt
"""
_KEYWORDS = frozenset(_WORDS.split())


def systemrdl(regmap: RegisterMap) -> str:
    """The map as SystemRDL 2.0, one addrmap called `precog`.

    A table is external: its values lie outside the bank. A PULSE field of one bit is `singlepulse`;
    a wider one, of which SystemRDL has none, is write-only with `swmod`, the strobe by which
    hardware learns that it was written.
    """
    lines = ["addrmap precog {", "    default regwidth = 32;", "    default accesswidth = 32;"]
    for placed in regmap.blocks:
        block = placed.block
        lines.append("    regfile {")
        lines.append(f"        desc = {_quote(block.doc)};")
        for offset, register in members(regmap, placed):
            lines += _register(register, f"@ {offset:#x}", 8)
        for table in block.tables:
            lines.append("        external regfile {")
            lines.append(f"            desc = {_quote(table.doc)};")
            for position, register in enumerate(table.registers):
                lines += _register(register, f"@ {position * WORD_BYTES:#x}", 12)
            place = f"@ {block.table_offset(table.name):#x} += {table.stride:#x}"
            lines.append(f"        }} {_name(table.name)}[{table.count}] {place};")
        lines.append(f"    }} {_name(block.name)} @ {placed.base:#x};")
    return "\n".join([*lines, "};", ""])


def _register(register: Register, place: str, indent: int) -> list[str]:
    pad = " " * indent
    lines = [f"{pad}reg {{", f"{pad}    desc = {_quote(register_doc(register))};"]
    for field in register.fields:
        owned = register.constant or field.access is not Access.RO
        reset = f" = {field.bits}'h{field.reset:x}" if owned else ""
        properties = _properties(register, field)
        lines.append(f"{pad}    field {{ desc = {_quote(field_doc(field))}; {properties} }}")
        bits = f"[{field.lsb + field.bits - 1}:{field.lsb}]"
        lines.append(f"{pad}        {_name(field.name)}{bits}{reset};")
    lines.append(f"{pad}}} {_name(register.name)} {place};")
    return lines


def _properties(register: Register, field: Field) -> str:
    """Access, and precedence: hardware that sets a bit which is being cleared, or loads a field."""
    if register.constant:
        return "sw = r; hw = na;"
    if field.access is Access.RO:
        return "sw = r; hw = w;"
    if field.access is Access.PULSE:
        return f"sw = w; hw = r; {'singlepulse' if field.bits == 1 else 'swmod'}; donttest;"
    if field.access is Access.W1C:
        # Bits of a wider field are set one by one.
        sets = "hw = r; hwset;" if field.bits == 1 else "hw = rw; intr; stickybit;"
        return f"sw = rw; {sets} onwrite = woclr; precedence = hw;"
    return "sw = rw; hw = rw; we; precedence = hw;" if register.loadable else "sw = rw; hw = r;"


def _name(name: str) -> str:
    """An identifier; one that is also a keyword is escaped (section 4.3)."""
    return f"\\{name}" if name in _KEYWORDS else name


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
