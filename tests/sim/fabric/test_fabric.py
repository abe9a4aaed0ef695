"""The fat tree against ns-3: files, definitions, single flows to the nanosecond, and limits."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from precog_net.summary import percentile
from precog_sim.fabric import __main__ as command
from precog_sim.fabric.campaign import MANY, judge, other_seeds, simulate
from precog_sim.fabric.slowdown import by_size, slowdowns
from precog_sim.fabric.traffic import BIN_WITHIN, LAWS, NETWORKS, ns3_figures
from precog_sim.network import Flow, Result, run


@pytest.mark.parametrize("name", ns3_figures())
def test_files_hold_the_flows_that_ns3_counted(name: str) -> None:
    scenario, normal = NETWORKS[name].load()
    size = np.array([flow.size for flow in scenario.flows])
    ones = np.ones(size.size)
    ours = {key: value["n"] for key, value in by_size(ones[normal], size[normal]).items()}
    ours |= {"normal": int(normal.sum()), "incast": int((~normal).sum())}
    for law in LAWS:
        assert ours == {key: value[0] for key, value in ns3_figures()[name][law].items()}
    ports = np.array([flow.dst_port for flow in scenario.flows])
    np.testing.assert_array_equal(ports == 100, normal)
    assert set(size[~normal].tolist()) == {500_000}
    assert max(flow.start_ps for flow in scenario.flows) < 3e9


def test_the_network_that_is_held_out_has_no_figures_of_ns3() -> None:
    scenario, normal = NETWORKS["storage"].load()
    assert "storage" not in ns3_figures()
    assert (len(scenario.flows), int((~normal).sum())) == (29_184, 120)
    assert max(flow.start_ps for flow in scenario.flows) < 1e9


def test_sizes_have_ns3_s_names() -> None:
    values = np.array([4.0, 1.0, 3.0, 2.0])
    size = np.array([1000, 1001, 10**8, 3_000_000])
    assert {key: one["mean"] for key, one in by_size(values, size).items()} == {
        "(0K,1K]": 4.0,
        "(1K,3K]": 1.0,
        "(1M,3M]": 2.0,
        "(10M,inf]": 3.0,
    }


@pytest.mark.parametrize("law", LAWS)
def test_single_flows_in_the_tree_to_the_nanosecond(law: str) -> None:
    """In a rack, in a pod, between pods; each link's transmission is cut to nanoseconds."""
    data, ack = {"hpcc": (1090, 88), "timely": (1056, 60)}.get(law, (1048, 60))
    scenario, _ = NETWORKS["websearch"].load()
    flows = tuple(Flow(0, dst, 1000, start_ps=k * 10**8) for k, dst in enumerate((1, 16, 64)))
    result = run(replace(scenario, flows=flows), LAWS[law], timing="ns3", ecmp="ns3")
    for links, fct_us in zip((2, 4, 6), result.fct_us, strict=True):
        ends = [100, 100] + [400] * (links - 2)
        expected = sum(2 * 1000 + data * 8 // gbps + ack * 8 // gbps for gbps in ends)
        assert round(fct_us * 1000) == expected
    # 2 x 1 us per link and 1000 bytes per hop, and 1048 bytes at 100 Gb/s
    alone = np.array([4160, 8200, 12240]) + 83.84
    np.testing.assert_allclose(slowdowns(result), np.maximum(result.fct_us * 1e3 / alone, 1))


@pytest.mark.parametrize("law", ["hpcc", "dcqcn"])
def test_websearch_is_within_the_limit_of_ns3(law: str) -> None:
    """The whole campaign is ``make fabric``; DCQCN depends on all that distinguishes a fabric."""
    network = NETWORKS["websearch"]
    result, line = simulate(network, law)
    ours, theirs = line["figures"], line["ns3"]
    assert result.finished
    assert line["holds"]
    assert abs(ours["normal"]["p95"] / theirs["normal"]["p95"] - 1) <= 0.03
    # half of the flows of each size meet hardly any queue
    for name, flows in theirs.items():
        assert ours[name]["n"] == flows["n"]
        if flows["n"] >= MANY:  # of fewer, DCQCN's random marks move the median by more
            assert ours[name]["p50"] == pytest.approx(flows["p50"], rel=0.03)
        if name != "incast" and flows["n"] >= MANY:
            assert abs(line["distance"][name]) <= BIN_WITHIN[law]


def _made_up(p95: float, *, unfinished: int = 0) -> Any:
    """A result whose normal flows' slowdowns have this percentile; nothing is simulated."""
    scenario, normal = NETWORKS["websearch"].load()
    fct_us = np.full(len(scenario.flows), 1e9)
    counts = dict.fromkeys(("pauses", "marks", "drops", "nacks", "max_queue", "events"), 7)
    size = np.array([flow.size for flow in scenario.flows])
    made = SimpleNamespace(scenario=scenario, fct_us=fct_us, size=size, end_us=1.0, cpu_s=1.0)
    made.__dict__.update(counts)
    slow = np.sort(slowdowns(cast(Result, made))[normal])
    made.fct_us = fct_us * p95 / percentile(slow, 0.95)
    made.fct_us[np.flatnonzero(normal)[:unfinished]] = np.nan
    return judge(NETWORKS["websearch"], "hpcc", cast(Result, made), normal)


def test_a_run_is_judged_by_its_percentile_and_its_last_flow() -> None:
    at, above, without = _made_up(2.60), _made_up(2.60 * 1.031), _made_up(2.60, unfinished=200)
    assert (at["holds"], above["holds"], without["holds"]) == (True, False, False)
    assert at["distance"]["normal"] == pytest.approx(0, abs=1e-9)
    assert above["distance"]["normal"] == pytest.approx(0.031)
    assert (without["distance"]["normal"], without["unfinished"]) == (None, 200)
    judged = {name for name, row in at["ns3"].items() if row["n"] >= MANY} - {"incast"}
    assert set(at["distance"]) == judged


@pytest.mark.parametrize(
    ("p95", "unfinished", "status", "row"),
    [
        (2.60, 0, 0, "| WebSearch | HPCC | 2.60 | 2.60 | +0.0% | 3% | holds | 7 | 7 | 0 |"),
        (2.50, 0, 1, "| HPCC | 2.50 | 2.60 | -3.8% | 3% | **missed** |"),
        (2.60, 200, 1, "| none | 2.60 | none | 3% | **missed** | 7 | 7 | 200 |"),
    ],
)
def test_command_writes_what_it_found_and_fails_beyond_a_limit(
    p95: float,
    unfinished: int,
    status: int,
    row: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = _made_up(p95, unfinished=unfinished)
    monkeypatch.setattr(command, "simulate", lambda network, law: (None, line))
    draws = [dict.fromkeys(line["figures"], p95 + n) for n in (1, 2)]
    monkeypatch.setattr(command, "other_seeds", lambda *asked: iter(draws[: asked[2] - 1]))
    options = ["--networks", "websearch", "--laws", "hpcc", "--out", str(tmp_path / "a")]
    options += ["--seeds", "3"]
    page = tmp_path / "page.md"
    assert command.main([*options, "--page", str(page)]) == status
    said = json.loads((tmp_path / "a/fabric.json").read_text(), parse_constant=pytest.fail)
    assert said["runs"] == [line]
    text = page.read_text()
    assert said["command"] == " ".join(
        ["python -m precog_sim.fabric", *options, "--page", str(page)]
    )
    made = f"`{said['command']}` from commit {said['commit']} in {said['cpu_s']:.0f} CPU seconds"
    assert made in text
    assert row in text
    assert "| (3K,10K] | 207 | " in text
    low, over = (p95, 3) if unfinished == 0 else (p95 + 1, 2)  # with the run's own, if it has one
    assert f"* WebSearch, HPCC: {low:.2f} to {p95 + 2:.2f} over {over} draws" in text
    near = 0
    for name in set(line["distance"]) - {"normal"}:
        own = line["figures"][name]["p95"]
        middle = median([p95 + 1, p95 + 2, *([] if own is None else [own])])
        near += abs(middle / line["ns3"][name]["p95"] - 1) <= BIN_WITHIN["hpcc"]
    assert f"By size, of 7 sizes with 100 flows or more {near} have the median of " in text
    assert command.main(options) == status
    assert (tmp_path / "a/fabric.md").read_text().count("## WebSearch, HPCC") == 1


def test_some_laws_have_other_draws() -> None:
    assert list(other_seeds(NETWORKS["websearch"], "timely", 5)) == []
    assert list(other_seeds(NETWORKS["websearch"], "dcqcn", 1)) == []
    with pytest.raises(SystemExit):
        command.main(["--seeds", "0"])
