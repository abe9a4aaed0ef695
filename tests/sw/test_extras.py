"""Where a library of an extra is missing, whatever needs it says what to install."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points, packages_distributions
from pathlib import Path

import pytest
from tests.command_line import plug_in, ran

from precog_host.application import ENTRY_POINT_GROUP
from precog_host.extras import EXTRAS, advice

_ROOT = Path(__file__).parents[2]
_PACKAGES = [path.parent for path in _ROOT.glob("[hms]*/precog_*/__init__.py")]
_ADVICE = r"\w+ must be installed: pip install 'precog\[{}\]'"
#: Runs that need a library of the extra; all that precedes the need is right.
_NEEDS = {
    "hw": ("export -o {tmp}/nic.v", "device show -d sim:tiny", "synth --board nobody"),
    "sim": ("replay {tmp}/a.pcap --golden",),
    "monitor": ("monitor --screenshot {tmp}/view.svg",),
    "uart": ("device show -d uart:/dev/null",),
    "train": (
        "model quantize {tmp}/a.onnx -o {tmp}/a.safetensors",
        "model quantize {tmp}/a.pt -o {tmp}/a.safetensors",
        "model train -o {tmp}/a.safetensors --data smoke",
        "model fit-queues {tmp}/a.pt -o {tmp}",
    ),
    "fleet": ("fleet init {tmp}/fleet --name a --router tls/127.0.0.1:7447",),
    "synth": ("synth --board colorlight-5a-75b -o {tmp}/synth",),
}
#: What commands do not use: tools of development, and libraries of other programs.
_NOT_COMMANDS = {"dev", "ray"}
_RUN = """
import json, os, sys
from precog_host.cli import main
out = os.fdopen(os.dup(1), "w")
for arguments in json.loads(sys.argv[1]):
    said = open("said", "w+")
    for descriptor in (1, 2):  # of programs that are started, too
        os.dup2(said.fileno(), descriptor)
    try:
        main(arguments)
    except SystemExit as error:
        status = error.code
    sys.stdout.flush()
    sys.stderr.flush()
    said.seek(0)
    print(json.dumps([status, said.read()]), file=out, flush=True)
"""
#: As ``python -m NAME --help`` of each, in a copy of a process that has the large libraries and
#: none of the packages of programs: those look at how they are started.
_PROGRAMS = """
import gc, json, os, runpy, sys
import numba, numpy, typer
import rich.progress
import precog_host.emulator.device, precog_models.nic
gc.freeze()
for name in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        said = open("said", "w")
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        sys.argv = ["-m", "--help"]
        code = 0
        try:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        except SystemExit as error:
            code = error.code
        except BaseException:
            sys.excepthook(*sys.exc_info())
            code = 1
        if isinstance(code, str):
            code = print(code, file=sys.stderr) or 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)  # what a copy inherits takes long to take down
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([status, open("said").read()]), flush=True)
"""


def python(
    *arguments: str, hidden: tuple[str, ...], folder: Path
) -> subprocess.CompletedProcess[str]:
    """A Python that does not find the hidden modules."""
    path = os.pathsep.join([str(Path(__file__).parent / "hidden"), *sys.path])
    environment = os.environ | {"PRECOG_TEST_HIDDEN": ",".join(hidden), "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, cwd=folder
    )


def run(
    commands: list[list[str]], *, hidden: tuple[str, ...], folder: Path
) -> list[tuple[int, str]]:
    """Status of each, and what it said."""
    done = python("-c", _RUN, json.dumps(commands), hidden=hidden, folder=folder)
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def test_each_requirement_of_each_extra_is_known() -> None:
    """The table and pyproject.toml have the same extras, and libraries for the same imports."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    assert set(EXTRAS) == set(project["optional-dependencies"])
    names: dict[str, set[str]] = {}
    for module, distributions in packages_distributions().items():
        for distribution in distributions:
            names.setdefault(re.sub(r"[-_.]+", "-", distribution).lower(), set()).add(module)
    for extra, requirements in project["optional-dependencies"].items():
        for requirement in requirements:
            name = re.sub(r"[-_.]+", "-", re.split(r"[\[<>=]", requirement)[0]).lower()
            if name == "precog" or name not in names:
                continue  # itself, and what is not installed here
            assert names[name] & set(EXTRAS[extra]), f"{extra} must name a module of {requirement}"


def imports(path: Path) -> Iterator[str]:
    for found in ast.walk(ast.parse(path.read_text())):
        if isinstance(found, ast.Import):
            yield from (name.name.partition(".")[0] for name in found.names)
        elif isinstance(found, ast.ImportFrom) and not found.level:
            yield str(found.module).partition(".")[0]


def test_all_that_is_imported_is_of_the_package_or_of_an_extra() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    core = {re.split(r"[<>=]", text)[0] for text in project["dependencies"]}
    core |= {"llvmlite", "google"}  # of numba and onnx
    core |= {"_typeshed"}  # of mypy, where nothing runs
    extras = {module for modules in EXTRAS.values() for module in modules}
    ours = {package.name for package in _PACKAGES}
    assert len(ours) > 5
    for package in _PACKAGES:
        for path in package.rglob("*.py"):
            for name in imports(path):
                known = core | extras | ours | sys.stdlib_module_names
                assert name in known, f"{path} imports {name}, which no extra installs"


@pytest.mark.parametrize("extra", list(_NEEDS))
def test_commands_and_transports_name_the_extra(extra: str, tmp_path: Path) -> None:
    for name in ("a.onnx", "a.pt", "a.pcap"):
        (tmp_path / name).touch()
    commands = [text.format(tmp=tmp_path).split() for text in _NEEDS[extra]]
    for command, (status, said) in zip(
        commands, run(commands, hidden=EXTRAS[extra], folder=tmp_path), strict=True
    ):
        assert status in (1, 2), command
        assert re.search(_ADVICE.format(extra), said) or f"'precog[{extra}]'" in said, said
        assert "internal error" not in said
        assert "Traceback" not in said


def test_every_extra_has_a_command_that_needs_it() -> None:
    assert set(_NEEDS) == set(EXTRAS) - _NOT_COMMANDS


def test_help_needs_no_extra(tmp_path: Path) -> None:
    """Commands import what they need when they run: what there is can be seen without."""
    hidden = tuple(module for modules in EXTRAS.values() for module in modules)
    points = [point.name for point in entry_points(group=ENTRY_POINT_GROUP)]
    assert len(points) > 7
    commands = [[*name.split("."), "--help"] for name in points]
    for name, (status, said) in zip(
        points, run(commands, hidden=hidden, folder=tmp_path), strict=True
    ):
        assert status == 0, (name, said)
        assert "not available" not in said


def test_a_plugin_that_cannot_be_loaded_takes_any_arguments(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong option is not what is the matter with it."""
    monkeypatch.setitem(sys.modules, "ray", None)
    made = EntryPoint("sim.burst", "ray.nobody:burst", ENTRY_POINT_GROUP)
    plug_in(monkeypatch, [made])
    for arguments in ([], ["--law", "pid", "-j"], ["a", "--", "b"]):
        done = ran(capsys, "sim", "burst", *arguments)
        assert done.status == 2
        assert done.err == (
            "error: command sim burst is not available: ray must be installed: "
            "pip install 'precog[ray]'\n"
        )


def test_programs_name_the_extra_without_a_traceback(tmp_path: Path) -> None:
    """Each module that ``python -m`` runs, with every library of an extra hidden."""
    hidden = tuple(module for modules in EXTRAS.values() for module in modules)
    found = [
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__main__")
        for package in _PACKAGES
        for path in sorted(package.rglob("*.py"))
        if '__name__ == "__main__"' in path.read_text()
    ]
    assert len(found) > 8
    done = python("-c", _PROGRAMS, json.dumps(found), hidden=hidden, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    refused = 0
    for name, line in zip(found, done.stdout.splitlines(), strict=True):
        status, said = json.loads(line)
        assert "Traceback" not in said, f"{name}: {said}"
        if status:
            refused += 1
            assert re.fullmatch(f"error: {_ADVICE.format('[a-z]+')}", said.splitlines()[-1]), said
    assert refused > 4


def test_other_errors_have_no_advice() -> None:
    assert advice(ModuleNotFoundError("no module", name="nobody")) is None
    assert advice(ImportError("broken", name="torch")) is None
    assert advice(ModuleNotFoundError("no module", name="torch.nn")) is not None


def test_what_every_installation_has_is_named_too() -> None:
    missing = ModuleNotFoundError("No module named 'numba'", name="numba.core")
    assert advice(missing) == "numba must be installed: pip install precog"


def test_a_plug_in_of_an_older_installation_is_installed_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = EntryPoint("sim.burst", "precog_host.units:no_longer_there", ENTRY_POINT_GROUP)
    plug_in(monkeypatch, [made])
    done = ran(capsys, "sim", "burst")
    assert done.status == 2
    assert "no_longer_there" in done.err
    assert "install precog again" in done.err
