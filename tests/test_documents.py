"""Documents: the site builds without a warning, and links of files outside it lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["README.md", "SECURITY.md"])
def test_relative_links_exist(name: str) -> None:
    text = (_ROOT / name).read_text(encoding="utf-8")
    targets = [x for x in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in x]
    assert targets or name != "README.md"
    assert [x for x in targets if not (_ROOT / x).exists()] == []


def test_the_readme_is_short() -> None:
    assert len((_ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    command += ["-d", str(tmp_path / "doctrees"), "docs", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site/reference/generated/registers.html").exists()
