"""Arrows between the packages: who may import whom, by reading every file and by importing."""

import ast
import os
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "precog_hw": ROOT / "hw/precog_hw",
    "precog_spec": ROOT / "models/precog_spec",
    "precog_models": ROOT / "models/precog_models",
    "precog_host": ROOT / "sw/precog_host",
    "precog_fleet": ROOT / "sw/precog_fleet",
    "precog_net": ROOT / "sim/precog_net",
    "precog_sim": ROOT / "sim/precog_sim",
    "precog_lab": ROOT / "sim/precog_lab",
    "precog_studies": ROOT / "sim/precog_studies",
}
HEAVY = ("amaranth", "torch", "cocotb", "onnx", "matplotlib", "precog_sim")
FLEET = ("zenoh", "cryptography", "zstandard", "pyarrow", "duckdb", "tuf", "securesystemslib")
FLEET += ("prometheus_client", "ray")

#: Package: which of our modules it may import.
ALLOWED = {
    "precog_spec": ("precog_spec",),
    "precog_models": ("precog_models", "precog_spec"),
    "precog_hw": ("precog_hw", "precog_spec"),
    "precog_host": ("precog_host", "precog_models", "precog_spec"),
    "precog_fleet": ("precog_fleet", "precog_host", "precog_models", "precog_spec"),
    # The event loop is the only part of precog_sim that it needs.
    "precog_net": (
        "precog_net",
        "precog_fleet.errors",
        "precog_fleet.runner",  # other processes and machines
        "precog_host",
        "precog_models",
        "precog_sim.network",
        "precog_spec",
    ),
    "precog_sim": tuple(PACKAGES),
    "precog_lab": tuple(PACKAGES),
    "precog_studies": tuple(PACKAGES),
}


def module_name(path: Path) -> str:
    """Dotted name of a source file."""
    for name, folder in PACKAGES.items():
        if path.is_relative_to(folder):
            parts = path.relative_to(folder).with_suffix("").parts
            return ".".join((name, *(part for part in parts if part != "__init__")))
    raise ValueError(f"path must lie in a package, not {path}")


def imports(path: Path) -> list[tuple[int, str]]:
    """(line, absolute module) of everything that a file imports, at any depth."""
    own = module_name(path)
    package = own if path.name == "__init__.py" else own.rpartition(".")[0]
    found = []
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join(filter(None, (*above, base)))
            found += [(node.lineno, f"{base}.{alias.name}") for alias in node.names]
    return found


def violations(path: Path) -> list[str]:
    """What a file imports and must not."""
    allowed = ALLOWED[module_name(path).partition(".")[0]]
    ours = (*PACKAGES, "tests")
    return [
        f"{path}:{line} imports {module}"
        for line, module in imports(path)
        if module.split(".")[0] in ours
        and not any(module == ok or module.startswith(f"{ok}.") for ok in allowed)
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_arrows(package: str) -> None:
    files = sorted(PACKAGES[package].rglob("*.py"))
    assert files
    assert [text for path in files for text in violations(path)] == []


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """A circle of modules that import each other; empty if there is none."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself() -> None:
    """Imports for type checkers and those inside functions count, too."""
    files = [path for folder in PACKAGES.values() for path in folder.rglob("*.py")]
    names = {module_name(path) for path in files}
    arrows = {}
    for path in files:
        reached = {name if name in names else name.rpartition(".")[0] for _, name in imports(path)}
        arrows[module_name(path)] = (reached & names) - {module_name(path)}
    assert len(arrows) > 500
    assert circle(arrows) == []


def test_a_circle_is_found() -> None:
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}


def test_the_spec_needs_the_standard_library_only() -> None:
    for file in sorted(PACKAGES["precog_spec"].rglob("*.py")):
        foreign = {module.split(".")[0] for _, module in imports(file)} - sys.stdlib_module_names
        assert foreign <= {"precog_spec"}, f"{file} imports {foreign}"


def test_compiled_code_goes_through_one_place() -> None:
    """Numba's own cache is not used; compiled code calls what its folder stands for."""
    jit = "precog_models.jit"
    for name, folder in PACKAGES.items():
        for path in folder.rglob("*.py"):
            found = {module for _, module in imports(path)}
            if module_name(path) != jit:
                assert not found & {"numba", "numba.jit", "numba.njit", "numba.cfunc"}, path
            if name != "precog_models" and any(".jit." in module for module in found):
                keyed = ("precog_models", "precog_spec", module_name(path).rpartition(".")[0])
                ours = {module for module in found if module.split(".")[0] in PACKAGES}
                assert all(module.startswith(keyed) for module in ours), path


def test_the_rule_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "precog_hw" / "stream" / "x.py"
    bad.parent.mkdir(parents=True)
    bad.write_text("def f():\n    from tests import waves\n    import precog_models.nic\n")
    monkeypatch.setitem(PACKAGES, "precog_hw", tmp_path / "precog_hw")
    assert sorted(text.rpartition(" ")[2] for text in violations(bad)) == [
        "precog_models.nic",
        "tests.waves",
    ]


def test_packages_do_not_import_eagerly() -> None:
    """No package's `__init__` imports anything but the standard library."""
    for name, folder in PACKAGES.items():
        modules = {module.split(".")[0] for _, module in imports(folder / "__init__.py")}
        assert modules <= sys.stdlib_module_names, name


def test_the_host_package_needs_no_gateware_and_no_simulator() -> None:
    """Every host module and the command line import with the heavy packages blocked."""
    modules = [module_name(path) for path in sorted(PACKAGES["precog_host"].rglob("*.py"))]
    import_without(modules, (*HEAVY, *FLEET, "precog_fleet"), 'Device.open("emu:").close()')


def test_the_commands_of_the_fleet_need_no_extra() -> None:
    """The command line lists the fleet's verbs without what they need."""
    folder = PACKAGES["precog_fleet"] / "commands"
    modules = [module_name(path) for path in sorted(folder.rglob("*.py"))]
    import_without(["precog_fleet.errors", *modules], (*HEAVY, *FLEET))


def import_without(modules: list[str], blocked: tuple[str, ...], then: str = "") -> None:
    """Import `modules` in a new interpreter in which some packages cannot be imported."""
    script = f"""
import importlib, sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ImportError(f"{{name}} is blocked")

sys.meta_path.insert(0, Block())
for name in {modules!r}:
    importlib.import_module(name)
from precog_host.device import Device
{then}
"""
    path = os.pathsep.join(str(folder.parent) for folder in PACKAGES.values())
    subprocess.run(
        [sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": path}
    )


@pytest.mark.xdist_group("together")
def test_groups_of_tests_are_seen(request: pytest.FixtureRequest) -> None:
    """Compiling and elaborating is for a group; pytest-xdist knows groups by names of tests."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("only with --dist loadgroup")
    assert request.node.nodeid.endswith("@together")
