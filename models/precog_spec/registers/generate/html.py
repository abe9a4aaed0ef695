"""A page that stands by itself: no script, nothing loaded from elsewhere.

Every word that a block itself has, and every register of its tables, has an anchor:
``#BLOCK.REGISTER``, ``#BLOCK.TABLE.REGISTER``.
"""

from collections.abc import Iterator
from html import escape

from precog_spec.registers.generate.parts import (
    field_doc,
    has_reset,
    members,
    register_doc,
    unit,
    version,
)
from precog_spec.registers.model import WORD_BYTES, Field, PlacedBlock, Register, RegisterMap

__all__ = ["html"]

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8882; --link: #2a6fdb; }
body { margin: 0; font: 15px/1.45 system-ui, sans-serif; display: flex; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; flex: 0 0 15rem;
      box-sizing: border-box; border-right: 1px solid var(--line); font-size: 13px; }
nav summary a { font-weight: 600; }
nav details a { display: block; padding-left: 1rem; }
nav summary a { display: inline; padding: 0; }
main { padding: 1rem 2rem 30vh; max-width: 64rem; min-width: 0; }
a { color: var(--link); text-decoration: none; }
table { border-collapse: collapse; width: 100%; margin: .3rem 0 1.2rem; }
th, td { border: 1px solid var(--line); padding: .15rem .5rem; text-align: left;
         vertical-align: top; }
th { background: var(--soft); font-weight: 600; }
table.bits { table-layout: fixed; font-size: 11px; margin-bottom: 0; }
table.bits td { text-align: center; overflow: hidden; padding: .1rem 0; }
table.bits td.none { background: var(--soft); }
code, .address { font-family: ui-monospace, monospace; }
h3 .address { font-weight: 400; margin-right: .7rem; }
:target { outline: 2px solid var(--link); outline-offset: 4px; }
""".strip()

_INTRODUCTION = (
    "32-bit words behind AXI4-Lite. A write must carry all four byte strobes; it, a misaligned "
    "access and an address outside the map answer SLVERR and change nothing. Blocks form a linked "
    "list that starts at 0: type, version, byte offset of the next block."
)
_ACCESSES = (
    "<b>rw</b>: read and write; <b>ro</b>: read, writes are ignored; <b>w1c</b>: read, writing 1 "
    "clears a bit; <b>pulse</b>: writing starts something, reads as 0."
)


def html(regmap: RegisterMap) -> str:
    """The page."""
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8"><title>Registers of Precog</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>\n{_STYLE}\n</style></head><body>",
        "<nav>",
    ]
    for placed in regmap.blocks:
        lines += _contents(regmap, placed)
    lines += [
        "</nav><main><h1>Registers of Precog</h1>",
        f"<p>{_INTRODUCTION}</p><p>{_ACCESSES}</p>",
        "<table><tr><th>block</th><th>base</th><th>type</th><th>version</th><th>what</th></tr>",
    ]
    for placed in regmap.blocks:
        block = placed.block
        cells = (
            f'<a href="#{block.name}">{block.name}</a>',
            f"<code>{placed.base:#06x}</code>",
            f"<code>{block.type:#010x}</code>",
            version(block),
            escape(block.doc),
        )
        lines.append(_row(cells))
    lines.append("</table>")
    for placed in regmap.blocks:
        lines += _block(regmap, placed)
    return "\n".join([*lines, "</main></body></html>", ""])


def _contents(regmap: RegisterMap, placed: PlacedBlock) -> Iterator[str]:
    block = placed.block
    yield f'<details><summary><a href="#{block.name}">{block.name}</a></summary>'
    for _, register in members(regmap, placed):
        yield f'<a href="#{block.name}.{register.name}">{register.name}</a>'
    for table in block.tables:
        count = f"[{table.count}]"
        yield f'<a href="#{block.name}.table.{table.name}">{table.name}{count}</a>'
    yield "</details>"


def _block(regmap: RegisterMap, placed: PlacedBlock) -> Iterator[str]:
    block, base = placed.block, placed.base
    yield f'<h2 id="{block.name}">{block.name}</h2><p>{escape(block.doc)}</p>'
    for offset, register in members(regmap, placed):
        where = f"{base + offset:#06x}"
        yield from _register(f"{block.name}.{register.name}", where, register)
    for table in block.tables:
        start = base + block.table_offset(table.name)
        name = f"{block.name}.{table.name}"
        yield (
            f'<h3 id="{block.name}.table.{table.name}"><span class="address">{start:#06x}</span>'
            f"{name}[{table.count}]</h3><p>{table.count} entries, {table.stride} bytes apart. "
            f"{escape(table.doc)}</p>"
        )
        for position, register in enumerate(table.registers):
            where = f"{start + position * WORD_BYTES:#06x} + {table.stride:#x} n"
            yield from _register(f"{name}.{register.name}", where, register)


def _register(anchor: str, where: str, register: Register) -> Iterator[str]:
    yield (
        f'<h3 id="{anchor}"><span class="address">{where}</span>{anchor}</h3>'
        f"<p>{escape(register_doc(register))}</p>"
    )
    yield f'<table class="bits"><tr>{"".join(_picture(register))}</tr></table>'
    heads = ("bits", "field", "access", "reset", "unit", "what")
    yield f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>"
    for field in register.fields:
        reset = f"<code>{field.reset:#x}</code>" if has_reset(register, field) else ""
        yield _row(
            (
                _bits(field.lsb, field.bits),
                f"<code>{field.name}</code>",
                field.access.value,
                reset,
                escape(unit(field)),
                escape(field_doc(field)),
            )
        )
    yield "</table>"


def _picture(register: Register) -> Iterator[str]:
    """The register's 32 bits, the highest first, as cells."""
    free = 32
    for field in sorted(register.fields, key=lambda field: -field.lsb):
        above = field.lsb + field.bits
        if above < free:
            yield _cell("", above, free - above)
        yield _cell(field.name, field.lsb, field.bits, field)
        free = field.lsb
    if free:
        yield _cell("", 0, free)


def _cell(name: str, lsb: int, bits: int, field: Field | None = None) -> str:
    kind = "" if field else ' class="none"'
    shown = escape(name if len(name) <= 2 * bits + 1 else "")
    title = f"{name} {_bits(lsb, bits)}".strip()
    return f'<td colspan="{bits}"{kind} title="{title}">{_bits(lsb, bits)}<br>{shown}</td>'


def _bits(lsb: int, bits: int) -> str:
    return f"{lsb + bits - 1}:{lsb}" if bits > 1 else str(lsb)


def _row(cells: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
