"""The record as a page of Markdown, and its curves as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from precog_spec.markdown import table

__all__ = ["grows", "page", "picture"]

#: How much more logic may be taken, in percent, each time queue pairs double: wider numbers.
MARGIN = 6

_TOP = """# Queue pairs against area

Made by `precog study scale --page …`; do not edit. For machines: `{record}`.
Each block alone, as yosys maps it to an ECP5 (`synth_ecp5`), without placement. A CCU2C counts as
two LUTs and a TRELLIS_DPR16X4 as four; "LUT RAM" is the part of LUTs that holds state. The state
of a queue pair belongs in block RAM (DP16KD): then logic grows as numbers of queue pairs get
wider, by a few per cent each time they double. What grows by more than {margin} % is marked.

The last run, with {tool}:
`{command}`.
"""

_COLUMNS = {
    "lut": "LUT",
    "lut_ram": "LUT RAM",
    "ff": "flip-flops",
    "bram": "DP16KD",
    "dsp": "multipliers",
}


def grows(lines: Sequence[Mapping[str, Any]], what: str) -> float:
    """By how many percent a block grows each time queue pairs double, from its first line on."""
    first, last = lines[0], lines[-1]
    doublings = (last["qps"] // first["qps"]).bit_length() - 1
    if not doublings or not first[what]:
        return 0.0
    return float(100 * ((last[what] / first[what]) ** (1 / doublings) - 1))


def _by_part(found: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for line in sorted(found, key=lambda line: line["qps"]):
        parts.setdefault(line["part"], []).append(line)
    return parts


def page(said: Mapping[str, Any], record: str) -> str:
    """A table for each block, those that grow too fast named, and the picture."""
    parts = _by_part(said["found"])
    lines = [_TOP.format(record=record, margin=MARGIN, **{k: said[k] for k in _SAID})]
    head = ["block", "queue pairs", *_COLUMNS.values(), "LUT, growth at each doubling", "commit"]
    rows = []
    for part, of_part in parts.items():
        for n, line in enumerate(of_part):
            last = n == len(of_part) - 1 and n > 0
            growth = f"{grows(of_part, 'lut'):.1f} %" if last else ""
            counts = (f"{line[column]:,}" for column in _COLUMNS)
            name = part if n == 0 else ""
            rows.append([name, f"{line['qps']:,}", *counts, growth, line["commit"]])
    lines.append(table(head, rows))
    faults = [part for part in parts if max(grows(parts[part], n) for n in _LOGIC) > MARGIN]
    word = (
        f"Grows faster than memory: {', '.join(faults)}."
        if faults
        else "No block grows faster than memory."
    )
    lines += ["", word, "", "![Area against queue pairs](data/scale.svg)", ""]
    return "\n".join(lines)


_LOGIC = ("lut", "ff")
_SAID = ("command", "tool")


def picture(said: Mapping[str, Any], path: Path) -> None:
    """LUTs, flip-flops and block RAMs of each block against queue pairs."""
    with mpl.rc_context({"svg.hashsalt": "precog", "svg.fonttype": "none"}):
        figure = Figure(figsize=(9.5, 3.2), layout="constrained")
        for place, name in zip(figure.subplots(1, 3), ("lut", "ff", "bram"), strict=True):
            for part, lines in _by_part(said["found"]).items():
                points = [(line["qps"], line[name]) for line in lines]
                place.plot(*zip(*points, strict=True), marker=".", label=part)
            place.set_xscale("log", base=2)
            place.set_yscale("symlog" if name == "bram" else "log")
            place.set(xlabel="queue pairs", ylabel=_COLUMNS[name])
            place.xaxis.set_major_formatter("{x:g}")
            place.grid(alpha=0.3)
        figure.legend(*place.get_legend_handles_labels(), loc="outside right upper", fontsize=8)
        figure.savefig(path, metadata={"Date": None})
