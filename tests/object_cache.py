"""``object_cache.py FOLDER g++ ...``, as make's OBJCACHE: Verilator's own sources compile once.

They take longer than a small model's. They are the same for each, where the options are.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["objcache"]


def objcache(folder: Path) -> str:
    """A value of OBJCACHE that keeps objects in `folder`."""
    return f"{sys.executable} -I -S {Path(__file__).resolve()} {folder.resolve()}"


def _compile(folder: Path, command: list[str]) -> int:
    command = [option for option in command if option not in ("-MMD", "-MP")]  # for make
    source = Path(command[-1])
    own = Path(os.environ["VERILATOR_ROOT"], "include")
    if source.parent != own or "-o" not in command:
        return subprocess.run(command).returncode
    target = Path(command.pop(command.index("-o") + 1))
    compiler = os.stat(shutil.which(command[0]) or command[0])
    parts = [*command, str(compiler.st_mtime_ns)]
    version = (own / "verilated_config.h").read_bytes()
    name = hashlib.sha256("\0".join(parts).encode() + source.read_bytes() + version).hexdigest()
    kept = folder / f"{name[:16]}.o"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{name[:16]}.{os.getpid()}.o"
        command.insert(command.index("-o") + 1, str(part))
        status = subprocess.run(command).returncode
        if status:
            return status
        os.replace(part, kept)
    shutil.copyfile(kept, target)
    return 0


if __name__ == "__main__":
    sys.exit(_compile(Path(sys.argv[1]), sys.argv[2:]))
