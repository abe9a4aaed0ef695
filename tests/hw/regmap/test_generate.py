"""The generated texts say what the map says: each is read back and compared."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from precog_hw.regmap.generate import GENERATORS, c_header, markdown, systemrdl
from precog_hw.regmap.model import Access
from precog_hw.regmap.precog import Identity, Sizes, build_map

MAP = build_map(Sizes(qps=8, sets=4), Identity(0xABCD))


def rdl_addresses(text: str) -> dict[str, int]:
    """Register name: address, by following the nesting of regfiles in the text."""
    found: dict[str, int] = {}
    stack: list[list[tuple[str, int]]] = [[]]
    opened: list[str] = []
    for line in text.splitlines():
        word = line.strip()
        if re.fullmatch(r"(addrmap precog|regfile|reg) \{", word):
            opened.append(word.split()[0])
            stack.append([])
        elif word == "};":
            opened.pop()
        elif match := re.fullmatch(
            r"\} (\w+)(?:\[(\d+)\])? @ (0x[0-9a-f]+)(?: \+= (0x[0-9a-f]+))?;", word
        ):
            kind, inner = opened.pop(), stack.pop()
            name, base = match[1], int(match[3], 16)
            if kind == "reg":
                stack[-1].append((name, base))
            elif match[2]:
                for n in range(int(match[2])):
                    at = base + n * int(match[4], 16)
                    stack[-1] += [(f"{name}[{n}].{child}", at + a) for child, a in inner]
            else:
                stack[-1] += [(f"{name}.{child}", base + a) for child, a in inner]
    found.update(stack[-1])
    return found


def test_systemrdl_has_every_word_at_its_address() -> None:
    assert rdl_addresses(systemrdl(MAP)) == {word.name: word.address for word in MAP.words()}


def test_systemrdl_has_every_field_with_its_access() -> None:
    text = systemrdl(MAP)
    for access, phrase in ((Access.W1C, "onwrite = woclr"), (Access.PULSE, "singlepulse")):
        names = [
            f.name
            for p in MAP.blocks
            for r in p.block.registers
            for f in r.fields
            if f.access is access and (access is not Access.PULSE or f.bits == 1)
        ]
        assert text.count(phrase) == len(names)


def test_c_header_compiles_and_has_the_masks(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    checks = []
    for placed in MAP.blocks:
        block = placed.block
        prefix = f"PRECOG_{block.name}"
        checks.append(f"{prefix}_TYPE == {block.type}u")
        for register in block.registers:
            name = f"{prefix}_{register.name}"
            checks.append(f"{name} == {block.offset(register.name)}u")
            for field in register.fields:
                checks.append(f"{name}_{field.name.upper()}_MASK == {field.mask}u")
                checks.append(f"{name}_{field.name.upper()}_SHIFT == {field.lsb}u")
    (tmp_path / "precog.h").write_text(c_header(MAP))
    body = "\n".join(f'_Static_assert({check}, "{check}");' for check in checks)
    (tmp_path / "t.c").write_text(f'#include "precog.h"\n#include "precog.h"\n{body}\n')
    subprocess.run(
        [compiler, "-std=c11", "-Wall", "-Werror", "-fsyntax-only", str(tmp_path / "t.c")],
        check=True,
    )


def test_markdown_names_every_field_once_per_register() -> None:
    text = markdown(MAP)
    for placed in MAP.blocks:
        section = text.split(f"\n## {placed.block.name}\n")[1].split("\n## ")[0]
        registers = [
            *placed.block.registers,
            *(register for table in placed.block.tables for register in table.registers),
        ]
        rows = [line for line in section.splitlines() if line.startswith("| `0x")]
        assert len(rows) == sum(len(register.fields) for register in registers)
    widths = {line.count("|") for line in text.splitlines() if line.startswith("| `0x")}
    assert len(widths) == 1


def test_generators_are_listed() -> None:
    assert {"rdl": systemrdl, "c": c_header, "md": markdown} == GENERATORS
