"""A fleet on a simulated fabric: a sample is as the whole, and the protocol bears its size."""

import json
from pathlib import Path
from typing import Any

import pytest

from precog_fleet.timing import Timing
from precog_studies.fleet_scale import __main__ as study
from precog_studies.fleet_scale import steps
from precog_studies.fleet_scale.costs import Costs
from precog_studies.fleet_scale.engine import Engine, Server
from precog_studies.fleet_scale.scenario import Course, steady
from precog_studies.fleet_scale.simulation import Simulation
from precog_studies.fleet_scale.steps import compare
from precog_studies.fleet_scale.world import Fleet


def test_work_waits_for_the_work_before_it() -> None:
    engine = Engine()
    server, done = Server(engine), []
    for name, cost in (("first", 300.0), ("second", 50.0)):
        server.queue(cost, lambda name=name: done.append((name, engine.us)))  # type: ignore[misc]
    engine.at(100, lambda: done.append(("another", engine.us)))
    engine.run(1000)
    assert done == [("another", 100), ("first", 300), ("second", 350)]
    assert (engine.us, server.busy_us) == (1000, 350.0)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"agents": 15}, "agents must fill two racks of 8, not 15"),
        ({"job": 6}, "peers must be fewer than a job of 6, not 6"),
        ({"used": 3}, "used must be in 0..2 servers, not 3"),
    ],
)
def test_fleets_that_cannot_be(changes: dict[str, int], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Fleet(**({"agents": 40, "rack": 8, "servers": 2, "job": 20} | changes))


def test_a_sample_is_as_the_whole(seed: int) -> None:
    """Of the same three racks every record and exchange is there, at the same time.

    Bytes differ by the digits of versions: a shadow leaves out what nobody follows.
    """
    fleet = Fleet(60, 10, 0, job=20, used=0, seed=seed)
    found = compare(fleet, Course(warm_up=3, steady=2), Costs())
    for who in ("agent", "router"):
        full, sample = found["full"][who], found["sample"][who]
        for name in ("records_s", "said_s", "exchanges_s", "cpu_percent"):
            assert sample[name] == pytest.approx(full[name], rel=1e-9), (who, name)
        for name in ("bytes_in_s", "bytes_out_s"):
            assert sample[name] == pytest.approx(full[name], rel=1e-3), (who, name)
    assert found["full"]["agent"]["records_s"] > 20


def test_a_destination_of_all_costs_a_listener_no_more_than_one_of_sixteen(seed: int) -> None:
    fleet = Fleet(60, 10, 1, job=20, peers=1, used=1, seed=seed)
    simulation = Simulation(fleet, [0, 3])
    simulation.run(4)
    port = next(iter(simulation.ports.values()))
    assert port.gossip.store.voices("dst/s0") == fleet.reporters["dst/s0"] == 60
    figures = steady(simulation, 8)
    assert 10 < figures["agent"]["records_s"] < 1.3 * 16 + 4  # and those of its peers


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    def fleet(agents: int, rack: int, servers: int, *, job: int = 20, seed: int = 1) -> Fleet:
        return Fleet(16 if agents == 50 else 32, 8, 1, job=16, peers=6, used=1, seed=seed)

    monkeypatch.setattr(study, "Fleet", fleet)
    times = Course(warm_up=2, steady=2, cut=8, revoked=2, patience=12)
    monkeypatch.setattr(study, "_TIMES", {1000: times})
    monkeypatch.setattr(study, "_SHORT", times)
    monkeypatch.setattr(study, "_REAL", times)
    monkeypatch.setattr(study, "measured", Costs)
    monkeypatch.setattr(steps, "_SLOW", Timing(report=2500, ask=1000))


@pytest.mark.usefixtures("tiny")
def test_the_command(tmp_path: Path, seed: int) -> None:
    page = tmp_path / "page.md"
    arguments = ["--agents", "100", "--seed", str(seed), "--out", str(tmp_path), "--workers", "1"]
    assert study.main([*arguments, "--page", str(page)]) == 0
    said: dict[str, Any] = json.loads((tmp_path / "fleet_scale.json").read_text())
    real, simulated = said["real"]["real"], said["real"]["simulated"]
    assert real["agent"]["records_s"] == pytest.approx(simulated["agent"]["records_s"], rel=0.5)
    assert real["all"]["reports"] > 10
    found = said["100"]
    assert found["steady"]["all"]["count"] > 100
    assert found["steady"]["each"]["p50"] < 0.1
    assert found["newcomer"]["destinations_s"] < 5
    assert found["newcomer"]["known_to_all_s"] < 12
    cut = found["cut"]
    assert cut["answered_during"] < cut["answered_before"] <= 1
    assert cut["revoked_on_larger_side_s"] <= 12
    assert cut["revoked_s"] < 12
    assert cut["answers_s"] < 12
    assert cut["complete_s"] < 12
    assert 4 < found["dead"]["silent_s"] < 7
    text = page.read_text()
    assert text.count("| agent |") == 1
    assert "not reached" not in text


def test_too_few_agents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        study.main(["--agents", "50", "--out", str(tmp_path)])
    assert "agents must be at least 100, not 50" in capsys.readouterr().err
