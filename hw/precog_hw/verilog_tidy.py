"""Verilog as yosys writes it, without what linters name: one statement stands in one line there.

Four changes, none of them to what the text means: a name that nothing reads goes with its
assignment; bits that nothing reads are gathered in a wire ``unused`` of their module; a register's
initial value is a statement of its own; a `case` without a default gets an empty one.
"""

import re
from collections import Counter
from collections.abc import Iterable

__all__ = ["tidy"]

_NAME = r"(?:\\\S+ |(?<!['\w$])[A-Za-z_][\w$]*)"
_FIND = re.compile(rf"({_NAME})\s*(?:\[(\d+)(?::(\d+))?\])?")
_STRING = re.compile(r'"[^"]*"')
_DECLARED = re.compile(
    rf"  (?P<kind>input|output|wire|reg) (?:\[(?P<high>-?\d+):0\] )?(?P<name>{_NAME})"
    r"(?P<init> = [^;]*)?;"
)
_ASSIGN = re.compile(rf"  assign (?P<name>{_NAME}) = ")
_SET = re.compile(
    rf"\s*(?:assign )?(?:{_NAME}\s*(?P<index>(?:\[[^\]]*\])*)|\{{[^=]*\}})\s+(?:<=|=) (?P<read>.*)"
)
_INSTANCE = re.compile(rf"  (?P<module>{_NAME}) {_NAME}\s?\($")
_PIN = re.compile(rf"    \.(?P<pin>{_NAME})\((?P<read>.*)\),?")
_ATTRIBUTE = re.compile(r"\s*\(\* .* \*\)")
_HEAD = re.compile(rf"module (?P<name>{_NAME})\(")


def tidy(text: str) -> str:
    """Modules of a design, each tidied; submodules' ports are looked up in the same text."""
    *bodies, end = re.split(r"(?<=^endmodule\n)", text, flags=re.MULTILINE)
    modules = [body.split("\n") for body in bodies]
    outputs = {_head(lines): _ports(lines, "output") for lines in modules}
    for n, lines in enumerate(modules):
        kept = _without_aliases(lines)
        modules[n] = _defaults(_initials(_sunk(kept, outputs)))
    return "".join("\n".join(lines) for lines in modules) + end


def _head(lines: list[str]) -> str:
    """The module's name."""
    return next(found["name"].strip() for line in lines if (found := _HEAD.match(line)))


def _ports(lines: list[str], *kinds: str) -> set[str]:
    """Ports of these directions."""
    found = (_DECLARED.fullmatch(line) for line in lines)
    return {port["name"].strip() for port in found if port and port["kind"] in kinds}


def _names(text: str) -> list[str]:
    return [found[1].strip() for found in _FIND.finditer(_STRING.sub("", text))]


def _without_aliases(lines: list[str]) -> list[str]:
    """Lines but for wires that are assigned and never read, and what only they have read."""
    ports = _ports(lines, "input", "output")
    uses: Counter[str] = Counter()
    declared, assigned = {}, {}
    for n, line in enumerate(lines):
        uses.update(_names(line))
        if (found := _DECLARED.fullmatch(line)) and found["kind"] == "wire":
            declared[found["name"].strip()] = n
        elif found := _ASSIGN.match(line):
            assigned[found["name"].strip()] = n
    gone: set[int] = set()
    waiting = [name for name in assigned if name in declared and name not in ports]
    while waiting:
        name = waiting.pop()
        if uses[name] != 2 or declared[name] in gone:
            continue
        gone |= {declared[name], assigned[name]}
        for other in _names(lines[assigned[name]]):
            uses[other] -= 1
            if other in assigned and other in declared and other not in ports:
                waiting.append(other)
    gone |= {n for name, n in declared.items() if uses[name] == 1 and name not in ports}
    # A declaration's attributes stand in the lines before it.
    for n in sorted(gone & set(declared.values())):
        above = n - 1
        while _ATTRIBUTE.fullmatch(lines[above]):
            gone.add(above)
            above -= 1
    return [line for n, line in enumerate(lines) if n not in gone]


def _sunk(lines: list[str], outputs: dict[str, set[str]]) -> list[str]:
    """Lines, and a wire that reads what nothing else does."""
    every = {
        found["name"].strip(): frozenset(range(int(found["high"] or 0) + 1))
        for line in lines
        if (found := _DECLARED.fullmatch(line)) and found["kind"] != "output"
    }
    outward = _ports(lines, "output")  # read by the parent
    unread = {name: set(bits) for name, bits in every.items() if name not in outward}
    driven: set[str] = set()  # pins of the instance whose lines follow
    header = next(n for n, line in enumerate(lines) if line.endswith(");"))  # may be several lines
    for line in lines[header + 1 :]:
        if _DECLARED.fullmatch(line):
            continue
        if found := _INSTANCE.fullmatch(line):
            driven = outputs.get(found["module"].strip(), set())
            continue
        if found := _PIN.fullmatch(line):
            read = "" if found["pin"].strip() in driven else found["read"]
        elif found := _SET.fullmatch(line):
            read = f"{found['index'] or ''} {found['read']}"  # a memory's row is read, too
        else:
            read = line
        for part in _FIND.finditer(_STRING.sub("", read)):
            bits = unread.get(part[1].strip())
            if bits and part[2] is None:
                bits.clear()
            elif bits:
                bits -= set(range(int(part[3] or part[2]), int(part[2]) + 1))
    parts: list[str] = []
    for name, bits in unread.items():
        spelled = f"{name} " if name.startswith("\\") else name
        whole = bits == every[name]
        parts += [spelled] if whole and bits else [f"{spelled}{span}" for span in _spans(bits)]
    if not parts:
        return lines
    end = lines.index("endmodule")
    joined = ", ".join(parts)
    return [*lines[:end], f"  wire unused = &{{ 1'h0, {joined} }};", *lines[end:]]


def _spans(bits: set[int]) -> Iterable[str]:
    """Selections of neighbouring bits."""
    for low in sorted(bit for bit in bits if bit - 1 not in bits):
        high = low
        while high + 1 in bits:
            high += 1
        yield f"[{high}:{low}]"


def _initials(lines: list[str]) -> list[str]:
    """Registers' values at power-up as statements."""
    out = []
    for line in lines:
        found = _DECLARED.fullmatch(line)
        if found and found["kind"] == "reg" and found["init"]:
            out.append(line.replace(f"{found['init']};", ";"))
            out.append(f"  initial {found['name']}{found['init']};")
        else:
            out.append(line)
    return out


def _defaults(lines: list[str]) -> list[str]:
    """A default in every case."""
    out: list[str] = []
    has: list[bool] = []
    for line in lines:
        word = line.strip()
        if word.startswith("case"):
            has.append(False)
        elif word.startswith("default:"):
            has[-1] = True
        elif word == "endcase" and not has.pop():
            out.append(line.replace("endcase", "  default: ;"))
        out.append(line)
    return out
