"""Verilog text of a component, written so that linters of other tools have nothing to say.

Amaranth's own conversion leaves three things that a linter names: comparisons and sums of operands
of unequal length (constants stand without their leading zeros, and yosys' clean-up drops more),
a `!` of whole words for a comparison with zero, and second names of signals that nothing reads.
Here the operands are made equally long in the intermediate text (RTLIL), and yosys drops the names
and optimises nothing.
"""

import re
from typing import Any

from amaranth._toolchain.yosys import find_yosys  # as `amaranth.back.verilog` finds it
from amaranth.back import rtlil

__all__ = ["verilog_text"]

_HIDDEN = "-remove generator -remove top -remove src -remove amaranth.hierarchy"
_SCRIPT = f"""
proc -nomux -norom -noopt
memory_collect
opt_clean -purge
attrmap {_HIDDEN} -remove amaranth.decoding
attrmap -modattr {_HIDDEN} -remove amaranth.decoding
write_verilog -norename
"""

#: A cell whose operands Verilog stretches to a common length.
_CELL = re.compile(
    r"""(?P<head>\ \ cell\ \$(?:eq|ne|lt|le|gt|ge|add|sub)\ \S+\n)
    \ *parameter\ \\A_SIGNED\ (?P<signed>[01])\n
    \ *parameter\ \\B_SIGNED\ (?P=signed)\n
    \ *parameter\ \\A_WIDTH\ (?P<a_width>\d+)\n
    \ *parameter\ \\B_WIDTH\ (?P<b_width>\d+)\n
    (?P<y_width>\ *parameter\ \\Y_WIDTH\ \d+\n)
    \ *connect\ \\A\ (?P<a>.*)\n
    \ *connect\ \\B\ (?P<b>.*)\n""",
    re.VERBOSE,
)
_CONSTANT = re.compile(r"\d+'([01]+)")
_SLICE = re.compile(r"(\S+) \[(\d+)(?::\d+)?\]")


def verilog_text(component: Any, *, name: str, ports: dict[str, Any]) -> str:
    """Verilog of `component` as module `name`.

    Parameters
    ----------
    component : Elaboratable
    name : str
    ports : dict of str to (Value, PortDirection)
        As `amaranth.back.rtlil.convert` takes them.
    """
    text = rtlil.convert(component, name=name, ports=ports, emit_src=False)
    yosys = find_yosys(lambda version: version >= (0, 40))
    script = f"read_rtlil <<rtlil\n{_CELL.sub(_equal_lengths, text)}\nrtlil\n{_SCRIPT}"
    # Its warning that not every process can be written does not concern those that Amaranth makes.
    return str(yosys.run(["-q", "-"], script, ignore_warnings=True))


def _equal_lengths(cell: re.Match[str]) -> str:
    """The cell with its shorter operand extended."""
    signed = cell["signed"] == "1"
    widths = int(cell["a_width"]), int(cell["b_width"])
    longest = max(widths)
    a, b = (
        _extended(cell[key], width, longest, signed)
        for key, width in zip("ab", widths, strict=True)
    )
    lines = [
        *(f"parameter \\{key}_SIGNED {cell['signed']}" for key in "AB"),
        *(f"parameter \\{key}_WIDTH {longest}" for key in "AB"),
        cell["y_width"].strip(),
        f"connect \\A {a}",
        f"connect \\B {b}",
    ]
    return cell["head"] + "".join(f"    {line}\n" for line in lines)


def _extended(operand: str, width: int, to: int, signed: bool) -> str:
    """An operand of RTLIL with `to` bits."""
    more = to - width
    constant = _CONSTANT.fullmatch(operand)
    if not more:
        return operand
    if constant:
        bits = constant[1]
        return f"{to}'{(bits[0] if signed else '0') * more}{bits}"
    padding = _top(operand, width) * more if signed else f"{more}'{'0' * more} "
    return f"{{ {padding}{operand} }}"


def _top(operand: str, width: int) -> str:
    """The sign bit of an operand, with a space behind it."""
    first = operand.removeprefix("{ ")
    if constant := _CONSTANT.match(first):
        return f"1'{constant[1][0]} "
    if part := _SLICE.match(first):
        return f"{part[1]} [{part[2]}] "
    return f"{first} [{width - 1}] "
