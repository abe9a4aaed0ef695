"""Arrows between the packages: who may import whom, by reading every file and by importing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.structure import PACKAGES, arrows, circle, imports, module_name, violations

#: One worker reads all files once.
pytestmark = pytest.mark.xdist_group("structure")

HEAVY = ("amaranth", "torch", "cocotb", "onnx", "matplotlib", "precog_sim")
FLEET = ("zenoh", "cryptography", "zstandard", "pyarrow", "duckdb", "tuf", "securesystemslib")
FLEET += ("prometheus_client", "ray")


@pytest.mark.parametrize("package", PACKAGES)
def test_arrows(package: str) -> None:
    files = sorted(PACKAGES[package].rglob("*.py"))
    assert files
    assert [text for path in files for text in violations(path)] == []


def test_no_module_imports_itself() -> None:
    """Imports for type checkers and those inside functions count, too."""
    found = arrows()
    assert len(found) > 500
    assert circle(found) == []


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


def test_groups_of_tests_are_seen(request: pytest.FixtureRequest) -> None:
    """Compiling and elaborating is for a group; pytest-xdist knows groups by names of tests."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("only with --dist loadgroup")
    assert request.node.nodeid.endswith("@structure")
