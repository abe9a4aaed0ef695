"""The pinned packages can be installed wherever Precog says that it runs."""

import tomllib
from importlib import metadata
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

_ROOT = Path(__file__).parents[1]


def _pins() -> dict[str, str]:
    lines = (_ROOT / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))


def test_each_pin_runs_on_the_oldest_python() -> None:
    """A pin that does not is no version at all to pip there, and nothing is installed."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    (oldest,) = (one.version for one in SpecifierSet(project["requires-python"]))
    oldest = f"{oldest}.0" if oldest.count(".") == 1 else oldest
    refused, seen = {}, 0
    for name, version in _pins().items():
        try:
            installed = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # of an extra
        wanted = installed.metadata["Requires-Python"]
        if installed.version != version or wanted is None:
            continue
        seen += 1
        if Version(oldest) not in SpecifierSet(wanted):
            refused[name] = wanted
    assert refused == {}
    assert seen > 50
