"""An image whose guest has this very Python and this very driver, next to what all guests have.

Which files the driver needs is found by loading it here: modules, and shared objects of the
process. They keep their paths. Modules are compiled already, since emulated guests are slow.
"""

import hashlib
import json
import os
import py_compile
import subprocess
import sys
import tempfile
from importlib.util import cache_from_source
from pathlib import Path

import precog_host
import precog_models
from precog_host.emulator.device import Emulator
from precog_spec.config import NicConfig

from . import pci_session
from .image import Contents, Image, archive
from .packages import Cache, LabError

__all__ = ["SESSION", "with_python"]

#: Command of the guest that has a whole session with a card; its argument is the URI.
SESSION = "precog-session"

#: The driver calls no golden model, whose compiler is ten times as large as all else.
_NO_COMPILER = '''"""Golden models are not compiled in guests."""


def njit(function, **_):
    return function


def cfunc(signature, **_):
    return lambda function: function
'''
_LEFT_OUT = ("emulator", "monitor", "serve", "demo")
#: Commands load parts of packages only when they need them.
_COMMANDS = (
    "device show",
    "interrupt set icrc",
    "interrupt show -j",
    "packet binding add 0 10.0.0.2 --remote-qp 1 --local-qp 2",
    "packet counter",
    "qp add 0",
    "qp show",
)
#: Packages that load parts of themselves when these are used.
_WHOLE = ("typer", "rich")
_PROBE = f"""
import importlib, json, pathlib, pkgutil, sys, types
jit = types.ModuleType("precog_models.jit")
exec({_NO_COMPILER!r}, jit.__dict__)
sys.modules[jit.__name__] = jit
import precog_host
for found in pkgutil.walk_packages(precog_host.__path__, "precog_host."):
    if not set(found.name.split(".")) & set({_LEFT_OUT!r}):
        try:
            importlib.import_module(found.name)
        except ImportError:
            pass  # an extra that is not installed
import contextlib, io
from precog_host.cli import main
for words in {_COMMANDS!r}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main([*words.split(), "-d", "pci:" + sys.argv[1]])
files = {{m.__file__ for m in list(sys.modules.values()) if getattr(m, "__file__", None)}}
objects = {{line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps") if ".so" in line}}
for name in {_WHOLE!r}:
    folder = pathlib.Path(importlib.import_module(name).__file__).parent
    files |= {{str(path) for path in folder.rglob("*.py")}}
print(json.dumps(sorted(files | objects)))
"""


def with_python(cache: Cache, image: Image) -> Image:
    """The image and a second archive behind its first, made if it is not there.

    Raises
    ------
    LabError
        The driver cannot be loaded.
    """
    contents = _contents()
    digest = hashlib.sha256(image.initramfs.parent.name.encode())
    for name, (mode, data) in sorted(contents.items()):
        digest.update(f"{name} {mode} {len(data)}\n".encode())
        digest.update(data)
    made = cache.folder / "images" / f"{digest.hexdigest()[:16]}.python"
    if not made.exists():
        for old in sorted(made.parent.glob("*.python"), key=os.path.getmtime)[:-1]:
            old.unlink()
        part = made.with_suffix(".part")
        part.write_bytes(image.initramfs.read_bytes() + archive(contents))
        part.rename(made)
    return Image(image.kernel, made, image.release)


def _contents() -> Contents:
    jit = os.path.realpath(Path(precog_models.__file__).with_name("jit.py"))
    session = os.path.realpath(pci_session.__file__)
    found: Contents = {}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "jit.py"
        source.write_text(_NO_COMPILER)
        found[f"{jit}c"] = 0o644, _compiled(source)
        for name in {*_needed(), session} - {jit}:
            if name.endswith(".py"):
                found[f"{name}c"] = 0o644, _compiled(Path(name))
            else:
                for alias in (name, *_links(Path(name))):
                    found[alias] = 0o755, Path(name).read_bytes()
    python = os.path.realpath(sys.executable)
    found[python] = 0o755, Path(python).read_bytes()
    for command, argument in (
        ("precog", "-c 'from precog_host.cli import main; main()'"),
        (SESSION, f"{session}c"),
    ):
        found[f"/usr/bin/{command}"] = 0o755, _script(f"{python} {argument}")
    return found


def _needed() -> list[str]:
    """Files of a Python process that has loaded the driver, and run commands on plain memory."""
    with tempfile.NamedTemporaryFile() as registers:
        registers.write(_at_rest())
        registers.flush()
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, registers.name],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(_paths())},
        )
    if done.returncode:
        raise LabError(f"driver must load for a guest: {done.stderr.strip()[-500:]}")
    files: list[str] = json.loads(done.stdout)
    return [name for name in files if not name.endswith(".so.cache") and Path(name).is_file()]


def _at_rest() -> bytes:
    """All registers of a device after its reset."""
    emulator = Emulator(NicConfig(qps=2, sets=2, width=64))
    memory = bytearray(1 << emulator.map.address_bits)
    for word in emulator.map.words():
        memory[word.address : word.address + 4] = emulator.read32(word.address).to_bytes(
            4, "little"
        )
    return bytes(memory)


def _links(shared: Path) -> list[str]:
    """Links to a shared object in its own folder: programs name it by one of them."""
    if ".so." not in shared.name:
        return []
    stem = shared.name.partition(".so.")[0]
    return [
        str(path)
        for path in shared.parent.glob(f"{stem}.so.*")
        if path.is_symlink() and path.resolve() == shared
    ]


def _script(command: str) -> bytes:
    paths = ":".join(_paths())
    variables = f"PYTHONPATH={paths} PYTHONDONTWRITEBYTECODE=1 PYTHONNOUSERSITE=1 NO_COLOR=1"
    return f'#!/bin/busybox sh\n{variables} COLUMNS=200 exec {command} "$@"\n'.encode()


def _paths() -> list[str]:
    """Folders of modules, without links: this project's, and those of installed packages."""
    ours = [str(Path(str(one.__file__)).parents[1]) for one in (precog_host, precog_models)]
    others = [path for path in sys.path if "site-packages" in path]
    return list(dict.fromkeys(os.path.realpath(path) for path in (*ours, *others)))


def _compiled(source: Path) -> bytes:
    """Byte code, which a guest loads without its source."""
    kept = Path(cache_from_source(str(source)))
    if kept.exists() and kept.stat().st_mtime >= source.stat().st_mtime:
        return kept.read_bytes()
    with tempfile.NamedTemporaryFile(suffix=".pyc") as file:
        py_compile.compile(str(source), cfile=file.name, doraise=True)
        return Path(file.name).read_bytes()
