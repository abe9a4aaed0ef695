"""The command line: JSON, tables, files and help."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import Run

from precog_host import application
from precog_host.output import emit
from precog_models.image import Image
from precog_models.presets import LAW_PRESETS
from precog_spec.contract import Algorithm

from .support import random_image


def test_every_command_has_json_and_help(run: Run) -> None:
    """Walk all commands of this installation, plug-ins included."""
    root = application.command_line()

    def walk(command, path):  # type: ignore[no-untyped-def]
        children = getattr(command, "commands", {})
        for name, child in children.items():
            yield from walk(child, [*path, name])
        if not children:
            yield path, command

    found = list(walk(root, []))
    names = {" ".join(path) for path, _ in found}
    assert {"model load", "model show", "model del", "model quantize", "qp show", "qp add"} <= names
    assert {
        "cc algo set",
        "cc param show",
        "cc counter show",
        "dump save",
        "register show",
    } <= names
    for path, command in found:
        options = {option for parameter in command.params for option in parameter.opts}
        if path[0] != "study":  # a study writes a file of JSON
            assert {"-j", "--json"} <= options, f"{' '.join(path)} must have -j"
        assert command.help, f"{' '.join(path)} must have a help text"


def test_json_of_device_commands(run: Run) -> None:
    assert json.loads(run("cc", "counter", "show", "-j").out)["decisions"] == 0
    parameters = json.loads(run("cc", "param", "set", "--preset", "thesis", "ki=-0.5", "-j").out)
    assert (parameters["ki"], parameters["advice_clamp"]) == (-0.5, 0)
    expected: dict[str, list[int]] = {algorithm.name.lower(): [] for algorithm in Algorithm}
    assert json.loads(run("cc", "algo", "show", "-j").out) == expected
    assert json.loads(run("qp", "show", "7", "-d", "emu:qps=8", "-j").out)[0]["qp"] == 7
    rows = json.loads(run("register", "show", "-j").out)
    magic = next(row for row in rows if row["name"] == "ID.MAGIC")
    assert magic["fields"] == {"magic": 0x50524347}


def test_sla(run: Run) -> None:
    device = ("-d", "emu:qps=8")
    changes = ("--psched", "--priority", "3", "--latency-us", "12", "--max-gbps", "40")
    rows = json.loads(run("cc", "sla", "set", "--qp", "2", *changes, "-j", *device).out)
    assert rows == [
        {
            "qp": 2,
            "psched": True,
            "sla_priority": 3,
            "sla_latency_us": 12.0,
            "min_rate_gbps": 0.0,
            "max_rate_gbps": 40.0,
        }
    ]
    assert "no queue pair is enabled" in run("cc", "sla", "show", *device).out
    parameters = json.loads(run("cc", "param", "set", "--psched", "source", "-j", *device).out)
    assert (parameters["psched_hysteresis"], parameters["psched_score_us"]) == (0, 0.0)
    assert parameters["psched_increase"] == pytest.approx(0.1, abs=2**-17)


def test_packets(run: Run) -> None:
    """Each command opens a fresh emulated device."""
    device = ("-d", "emu:qps=8,width=64")
    parameters = json.loads(run("packet", "param", "set", "timeout=5000", "-j", *device).out)
    assert (parameters["timeout"], parameters["shim_port"]) == (5000, 54791)
    bind = ("packet", "binding", "add", "3", "10.0.0.7", "--remote-qp", "17", "--local-qp", "18")
    assert json.loads(run(*bind, "--score", "44", "--mode", "r", "-j", *device).out) == [
        {
            "slot": 3,
            "remote": "10.0.0.7",
            "remote_qp": 17,
            "local_qp": 18,
            "mode": "r",
            "destination": 0,
            "score": 44,
            "score_source": "host",
            "mtu": 1024,
        }
    ]
    assert "10.0.0.7" in run(*bind, *device).out
    assert "no slot is bound" in run("packet", "binding", "show", *device).out
    shown = json.loads(run("packet", "destination", "set", "9", "--no-enable", "-j", *device).out)
    assert (shown["enable"], shown["samples"], shown["rtt_mean_us"]) == (False, 0, None)
    assert json.loads(run("packet", "counter", "show", "-j", *device).out)["tx"]["inserted"] == 0
    assert "all counters are 0" in run("packet", "counter", "show", *device).out


def test_tables(run: Run) -> None:
    assert "decisions" in run("cc", "counter", "show").out
    assert "no queue pair is enabled: precog qp add 0" in run("qp", "show").out
    assert "samples" in run("qp", "show", "0").out
    assert "predpid" in run("cc", "algo", "show").out
    assert "ID.MAGIC" in run("register", "show").out
    assert "valid" in run("model", "show").out


_PARTS = "emu:qps=4,width=64,receiver=1,forecast=1,profile=1"


@pytest.mark.parametrize(
    ("words", "uri"),
    [
        (["qp", "show"], _PARTS),
        (["cc", "sla", "show"], _PARTS),
        (["qp", "pacer", "show"], "emu:qps=4,grants=1"),
        (["qp", "pacer", "set", "--priority", "5"], "emu:qps=4,grants=1"),
        (["qp", "profiler", "show"], _PARTS),
        (["qp", "forecast", "show"], _PARTS),
        (["qp", "receiver", "show"], _PARTS),
        (["qp", "receiver", "set", "--quota", "9"], _PARTS),
    ],
)
def test_a_slot_given_twice_is_shown_once(run: Run, words: list[str], uri: str) -> None:
    ran = run(*words, "2", "1", "2", "-j", "-d", uri)
    assert [row["qp"] for row in json.loads(ran.out)] == [2, 1], ran.err


def test_info_of_the_shipped_model_shows_its_errors(run: Run) -> None:
    shown = run("model", "show", "rtt-incast").out
    assert "test MAPE" in shown
    assert "training.recipe.name" in shown


def test_json_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    data = {"a": [float("nan"), 1.5, (2, float("inf"))], "b": np.float64("nan"), "c": np.arange(2)}
    emit(data, lambda: None, True)
    assert json.loads(capsys.readouterr().out) == {
        "a": [None, 1.5, [2, None]],
        "b": None,
        "c": [0, 1],
    }


def test_models_from_file_to_device(run: Run, tmp_path: Path, seed: int) -> None:
    path = tmp_path / "m.safetensors"
    image = random_image(seed, version=7)
    image.save(path)
    meta = json.loads(run("model", "show", str(path), "-j").out)
    assert meta["payload_crc32"] == f"{image.crc32:#010x}"
    assert "version 7" in run("model", "show", str(path)).out
    loaded = json.loads(run("model", "load", str(path), "--slot", "3", "-j").out)
    assert loaded == {
        "set": 0,
        "valid": True,
        "version": 7,
        "slots": [3],
        "crc32": f"{image.crc32:#010x}",
    }
    assert "set 2, slot 1" in run("model", "load", str(path), "--slot", "1", "--set", "2").out


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("md", "# Registers"),
        ("rdl", "addrmap"),
        ("ipxact", "<ipxact:component"),
        ("c", "#if"),
        ("py", "class Device:"),
        ("html", "<!DOCTYPE html>"),
    ],
)
def test_registers_in_every_format(run: Run, tmp_path: Path, kind: str, word: str) -> None:
    assert word in run("register", "export", "-f", kind).out
    path = tmp_path / "out"
    said = json.loads(run("register", "export", "-f", kind, "-o", str(path), "-j").out)
    assert said == {"path": str(path), "format": kind}
    assert word in path.read_text()


@pytest.mark.parametrize("value", [5, {"a": 5}, {"a": {"m": 5}}, {"a": {"m": {"balanced": "x"}}}])
def test_a_card_of_any_types_is_shown(run: Run, tmp_path: Path, seed: int, value: object) -> None:
    path = tmp_path / "m.safetensors"
    evil = "[bold]x[/foo] \x1b[31m \ud800"
    Image(random_image(seed).weights, {"errors": value, "evil": evil}).save(path)
    ran = run("model", "show", str(path))
    assert ran.status == 0
    assert "[bold]x[/foo] \ufffd[31m \ufffd" in ran.out


def test_the_version_and_where_errors_go(run: Run) -> None:
    assert run("--version").out.startswith("precog ")
    assert "plain text on standard error, with -j too" in " ".join(run("--help").out.split())
    ran = run("register", "show", "-d", "x:", "-j")
    assert (ran.out, ran.err[:7]) == ("", "error: ")


def test_help_names_the_presets(run: Run) -> None:
    for command in (["cc", "algo", "set"], ["cc", "param", "set"], ["qp", "add"]):
        text = run(*command, "--help").out
        assert all(name in text for name in LAW_PRESETS), command
    assert "opens its device anew" in " ".join(run("model", "load", "--help").out.split())
    assert "opens its device anew" in " ".join(run("model", "show", "--help").out.split())


def test_the_entry_point_imports_nothing_heavy() -> None:
    program = "import sys, precog_host.cli; print(not {'numpy', 'typer'} & set(sys.modules))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.check_output([sys.executable, "-c", program], text=True, env=environment)
    assert said == "True\n"


def test_groups_without_a_command_show_their_help(run: Run) -> None:
    ran = run("model")
    assert (ran.status, ran.err[:20]) == (2, "Usage: precog model ")
    assert run("--help").status == 0
