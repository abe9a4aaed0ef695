"""The command line: errors are one line, without a traceback."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command_line import Run

from precog_host import cli, opening
from precog_host.emulator.device import Emulator
from precog_host.transport import DeviceError

from .support import random_image


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("packet", "binding", "show"), "device emu: has no packet path"),
        (("packet", "param", "set", "shim_port=4791"), "shim port must be 1..65535 and not 4791"),
        (("packet", "param", "set", "timeout=1.5"), "timeout must be a whole number, not 1.5"),
        (("packet", "param", "set", f"x={'9' * 5000}"), "x must be a whole number, not inf"),
        (("packet", "param", "set", "a=1", "a=2"), "parameter a must be given once"),
        (("packet", "param", "set", "self=1"), "packet parameter 'self' must be one of"),
        (("packet", "destination", "show", "256"), r"destination must be in 0\.\.255, not 256"),
        (
            ("packet", "binding", "add", "0", "host", "--remote-qp", "1", "--local-qp", "2"),
            "remote must be an IPv4 or IPv6 address, not 'host'",
        ),
        (
            ("packet", "binding", "add", "0", "fe80::1%eth0", "--remote-qp=1", "--local-qp=2"),
            r"remote must have no scope, not %eth0, which packets do not carry: give fe80::1\n",
        ),
        (("packet", "binding", "del", "8"), "slot 8 must be bound: precog packet binding add 8"),
        (("packet", "score", "set", "2", "--score", "3"), "slot 2 must be bound"),
        (("packet", "score", "set", "2"), "at least one option must be given: --score, --source"),
    ],
)
def test_packets_refusals(run: Run, arguments: tuple[str, ...], message: str) -> None:
    device = () if arguments == ("packet", "binding", "show") else ("-d", "emu:qps=8,width=64")
    ran = run(*arguments, *device)
    assert ran.status == 2
    assert re.search(message, ran.err)
    assert ran.out == ""


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
def test_bad_arguments_say_so_without_a_traceback(
    run: Run, arguments: list[str], message: str
) -> None:
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
def test_a_bad_value_is_shown(run: Run, arguments: list[str], option: str, value: str) -> None:
    said = run(*arguments).err
    assert said.startswith(f"error: invalid value for '{option}")
    assert value in said


@pytest.mark.parametrize(
    "before", [["qp", "add"], ["qp", "add", "0", "--model-slot"], ["model", "load"], []]
)
@pytest.mark.parametrize("digits", [3000, 6000])
def test_a_long_word_is_said_without_its_middle(run: Run, before: list[str], digits: int) -> None:
    """Numbers of more than 4,300 digits are not even converted."""
    status, out, err = run(*before, "12" + "7" * digits + "89")
    assert (status, out) == (2, "")
    assert len(err) < 500
    assert re.search(r"127{100,}…7{50,}89", err)
    many = run(*before, " ".join(["777"] * digits)).err
    assert len(many) <= 8192 + len("error: …\n")


@pytest.mark.parametrize("length", [0, 40, 1000])
def test_a_broken_file_says_so(run: Run, tmp_path: Path, length: int, seed: int) -> None:
    path = tmp_path / "broken.safetensors"
    path.write_bytes(random_image(seed).to_bytes()[:length])
    ran = run("model", "load", str(path))
    assert ran.status == 2
    assert "truncated or corrupted" in ran.err


def test_all_is_checked_before_the_first_write(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(opening, "_BUILT_IN", {"emu": lambda _: emulator})
    assert run("qp", "add", "0", "99", "--algo", "pid").status == 2
    assert run("cc", "algo", "set", "pid", "--qp", "0").status == 2
    assert run("qp", "del", "0").status == 2
    assert run("cc", "param", "set", "--preset", "thesis", "kp=1", "ki=9").status == 2
    assert run("cc", "param", "set", "kp=1", "kx=1").status == 2
    assert writes == []
    assert commands == []
    assert run("qp", "add", "0", "--algo", "pid", "--preset", "thesis").status == 0
    assert writes


def test_a_saturated_bias_is_refused(run: Run, tmp_path: Path) -> None:
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


def test_an_interrupted_import_is_status_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "precog_host.application":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "precog_host.application")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    ran = run("register", "show")
    assert (ran.status, ran.err) == (130, "error: command was interrupted\n")


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


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(DeviceError):
        cli.main(["--debug", "register", "show", "-d", "x:"])
