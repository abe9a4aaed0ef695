"""Documents: the site builds without a warning, and links of files outside it lead somewhere."""

import importlib
import json
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from precog_spec.registers.blocks import BLOCKS

_ROOT = Path(__file__).parents[1]
_VERSIONED = {
    "CHANGELOG.md": r"^## ([0-9.]+)",  # the newest release
    "CITATION.cff": r"^version: (.+)$",
    "README.md": r"^Version ([0-9.]+):",
}


@pytest.mark.parametrize("name", ["README.md", "SECURITY.md"])
def test_relative_links_exist(name: str) -> None:
    text = (_ROOT / name).read_text(encoding="utf-8")
    targets = [x for x in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in x]
    assert targets or name != "README.md"
    assert [x for x in targets if not (_ROOT / x).exists()] == []


def test_the_readme_is_short() -> None:
    assert len((_ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_the_version_is_the_same_everywhere() -> None:
    pages = {name: (_ROOT / name).read_text(encoding="utf-8") for name in _VERSIONED}
    found = {name: re.search(pattern, pages[name], re.M) for name, pattern in _VERSIONED.items()}
    version = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["version"]
    short = version.rpartition(".")[0]
    assert {name: match and match[1] for name, match in found.items()} == {
        "CHANGELOG.md": version,
        "CITATION.cff": version,
        "README.md": short,
    }


def _generated() -> Iterator[Any]:
    """Each page of evidence that names its record in the repository, and that record."""
    for path in sorted((_ROOT / "docs/evidence").glob("*.md")):
        record = re.search(r"For machines: `(docs/.+)`", path.read_text(encoding="utf-8"))
        if record:
            yield pytest.param(path, record[1], id=path.stem)


@pytest.mark.parametrize(("path", "record"), list(_generated()))
def test_a_generated_page_is_of_its_record(path: Path, record: str) -> None:
    package = "precog_sim" if path.stem == "fabric" else "precog_studies"
    page = importlib.import_module(f"{package}.{path.stem}.page").page
    said = json.loads((_ROOT / record).read_text(encoding="utf-8"))
    assert path.read_text(encoding="utf-8") == page(said, record), f"write it from {record} anew"


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("sphinx_gallery", reason="make docs installs sphinx-gallery")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    command += ["-d", str(tmp_path / "doctrees"), "docs", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site/reference/generated/registers.html").exists()
    notebook = (tmp_path / "site/tutorials/notebooks/incast.html").read_text(encoding="utf-8")
    assert "decisions, " in notebook
    assert notebook.count("_images/sphx_glr_incast_") >= 2


def test_the_page_of_registers_has_every_block() -> None:
    pytest.importorskip("sphinx", reason="make docs installs Sphinx")
    page = runpy.run_path(str(_ROOT / "docs/conf.py"))["_registers"]()
    blocks = {name for block in BLOCKS for name in block.registers.split()}
    assert blocks <= set(re.findall(r"^## (\w+)$", page, re.M))


_NOTEBOOK = '"""\nTitle\n=====\n\nText.\n"""\n\n# %%\n# A cell.\n\nprint(1 / {})\n'


@pytest.mark.parametrize("divisor", [1, 0])
def test_a_cell_that_fails_fails_the_build(tmp_path: Path, divisor: int) -> None:
    pytest.importorskip("sphinx_gallery", reason="make docs installs sphinx-gallery")
    lines = [
        "import runpy",
        f"_ours = runpy.run_path({str(_ROOT / 'docs/conf.py')!r})",
        'extensions = ["sphinx_gallery.gen_gallery"]',
        'sphinx_gallery_conf = _ours["sphinx_gallery_conf"]',
        'exclude_patterns = _ours["exclude_patterns"]',
    ]
    (tmp_path / "conf.py").write_text("\n".join(lines))
    index = "Title\n=====\n\n.. toctree::\n\n   tutorials/notebooks/index\n"
    (tmp_path / "index.rst").write_text(index)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks/GALLERY_HEADER.rst").write_text("Notebooks\n=========\n")
    (tmp_path / "notebooks/divide.py").write_text(_NOTEBOOK.format(divisor))
    command = [sys.executable, "-m", "sphinx", "-q", "-W", str(tmp_path), str(tmp_path / "site")]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True)
    assert ("ZeroDivisionError" in done.stderr) == (divisor == 0)
    assert (done.returncode == 0) == (divisor != 0), done.stderr
