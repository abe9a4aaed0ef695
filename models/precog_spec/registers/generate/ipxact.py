"""IP-XACT (IEEE 1685-2014): a component with one memory map, an address block for each block.

Elements stand in the order that the standard's schema asks for. A field whose writing starts
something is not `testable`; one that hardware changes is `volatile`.
"""

from xml.etree import ElementTree

from precog_spec.registers.generate.parts import has_reset, members, register_doc, version
from precog_spec.registers.model import (
    WORD_BYTES,
    Access,
    Field,
    PlacedBlock,
    Register,
    RegisterMap,
    Table,
)

__all__ = ["NAMESPACE", "ipxact"]

NAMESPACE = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"

_ACCESS = {
    Access.RW: "read-write",
    Access.RO: "read-only",
    Access.W1C: "read-write",
    Access.PULSE: "write-only",
}


def ipxact(regmap: RegisterMap) -> str:
    """The map as an XML document."""
    root = ElementTree.Element(
        "ipxact:component",
        {
            "xmlns:ipxact": NAMESPACE,
            "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
            "xsi:schemaLocation": f"{NAMESPACE} {NAMESPACE}/index.xsd",
        },
    )
    number = version(regmap.blocks[0].block)
    for tag, text in (
        ("vendor", "precog"), ("library", "precog"), ("name", "precog"), ("version", number)
    ):  # fmt: skip
        _add(root, tag, text)
    memory_map = _add(_add(root, "memoryMaps"), "memoryMap")
    _add(memory_map, "name", "registers")
    for placed in regmap.blocks:
        _block(memory_map, regmap, placed)
    _add(memory_map, "addressUnitBits", "8")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _block(parent: ElementTree.Element, regmap: RegisterMap, placed: PlacedBlock) -> None:
    block = placed.block
    element = _named(parent, "addressBlock", block.name, block.doc)
    _add(element, "baseAddress", f"'h{placed.base:x}")
    _add(element, "range", f"'h{block.span:x}")
    _add(element, "width", "32")
    _add(element, "usage", "register")
    for offset, register in members(regmap, placed):
        _register(element, register, offset)
    for table in block.tables:
        _table(element, table, block.table_offset(table.name))


def _table(parent: ElementTree.Element, table: Table, offset: int) -> None:
    element = _named(parent, "registerFile", table.name, table.doc)
    _add(element, "dim", str(table.count))
    _add(element, "addressOffset", f"'h{offset:x}")
    _add(element, "range", f"'h{table.stride:x}")
    for position, register in enumerate(table.registers):
        _register(element, register, position * WORD_BYTES)


def _register(parent: ElementTree.Element, register: Register, offset: int) -> None:
    element = _named(parent, "register", register.name, register_doc(register))
    _add(element, "addressOffset", f"'h{offset:x}")
    _add(element, "size", "32")
    for field in register.fields:
        _field(element, register, field)


def _field(parent: ElementTree.Element, register: Register, field: Field) -> None:
    element = _named(parent, "field", field.name, field.doc)
    _add(element, "bitOffset", str(field.lsb))
    if has_reset(register, field):
        _add(_add(_add(element, "resets"), "reset"), "value", f"'h{field.reset:x}")
    _add(element, "bitWidth", str(field.bits))
    by_hardware = field.access in (Access.RO, Access.W1C) or register.loadable
    _add(element, "volatile", str(by_hardware and not register.constant).lower())
    _add(element, "access", _ACCESS[field.access])
    if field.values:
        values = _add(element, "enumeratedValues")
        for name, number in field.values:
            value = _add(values, "enumeratedValue")
            _add(value, "name", name)
            _add(value, "value", str(number))
    if field.access is Access.W1C:
        _add(element, "modifiedWriteValue", "oneToClear")
    _add(element, "testable", str(field.access is not Access.PULSE).lower())


def _named(parent: ElementTree.Element, tag: str, name: str, doc: str) -> ElementTree.Element:
    element = _add(parent, tag)
    _add(element, "name", name)
    _add(element, "description", doc)
    return element


def _add(parent: ElementTree.Element, tag: str, text: str | None = None) -> ElementTree.Element:
    element = ElementTree.SubElement(parent, f"ipxact:{tag}")
    element.text = text
    return element
