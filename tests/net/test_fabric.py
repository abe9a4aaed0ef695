"""``precog sim fabric``: the same flows under each law, each run done once."""

import importlib
import json
import math
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command_line import ran

from precog_net import campaign
from precog_net.job import Job, Outcome, execute
from precog_net.summary import summary
from precog_sim.network import Dctcp

Run = Callable[..., Any]
SMALL = ("--topology", "star:hosts=5", "--workload", "rpc:0.1+incast:3x20k:0.1")
SMALL += ("--duration-ms", "0.05")
PERCENTILES = ("p50", "p95", "p99", "p999")

#: A law of a researcher's own module.
OWN = Dctcp(start_gbps=1.0)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    def go(*arguments: str, status: int = 0) -> Any:
        done = ran(capsys, "sim", "fabric", "-o", str(tmp_path), "-j", *arguments)
        assert done.status == status, done.err
        return done.err if status else json.loads(done.out)

    return go


def test_laws_meet_the_same_flows(run: Run, tmp_path: Path) -> None:
    data = run(*SMALL, "--law", "hpcc", "--law", "dctcp", "--seeds", "2", "--jobs", "1")
    assert json.loads((tmp_path / "fabric.json").read_text()) == data
    hpcc, dctcp = (data["results"][law] for law in ("hpcc", "dctcp"))
    for found in (hpcc, dctcp):
        assert found["finished"] == found["flows"] > 10
        assert set(found["classes"]) == {"rpc", "incast"}
        assert [seed["seed"] for seed in found["seeds"]] == [0, 1]
        assert found["flows"] == sum(seed["flows"] for seed in found["seeds"])
        for kind in (found["all"], found["incast"], *found["bins"], *found["classes"].values()):
            assert 1 <= kind["p50"] <= kind["p95"] <= kind["p99"]
        assert found["all"]["n"] == found["incast"]["n"] + sum(b["n"] for b in found["bins"])
        assert 0 < found["queue"]["p99"] <= found["queue"]["max"]
        assert 0 < found["utilisation"] < 1
    for kind in ("rpc", "incast"):
        assert hpcc["classes"][kind]["n"] == dctcp["classes"][kind]["n"]
    assert hpcc["seeds"][0]["flows"] != hpcc["seeds"][1]["flows"]


def test_what_is_said_of_flows() -> None:
    """Of the flows of two runs, one of which does not end; bins are of those of no incast."""
    counts = dict.fromkeys(
        ("events", "pauses", "drops", "marks", "timeouts", "retransmitted", "cpu_s"), 1.0
    ) | {"utilisation": 0.5, "pause_share": 0.0, "queue_p50": 1.0, "queue_p99": 4.0}

    def outcome(slowdown: list[float], most: float) -> Outcome:
        flows = {
            "start_us": np.zeros(4),
            "bytes": np.array([1000, 1001, 500_000, 20_000_000]),
            "class": ["rpc", "rpc", "incast", "big"],
            "law": ["hpcc", "hpcc", "swift", "swift"],
            "fct_us": np.array(slowdown),
            "slowdown": np.array(slowdown),
        }
        return Outcome(flows, counts | {"queue_max": most})

    found = summary({0: outcome([1, 2, 30, 4], 9.0), 5: outcome([3, 2, 10, math.nan], 7.0)})
    assert (found["flows"], found["finished"], found["all"]["n"]) == (8, 7, 7)
    assert found["incast"] == {"n": 2, "mean": 20.0} | dict.fromkeys(PERCENTILES, 30.0)
    assert [(part["max_bytes"], part["n"], part["mean"]) for part in found["bins"]] == [
        (1000, 2, 2.0),
        (3000, 2, 2.0),
        (None, 1, 4.0),
    ]
    assert found["queue"] == {"p50": 1.0, "p99": 4.0, "max": 9.0}
    assert [run["queue"]["max"] for run in found["seeds"]] == [9.0, 7.0]
    assert (found["classes"]["big"]["unfinished"], found["laws"]["swift"]["n"]) == (1, 3)
    assert summary({0: outcome([1, 2, 30, 4], 9.0)})["seeds"][0]["bins"][0]["mean"] == 1.0


def test_a_run_is_done_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Job] = []

    def counted(job: Job, threads: int) -> Any:
        done.append(job)
        return execute(job, threads)

    monkeypatch.setattr(campaign, "execute", counted)
    first = run(*SMALL, "--law", "hpcc", "--jobs", "1")
    assert len(done) == 1
    assert run(*SMALL, "--law", "hpcc", "--jobs", "1") == first
    assert len(done) == 1
    run(*SMALL, "--law", "hpcc", "--jobs", "1", "--seeds", "2")
    assert [job.seed for job in done] == [0, 1]


def test_processes_change_nothing(tmp_path: Path) -> None:
    jobs = [
        Job("star:hosts=5", "rpc:0.1", "", law, 3, duration_ms=0.05, stop_ms=10.0)
        for law in ("hpcc", "dctcp")
    ]
    one = campaign.run_all(jobs, tmp_path / "one", workers=1)
    two = campaign.run_all(jobs, tmp_path / "two", workers=2)
    for job in jobs:
        assert one[job].flows["fct_us"].tolist() == two[job].flows["fct_us"].tolist()
        assert one[job].flows["class"] == two[job].flows["class"]
        a, b = ({**found[job].counts, "cpu_s": 0} for found in (one, two))
        assert a == b
        assert summary({3: one[job]})["bins"] == summary({3: two[job]})["bins"]


def test_a_law_of_ones_own_and_a_file_of_flows(run: Run, tmp_path: Path) -> None:
    flows = tmp_path / "flows.csv"
    flows.write_text("start_ns,src,dst,bytes,class\n0,1,0,100000,big\n0,2,0,1000,small\n")
    arguments = ("--topology", "star:hosts=3", "--flows", str(flows), "--jobs", "1")
    name = f"{__name__}:OWN"
    data = run(*arguments, "--law", name, "--law", "dctcp")
    own, plain = (data["results"][law] for law in (name, "dctcp"))
    assert own["classes"]["big"]["mean"] > 2 * plain["classes"]["big"]["mean"]
    assert own["flows"] == own["finished"] == 2
    flows.write_text("start_ns,src,dst,bytes,class\n0,1,0,100000,big\n")  # another content
    assert run(*arguments, "--law", "dctcp")["results"]["dctcp"]["flows"] == 1


def test_laws_by_class_and_by_flow(run: Run, tmp_path: Path) -> None:
    mixed = run(*SMALL, "--law", "theta-powertcp+incast=swift:preset=scaled", "--jobs", "1")
    (found,) = mixed["results"].values()
    laws = {"theta-powertcp": "rpc", "swift:preset=scaled": "incast"}
    assert set(found["laws"]) == set(laws)
    for law, kind in laws.items():
        names = ("n", "mean", "p50", "p99")
        assert [found["laws"][law][n] for n in names] == [found["classes"][kind][n] for n in names]
    flows = tmp_path / "flows.csv"
    lines = ["start_ns,src,dst,bytes,law", "0,1,0,100000,fixed", "0,2,3,100000,", "9,4,3,5000,"]
    flows.write_text("\n".join(lines) + "\n")
    own = run("--topology", "star:hosts=5", "--flows", str(flows), "--law", "hpcc", "--jobs", "1")
    assert {law: part["n"] for law, part in own["results"]["hpcc"]["laws"].items()} == {
        "fixed": 1,
        "hpcc": 2,
    }


def test_a_law_that_changed_is_another_law(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Modules of the current folder are found, and an edit of one is not the old result."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    text = "from precog_sim.network import Fixed\ndef slow(): return Fixed(start_gbps={})\n"
    took = []
    for gbps in (50.0, 5.0):
        Path("my_law.py").write_text(text.format(gbps))
        sys.modules.pop("my_law", None)
        importlib.invalidate_caches()
        shutil.rmtree("__pycache__", ignore_errors=True)
        arguments = ("--topology", "star:hosts=4", "--workload", "ring:4x40k", "--jobs", "1")
        took.append(run(*arguments, "--law", "my_law:slow")["results"]["my_law:slow"]["jct_ms"])
    assert took[1]["ring"] > 3 * took[0]["ring"]


@pytest.mark.parametrize("text", ["raise SystemExit(0)", "1 / 0", "x", "raise RuntimeError"])
def test_a_law_s_module_that_fails(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    Path("bad_law.py").write_text(text)
    importlib.invalidate_caches()
    said = run("--law", "bad_law:x", status=2)
    assert said.startswith("error: law bad_law:x cannot be imported: ")


def test_the_result_s_place_is_looked_at_first(run: Run, tmp_path: Path) -> None:
    (tmp_path / "fabric.json").mkdir()
    said = run(*SMALL, "--law", "hpcc", status=2)
    assert said == f"error: file {tmp_path}/fabric.json: Is a directory\n"
    assert not (tmp_path / "runs").exists()


def test_a_damaged_result_is_made_again(run: Run, tmp_path: Path) -> None:
    first = run(*SMALL, "--law", "hpcc", "--jobs", "1")
    (path,) = (tmp_path / "runs").iterdir()
    path.write_bytes(path.read_bytes()[:100])
    again = run(*SMALL, "--law", "hpcc", "--jobs", "1")
    assert again["results"]["hpcc"]["bins"] == first["results"]["hpcc"]["bins"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--law", "bbr"), "law must be one of dcqcn, dcqcn-barre, dctcp, fixed, hpcc, hpcc-pint,"),
        (("--law", "hpcc:eta=0.9"), "law hpcc must have no setting but start_gbps, not eta"),
        (("--law", "swift:ai=x"), "law swift ai must be a number, not 'x'"),
        (("--law", "swift:preset=fast"), "law swift preset must be one of scaled, not 'fast'"),
        (("--law", "swift:bai=1"), "law swift parameter must be one of base_us, queue_us"),
        (("--law", "card:swift5"), "law must be a file that ends in .py, or dcqcn, fixed"),
        (("--law", "no.py"), "law no.py must be a readable file: No such file"),
        (("--law", "hpcc+dctcp"), "law hpcc+dctcp must have one law for all other classes"),
        (("--law", "incast=hpcc", *SMALL), "must have a law for class rpc: add +rpc=LAW"),
        (("--law", "hpcc+mice=dctcp", *SMALL), "class must be one of incast, rpc, not 'mice'"),
        (("--law", "hpcc-pint+incast=hpcc", *SMALL), "must need the same telemetry"),
        (("--law", "no.such:law"), "law no.such:law cannot be imported"),
        (("--law", "json:loads"), "law json:loads cannot be made without arguments: TypeError"),
        (("--law", "json:decoder"), "law json:decoder must be a CongestionControl, not module"),
        (("--workload", "ring:8x900G"), "flows must have at most 2e+08 packets of 1000 bytes in"),
        (("--duration-ms", "0"), "duration-ms must be above 0 and at most 1e5, not 0.0"),
        (("--duration-ms", "60"), "stop-ms must be at least duration-ms = 60, not 50.0"),
        (("--timing", "ns2"), "timing must be exact or ns3, not 'ns2'"),
        (("--ecmp", "ns3"), "ecmp must be own, or ns3 with --timing ns3, not 'ns3'"),
        (("--topology", "ring"), "topology must be one of"),
        (("--workload", "x:1"), "workload must be one of"),
        (("--flows", "/no/such"), "file /no/such: No such file"),
    ],
)
def test_refusals(run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in run(*arguments, status=2)
    assert not (tmp_path / "runs").exists(), "nothing runs before everything is checked"
