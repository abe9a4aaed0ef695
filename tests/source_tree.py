"""A copy of our packages that a test may edit, and processes that run from it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["SourceTree"]

_ROOT = Path(__file__).parents[1]


class SourceTree:
    """Copies of folders of the repository.

    Parameters
    ----------
    root : Path
        Where they go; they lie there without the folder of their part (``models/``, ``sim/``).
    folders : str
        As ``models/precog_models``.
    """

    def __init__(self, root: Path, *folders: str) -> None:
        self.root = root
        for folder in folders:
            target = root / Path(*Path(folder).parts[1:])
            shutil.copytree(_ROOT / folder, target, ignore=shutil.ignore_patterns("__pycache__"))

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace `old`, which `file` has once."""
        path = self.root / file
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))

    def start(
        self, script: str, errors: int | None = None, **environment: str
    ) -> subprocess.Popen[str]:
        """A process that runs `script`."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        return subprocess.Popen(
            [sys.executable, "-c", script],
            env={**clean, "PYTHONPATH": str(self.root), **environment},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )

    def says(self, script: str, **environment: str) -> tuple[str, str]:
        """What `script` prints, and what it says on standard error."""
        with self.start(script, errors=subprocess.PIPE, **environment) as process:
            output, errors = process.communicate()
        assert process.returncode == 0
        return output.strip(), errors.strip()

    def run(self, script: str, **environment: str) -> str:
        """What `script` prints."""
        with self.start(script, **environment) as process:
            output, _ = process.communicate()
        assert process.returncode == 0
        return output.strip()
