"""A Python module of typed accessors: the text of `accessor_base` and a class for each register."""

from collections.abc import Iterator
from importlib import resources
from keyword import iskeyword

from precog_spec.registers.generate import accessor_base
from precog_spec.registers.generate.parts import field_doc, members, register_doc
from precog_spec.registers.model import (
    WORD_BYTES,
    Access,
    Field,
    PlacedBlock,
    Register,
    RegisterMap,
)

__all__ = ["python"]

_KINDS = {
    Access.RO: "ReadOnly",
    Access.RW: "ReadWrite",
    Access.W1C: "OneToClear",
    Access.PULSE: "Pulse",
}


def python(regmap: RegisterMap) -> str:
    """A module that needs nothing but Python 3.11; ``Device(bus)`` is the whole map.

    Raises
    ------
    ValueError
        A field has the name of something else in the class `Register` of the module.
    """
    base = resources.files(__package__).joinpath("accessor_base.py").read_text()
    lines = [base.rstrip(), ""]
    for placed in regmap.blocks:
        lines += _block(regmap, placed)
    lines += [
        *("", "", "class Device:"),
        '    """All blocks; ValueError unless the device on `bus` has the same ones there."""',
        *("", "    def __init__(self, bus: Bus) -> None:"),
    ]
    for placed in regmap.blocks:
        block = placed.block
        facts = f'"{block.name}", {placed.base:#x}, {block.type:#x}, {block.version[0]}'
        lines.append(f"        check_block(bus, {facts}, {placed.next:#x})")
    lines += [
        f"        self.{placed.block.name} = {placed.block.name}(bus)" for placed in regmap.blocks
    ]
    return "\n".join([*lines, ""])


def _block(regmap: RegisterMap, placed: PlacedBlock) -> Iterator[str]:
    block, base = placed.block, placed.base
    own = list(members(regmap, placed))
    for _, register in own:
        yield from _register(f"{block.name}_{register.name}", register)
    for table in block.tables:
        kind = f"{block.name}_{table.name}_ENTRY"
        for register in table.registers:
            yield from _register(f"{kind}_{register.name}", register)
        yield from _class(kind, "", f"An entry of {block.name}.{table.name}.")
        yield "    def __init__(self, bus: Bus, base: int) -> None:"
        for position, register in enumerate(table.registers):
            place = f"base + {position * WORD_BYTES:#x}"
            yield f"        self.{register.name} = {kind}_{register.name}(bus, {place})"
    yield from _class(block.name, "", block.doc)
    yield "    def __init__(self, bus: Bus) -> None:"
    for offset, register in own:
        kind = f"{block.name}_{register.name}"
        yield f"        self.{register.name} = {kind}(bus, {base + offset:#x})"
    for table in block.tables:
        place = f"bus, {base + block.table_offset(table.name):#x}"
        size = f"stride={table.stride:#x}, count={table.count}"
        kind = f"{block.name}_{table.name}_ENTRY"
        yield f"        self.{table.name} = Table({kind}, {place}, {size})"


def _register(kind: str, register: Register) -> Iterator[str]:
    yield from _class(kind, "Register", register_doc(register))
    for field in register.fields:
        name = _identifier(register, field)
        facts = [str(field.lsb), str(field.bits)]
        facts += ["signed=True"] if field.signed else []
        facts += [f"frac_bits={field.frac_bits}"] if field.frac_bits else []
        facts += [f"unit={field.unit!r}"] if field.unit else []
        yield f"    {name} = {_KINDS[field.access]}({', '.join(facts)})"
        yield f"    {_quote(field_doc(field))}"
    for field in register.fields:
        for value, number in field.values:
            yield f"    {field.name.upper()}_{value.upper()} = {number}"


def _identifier(register: Register, field: Field) -> str:
    if hasattr(accessor_base.Register, field.name) or field.name == "byte_address":
        raise ValueError(f"{register.name} must not have a field called {field.name!r}")
    return f"{field.name}_" if iskeyword(field.name) else field.name


def _class(name: str, base: str, doc: str) -> list[str]:
    head = f"class {name}({base}):" if base else f"class {name}:"
    return ["", "", head, f"    {_quote(doc)}", ""]


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"""{escaped}"""'
