"""A disk that is full, or whose process is killed, at any step of any durable write."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from precog_models import durable

__all__ = ["Disk", "Killed", "breaking"]


class Killed(BaseException):
    """As kill -9: no handler of the code under test may catch it."""


class Disk:
    """What stands between `durable.write_durably` and the operating system.

    A write has three steps: before its temporary file, before the rename, and after it.

    Attributes
    ----------
    full : callable
        Whether there is no room for a file.
    kill_after : int or None
        Steps until the process is killed.
    refused : int
        Writes that found no room.
    """

    def __init__(self) -> None:
        self.full: Callable[[Path], bool] = lambda path: False
        self.kill_after: int | None = None
        self.refused = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, path: Path, flags: int, mode: int = 0o777) -> int:
        """A file to write, or the folder after the rename."""
        self._step()
        if flags & os.O_WRONLY and self.full(Path(path)):
            self.refused += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return os.open(path, flags, mode)

    def fsync(self, descriptor: int) -> None:
        """Before the rename of a file, or after that of a folder."""
        self._step()
        os.fsync(descriptor)

    def _step(self) -> None:
        if self.kill_after is not None:
            self.kill_after -= 1
            if self.kill_after < 0:
                self.kill_after = None
                raise Killed


@contextmanager
def breaking() -> Iterator[Disk]:
    """All durable writes of this process go to such a disk."""
    disk = Disk()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(durable, "os", disk)
        yield disk
