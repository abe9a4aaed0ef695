"""Commands that the simulator and the gateware add to ``precog``."""

import dataclasses
import inspect
import json
import os
from pathlib import Path

import pytest
from tests.command_line import Ran, Run, ran

from precog_host.device import Device
from precog_hw import export
from precog_models.image import pretrained_names
from precog_models.presets import LAW_PRESETS
from precog_models.rate.reference.dcqcn import PRESETS as DCQCN
from precog_models.rate.reference.pid import PRESETS as PID_PRESETS
from precog_models.rate.reference.timely import PRESETS as TIMELY
from precog_models.train.presets import RECIPES
from precog_sim.collect import PLANS
from precog_sim.commands.incast_options import PROGRAMS
from precog_sim.commands.train import train
from precog_sim.demo.plan import Plan
from precog_sim.network import incast
from precog_sim.network.incast import INCASTS
from precog_spec.config import PRESETS as NIC_PRESETS

EXPORT = ["export", "-o", "x.v", "--block"]
CORUNDUM = ["export", "--target", "corundum"]
SMALL = ["--scenario", "hundredth", "--senders", "3"]
LOOP = ["--in-the-loop"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def go(*arguments: str) -> Ran:
        return ran(capsys, *arguments)

    return go


def test_incast_of_several_laws(run: Run) -> None:
    status, out, _ = run("sim", "incast", *SMALL, "--law", "pid", "--law", "timely", "-j")
    assert status == 0
    results = json.loads(out)["results"]
    assert [row["law"] for row in results] == ["pid", "timely"]
    assert [row["device"] for row in results] == ["emu:", None]
    for row in results:
        assert 4.0 < row["metrics"]["sample_mean_us"]["mean"] < 60.0
    status, out, _ = run("sim", "incast", *SMALL, "--law", "pid", "--seeds", "2")
    assert status == 0
    assert "2 seeds" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--start-gbps 0",
            "initial rate (init_gbps) must be in min_gbps..max_gbps, 1..100 Gb/s, not 0",
        ),
        ("--senders 99", "flows must be at most the device's 64 queue pairs, not 99"),
        ("--preset mine", "law preset must be one of"),
        ("--scores queue -d sim:tiny", "device must have a queue profiler and forecasts"),
        ("--law dcqcn --in-the-loop rtl --dcqcn mine", "preset of dcqcn must be one of"),
        ("-d sim:lanes=3", "simulator: lanes must"),
        ("-d sim:width=64", "device in the loop must have no packets: leave width out"),
    ],
)
def test_incast_refuses_a_setup_before_its_device_is_built(
    run: Run, words: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Device, "open", None)
    law = [] if "--law" in words else ["--law", "pid"]
    device = [] if "-d" in words.split() or "rtl" in words else ["-d", "sim:"]
    done = run("sim", "incast", *SMALL, *law, *device, *words.split())
    assert done.status == 2
    assert done.err.startswith(f"error: {message}"), done.err


@pytest.mark.parametrize("law", ["pid", "timely", "dcqcn"])
def test_who_decides(run: Run, law: str) -> None:
    rows = {}
    engine = ",law_cores=1" * (law in PROGRAMS)
    given = f"emu:qps=8{engine}"
    for place, more in (("float", []), ("golden", []), ("golden", ["-d", given])):
        arguments = [*SMALL, "--cc", law, *LOOP, place, *more, "-j"]
        status, out, _ = run("sim", "incast", *arguments)
        assert status == 0
        rows[(place, *more)] = json.loads(out)["results"][0]
        rows[(place, *more)]["metrics"].pop("packets_per_cpu_s")
    assert [row["device"] for row in rows.values()] == [None, "emu:" + engine[1:], given]
    real, golden, same = (row["metrics"] for row in rows.values())
    assert same == golden
    assert golden["mean_fct_ms"]["mean"] == pytest.approx(real["mean_fct_ms"]["mean"], rel=0.05)


@pytest.mark.parametrize(
    ("more", "device"),
    [
        (["--law", "pid", "--scores", "oracle"], "emu:"),
        (["--law", "pid", "--scores", "queue", "--echo"], "emu:forecast=1,profile=1"),
        (
            ["--cc", "timely", *LOOP, "golden", "--scores", "queue"],
            "emu:forecast=1,profile=1,law_cores=1",
        ),
        (["--law", "pid", "--scores", "model"], "emu:"),
    ],
)
def test_scores_are_followed(run: Run, more: list[str], device: str) -> None:
    status, out, _ = run("sim", "incast", *SMALL, *more, "-j")
    assert status == 0
    assert json.loads(out)["results"][0]["device"] == device


def test_presets_of_other_laws_are_not_asked(run: Run) -> None:
    arguments = [*SMALL, "--law", "pid", "--law", "dcqcn", "--dcqcn", "ns3-paper-timers", "-j"]
    status, out, _ = run("sim", "incast", *arguments)
    assert status == 0
    assert [row["device"] for row in json.loads(out)["results"]] == ["emu:", None]


@pytest.mark.cosim
@pytest.mark.xdist_group("tiny")
def test_the_rtl_decides_as_the_golden_model(run: Run) -> None:
    if "rtt-incast" not in pretrained_names():
        pytest.skip("no model is shipped yet")

    def metrics(device: str) -> dict[str, dict[str, float]]:
        status, out, _ = run("sim", "incast", *SMALL, "--law", "predpid", "-d", device, "-j")
        assert status == 0
        found: dict[str, dict[str, float]] = json.loads(out)["results"][0]["metrics"]
        found.pop("packets_per_cpu_s")
        return found

    golden = metrics("emu:")
    assert metrics("sim:tiny") == golden


@pytest.mark.cosim
@pytest.mark.xdist_group("law_engine")
def test_the_rtl_runs_a_law_of_its_own_clocks(run: Run) -> None:
    found = []
    for place, device in (("golden", "emu:law_cores=1"), ("rtl", "sim:tiny,law_cores=1")):
        arguments = [*SMALL, "--size", "50000", "--cc", "dcqcn", "--dcqcn", "vendor"]
        status, out, _ = run("sim", "incast", *arguments, *LOOP, place, "-d", device, "-j")
        assert status == 0
        row = json.loads(out)["results"][0]
        assert row["device"] == device
        row["metrics"].pop("packets_per_cpu_s")
        found.append(row["metrics"])
    assert found[0] == found[1]


def test_tune_trains_every_flow(run: Run) -> None:
    status, out, _ = run("pid", "tune", "--scenario", "hundredth", "--seeds", "1", "-j")
    assert status == 0
    data = json.loads(out)
    assert data["flows"] == 20
    assert [row["gain"] for row in data["gains"]] == ["kp", "ki", "kd"]
    assert all(row["low"] != row["start"] for row in data["gains"])


@pytest.mark.xdist_group("tiny")
def test_export_writes_verilog(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sub" / "nic.v"
    status, out, _ = run("export", "-o", str(path), "--preset", "tiny", "-j")
    assert status == 0
    assert json.loads(out)["config"]["qps"] == 4
    text = path.read_text()
    assert text.startswith("// Fields of ports:\n")
    assert "module precog_nic(" in text


@pytest.mark.xdist_group("cps-tx")
def test_export_refuses_a_place_before_it_elaborates(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "nic_verilog", None)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = run("export", "-o", str(pipe))
    problem = "Not a regular file: pipes and devices cannot be replaced, give a file's name"
    assert (done.status, done.err) == (2, f"error: file {pipe}: {problem}\n")
    monkeypatch.setattr("precog_hw.corundum.export.app_files", None)
    done = run(*CORUNDUM, "-o", str(pipe / "app"))
    assert (done.status, done.err) == (2, f"error: file {pipe}: No such folder\n")


def test_export_writes_a_part_of_the_packet_path(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "tx.v"
    arguments = ("--block", "cps-tx", "--width", "64", "--slots", "16", "--name", "mine")
    status, out, _ = run("export", "-o", str(path), *arguments, "-j")
    assert status == 0
    data = json.loads(out)
    assert (data["block"], data["config"]) == ("cps-tx", {"width": 64, "slots": 16})
    text = path.read_text()
    assert "//   row_config: mode[1:0], " in text
    assert "module mine(" in text


def test_export_writes_the_block_for_corundum(run: Run, tmp_path: Path, monkeypatch) -> None:
    """The files, and what went into them; elaborating the NIC takes half a minute."""
    asked = {}

    def files(config, widths, **options):  # type: ignore[no-untyped-def]
        asked.update(config=config, widths=widths, **options)
        return {"mqnic_app_block.v": "module mqnic_app_block;\n"}

    monkeypatch.setattr("precog_hw.corundum.export.app_files", files)
    folder = tmp_path / "sub" / "app"
    arguments = ("-o", str(folder), "--width", "64", "--width", "512", "--app-id", "0x43500001")
    status, out, _ = run("export", "--target", "corundum", *arguments, "--ports", "2", "-j")
    assert status == 0
    assert list(json.loads(out)["files"]) == [str(folder / "mqnic_app_block.v")]
    assert (folder / "mqnic_app_block.v").read_text() == "module mqnic_app_block;\n"
    config = NIC_PRESETS["corundum-100g"]
    options = {"nics": 2, "tick_ps": 4000, "app_id": 0x43500001}
    assert asked == {"config": config, "widths": [64, 512], **options}
    monkeypatch.chdir(tmp_path)
    assert run("export", "--target", "corundum", "--preset", "tiny", "--tick-ps", "3200")[0] == 0
    options = {"nics": 1, "tick_ps": 3200, "app_id": 0x12340001}
    assert asked == {"config": NIC_PRESETS["tiny"], "widths": [64], **options}
    assert (tmp_path / "precog_corundum" / "mqnic_app_block.v").exists()


def test_synth_shows_the_last_tables(run: Run, tmp_path: Path) -> None:
    record = [
        {"block": "core", "lanes": 64, "fmax_mhz": 199.5, "dsp": 91},
        {"block": "cps-tx", "width": 512, "gbps": 65.4},
        {"block": "laws", "qps": 1024, "fmax_mhz": 154.2},
    ]
    (tmp_path / "summary.json").write_text(json.dumps(record))
    status, out, _ = run("synth", "--show", "-o", str(tmp_path), "-j")
    assert (status, json.loads(out)) == (0, record)
    shown = run("synth", "--show", "-o", str(tmp_path))[1]
    assert "199.5" in shown
    assert "65.4" in shown
    assert "154.2" in shown


@pytest.mark.parametrize("text", ["{", '{"core": []}', "[1]"])
def test_a_malformed_table_of_synth_is_named(run: Run, tmp_path: Path, text: str) -> None:
    path = tmp_path / "summary.json"
    path.write_text(text)
    status, _, err = run("synth", "--show", "-o", str(tmp_path))
    assert status == 2
    assert err.startswith(f"error: file {path} must ")
    path = path.rename(tmp_path / "boards.json")
    status, _, err = run("synth", "--board", "ecpix-5-85f", "-o", str(tmp_path))
    assert (status, err.startswith(f"error: file {path} must ")) == (2, True)


def test_a_run_without_an_end_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    made = dataclasses.replace(incast("hundredth", senders=2), horizon_us=5.0)
    monkeypatch.setattr("precog_sim.network.incast", lambda *_, **__: made)
    status, out, err = run("sim", "incast", "--law", "pid")
    assert (status, out) == (1, "")
    assert err.startswith("error: no flow of pid, seed 0, finished in 5 µs (the horizon)")


def test_help_names_the_presets(run: Run) -> None:
    for command, names in (
        (["sim", "incast"], [*INCASTS, *LAW_PRESETS, *TIMELY, *DCQCN]),
        (["pid", "tune"], [*INCASTS, *PID_PRESETS]),
        (["model", "train"], [*RECIPES, *PLANS]),
        (["export"], [*NIC_PRESETS]),
    ):
        text = "".join(run(*command, "--help")[1].split())  # names are broken at their hyphens
        assert all(name in text for name in names), command


def test_training_has_the_demos_seed() -> None:
    assert inspect.signature(train).parameters["seed"].default == Plan().train_seed


#: Arguments, and what is said of them.
_BAD = [
    (["sim", "incast", "--law", "cubic"], "law must be one of pid, predpid"),
    (["sim", "incast", "--scenario", "x"], "incast preset must be one of"),
    (["sim", "incast", "--size", "0", "--law", "pid"], "flow size must be at least 1 byte"),
    (["sim", "incast", *SMALL, "--timing", "x", "--law", "pid"], "timing must be exact or ns3"),
    (["sim", "incast", *SMALL, "--preset", "x", "--law", "pid"], "law preset must be one of"),
    (["sim", "incast", "--model", "/no/file"], "file /no/file: No such file"),
    (["sim", "incast", "--seeds", "0"], "invalid value for '--seeds'"),
    (["sim", "incast", *SMALL, "--law", "pid", "-d", "emu:qps=2"], "flows must be at most"),
    (["sim", "incast", *SMALL, "--law", "pid", "-d", "x:"], "device transport must be one of"),
    (
        ["sim", "incast", *SMALL, "--law", "pid", "-d", "emu:tick_ps=2000"],
        "device in the loop must have a tick of 1000 ps, not 2000 ps: leave tick_ps out",
    ),
    (["sim", "incast", "--size", str(10**15)], "flow size must be at most 1099511627776"),
    (["sim", "incast", "--jitter-ns", "nan"], "jitter_ns must be in 0.."),
    (
        ["sim", "incast", *SMALL, "--start-gbps", "0"],
        "initial rate (init_gbps) must be in min_gbps..max_gbps, 1..100 Gb/s, not 0: give another",
    ),
    (["pid", "tune", "--preset", "x"], "preset must be one of"),
    (["model", "train", "-o", "/no/folder/m"], "file /no/folder: No such folder"),
    (["model", "train", "-o", "x.model", "--data", "x"], "data plan must be one of"),
    (["model", "train", "-o", "/tmp"], "file /tmp: Is a directory"),
    (["model", "train", "-o", "x.model", "--preset", "x"], "training preset must be one of"),
    (["model", "train", "-o", "x.model", "--seed", "-1"], "invalid value for '--seed'"),
    (
        ["model", "train", "-o", "x.model", "--version", "-1"],
        "invalid value for '--version'",
    ),
    (["export", "-o", "/tmp"], "output must be a file, /tmp is a folder"),
    (["synth", "--show", "--lanes", "16"], "option --lanes has no effect with --show"),
    (["sim", "incast", "--law", "hpcc", "-d", "sim:"], "option --device has no effect with"),
    (
        ["sim", "incast", "--law", "hpcc", "--target-us", "7"],
        "option --target-us has no effect",
    ),
    (["sim", "incast", "--law", "pid", "--model", "x"], "option --model has no effect without"),
    (["sim", "incast", "--law", "pid", "--timely", "x"], "option --timely has no effect with"),
    (["sim", "incast", "--law", "pid", "--scores", "x"], "score source must be one of oracle"),
    (["sim", "incast", "--law", "pid", "--echo"], "option --echo has no effect without --scor"),
    (
        ["sim", "incast", "--law", "pid", "--scores", "oracle", "--queue-model", "x"],
        "option --queue-model has no effect with --scores oracle",
    ),
    (
        ["sim", "incast", "--law", "timely", "--scores", "queue"],
        "law timely must be in the loop as golden or rtl to follow scores",
    ),
    (
        ["sim", "incast", "--law", "pid", *LOOP, "float", "--scores", "queue"],
        "scores must be followed by a device",
    ),
    (
        ["sim", "incast", *SMALL, "--law", "pid", "--scores", "queue", "-d", "emu:"],
        "device must have a queue profiler and forecasts",
    ),
    (["sim", "incast", "--law", "pid", "--dcqcn", "x"], "option --dcqcn has no effect with"),
    (["sim", "incast", "--law", "timely", *LOOP, "x"], "in-the-loop must be one of float, gol"),
    (["sim", "incast", "--law", "hpcc", *LOOP, "rtl"], "law hpcc must be in the loop as float"),
    (["sim", "incast", *LOOP, "float"], "law predpid must be in the loop as golden or rtl"),
    (
        ["sim", "incast", "--law", "fixed", *LOOP, "float"],
        "law fixed must be in the loop as golden or rtl: nothing is worked out",
    ),
    (
        ["sim", "incast", "--law", "dctcp", "--law", "pid", *LOOP, "golden"],
        "law dctcp must be in the loop as float: the NIC does not have it",
    ),
    (
        ["sim", "incast", "--law", "dcqcn", *LOOP, "rtl", "-d", "emu:"],
        "device must be sim: with --in-the-loop rtl, not 'emu:'",
    ),
    (
        ["sim", "incast", "--law", "pid", *LOOP, "float", "-d", "emu:"],
        "option --device has no effect with --in-the-loop float",
    ),
    (
        ["sim", "incast", "--law", "pid", *LOOP, "float", "--win"],
        "option --win has no effect with --in-the-loop float",
    ),
    (
        ["sim", "incast", *SMALL, "--law", "timely", "--timely", "precog"],
        "timely preset must be one of ns3, paper, patched, scaled, not 'precog'",
    ),
    (
        ["sim", "incast", "--law", "dcqcn", *LOOP, "golden", "--dcqcn", "ns3-paper-timers"],
        "preset of dcqcn must be one of default, paper, vendor, ns3, not 'ns3-paper-timers'",
    ),
    (
        ["synth", "--board", "ulx3s"],
        "board must be one of colorlight-5a-75b, versa-ecp5-5g, ecpix-5-85f, not 'ulx3s'",
    ),
    (
        ["synth", "--board", "ecpix-5-85f", "--lanes", "16"],
        "option --lanes has no effect with --board",
    ),
    (
        ["synth", "--board", "ecpix-5-85f", "--seed", "1", "--seed", "2"],
        "seed must be one with --board, not 2 of them",
    ),
    (["synth", "--lanes", "32"], "lanes must be one of 16, 64, 128, not 32"),
    (
        ["synth", "--block", "nic"],
        "block must be one of core, core-ecc, cps-tx, cps-rx, packet, not 'nic'",
    ),
    (["synth", "--show", "-o", "/no/folder"], "/no/folder/summary.json must exist"),
    (["synth", "--block", "core", "--width", "64"], "--width has no effect with cores alone"),
    (["synth", "--block", "cps-tx", "--lanes", "16"], "--lanes has no effect without a core"),
    (["synth", "-o", "/dev/null"], "file /dev/null: No such folder"),
    (["synth", "-o", "/proc/x"], "file /proc: Folder must take new files"),
    (["synth", "--board", "ecpix-5-85f", "-o", "/dev/null/x"], "file /dev/null: No such folder"),
    (["report", "/no/folder"], "/no/folder/result.json must exist"),
    (["export", "-o", "x.v", "--preset", "x"], "configuration preset must be one of"),
    (["export", "-o", "x.v", "--qps", "3"], "qps must be a power of two in 1..65536"),
    (["export", "-o", "x.v", "--name", "1x"], "module name must be a letter or _, then"),
    (["export", "-o", "x.v", "--name", "é"], "module name must be a letter or _, then"),
    (["export", "-o", "x.v", "--name", "wire"], "not be a keyword of SystemVerilog: 'wire'"),
    (["export", "-o", "x.v", "--name", "logic"], "not be a keyword of SystemVerilog: 'logic'"),
    (["export", "-o", "x.v", "--tick-ps", "0"], "tick_ps must be in"),
    (["export"], "output must be given: -o FILE"),
    (["export", "--target", "x"], "target must be one of verilog, corundum, not 'x'"),
    ([*CORUNDUM, "--width", "8"], "width for corundum must be one of (64, 128, 256, 512)"),
    ([*CORUNDUM, "--ports", "0"], "ports must be in 1..32768, not 0"),
    ([*CORUNDUM, "--app-id", "x"], "app_id must be a number, such as 0x12340001, not 'x'"),
    ([*CORUNDUM, "--grants"], "grants, profile and forecast must be off"),
    ([*CORUNDUM, "--tick-ps", "0"], "tick_ps must be 4 or more with packets, not 0"),
    ([*CORUNDUM, "--block", "nic"], "--block has no effect with --target corundum"),
    ([*CORUNDUM, "-o", "/dev/null"], "output must be a folder with --target corundum"),
    (["export", "-o", "x.v", "--ports", "2"], "--ports has no effect without --target"),
    (
        ["export", "-o", "x.v", "--width", "64", "--width", "8"],
        "width must be given once without --target corundum, not [64, 8]",
    ),
    ([*EXPORT, "x"], "block must be one of nic, cps-tx, cps-rx, packet, pace-wire, not 'x'"),
    ([*EXPORT, "nic", "--width", "32"], "width must be one of 0, 8, 64, 128, 256, 512"),
    ([*EXPORT, "cps-rx", "--preset", "tiny"], "--preset has no effect with --block cps-rx"),
    ([*EXPORT, "cps-tx", "--tick-ps", "9"], "--tick-ps has no effect with --block cps-tx"),
    ([*EXPORT, "cps-tx", "--width", "32"], "width must be one of (8, 64, 128, 256, 512)"),
    ([*EXPORT, "packet", "--slots", "3"], "slots must be a power of two in 2..65536, not 3"),
    ([*EXPORT, "packet", "--tick-ps", "3"], "tick_ps must be 4 or more, not 3"),
]


@pytest.mark.parametrize(("arguments", "message"), _BAD)
def test_bad_arguments_say_so_without_a_traceback(
    run: Run, arguments, message, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(*arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1
