"""Runs of a study that are kept by a key, so that one that was cut off goes on where it was."""

import gzip
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from precog_fleet.runner import Here, Pool, Task

__all__ = ["kept", "run_key"]

Report = Callable[[int, int], None]


def run_key(parts: tuple[tuple[str, str], ...], what: bytes) -> str:
    """Name of what a run leaves: of what is run, and of the code that runs it.

    Parameters
    ----------
    parts : tuple of (package, file or folder in it)
    what : bytes
    """
    return hashlib.blake2b(_code_digest(parts) + what, digest_size=12).hexdigest()


@cache
def _code_digest(parts: tuple[tuple[str, str], ...]) -> bytes:
    digest = hashlib.blake2b()
    for package, part in parts:
        root = Path(str(files(package))) / part
        for path in [root] if root.is_file() else sorted(root.rglob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.digest()


def kept(
    tasks: Mapping[str, Task],
    folder: Path,
    *,
    workers: int,
    report: Report = lambda done, total: None,
) -> dict[str, Any]:
    """What each task gives, by its key: from `folder`, or made now and kept there.

    Raises
    ------
    FleetError
        A worker died again and again; what ended before is kept.
    """
    paths = {key: folder / f"{key}.json.gz" for key in tasks}
    there = ((key, _read(path)) for key, path in paths.items() if path.is_file())
    found = {key: figures for key, figures in there if figures is not None}
    missing = {
        key: Task(key, task.function, task.arguments)
        for key, task in tasks.items()
        if key not in found
    }
    folder.mkdir(parents=True, exist_ok=True)
    report(len(found), len(tasks))
    runner = Here() if workers == 1 or len(missing) < 2 else Pool(min(workers, len(missing)))
    try:
        for task, figures in runner.run(iter(missing.values())):
            partial = paths[task.name].with_suffix(f".{os.getpid()}.part")
            partial.write_bytes(gzip.compress(json.dumps(figures).encode(), 5))
            partial.replace(paths[task.name])
            found[task.name] = figures
            report(len(found), len(tasks))
    finally:
        runner.close()
    return found


def _read(path: Path) -> Any:
    """None if the file is damaged: the run is done again."""
    try:
        return json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, ValueError):
        return None
