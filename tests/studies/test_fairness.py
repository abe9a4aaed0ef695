"""Fairness: the starts, the figures on a run made by hand, the jitter, the file."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from precog_host.device import Device
from precog_host.driver.law import LawDriver
from precog_models.laws.compiler.load import load
from precog_sim.loop import LoopSetup, compare, run_in_loop
from precog_sim.network import Fixed, Flow, Loop, Record, Result, incast, jain, run
from precog_studies.fairness import __main__ as command
from precog_studies.fairness.measure import PARTS, Fairness, measure
from precog_studies.fairness.page import page
from precog_studies.fairness.settings import LAWS, Case, cases

_LAWS = {law.name: law for law in LAWS}
_SHORT_US = 2_000.0


def _run(case: Case, seed: int = 0) -> Result:
    return command.run_case(case, command.device_of("emu", case), seed=seed, log=True)


def _of_two(law: str = "pid", **changes: float) -> Case:
    return dataclasses.replace(Case("start", _LAWS[law], horizon_us=_SHORT_US), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("law", _LAWS)
def test_two_flows_start_at_70_and_30_percent_of_the_line(law: str) -> None:
    case = _of_two(law)
    uri = command.device_of("emu", case)
    with Device.open(uri) as device:
        case.setup().apply(device, 2)
        rates = [device.qp(k).status() for k in range(2)]
    assert [status.init_rate_gbps for status in rates] == pytest.approx([70.0, 30.0], rel=1e-6)
    assert [status.min_rate_gbps for status in rates] == pytest.approx([0.1, 0.1], rel=1e-3)
    scenario = dataclasses.replace(case.scenario(), horizon_us=3.0)  # before the first sample
    with Device.open(uri) as device:
        result = run_in_loop(device, case.setup(), scenario, record=Record(probe_us=1.0))
    np.testing.assert_allclose(result.probe_rate_gbps[-1], [70.0, 30.0], rtol=1e-6)
    assert len(result.sample_flow) == 0


def test_start_rates_must_be_the_flows() -> None:
    with Device.open("emu:") as device, pytest.raises(ValueError, match="each of 2 flows, not 1"):
        LoopSetup(init_gbps=(1.0,)).apply(device, 2)
    with pytest.raises(ValueError, match="flow_gbps must be a positive rate for each of 2 flows"):
        run(incast("hundredth", senders=2), Loop(function=1, flow_gbps=(1.0, 0.0)))


def test_values_take_the_place_of_a_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, int | list[int]] = {}
    monkeypatch.setattr(LawDriver, "load", lambda _, program, values, slot: told.update(values))
    with Device.open("emu:law_cores=1") as device:
        _LAWS["timely-gradient"].setup.apply(device, 1)
    expected = {"variant": 0, "alpha": 0.875, "ai": 10, "hai": 10, "low": 0, "high": 1000}
    assert told == load("timely").integers("default", 1000, **expected, min_rtt=20)


@pytest.mark.parametrize("law", ["predpid", "timely-scaled", "dcqcn-vendor"])
def test_a_run_repeats_itself(law: str) -> None:
    case = Case("burst", _LAWS[law], burst=True, jitter_us=5.0, horizon_us=6_000.0)
    one, two = _run(case), _run(case)
    found = compare(one, two)
    assert (found.mismatches, found.first) == (0, "")  # flows without an end do not differ
    assert found.decisions > 100
    assert measure(one, 2) == measure(two, 2)


def test_jain_of_known_rates() -> None:
    assert jain(np.array([5.0, 5.0])) == 1.0
    assert jain(np.array([7.0, 3.0])) == pytest.approx(100 / 116)
    assert jain(np.array([1.0, 0.0, 0.0, 0.0])) == 0.25
    assert jain(np.zeros(3)) == 1.0


def _by_hand() -> Result:
    """11 probes over 10 us at 100 Gb/s: 3:1 in the first half, 6000 and 4000 bytes per us after."""
    case = _of_two()
    scenario = dataclasses.replace(case.scenario(), horizon_us=10.0, jitter_ns=0.0)
    result = run(scenario, Fixed(start_gbps=1.0), record=Record(probe_us=1.0))
    t = np.arange(11.0)
    late = np.maximum(t - 5, 0)
    got = np.stack([300 * np.minimum(t, 5) + 6000 * late, 100 * np.minimum(t, 5) + 4000 * late])
    return dataclasses.replace(
        result,
        probe_t_us=t,
        probe_got=got.T.astype(np.int64),
        probe_queue=np.array([9000, 9000, 0, 0, 0, 1000, 2000, 3000, 4000, 5000, 6000])[:, None],
        sample_flow=np.array([0, 0, 1]),
        sample_t_us=np.array([1.0, 6.0, 7.0]),
        sample_rtt_ps=np.array([90_000_000, 4_000_000, 6_000_000]),
        header=np.full(2, 250),
        pauses=3,
        marks=4,
    )


def test_figures_of_a_run_made_by_hand() -> None:
    found = measure(_by_hand(), 2)
    assert found == Fairness(
        jain=pytest.approx(100 / 104),
        ratio=pytest.approx(1.5),
        utilisation=pytest.approx(1.0),  # 80 Gb/s of payload, a quarter more with headers
        queue_p50_kb=pytest.approx(3.5),
        queue_p99_kb=pytest.approx(5.95),
        queue_max_kb=6.0,
        first_gbps=pytest.approx(48.0),
        last_gbps=pytest.approx(32.0),
        least_gbps=pytest.approx(32.0),
        most_gbps=pytest.approx(48.0),
        rtt_p50_us=pytest.approx(5.0),
        rtt_p99_us=pytest.approx(5.98),
        pauses=3,
        marks=4,
        jain_over_time=found.jain_over_time,
    )
    assert len(found.jain_over_time) == PARTS
    assert found.jain_over_time[1] == pytest.approx(16 / 20)  # 3:1
    assert found.jain_over_time[-1] == pytest.approx(100 / 104)


def test_a_flow_that_gets_nothing_has_no_ratio() -> None:
    made = _by_hand()
    got = made.probe_got.copy()
    got[:, 1] = 0
    found = measure(dataclasses.replace(made, probe_got=got), 2)
    assert (found.ratio, found.least_gbps, found.jain) == (None, 0.0, 0.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fct_us": np.array([5.0, np.nan])}, "long flows must last until the horizon"),
        ({"probe_t_us": np.zeros(11)}, "at least 2 probes, not 0"),
    ],
)
def test_no_figures(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure(dataclasses.replace(_by_hand(), **changes), 2)  # type: ignore[arg-type]


def test_a_short_flow_must_end_in_the_first_half() -> None:
    with pytest.raises(ValueError, match="short flows must end"):
        measure(_by_hand(), 1)


def test_what_has_arrived_is_traced() -> None:
    result = run(incast("hundredth", senders=2), Fixed(start_gbps=40.0), record=Record(probe_us=1))
    assert (np.diff(result.probe_got, axis=0) >= 0).all()
    middle = len(result.probe_t_us) // 2
    rate = result.probe_got[middle] * 8e-3 / (result.probe_t_us[middle] - 2.2)
    np.testing.assert_allclose(rate, 40 / 1.048, rtol=0.01)


def test_jitter_is_seeded_bounded_and_on_one_flow() -> None:
    # one packet at a time and no queue: an RTT is the empty one plus jitter
    scenario = incast("hundredth", senders=2, sizes=[200_000, 200_000], jitter_ns=0.0)
    late = dataclasses.replace(scenario.flows[0], rtt_jitter_ps=20_000_000)
    jittered = dataclasses.replace(scenario, flows=(late, scenario.flows[1]))
    law = Fixed(start_gbps=5.0)
    plain = run(scenario, law)
    one, same, other = (run(jittered, law, seed=seed) for seed in (1, 1, 2))
    added = one.samples_of(0) - plain.samples_of(0).min()
    assert 0 <= added.min() < 3
    assert 17 < added.max() <= 20.1
    assert added.mean() == pytest.approx(10, abs=2.5)
    np.testing.assert_array_equal(one.samples_of(0), same.samples_of(0))
    n = min(len(one.samples_of(0)), len(other.samples_of(0)))
    assert (one.samples_of(0)[:n] != other.samples_of(0)[:n]).any()
    assert one.samples_of(1).max() < plain.samples_of(1).max() + 0.2
    assert len(one.samples_of(0)) < len(plain.samples_of(0))
    assert one.finished
    assert one.data_sent == plain.data_sent
    assert one.data_got == plain.data_got


@pytest.mark.parametrize("jitter", [-1, 10**12 + 1])
def test_jitter_out_of_range(jitter: int) -> None:
    with pytest.raises(ValueError, match="rtt_jitter_ps must be in 0"):
        Flow(0, 1, 1, rtt_jitter_ps=jitter)


def test_every_law_is_in_every_experiment() -> None:
    made = cases(1000.0)
    groups = {(case.experiment, case.flows, case.jitter_us) for case in made}
    assert len(made) == len(groups) * len(LAWS)
    assert {case.flows for case in made if case.experiment == "flows"} == {2, 8, 32, 128, 256}
    assert {case.jitter_us for case in made if case.experiment == "jitter"} == {1, 2, 5, 10, 20}
    assert all(law.why for law in LAWS)
    for case in made:
        flows = case.scenario().flows
        assert [flow.rtt_jitter_ps for flow in flows[1:]] == [0] * (len(flows) - 1)
        assert flows[0].rtt_jitter_ps == case.jitter_us * 1e6


def test_the_command_writes_what_it_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [_of_two(), Case("jitter", _LAWS["pid"], jitter_us=2.0, horizon_us=_SHORT_US)]
    monkeypatch.setattr(command, "cases", lambda horizon_us: few)
    assert command.main(["--out", str(tmp_path)]) == 0
    written = json.loads((tmp_path / "fairness.json").read_text())
    assert set(written["laws"]) == set(_LAWS)
    assert written["agreement"] == []
    assert (written["device"], written["start_gbps"]) == ("golden", [70.0, 30.0])
    fields = {field.name for field in dataclasses.fields(Fairness)}
    keys = {"experiment", "law", "flows", "jitter_us", "burst", "horizon_us", "decided_by"}
    assert [set(row) for row in written["results"]] == [fields | keys] * 2
    assert written["results"][1]["decided_by"] == "golden"


@pytest.mark.cosim
@pytest.mark.xdist_group("law_engine")
@pytest.mark.parametrize("law", ["timely-gradient", "dcqcn-ns3"])
def test_the_rtl_decides_the_same(law: str) -> None:
    case = Case("jitter", _LAWS[law], jitter_us=20.0, burst=True, horizon_us=_SHORT_US)
    rtl = command.run_case(case, "sim:tiny,law_cores=1", log=True)
    found = compare(_run(case), rtl)
    assert (found.mismatches, found.first) == (0, "")
    assert found.decisions > 100


def test_the_page_has_a_line_for_each_law_of_the_record() -> None:
    said = json.loads((Path(__file__).parents[2] / "docs/evidence/data/fairness.json").read_text())
    text = page({"command": "c", "commit": "d", **said}, "fairness.json")
    row = next(r for r in said["results"] if r["law"] == "predpid" and r["experiment"] == "start")
    assert f"| predpid | {row['jain']:.3f} |" in text
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert [line.split(" | ")[0].strip("| ") for line in lines] == ["law", "---", *_LAWS]
    cells = {line.count(" | ") for line in lines if "---" not in line}
    assert cells == {8}
    assert "–" not in text.split("Jain's index:")[1]
    assert "The golden NIC decides all runs." in page(
        {"command": "c", "commit": "d", **said, "agreement": []}, "fairness.json"
    )
