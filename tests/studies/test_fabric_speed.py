"""The study of the network simulator's speed, with the shortest runs."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

import precog_studies.fabric_speed.__main__ as study
from precog_studies.fabric_speed import cases, rings, rival
from precog_studies.fabric_speed.__main__ import PARTS, main


def test_a_ring_alone_takes_the_closed_form() -> None:
    ring = rings.Ring(hosts=8, size=1_600_000)
    assert rings.alone(ring) == pytest.approx(rings.closed_form_us(ring), rel=0.01)


def test_a_ring_takes_longer_beside_others() -> None:
    ring = rings.Ring(hosts=16, size=400_000)
    alone = rings.on_leaves(ring, "dctcp", 0.0, 1)
    loaded = rings.on_leaves(ring, "dctcp", 0.6, 1)
    assert alone.others_p95 is None
    assert alone.took_us is not None
    assert loaded.took_us is not None
    assert loaded.others_p95 is not None
    assert alone.took_us < loaded.took_us <= 1e3 * loaded.watched_ms
    assert loaded.others_p95 > 1


def test_others_outlast_a_slow_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rings.Ring, "search_ms", 0.1)
    ring = rings.Ring(hosts=16, size=400_000)
    found = rings.on_leaves(ring, "dctcp", 0.3, 1)
    assert found.took_us is not None
    assert found.watched_ms in (0.2, 0.4)
    assert 500 * found.watched_ms < found.took_us <= 1000 * found.watched_ms
    never = rings.on_leaves(rings.Ring(hosts=16, size=40_000_000), "dctcp", 0.3, 1)
    assert (never.took_us, never.watched_ms) == (None, 0.4)


def test_a_laws_figures_are_of_paired_seeds() -> None:
    alone = [asdict(rings.Completion(us, None, 1000.0)) for us in (10.0, 20.0)]
    loaded = [asdict(rings.Completion(us, 4.0, ms)) for us, ms in ((15.0, 1.0), (50.0, 2.0))]
    found = rings.judged(alone, loaded)
    means = {name: found[name]["mean"] for name in ("alone_us", "loaded_us", "ratio")}
    assert means == {"alone_us": 15.0, "loaded_us": 32.5, "ratio": 2.0}
    assert found["others_p95"]["half_width"] == 0
    assert found["watched_ms"] == 2.0
    loaded[0]["took_us"] = None
    found = rings.judged(alone, loaded)
    assert (found["loaded_us"], found["ratio"]) == (None, None)


def test_rings_are_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--parts", "rings", "--law", "dctcp", "--seeds", "2", "--scale", "0.001"]
    words += ["--out", str(tmp_path), "--runs", str(tmp_path / "runs")]
    page = tmp_path / "page.md"
    assert main([*words, "--page", str(page)]) == 0
    first = json.loads((tmp_path / "fabric_speed.json").read_text())["rings"]["found"]
    assert set(first["laws"]) == {"dctcp"}
    assert first["laws"]["dctcp"]["ratio"]["seeds"] == 2
    assert "| dctcp | " in page.read_text()
    monkeypatch.setattr(rings, "on_leaves", None)
    assert main(words) == 0
    assert json.loads((tmp_path / "fabric_speed.json").read_text())["rings"]["found"] == first


def test_fabrics_are_one_switch_or_whole_pods() -> None:
    assert cases.fabric(16, 0.1).topology.switches == 1
    assert cases.fabric(128, 0.01).topology.hosts == 128
    with pytest.raises(ValueError, match="at most 16 or a multiple of 64, not 65"):
        cases.fabric(65, 0.1)


def test_a_run_in_a_process_of_its_own_is_the_same_run() -> None:
    here = cases.cost("senders", 3, 0.02, "hpcc")
    there = cases.measured("senders", 3, 0.02, "hpcc")
    assert (here.flows, here.events, here.packets) == (there.flows, there.events, there.packets)
    assert there.memory_mb > 50
    with pytest.raises(RuntimeError, match="law must be one of"):
        cases.measured("senders", 3, 0.02, "nobody")


def test_without_ns3_there_is_a_reason() -> None:
    assert rival.why_not("") == "no interpreter with the package ns3 was named (--ns3)"
    assert "cannot be run" in rival.why_not("/nowhere/python")
    assert "cannot import ns3: ModuleNotFoundError" in rival.why_not(sys.executable)


def test_the_command_keeps_the_parts_it_was_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, "HOSTS", (16,))
    monkeypatch.setattr(cases, "SENDERS", (20,))
    page = tmp_path / "page.md"
    words = ["--scale", "0.01", "--rounds", "1", "--out", str(tmp_path), "--page", str(page)]
    assert main(["--parts", "hosts", "ns3", *words]) == 0
    monkeypatch.setattr(study, "_CORES", ((16, 10.0),))
    assert main(["--parts", "senders", "cores", *words]) == 0
    said = json.loads((tmp_path / "fabric_speed.json").read_text())
    assert set(said) == {"cores", "hosts", "senders", "ns3"} < set(PARTS)
    cores = said["cores"]["found"]
    assert cores["processors"] == len(os.sched_getaffinity(0))
    assert [one["threads"] for one in cores["runs"]][:1] == [1]
    assert max(one["threads"] for one in cores["runs"]) <= cores["processors"]
    assert all(part["commit"] for part in said.values())
    assert said["hosts"]["found"][0]["events"] > 0
    text = page.read_text()
    assert "times as fast as one" in text
    assert "Not measured: no interpreter" in text
    assert "data/fabric_speed.svg" in text
    assert (tmp_path / "fabric_speed.svg").is_file()
    with pytest.raises(SystemExit):
        main([*words, "--scale", "2"])
    with pytest.raises(SystemExit):
        main([*words, "--seeds", "1"])
