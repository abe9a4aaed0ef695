"""Contents of deep memories at power-up: a loop in Verilog, where yosys writes a line for each row.

A memory of 16,384 rows would be as many lines, and a table of queue pairs is hundreds of memories.
"""

import re

__all__ = ["clear_deep", "without_zeros"]

_DEEP = 2048  # rows
_ROW = "cleared_row"  # no block has a signal of that name
_ZEROS = re.compile(
    r'\n  cell \$meminit_v2 \S+\n    parameter \\MEMID "[^"]*"\n    parameter \\ABITS \d+\n'
    r"    parameter \\WIDTH \d+\n    parameter \\WORDS (?P<rows>\d+)\n"
    r"    parameter \\PRIORITY \d+\n"
    r"    connect \\ADDR .*\n    connect \\DATA \d+'0+\n    connect \\EN .*\n  end\n"
)
_DECLARED = re.compile(
    r"^  reg (?:\[\d+:0\] )?(?P<name>\\\S+ |[A-Za-z_][\w$]*) ?\[(?P<last>\d+):0\];\n", re.M
)


def without_zeros(text: str) -> str:
    """RTLIL whose deep memories are not said to hold zeros, as `clear_deep` says it later."""
    return _ZEROS.sub(lambda cell: "" if int(cell["rows"]) >= _DEEP else cell[0], text)


def clear_deep(text: str) -> str:
    """Verilog of that RTLIL in which deep memories without contents are cleared by a loop."""
    modules = re.split(r"(?<=^endmodule\n)", text, flags=re.MULTILINE)
    return "".join(_DECLARED.sub(lambda found, m=m: _cleared(found, m), m) for m in modules)


def _cleared(found: re.Match[str], module: str) -> str:
    """The declaration, and its loop if it needs one."""
    name, last = found["name"], int(found["last"])
    if last + 1 < _DEEP or f"    {name}[0] = " in module:
        return found[0]
    block = f"clear_{name.strip().lstrip(chr(92))}"
    if not re.fullmatch(r"\w+", block):
        block = f"\\{block} "
    row = f"{_ROW}[{last.bit_length() - 1}:0]"
    return (
        f"{found[0]}"
        f"  initial begin : {block}\n"
        f"    integer {_ROW};\n"
        f"    for ({_ROW} = 0; {_ROW} <= {last}; {_ROW} = {_ROW} + 1)\n"
        f"      {name}[{row}] = 0;\n"
        f"  end\n"
    )
