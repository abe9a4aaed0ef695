"""Foreign LSTM weights, brought into our float model or refused with the reason."""

from pathlib import Path

from ..limits import FOREIGN_BYTES

__all__ = ["ModelImportError", "read_foreign"]

_LFS_POINTER = b"version https://git-lfs"


class ModelImportError(ValueError):
    """A foreign model that the engine cannot run, or that cannot be read."""


def read_foreign(path: str | Path) -> bytes:
    """A foreign model's bytes.

    Raises
    ------
    ModelImportError
        The file is too large, or stands for one that was not fetched.
    OSError
        It cannot be read.
    """
    with Path(path).open("rb") as file:
        data = file.read(FOREIGN_BYTES + 1)
    if len(data) > FOREIGN_BYTES:
        raise ModelImportError(
            f"must have at most {FOREIGN_BYTES >> 20} MiB: the engine runs LSTMs of 16 hidden "
            "units; save the model without its optimizer"
        )
    if data.startswith(_LFS_POINTER):
        raise ModelImportError("is a Git LFS pointer, not the file itself: run `git lfs pull`")
    return data
