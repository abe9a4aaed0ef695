"""Compiled functions, and the folder in which their machine code is kept.

numba's own cache knows the file of a function, not those of its callees: after an edit of a callee
it would return the old code. Here the name of the cache folder is a hash of all sources that can
take part: those of `precog_models` and `precog_spec`, and of the folder in which the function's own
file stands. A function outside `precog_models` must therefore call only functions of these.

The folders are in ``precog_models/__pycache__``; where that is read-only, in the user's cache
folder; in ``NUMBA_CACHE_DIR``, if it is set. Only the `KEPT` folders of the latest use remain.
Without a folder that can be written, every process compiles for itself. Before a wait for the
compiler the logger ``precog`` gives a warning.
"""

import gc
import hashlib
import logging
import os
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar

import numba
from numba import config
from numba.core import event
from platformdirs import user_cache_path

from precog_models.frames import in_one_piece

__all__ = ["KEPT", "cfunc", "njit"]

#: Versions of one folder's sources whose machine code is kept.
KEPT = 4

_F = TypeVar("_F", bound=Callable[..., Any])
_MODELS = Path(__file__).parent
_SPEC = _MODELS.with_name("precog_spec")
_BY_USER = config.CACHE_DIR
_LOCK = threading.RLock()
_LOG = logging.getLogger("precog")
#: Thresholds of Python's collector of cycles while something is compiled.
_SELDOM = (50_000, 20, 100)
#: What is compiled together, by the folder of its sources, and the CPU seconds it takes.
_TIMES = {"precog_models": ("golden models", 20), "network": ("network simulator", 60)}

if "NUMBA_OPT" not in os.environ:
    # LLVM's -O3, numba's default, takes half as long again and makes nothing here faster.
    config.OPT = type(config.OPT)(1)


def njit(function: _F, *, kept: bool = True, **options: Any) -> _F:
    """Compile `function` when it is called; `options` are numba's. `kept`: for later processes."""

    def make(cache: bool) -> _F:
        compiled: _F = numba.njit(cache=cache, **options)(function)
        return compiled

    made: _F = _cached(function, make) if kept else make(False)
    return made


def cfunc(signature: object, *, kept: bool = True, **options: Any) -> Callable[[_F], Any]:
    """Compile a function now, as a C function of `signature`; otherwise as `njit`."""

    def compile_(function: _F) -> Any:
        def make(cache: bool) -> Any:
            return numba.cfunc(signature, cache=cache, **options)(function)

        return _cached(function, make) if kept else make(False)

    return compile_


def _cached(function: _F, make: Callable[[bool], Any]) -> Any:
    """`make` with the cache on, in the folder of `function`; with it off, if there is none."""
    folder = _folder(function.__code__.co_filename)
    if folder is None:
        return make(False)
    with _LOCK:  # numba reads the folder's name when the function is made
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            return in_one_piece(make, True)
        finally:
            config.CACHE_DIR = before


@cache
def _folder(file: str) -> Path | None:
    """Where the code of the functions of `file` is kept, if anywhere.

    A process that began before an edit of the sources runs a mixture, which no hash stands for.
    """
    sources = _sources(Path(file).parent)
    return None if sources.changed() else sources.folder


class _Sources:
    """The files whose code can end up in a compiled function, as they were at first sight.

    Parameters
    ----------
    home : Path
        Folder of the function's own file.

    Attributes
    ----------
    folder : Path or None
        Where the machine code is kept, if there is a place.
    """

    def __init__(self, home: Path) -> None:
        self._files = sorted({*_MODELS.rglob("*.py"), *_SPEC.rglob("*.py"), *home.rglob("*.py")})
        self._stamps = self._now()
        self.folder = self._place(home) if self._files else None

    def changed(self) -> bool:
        """A file was edited since."""
        return self._now() != self._stamps

    def _now(self) -> list[tuple[int, int]]:
        try:
            return [(s.st_mtime_ns, s.st_size) for s in map(os.stat, self._files)]
        except FileNotFoundError:
            return []

    def _place(self, home: Path) -> Path | None:
        digest = hashlib.blake2b(digest_size=16)
        for path in self._files:
            data = path.read_bytes()
            digest.update(f"{path.name}\0{len(data)}\0".encode())
            digest.update(data)
        kind = "models" if home.is_relative_to(_MODELS) else home.name
        for root in _roots():
            folder = root / f"{kind}-{digest.hexdigest()}"
            try:
                folder.mkdir(parents=True, exist_ok=True)
                os.utime(folder)
                TemporaryFile(dir=folder).close()
            except OSError:
                continue
            _prune(root, kind)
            return folder
        return None


@cache
def _sources(folder: Path) -> _Sources:
    """The sources of functions in `folder`; one object for all of `precog_models`."""
    if folder != _MODELS and folder.is_relative_to(_MODELS):
        return _sources(_MODELS)
    return _Sources(folder)


class _Compiling(event.Listener):
    """Says once of each part that it is being compiled: of a cached one nothing is.

    Meanwhile Python's collector of cycles comes less often: the compiler makes millions of objects,
    and looking through them so often took a sixth of the time.
    """

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._depth = 0  # a caller's compilation has those of its callees inside
        self._usual = gc.get_threshold()

    def on_start(self, event: event.Event) -> None:
        if not self._depth:
            self._usual = gc.get_threshold()
            if 0 < self._usual[0] < _SELDOM[0]:
                gc.set_threshold(*_SELDOM)
        self._depth += 1
        file = Path(event.data["dispatcher"].py_func.__code__.co_filename)
        part = _MODELS.name if file.is_relative_to(_MODELS) else file.parent.name
        if part not in _TIMES or part in self._said:
            return
        self._said.add(part)
        what, seconds = _TIMES[part]
        kept = "kept for the next time" if _folder(str(file)) else "for this process only"
        # Unless a program sets logging up, a warning is a line on standard error.
        _LOG.warning("compiling the %s, about %d s, %s", what, seconds, kept)

    def on_end(self, event: event.Event) -> None:
        self._depth -= 1
        if not self._depth:
            gc.set_threshold(*self._usual)


event.register("numba:compile", _Compiling())


def _roots() -> list[Path]:
    """Where folders may be, the best place first."""
    if _BY_USER:
        return [Path(_BY_USER) / "precog"]
    return [
        _MODELS / "__pycache__" / "compiled",
        user_cache_path("precog", appauthor=False) / "compiled",
    ]


def _prune(root: Path, kind: str) -> None:
    """Remove the folders of `kind` that were not used for longest; others may do so, too."""
    used: list[tuple[float, Path]] = []
    for path in root.glob(f"{kind}-*"):
        with suppress(FileNotFoundError):
            used.append((path.stat().st_mtime, path))
    for _, path in sorted(used)[:-KEPT]:
        shutil.rmtree(path, ignore_errors=True)
