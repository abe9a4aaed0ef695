"""Files that a crash leaves whole: the old content or the new one."""

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["write_durably"]


def write_durably(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Replace a file in one step; once this returns, the new content survives a power cut.

    Raises
    ------
    OSError
        The file cannot be written; it is then as it was.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:  # with the caller's name for the file
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)  # the rename itself is in the folder
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
