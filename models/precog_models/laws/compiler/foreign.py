"""Runs a law's file as a module, wherever it lies, so that it can import from its neighbours.

A relative import finds files of the law's own folder. In a folder that is no package it also finds
those of `precog_models.laws`, so that a copy of one of those laws runs as it is.
"""

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

__all__ = ["run_file"]

_LAWS = __name__.rpartition(".")[0].rpartition(".")[0]
_HOME = Path(__file__).parents[1]


def run_file(path: Path, text: bytes) -> ModuleType:
    """The module that the file's text makes. What it raises is passed on.

    Raises
    ------
    SyntaxError, ValueError
        The text is no Python.
    """
    code = compile(text, str(path), "exec")
    folder = path.resolve().parent
    with _no_bytecode():
        package = _real_package(folder) or _made_package(folder)
        module = ModuleType(f"{package}.{path.stem}")
        module.__file__, module.__package__ = str(path), package
        exec(code, vars(module))
    return module


@contextmanager
def _no_bytecode() -> Iterator[None]:
    """Nothing is written into a folder of the user's."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _real_package(folder: Path) -> str | None:
    """The package that the folder is, imported; None: it has no `__init__.py`, or is hidden."""
    if not (folder / "__init__.py").is_file():
        return None
    names, root = [folder.name], folder.parent
    while (root / "__init__.py").is_file():
        names, root = [root.name, *names], root.parent
    name = ".".join(names)
    sys.path.insert(0, str(root))
    try:
        found = import_module(name)
    finally:
        sys.path.remove(str(root))
    # Another package of this name may have been imported before.
    places = [Path(place).resolve() for place in found.__path__]
    return name if folder in places else None


def _made_package(folder: Path) -> str:
    """A package for a folder that is none; its files are read anew."""
    name = f"_laws_{hashlib.blake2b(str(folder).encode(), digest_size=8).hexdigest()}"
    for old in [one for one in sys.modules if one.startswith(f"{name}.")]:
        del sys.modules[old]
    package = ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package
    ours = {path.stem for path in _HOME.glob("*.py")} - {"__init__"}
    for shared in ours - {path.stem for path in folder.glob("*.py")}:
        sys.modules[f"{name}.{shared}"] = import_module(f"{_LAWS}.{shared}")
    return name
