"""A seed: its time is limited, and its result is kept."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from precog_sim.synth import place as module
from precog_sim.synth.place import Netlist, Placed, place
from precog_sim.synth.target import ECP5_85, SynthError

_REPORT = """{"fmax": {"clk": {"achieved": 101.5}}, "utilization": {"DP16KD": {"used": 3}}}"""


def router(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> Path:
    """A shell script in nextpnr's place, which counts its runs in a file; that file."""
    script, runs = folder / "nextpnr", folder / "runs"
    script.write_text(f"#!/bin/sh\necho run >> {runs}\n{body}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(module, "nextpnr", lambda: (str(script), "1"))
    return runs


def test_a_routing_without_end_is_stopped_and_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = router(tmp_path, monkeypatch, "exec sleep 60")
    netlist = Netlist(tmp_path, "abc", {})
    endless = Placed(4, None, {}, [])
    assert place(netlist, ECP5_85, 4, 0.2) == endless
    assert place(netlist, ECP5_85, 4, 0.1) == endless
    assert runs.read_text().count("run") == 1
    assert place(netlist, ECP5_85, 4, 0.3) == endless
    assert runs.read_text().count("run") == 2


def test_with_more_time_it_may_have_an_end_which_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netlist = Netlist(tmp_path, "abc", {})
    router(tmp_path, monkeypatch, "exec sleep 60")
    assert place(netlist, ECP5_85, 4, 0.2).fmax_mhz is None
    runs = router(tmp_path, monkeypatch, f"echo '{_REPORT}' > report-4.json")
    placed = place(netlist, ECP5_85, 4, 60.0)
    assert placed == Placed(4, 101.5, {"DP16KD": 3}, [])
    assert place(netlist, ECP5_85, 4, 0.1) == placed
    assert runs.read_text().count("run") == 2


def test_router2_has_settings_in_a_netlist_that_goes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """nextpnr reads them from the module that it places."""
    modules = {
        "top": {"attributes": {"top": "1"}, "cells": {"a": 1}},
        "LUT4": {"attributes": {}, "cells": {}},
    }
    made = {"creator": "yosys", "modules": modules}
    (tmp_path / "netlist.json").write_text(json.dumps(made))
    keep = f"""while [ "$1" != --json ]; do shift; done; cp "$2" seen
    echo '{_REPORT}' > report-1.json"""
    router(tmp_path, monkeypatch, keep)
    placed = place(Netlist(tmp_path, "abc", {}), replace(ECP5_85, router="router2"), 1, 60.0)
    assert placed.fmax_mhz == 101.5
    seen = json.loads((tmp_path / "seen").read_text())
    weights = seen["modules"]["top"].pop("settings")
    assert weights == {"router2/initCurrCongWeight": "2.5", "router2/currCongWeightMult": "0.5"}
    assert seen == made
    assert sorted(path.name for path in tmp_path.glob("*.json")) == [
        "netlist.json",
        "report-1.json",
        next(tmp_path.glob("seed1-*.json")).name,
    ]


def test_a_wire_without_a_way_is_a_seed_without_a_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netlist = Netlist(tmp_path, "abc", {})
    lost = "echo \"ERROR: Failed to route arc 0.0 of net 'clk', from X63 to X0.\" >&2; exit 1"
    runs = router(tmp_path, monkeypatch, lost)
    for limit_s in (60.0, 600.0):
        assert place(netlist, ECP5_85, 1, limit_s).fmax_mhz is None
    assert runs.read_text().count("run") == 1
    router(tmp_path, monkeypatch, "echo 'ERROR: no such device' >&2; exit 1")
    with pytest.raises(SynthError, match="no such device"):
        place(netlist, ECP5_85, 2, 60.0)
