"""The generated texts say what the map says: each is read back, by others' tools, and compared."""

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from xml.etree import ElementTree

import mypy.api
import pytest
from peakrdl_ipxact import IPXACTImporter
from systemrdl import RDLCompiler
from systemrdl.node import RegNode
from systemrdl.parser.SystemRDLLexer import SystemRDLLexer
from systemrdl.rdltypes import AccessType, OnWriteType
from tests.spec.registers.configurations import CONFIGS, MAPS

from precog_host.emulator.device import Emulator
from precog_host.registers import Registers
from precog_host.transport import Transport
from precog_spec.registers.generate import (
    GENERATORS,
    c_header,
    html,
    ipxact,
    markdown,
    python,
    systemrdl,
)
from precog_spec.registers.generate.ipxact import NAMESPACE
from precog_spec.registers.generate.systemrdl import _KEYWORDS
from precog_spec.registers.model import Access, Block, Field, Register, RegisterMap

ALL = pytest.mark.parametrize("regmap", MAPS.values(), ids=MAPS)
MAP = MAPS["all"]


class Said(NamedTuple):
    """What a text says of a field."""

    name: str
    lsb: int
    bits: int
    access: Access
    reset: int | None
    volatile: bool
    testable: bool


def declared(regmap: RegisterMap) -> dict[int, tuple[str, list[Said]]]:
    """Address: (name, fields) of every word."""

    def said(register: Register, field: Field) -> Said:
        by_hardware = field.access in (Access.RO, Access.W1C) or register.loadable
        known = field.access is not Access.RO or register.constant
        return Said(
            field.name,
            field.lsb,
            field.bits,
            field.access,
            field.reset if known else None,
            by_hardware and not register.constant,
            field.access is not Access.PULSE,
        )

    found = {}
    for word in regmap.words():
        if word.register is None:
            fields = [Said("value", 0, 32, Access.RO, word.constant, False, True)]
        else:
            fields = [said(word.register, f) for f in word.register.fields]
        found[word.address] = word.name, sorted(fields, key=lambda field: field.lsb)
    return found


def read_back(top: Any, *, skip: int) -> dict[int, tuple[str, list[Said]]]:
    """The same of an elaborated SystemRDL model, without the first `skip` parts of names."""

    def access(field: Any) -> Access:
        software = field.get_property("sw")
        if software == AccessType.rw:
            clears = field.get_property("onwrite") == OnWriteType.woclr
            return Access.W1C if clears else Access.RW
        return {AccessType.r: Access.RO, AccessType.w: Access.PULSE}[software]

    found = {}
    for node in top.descendants(unroll=True):
        if isinstance(node, RegNode):
            fields = [
                Said(
                    field.inst_name,
                    field.low,
                    field.width,
                    access(field),
                    field.get_property("reset"),
                    field.is_hw_writable or bool(field.get_property("hwset")),
                    not field.get_property("donttest"),
                )
                for field in node.fields()
            ]
            name = ".".join(node.get_path().split(".")[skip:])
            assert node.absolute_address not in found
            found[node.absolute_address] = name, fields
            assert node.size == 4
    return found


@ALL
def test_systemrdl_compiles_to_the_map(regmap: RegisterMap, tmp_path: Path) -> None:
    path = tmp_path / "precog.rdl"
    path.write_text(systemrdl(regmap))
    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    assert read_back(compiler.elaborate().top, skip=1) == declared(regmap)


@ALL
def test_ipxact_is_imported_as_the_map(regmap: RegisterMap, tmp_path: Path) -> None:
    path = tmp_path / "precog.xml"
    path.write_text(ipxact(regmap))
    compiler = RDLCompiler()
    IPXACTImporter(compiler).import_file(str(path))
    top = compiler.elaborate("precog__registers").top

    def without_volatile(words: dict[int, tuple[str, list[Said]]]) -> dict[int, Any]:
        """The importer guesses it of fields that software does not write."""
        return {
            at: (name, [field._replace(volatile=False) for field in fields])
            for at, (name, fields) in words.items()
        }

    assert without_volatile(read_back(top, skip=1)) == without_volatile(declared(regmap))
    told = [
        node.text == "true" for node in ElementTree.parse(path).iter(f"{{{NAMESPACE}}}volatile")
    ]
    names = {re.sub(r"\[\d+\]", "", name): said for name, said in declared(regmap).values()}
    assert told == [field.volatile for said in names.values() for field in said]
    documented = {node.inst_name: node.get_property("desc") for node in top.children()}
    assert documented == {p.block.name: p.block.doc for p in regmap.blocks}


def test_names_of_values_are_in_the_ipxact(tmp_path: Path) -> None:
    (tmp_path / "precog.xml").write_text(ipxact(MAP))
    compiler = RDLCompiler()
    IPXACTImporter(compiler).import_file(str(tmp_path / "precog.xml"))
    top = compiler.elaborate("precog__registers").top
    field = top.find_by_path("QP.CONTROL.algorithm")
    values = {member.name: member.value for member in field.get_property("encode")}
    assert values == dict(MAP.block("QP").register("CONTROL").field("algorithm").values)


def test_every_systemrdl_keyword_is_escaped(tmp_path: Path) -> None:
    literals = {name.strip("'") for name in SystemRDLLexer.literalNames}
    assert {name for name in literals if name.isidentifier()} == _KEYWORDS
    names = sorted(name for name in _KEYWORDS if name.isidentifier() and name == name.lower())
    registers = tuple(
        Register(f"R{n}", "s", (Field(name, 1, Access.RW, 'A "quoted" \\ text.'),))
        for n, name in enumerate(names)
    )
    path = tmp_path / "keywords.rdl"
    path.write_text(systemrdl(RegisterMap((Block("B", "s", 1, (1, 0), registers),))))
    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    top = compiler.elaborate().top
    fields = [register.fields()[0] for register in top.find_by_path("B").registers()][3:]
    assert [field.inst_name for field in fields] == names
    assert {field.get_property("desc") for field in fields} == {'A "quoted" \\ text.'}


def test_systemrdl_has_the_strobes_of_commands() -> None:
    text = systemrdl(MAP)
    own = [(r, f) for p in MAP.blocks for r in p.block.registers for f in r.fields]
    pulses = [field for _, field in own if field.access is Access.PULSE]
    assert text.count("singlepulse;") == sum(field.bits == 1 for field in pulses)
    assert text.count("swmod;") == sum(field.bits > 1 for field in pulses)
    assert text.count("hwset;") == sum(field.access is Access.W1C for _, field in own)
    assert text.count(" we;") == sum(r.loadable and f.access is Access.RW for r, f in own)
    assert text.count("external regfile") == sum(len(p.block.tables) for p in MAP.blocks)


def c_facts(regmap: RegisterMap) -> Iterator[tuple[str, int]]:
    """(macro, value) of all that the header must say."""

    def fields(name: str, register: Register) -> Iterator[tuple[str, int]]:
        for field in register.fields:
            macro = f"{name}_{field.name.upper()}"
            yield f"{macro}_MASK", field.mask
            yield f"{macro}_SHIFT", field.lsb
            for value, number in field.values:
                yield f"{macro}_{value.upper()}", number

    for placed in regmap.blocks:
        block, prefix = placed.block, f"PRECOG_{placed.block.name}"
        yield f"{prefix}_TYPE", block.type
        yield f"{prefix}_MAJOR", block.version[0]
        for register in block.registers:
            yield f"{prefix}_{register.name}", block.offset(register.name)
            yield from fields(f"{prefix}_{register.name}", register)
        for table in block.tables:
            name = f"{prefix}_{table.name}"
            yield f"{name}_DESCRIPTOR", block.descriptor_offset(table.name)
            for n, register in enumerate(table.registers):
                yield f"{name}_{register.name}", 4 * n
                yield from fields(f"{name}_{register.name}", register)


@ALL
def test_c_header_compiles_and_has_the_map(regmap: RegisterMap, tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    text = c_header(regmap)
    facts = list(c_facts(regmap))
    macros = re.findall(r"^#define (\w+) ", text, re.M)
    assert sorted(macros) == sorted(name for name, _ in facts)  # each once
    (tmp_path / "precog.h").write_text(text)
    body = "\n".join(f'_Static_assert({name} == {value}u, "{name}");' for name, value in facts)
    (tmp_path / "t.c").write_text(f'#include "precog.h"\n#include "precog.h"\n{body}\n')
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    subprocess.run([compiler, *flags, str(tmp_path / "t.c")], check=True)


class Page(HTMLParser):
    """Anchors, links and the text of tables' rows by the anchor before them; tags must pair."""

    VOID = ("meta", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.anchors: list[str] = []
        self.links: set[str] = set()
        self.rows: dict[str, list[list[str]]] = {"": []}
        self.outside: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self.VOID:
            return
        self.open.append(tag)
        for name, value in attrs:
            assert value is not None
            if name == "id":
                self.anchors.append(value)
                self.rows[value] = []
            elif name == "href":
                self.links.add(value)
            elif name == "src":
                self.outside.append(value)
        if tag == "tr":
            self.rows[self.anchors[-1] if self.anchors else ""].append([])
        elif tag in ("td", "th"):
            self.rows[self.anchors[-1] if self.anchors else ""][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open:
            self.rows[self.anchors[-1] if self.anchors else ""][-1][-1] += data


@ALL
def test_html_has_every_register_and_field(regmap: RegisterMap) -> None:
    page = Page(html(regmap))
    wanted = {p.block.name for p in regmap.blocks}
    wanted |= {f"{p.block.name}.table.{t.name}" for p in regmap.blocks for t in p.block.tables}
    wanted |= {re.sub(r"\[\d+\]", "", word.name) for word in regmap.words()}
    assert len(page.anchors) == len(set(page.anchors))
    assert set(page.anchors) == wanted
    assert {link[1:] for link in page.links} <= wanted  # nothing outside the page
    assert page.outside == []
    for word in regmap.words():
        rows = page.rows[re.sub(r"\[\d+\]", "", word.name)]
        shown = [(row[0], row[1], row[2], row[3]) for row in rows[2:]]
        if word.register is None:
            assert shown == [("31:0", "value", "ro", f"{word.constant:#x}")]
            continue
        fields = [
            (
                f"{f.lsb + f.bits - 1}:{f.lsb}" if f.bits > 1 else str(f.lsb),
                f.name,
                f.access.value,
                "" if f.access is Access.RO and not word.register.constant else f"{f.reset:#x}",
            )
            for f in word.register.fields
        ]
        assert shown == fields


@ALL
def test_markdown_names_every_field_once_per_register(regmap: RegisterMap) -> None:
    text = markdown(regmap)
    for placed in regmap.blocks:
        section = text.split(f"\n## {placed.block.name}\n")[1].split("\n## ")[0]
        registers = [
            *placed.block.registers,
            *(register for table in placed.block.tables for register in table.registers),
        ]
        rows = [line for line in section.splitlines() if line.startswith("| `0x")]
        assert len(rows) == sum(len(register.fields) for register in registers)
    widths = {line.count("|") for line in text.splitlines() if line.startswith("| `0x")}
    assert len(widths) == 1


def module(regmap: RegisterMap, folder: Path, name: str) -> ModuleType:
    """The generated accessors, imported."""
    path = folder / f"{name}.py"
    path.write_text(python(regmap))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    try:
        spec.loader.exec_module(made)
    finally:
        del sys.modules[name]
    return made


class Words:
    """A bus that keeps what is written and remembers it."""

    def __init__(self, regmap: RegisterMap) -> None:
        self.words = {word.address: word.constant for word in regmap.words()}
        self.log: list[tuple[int, int]] = []

    def read32(self, address: int) -> int:
        return self.words[address]

    def write32(self, address: int, value: int) -> None:
        self.log.append((address, value))
        self.words[address] = value


@pytest.mark.parametrize("name", CONFIGS)
def test_accessors_are_where_the_map_says(name: str, tmp_path: Path) -> None:
    regmap = MAPS[name]
    bus = Words(regmap)
    device = module(regmap, tmp_path, f"precog_accessors_{name.replace('-', '_')}").Device(bus)
    for word in regmap.words():
        at: Any = device
        for part, _, index in re.findall(r"(\w+)(\[(\d+)\])?", word.name):
            at = getattr(at, part)
            at = at[int(index)] if index else at
        assert at.byte_address == word.address
        if word.register is None:
            assert at.value == word.constant
            continue
        for field in word.register.fields:
            bus.words[word.address] = field.mask
            assert getattr(at, field.name) == field.get(field.mask)
            bus.words[word.address] = ~field.mask & 0xFFFF_FFFF
            assert getattr(at, field.name) == 0
            if field.access is Access.RO:
                with pytest.raises(AttributeError, match=f"{field.name} is read-only"):
                    setattr(at, field.name, 0)
                continue
            bus.words[word.address] = 0xFFFF_FFFF
            setattr(at, field.name, field.min)
            kept = word.register.mask(Access.RW) & ~field.mask
            assert bus.log.pop() == (word.address, kept | field.put(0, field.min))
            with pytest.raises(
                ValueError, match=rf"{field.name} must be in .*, not {field.max + 1}"
            ):
                setattr(at, field.name, field.max + 1)


def test_accessors_on_a_device(tmp_path: Path) -> None:
    """The emulated device through the accessors and through the driver's registers."""
    transport: Transport = Emulator(CONFIGS["all"])
    names = Registers(transport)
    made = module(MAPS["all"], tmp_path, "precog_accessors")
    device = made.Device(transport)
    for block in names.block_names():
        for register in names.registers(block):
            shown = getattr(getattr(device, block), register.name).read_fields()
            assert shown == names.fields(block, register.name)
    device.PID.ADVICE.advice_limit = 77
    assert names.fields("PID", "ADVICE") == {"advice_limit": 77, "advice_clamp": 1}
    device.PID.ADVICE.write_fields(advice_limit=5)
    assert names.fields("PID", "ADVICE") == {"advice_limit": 5, "advice_clamp": 0}
    device.PID.KP.kp = -3
    assert device.PID.KP.kp == -3
    device.QP.SELECT.index = 4  # there are 4
    device.QP.COMMAND.fetch = 1
    assert device.QP.ERROR.range == 1
    device.QP.ERROR.range = 1
    assert device.QP.ERROR.range == 0
    assert len(list(device.COUNTERS.COUNTERS)) == len(device.COUNTERS.COUNTERS)
    with pytest.raises(IndexError, match=r"index must be in 0\.\.\d+, not 99"):
        device.COUNTERS.COUNTERS[99]
    with pytest.raises(ValueError, match="generate the accessors of this device"):
        made.Device(Emulator(CONFIGS["tiny"]))


def test_accessors_are_typed(tmp_path: Path) -> None:
    """mypy --strict accepts them, and refuses what the map does not allow."""
    (tmp_path / "precog_accessors.py").write_text(python(MAP))
    uses = (
        "from precog_accessors import Bus, Device\n"
        "def use(bus: Bus) -> int:\n"
        "    device = Device(bus)\n"
        "    device.PID.ADVICE.advice_limit = 1\n"
        "    low: int = device.COUNTERS.COUNTERS[3].LOW.low\n"
        "    device.ID.MAGIC.magic = 1\n"
        "    device.PID.ADVICE.nonsense\n"
        "    device.PID.ADVICE.advice_limit = '1'\n"
        "    return low\n"
    )
    (tmp_path / "use.py").write_text(uses)
    files = [str(tmp_path / "use.py"), str(tmp_path / "precog_accessors.py")]
    out, _, _ = mypy.api.run(["--strict", "--cache-dir", str(tmp_path / "cache"), *files])
    lines = {int(found) for found in re.findall(r"use\.py:(\d+): error", out)}
    assert lines == {6, 7, 8}, out
    assert "precog_accessors.py" not in out


def test_a_field_must_not_hide_the_accessors(tmp_path: Path) -> None:
    def one(name: str) -> RegisterMap:
        register = Register("R", "s", (Field(name, 1, Access.RW, "s"),))
        return RegisterMap((Block("B", "s", 1, (1, 0), (register,)),))

    with pytest.raises(ValueError, match="R must not have a field called 'read_word'"):
        python(one("read_word"))
    bus = Words(one("from"))
    module(one("from"), tmp_path, "precog_keyword").Device(bus).B.R.from_ = 1
    assert bus.log == [(12, 1)]


def test_generators_are_listed() -> None:
    assert list(GENERATORS) == ["rdl", "ipxact", "c", "py", "html", "md"]
    assert GENERATORS["rdl"] is systemrdl
