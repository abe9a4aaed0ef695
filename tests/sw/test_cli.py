"""The command line: JSON, tables, plug-ins, and errors without tracebacks."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import typer

from precog_host import application, cli, transport
from precog_host.emulator.device import Emulator
from precog_host.output import emit
from precog_host.transport import DeviceError
from precog_models.image import Image
from precog_models.presets import LAW_PRESETS
from precog_spec.contract import Algorithm

from .support import random_image


class Ran:
    """What a run of the command line did."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.out = out
        self.err = err


@pytest.fixture
def run(  # type: ignore[no-untyped-def]
    seed: int, capsys: pytest.CaptureFixture[str]
):
    capsys.readouterr()  # the seed's line is not the command's output

    def go(*arguments: str) -> Ran:
        with pytest.raises(SystemExit) as caught:
            cli.main(arguments)
        captured = capsys.readouterr()
        return Ran(int(caught.value.code or 0), captured.out, captured.err)

    return go


def test_every_command_has_json_and_help(run) -> None:  # type: ignore[no-untyped-def]
    """Walk all commands of this installation, plug-ins included."""
    root = typer.main.get_command(application.application())

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


def test_json_of_device_commands(run) -> None:  # type: ignore[no-untyped-def]
    assert json.loads(run("cc", "counter", "show", "-j").out)["decisions"] == 0
    parameters = json.loads(run("cc", "param", "set", "--preset", "thesis", "ki=-0.5", "-j").out)
    assert (parameters["ki"], parameters["advice_clamp"]) == (-0.5, 0)
    expected: dict[str, list[int]] = {algorithm.name.lower(): [] for algorithm in Algorithm}
    assert json.loads(run("cc", "algo", "show", "-j").out) == expected
    assert json.loads(run("qp", "show", "7", "-d", "emu:qps=8", "-j").out)[0]["qp"] == 7
    rows = json.loads(run("register", "show", "-j").out)
    magic = next(row for row in rows if row["name"] == "ID.MAGIC")
    assert magic["fields"] == {"magic": 0x50524347}


def test_sla(run) -> None:  # type: ignore[no-untyped-def]
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


def test_packets(run) -> None:  # type: ignore[no-untyped-def]
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("packet", "binding", "show"), "device emu: has no packet path"),
        (("packet", "param", "set", "shim_port=4791"), "shim port must be 1..65535 and not 4791"),
        (
            ("packet", "param", "set", "timeout=1e3"),
            "parameter 'timeout=1e3' must be <name>=<whole number>",
        ),
        (("packet", "param", "set", "a=1", "a=2"), "parameter a must be given once"),
        (("packet", "destination", "show", "256"), r"destination must be in 0\.\.255, not 256"),
        (
            ("packet", "binding", "add", "0", "host", "--remote-qp", "1", "--local-qp", "2"),
            "remote must be an IPv4 or IPv6 address, not 'host'",
        ),
        (("packet", "binding", "del", "8"), "slot 8 must be bound: precog packet binding add 8"),
        (("packet", "score", "set", "2", "--score", "3"), "slot 2 must be bound"),
        (("packet", "score", "set", "2"), "at least one option must be given: --score, --source"),
    ],
)
def test_packets_refusals(run, arguments: tuple[str, ...], message: str) -> None:  # type: ignore[no-untyped-def]
    device = () if arguments == ("packet", "binding", "show") else ("-d", "emu:qps=8,width=64")
    ran = run(*arguments, *device)
    assert ran.status == 2
    assert re.search(message, ran.err)
    assert ran.out == ""


def test_tables(run) -> None:  # type: ignore[no-untyped-def]
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
def test_a_slot_given_twice_is_shown_once(run, words: list[str], uri: str) -> None:  # type: ignore[no-untyped-def]
    ran = run(*words, "2", "1", "2", "-j", "-d", uri)
    assert [row["qp"] for row in json.loads(ran.out)] == [2, 1], ran.err


def test_info_of_the_shipped_model_shows_its_errors(run) -> None:  # type: ignore[no-untyped-def]
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


def test_models_from_file_to_device(run, tmp_path: Path, seed: int) -> None:  # type: ignore[no-untyped-def]
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
def test_registers_in_every_format(run, tmp_path: Path, kind: str, word: str) -> None:  # type: ignore[no-untyped-def]
    assert word in run("register", "export", "-f", kind).out
    path = tmp_path / "out"
    said = json.loads(run("register", "export", "-f", kind, "-o", str(path), "-j").out)
    assert said == {"path": str(path), "format": kind}
    assert word in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "error: no such command 'nonsense'"),
        (["model", "nonsense"], "error: no such command 'nonsense'"),
        (["qp", "show", "--nonsense"], "error: no such option: --nonsense"),
        (["qp", "show", "x"], "error: invalid value for"),
        (["qp", "show", "64"], "error: QP must be in 0..63, not 64"),
        (["model", "load"], "error: missing argument 'model'"),
        (
            ["model", "load", "/no/such/file"],
            "error: file /no/such/file: No such file; shipped models: ",
        ),
        (["model", "quantize", "/no/such.pt", "-o", "x"], "does not exist"),
        (["register", "show", "-d", "pigeon:"], "error: device transport must be one of emu:"),
        (
            ["register", "show", "-d", "emu"],
            "error: device URI must be <transport>:<argument>, not 'emu'",
        ),
        (["cc", "param", "set", "self=1"], "error: parameter 'self' must be one of sigma"),
        (
            ["cc", "param", "set", "kp=1", "kp=2"],
            "parameter kp must be given once, not again as 'kp=2'",
        ),
        (["cc", "param", "set"], "at least one name=value or preset must be given"),
        (["cc", "algo", "set", "pid", "--qp", "0"], "QP 0 must be enabled: precog qp add 0"),
        (["cc", "algo", "set", "--qp", "0"], "missing argument 'name'"),
        (["qp", "add", "0", "--model-slot", "99"], "model slot must be in 0..15, not 99"),
        (["qp", "add", "64"], "QP must be in 0..63, not 64"),
        (["qp", "del", "0"], "QP 0 must be enabled: precog qp add 0"),
        (["model", "del", "0"], "model slot 0 must have a model: precog model show lists them"),
        (["model", "del", "99"], "model slot must be in 0..15, not 99"),
        (["model", "show", "rtt-incast", "-d", "emu:"], "option --device has no effect with a"),
        (["cc", "param", "set", "kp"], "error: parameter 'kp' must be <name>=<number>"),
        (["cc", "param", "set", "kx=1"], "error: parameter 'kx' must be one of sigma"),
        (["cc", "param", "set", "kp=9"], "error: kp must be in -4..3.99988, not 9.0"),
        (
            ["cc", "param", "set", "--preset", "x"],
            "error: law preset must be one of thesis, precog",
        ),
        (["cc", "algo", "set", "pid"], "error: missing option '--qp'"),
        (["qp", "add", "1", "--algo", "cubic"], "error: algorithm must be one of fixed, pid"),
        (
            ["register", "export", "-f", "pdf"],
            "error: format must be one of rdl, ipxact, c, py, html, md, not 'pdf'",
        ),
    ],
)
def test_bad_arguments_say_so_without_a_traceback(run, arguments, message) -> None:  # type: ignore[no-untyped-def]
    ran = run(*arguments)
    assert ran.status == 2
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    assert message in ran.err


@pytest.mark.parametrize(
    ("arguments", "option", "value"),
    [
        (["qp", "show", "12x"], "[SLOT]...", "12x"),
        (["model", "load", "rtt-incast", "--slot", "3.5"], "--slot", "3.5"),
        (["model", "quantize", "a", "-o", "b", "--version=-7"], "--version", "-7"),
    ],
)
def test_a_bad_value_is_shown(run, arguments, option: str, value: str) -> None:  # type: ignore[no-untyped-def]
    said = run(*arguments).err
    assert said.startswith(f"error: invalid value for '{option}")
    assert value in said


@pytest.mark.parametrize("length", [0, 40, 1000])
def test_a_broken_file_says_so(run, tmp_path: Path, length: int, seed: int) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "broken.safetensors"
    path.write_bytes(random_image(seed).to_bytes()[:length])
    ran = run("model", "load", str(path))
    assert ran.status == 2
    assert "truncated or corrupted" in ran.err


def test_all_is_checked_before_the_first_write(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    writes: list[int] = []
    commands: list[int] = []
    emulator = Emulator()
    plain = emulator.write32
    wanted = {word.name: word.address for word in emulator.map.words()}
    command = next(r for r in emulator.map.block("QP").registers if r.name == "COMMAND")
    fetch = command.field("fetch").put(0, 1)

    def spy(address: int, value: int) -> None:
        if address == wanted["QP.COMMAND"]:
            commands.extend([] if value == fetch else [value])
        elif address not in (wanted["QP.SELECT"], wanted["QP.ERROR"]):
            writes.append(address)
        plain(address, value)

    monkeypatch.setattr(emulator, "write32", spy)
    monkeypatch.setattr(transport, "_BUILT_IN", {"emu": lambda _: emulator})
    assert run("qp", "add", "0", "99", "--algo", "pid").status == 2
    assert run("cc", "algo", "set", "pid", "--qp", "0").status == 2
    assert run("qp", "del", "0").status == 2
    assert run("cc", "param", "set", "--preset", "thesis", "kp=1", "ki=9").status == 2
    assert run("cc", "param", "set", "kp=1", "kx=1").status == 2
    assert writes == []
    assert commands == []
    assert run("qp", "add", "0", "--algo", "pid", "--preset", "thesis").status == 0
    assert writes


@pytest.mark.parametrize("value", [5, {"a": 5}, {"a": {"m": 5}}, {"a": {"m": {"balanced": "x"}}}])
def test_a_card_of_any_types_is_shown(run, tmp_path: Path, seed: int, value: object) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "m.safetensors"
    evil = "[bold]x[/foo] \x1b[31m \ud800"
    Image(random_image(seed).weights, {"errors": value, "evil": evil}).save(path)
    ran = run("model", "show", str(path))
    assert ran.status == 0
    assert "[bold]x[/foo] \ufffd[31m \ufffd" in ran.out


def test_a_saturated_bias_is_refused(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    path = tmp_path / "m.pt"
    state = {
        "rnn.weight_ih_l0": torch.zeros(64, 1),
        "rnn.weight_hh_l0": torch.zeros(64, 16),
        "fc.weight": torch.zeros(1, 16),
        "fc.bias": torch.zeros(1),
    }
    torch.save(state, path)
    image = str(tmp_path / "m.safetensors")
    assert run("model", "quantize", str(path), "-o", image).status == 0
    torch.save(state | {"fc.bias": torch.full((1,), 9.0)}, path)
    ran = run("model", "quantize", str(path), "-o", image)
    assert ran.status == 2
    assert ran.err.startswith(f"error: {path}: every bias must lie inside of -16..16 (gates)")
    torch.save(state | {"fc.weight": torch.full((1, 16), 1e9)}, path)
    ran = run("model", "quantize", str(path), "-o", image)
    assert ran.err.startswith(f"error: {path}: head weights must lie in -128..127")
    assert run("model", "quantize", str(path), "-o", str(tmp_path)).err.endswith("Is a directory\n")


def test_the_version_and_where_errors_go(run) -> None:  # type: ignore[no-untyped-def]
    assert run("--version").out.startswith("precog ")
    assert "plain text on standard error, with -j too" in " ".join(run("--help").out.split())
    ran = run("register", "show", "-d", "x:", "-j")
    assert (ran.out, ran.err[:7]) == ("", "error: ")


def test_help_names_the_presets(run) -> None:  # type: ignore[no-untyped-def]
    for command in (["cc", "algo", "set"], ["cc", "param", "set"], ["qp", "add"]):
        text = run(*command, "--help").out
        assert all(name in text for name in LAW_PRESETS), command
    assert "opens its device anew" in " ".join(run("model", "load", "--help").out.split())
    assert "opens its device anew" in " ".join(run("model", "show", "--help").out.split())


def test_what_nobody_foresaw_is_one_line(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def fail() -> None:
        raise TypeError("no such thing\x1b[2J")

    def memory() -> None:
        raise MemoryError

    plug(monkeypatch, {"work": fail, "more": memory})
    ran = run("work")
    said = "error: internal error, TypeError: no such thing\ufffd[2J; --debug shows where\n"
    assert (ran.status, ran.err) == (1, said)
    ran = run("more")
    assert (ran.status, ran.err) == (1, "error: memory is exhausted: give smaller sizes\n")
    monkeypatch.setenv("PRECOG_DEBUG", "1")
    with pytest.raises(TypeError):
        cli.main(["work"])
    monkeypatch.delenv("PRECOG_DEBUG")
    with pytest.raises(TypeError):
        cli.main(["work", "--debug"])


def test_an_interrupt_is_status_130(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def interrupted() -> None:
        raise KeyboardInterrupt

    plug(monkeypatch, {"work": interrupted})
    ran = run("work")
    assert (ran.status, ran.err.strip()) == (130, "error: command was interrupted")


def test_an_interrupted_import_is_status_130(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    class Interrupting:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "precog_host.application":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "precog_host.application")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    ran = run("register", "show")
    assert (ran.status, ran.err) == (130, "error: command was interrupted\n")


def test_the_entry_point_imports_nothing_heavy() -> None:
    program = "import sys, precog_host.cli; print(not {'numpy', 'typer'} & set(sys.modules))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.check_output([sys.executable, "-c", program], text=True, env=environment)
    assert said == "True\n"


@pytest.mark.parametrize(
    ("redirect", "status", "message"),
    [
        (">&-", 2, "error: standard output must be open\n"),
        (">/dev/full", 2, "error: No space left on device\n"),
        ("| true", 0, ""),
    ],
)
def test_output_that_cannot_be_written(redirect: str, status: int, message: str) -> None:
    program = "from precog_host.cli import main; main(['register', 'export'])"
    line = f'"{sys.executable}" -c "{program}" {redirect}'
    ran = subprocess.run(
        line,
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (ran.returncode, ran.stderr) == (status, message)


def test_groups_without_a_command_show_their_help(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("model")
    assert (ran.status, ran.err[:20]) == (2, "Usage: precog model ")
    assert run("--help").status == 0


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(DeviceError):
        cli.main(["--debug", "register", "show", "-d", "x:"])


def plug(monkeypatch: pytest.MonkeyPatch, points: dict[str, object]) -> None:
    class Point(EntryPoint):
        def load(self) -> object:
            found = points[self.name]
            if isinstance(found, Exception):
                raise found
            return found

    monkeypatch.setattr(
        application, "entry_points", lambda group: [Point(name, "x:y", group) for name in points]
    )


def test_plug_ins_join_their_groups(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    group = typer.Typer()
    group.command("one")(lambda: typer.echo("group"))
    group.command("two")(lambda: None)
    plug(
        monkeypatch,
        {
            "single": lambda: typer.echo("single"),
            "model.extra": lambda: typer.echo("extra"),
            "pid.tune": lambda: typer.echo("tune"),
            "pid.other": lambda: None,
            "sim": group,
        },
    )
    assert run("single").out == "single\n"
    assert run("model", "extra").out == "extra\n"
    assert run("pid", "tune").out == "tune\n"
    assert run("sim", "one").out == "group\n"
    assert "load" in run("model", "--help").out


def test_a_plug_in_that_cannot_be_imported_says_what_is_missing(  # type: ignore[no-untyped-def]
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = ModuleNotFoundError("No module named 'amaranth'", name="amaranth")
    plug(monkeypatch, {"synth": missing, "stale": ImportError("cannot import name 'synth'")})
    for command, what_to_do in (
        ("synth", "amaranth must be installed: pip install 'precog[hw]'"),
        ("stale", "cannot import name 'synth': install precog again, pip install -e . in its"),
    ):
        ran = run(command)
        assert ran.status == 2
        assert ran.err.startswith(f"error: command {command} is not available: {what_to_do}")
    assert run("cc", "counter", "show", "-j").status == 0


def test_failed_work_is_status_1(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def fail() -> None:
        raise RuntimeError("simulation did not end")

    plug(monkeypatch, {"work": fail})
    ran = run("work")
    assert (ran.status, ran.err) == (1, "error: simulation did not end\n")
