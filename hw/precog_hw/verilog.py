"""Verilog text of a component, written so that linters of other tools have nothing to say.

Amaranth's own conversion leaves what a linter names: operands of unequal length (constants stand
without their leading zeros, and yosys' clean-up drops more), shifts into a word of another length,
a `!` of whole words for a comparison with zero, and second names of signals that nothing reads.
Here the lengths are made equal in the intermediate text (RTLIL), and yosys drops the names and the
modules that are left without a reader, and optimises nothing.
"""

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from amaranth._toolchain.yosys import find_yosys  # as `amaranth.back.verilog` finds it
from amaranth.back import rtlil

from precog_hw.verilog_rows import clear_deep, without_zeros
from precog_hw.verilog_tidy import tidy

__all__ = ["elaborating", "verilog_text"]

_HIDDEN = "-remove generator -remove top -remove src -remove amaranth.hierarchy"
_SCRIPT = f"""
proc -nomux -norom -noopt
memory_collect
opt_clean -purge
hierarchy -top {{name}}
attrmap {_HIDDEN} -remove amaranth.decoding
attrmap -modattr {_HIDDEN} -remove amaranth.decoding
write_verilog -norename
"""

#: The one warning that is switched off, and why.
_HEAD = "// All modules of a design stand in one file.\n/* verilator lint_off DECLFILENAME */\n"

_PARAMETERS = r"""
    \ *parameter\ \\A_SIGNED\ (?P<signed>[01])\n
    \ *parameter\ \\B_SIGNED\ (?P<b_signed>[01])\n
    \ *parameter\ \\A_WIDTH\ (?P<a_width>\d+)\n
    \ *parameter\ \\B_WIDTH\ (?P<b_width>\d+)\n
    \ *parameter\ \\Y_WIDTH\ (?P<y_width>\d+)\n
    \ *connect\ \\A\ (?P<a>.*)\n
    \ *connect\ \\B\ (?P<b>.*)\n
    \ *connect\ \\Y\ (?P<y>.*)\n
"""
#: A cell whose operands Verilog stretches to a common length.
_BOTH = re.compile(
    r"(?P<head>\ \ cell\ \$(?:eq|ne|lt|le|gt|ge|add|sub|divfloor|modfloor)\ (?P<id>\S+)\n)"
    + _PARAMETERS,
    re.VERBOSE,
)
#: A cell whose first operand Verilog stretches or cuts to the result's length.
_SHIFT = re.compile(
    r"(?P<head>\ \ cell\ \$(?:shl|sshl|shr|sshr|shift)\ (?P<id>\S+)\n)" + _PARAMETERS, re.VERBOSE
)
_CONSTANT = re.compile(r"\d+'([01]+)")
_SLICE = re.compile(r"(\S+) \[(\d+)(?::\d+)?\]")


@contextmanager
def elaborating() -> Iterator[None]:
    """Python's collector of cycles rests: a netlist's millions of small objects keep it busy.

    It takes as long as the elaboration itself; without it a NIC's takes 0.5 GB instead of 0.3.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def verilog_text(component: Any, *, name: str, ports: dict[str, Any]) -> str:
    """Verilog of `component` as module `name`.

    Parameters
    ----------
    component : Elaboratable
    name : str
    ports : dict of str to (Value, PortDirection)
        As `amaranth.back.rtlil.convert` takes them.
    """
    with elaborating():
        text = rtlil.convert(component, name=name, ports=ports, emit_src=False)
    yosys = find_yosys(lambda version: version >= (0, 40))
    text = without_zeros(_SHIFT.sub(_equal_shift, _BOTH.sub(_equal_operands, text)))
    script = f"read_rtlil <<rtlil\n{text}\nrtlil\n{_SCRIPT.format(name=name)}"
    # Its warning that not every process can be written does not concern those that Amaranth makes.
    return _HEAD + clear_deep(tidy(str(yosys.run(["-q", "-"], script, ignore_warnings=True))))


def _equal_operands(cell: re.Match[str]) -> str:
    """The cell with its shorter operand extended."""
    signed = cell["signed"] == "1"
    widths = int(cell["a_width"]), int(cell["b_width"])
    longest = max(widths)
    a = _extended(cell["a"], widths[0], longest, signed)
    b = _extended(cell["b"], widths[1], longest, signed)
    return _cell(cell, (longest, longest, int(cell["y_width"])), (a, b, cell["y"]))


def _equal_shift(cell: re.Match[str]) -> str:
    """The cell with its first operand extended, or with a result that holds all of it."""
    a_width, b_width, y_width = (int(cell[f"{key}_width"]) for key in "aby")
    more = a_width - y_width
    if more <= 0:
        a = _extended(cell["a"], a_width, y_width, cell["signed"] == "1")
        return _cell(cell, (y_width, b_width, y_width), (a, cell["b"], cell["y"]))
    rest = f"$rest{cell['id']}"
    y = f"{{ {rest} {cell['y']} }}"
    made = _cell(cell, (a_width, b_width, a_width), (cell["a"], cell["b"], y))
    return f"  wire width {more} {rest}\n{made}"


def _cell(cell: re.Match[str], widths: tuple[int, int, int], values: tuple[str, str, str]) -> str:
    """The cell's text up to its end, with other operands."""
    lines = [
        f"parameter \\A_SIGNED {cell['signed']}",
        f"parameter \\B_SIGNED {cell['b_signed']}",
        *(f"parameter \\{key}_WIDTH {width}" for key, width in zip("ABY", widths, strict=True)),
        *(f"connect \\{key} {value}" for key, value in zip("ABY", values, strict=True)),
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
