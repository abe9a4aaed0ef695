"""Loops for lanes: what the code computes stays what it was."""

import random
import subprocess
from pathlib import Path

import pytest

from precog_sim.rtl.reroll import reroll

pytestmark = pytest.mark.cosim

_ROOT = "Vx___024root"
_LANES = 24
_KINDS = {"a": "SData/*15:0*/", "w": "CData/*7:0*/", "p": "IData/*23:0*/", "out": "IData/*31:0*/"}
_KINDS["sum"] = "QData/*33:0*/"
_MEMBERS = [f"{kind}_{lane}" for kind in _KINDS for lane in range(_LANES)]
_CYCLES = 5
_UNREAD = "12345U"  # is assigned, and overwritten before anyone reads it

_HEADER = """#pragma once
#include <cstdint>
using CData = uint8_t; using SData = uint16_t; using IData = uint32_t; using QData = uint64_t;
struct ROOT {
        IData/*31:0*/ mode;
FIELDS
};
void ROOT___nba_sequent(ROOT* vlSelf);
"""
_FUNCTION = """#include "ROOT.h"

void ROOT___nba_sequent(ROOT* vlSelf) {
    auto& vlSelfRef = *vlSelf;
    // Body
BODY
}
"""
_MAIN = """#include <cstdio>
#include "ROOT.h"
int main() {
    ROOT root{};
    unsigned random = SEED;
    auto draw = [&] { return (random = random * 1664525u + 1013904223u) >> 8; };
    root.mode = draw();
FILL
    for (int n = 0; n < CYCLES; ++n) ROOT___nba_sequent(&root);
    printf("%u\\n", root.mode);
SHOW
}
"""


def _lane(lane: int) -> list[str]:
    """A lane's statements: they read what they and other lanes write, before and after."""
    before = lane - 3
    a = f"vlSelfRef.a_{before}" if before >= 0 else f"{lane}U"
    return [
        f"    vlSelfRef.out_{lane} = {_UNREAD};",
        f"    vlSelfRef.sum_{lane} \n        = (0x3ffffffffULL & (((1U & vlSelfRef.mode)\n"
        f"           ? (QData)((IData)(vlSelfRef.p_{lane})) : vlSelfRef.sum_{lane})"
        f" + (QData)((IData)(vlSelfRef.p_{lane}))));",
        f"    vlSelfRef.out_{lane} = ((IData)(vlSelfRef.sum_{lane}) ^ vlSelfRef.p_{lane});",
        f"    vlSelfRef.p_{lane} = (0xffffffU & ((IData)(vlSelfRef.w_{lane})"
        f" * (IData)(vlSelfRef.a_{lane})));",
        f"    if ((2U & vlSelfRef.mode)) {{\n        vlSelfRef.w_{lane} = 1U;\n    }}",
        f"    vlSelfRef.a_{lane} = {a};",
    ]


def _write(folder: Path, rng: random.Random, seed: int) -> None:
    """A model as Verilator writes one, its lanes in any order, and a program that shows it."""
    lanes = [_lane(lane) for lane in range(_LANES)]
    if rng.random() < 0.5:  # stage by stage
        body = [line for stage in zip(*lanes, strict=True) for line in stage]
    else:
        body = [line for lane in rng.sample(lanes, _LANES) for line in lane]
    at = rng.randrange(len(body))
    body.insert(at, "    vlSelfRef.mode = (vlSelfRef.mode + vlSelfRef.p_0);")
    fields = [f"        {_KINDS[name.split('_')[0]]} {name};" for name in _MEMBERS]
    fill = [f"    root.{name} = draw();" for name in _MEMBERS]
    show = [f'    printf("%llu\\n", (unsigned long long)root.{name});' for name in _MEMBERS]
    for name, text in (
        (f"{_ROOT}.h", _HEADER.replace("FIELDS", "\n".join(fields))),
        (f"{_ROOT}__0.cpp", _FUNCTION.replace("BODY", "\n".join(body))),
        (
            f"{_ROOT}__main.cpp",
            _MAIN.replace("FILL", "\n".join(fill))
            .replace("SHOW", "\n".join(show))
            .replace("SEED", f"{seed % 2**32}u")
            .replace("CYCLES", str(_CYCLES)),
        ),
    ):
        (folder / name).write_text(text.replace("ROOT", _ROOT))


def _run(folder: Path) -> list[str]:
    sources = [str(folder / f"{_ROOT}__{part}.cpp") for part in ("main", "0")]
    program = str(folder / "program")
    subprocess.run(["g++", "-O2", "-ftree-vectorize", *sources, "-o", program], check=True)
    shown = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return shown.split()


def test_loops_compute_what_the_statements_did(tmp_path: Path, seed: int) -> None:
    _write(tmp_path, random.Random(seed), seed)
    want = _run(tmp_path)
    looped = reroll(tmp_path, "Vx")
    assert looped >= 2 * _LANES  # products and what is shown of them, whatever their order
    text = (tmp_path / f"{_ROOT}__0.cpp").read_text()
    assert "for (int lane" in text
    assert _UNREAD not in text
    assert _run(tmp_path) == want
    assert len(want) == 1 + len(_MEMBERS)


def test_code_that_may_touch_anything_stays_where_it_is(tmp_path: Path, seed: int) -> None:
    _write(tmp_path, random.Random(seed), seed)
    path = tmp_path / f"{_ROOT}__0.cpp"
    lines = path.read_text().replace(_UNREAD, "vlSelf->mode")
    path.write_text(lines)
    want = _run(tmp_path)
    reroll(tmp_path, "Vx")
    assert path.read_text().count("vlSelf->mode") == _LANES
    assert _run(tmp_path) == want
