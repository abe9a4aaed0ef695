"""Files that a crash leaves whole: the old content or the new one."""

import errno
import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

__all__ = ["check_target", "write_durably"]


def check_target(path: str | Path, *, made: bool = False) -> None:
    """Whether a file of that name can be replaced, before the work whose result goes there.

    Parameters
    ----------
    made : bool
        Its folder is made if it is not there.

    Raises
    ------
    OSError
        The name is a folder's or a device's, or its folder does not exist or takes no files.
    """
    path = Path(path)
    if path.is_dir() or not path.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():
        problem = "Not a regular file: pipes and devices cannot be replaced, give a file's name"
        raise OSError(errno.EINVAL, problem, str(path))
    folder = path.resolve().parent if path.is_symlink() else path.parent
    if made:
        folder = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(folder))
    try:  # permissions do not tell: root has all of them in /proc, which takes no files
        TemporaryFile(dir=folder).close()
    except OSError as error:
        problem = f"Folder must take new files: {error.strerror}"
        raise OSError(error.errno, problem, str(folder)) from error


def write_durably(path: str | Path, data: bytes, *, mode: int = 0o644, made: bool = False) -> None:
    """Replace a file in one step; once this returns, the new content survives a power cut.

    Where the name is a link, its target is replaced: the link may be /dev/stdout.

    Parameters
    ----------
    made : bool
        Its folder is made if it is not there.

    Raises
    ------
    OSError
        As `check_target`, or the disk takes it not; the file is then as it was.
    """
    check_target(path, made=made)
    target = Path(path).resolve()
    if made:
        target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:  # with the caller's name for the file
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    folder = os.open(target.parent, os.O_RDONLY)  # the rename itself is in the folder
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
