"""Folders of the fleet: what each kind is known by, and how a wrong one is refused.

A refusal names the folder that was given, what it should be, what it is, and which command makes
such a one.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from precog_models.durable import check_target

__all__ = [
    "AUTHORITY",
    "FLEET",
    "KEYS",
    "MEMBER",
    "MODELS",
    "REPOSITORY",
    "TRAINING_SET",
    "BusyError",
    "Kind",
    "claimed",
    "require",
    "require_new",
]


@dataclass(frozen=True)
class Kind:
    """A kind of folder.

    Parameters
    ----------
    marker : str
        File that folders of this kind have, and no others.
    noun : str
    maker : str
        Command that makes one.
    """

    marker: str
    noun: str
    maker: str


AUTHORITY = Kind("authority.key", "an authority's folder", "precog fleet init")
MEMBER = Kind("signing.key", "a member's folder", "precog fleet enroll")
REPOSITORY = Kind("metadata/1.root.json", "a repository", "precog fleet repository init")
KEYS = Kind("root-1.pem", "a folder of a repository's keys", "precog fleet repository init")
TRAINING_SET = Kind("card.json", "a training set", "precog fleet collect")
MODELS = Kind("manifest.json", "a folder of models", "precog fleet train")
FLEET = Kind("authority/authority.key", "a whole fleet's folder", "precog fleet up")
_KINDS = (AUTHORITY, MEMBER, REPOSITORY, KEYS, TRAINING_SET, MODELS, FLEET)


class BusyError(ValueError):
    """A folder that another process works on."""


def require(folder: Path, kind: Kind) -> None:
    """Refuse a folder that is not of a kind.

    Raises
    ------
    ValueError
        It is another one.
    OSError
        It cannot be looked at.
    """
    if not (folder / kind.marker).is_file():
        raise ValueError(
            f"{folder} must be {kind.noun}, but {_state(folder)}: make one with {kind.maker}"
        )


def require_new(folder: Path, *besides: Kind) -> None:
    """Refuse a folder in which something would be overwritten or mixed up.

    Parameters
    ----------
    besides : Kind
        What may be there already.

    Raises
    ------
    ValueError
        It is in use, or a file.
    OSError
        It cannot be looked at, or takes no files.
    """
    used = any((folder / kind.marker).exists() for kind in _KINDS if kind not in besides)
    if used or (folder.exists() and not folder.is_dir()):
        raise ValueError(f"folder must be new, but {folder} {_state(folder)}")
    check_target(folder / "x", made=True)


def _state(folder: Path) -> str:
    """What a folder is, as the end of a sentence about it."""
    for kind in _KINDS:
        if (folder / kind.marker).exists():
            return f"is {kind.noun}"
    if not folder.exists():
        return "is not there"
    if not folder.is_dir():
        return "is a file"
    return "has other files" if any(folder.iterdir()) else "is empty"


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Work on a folder as its only process; nothing is written for that.

    Raises
    ------
    BusyError
        Another process works on it.
    OSError
        It cannot be opened.
    """
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(
                f"{folder} is in use: end the process that works on it first"
            ) from error
        yield
    finally:
        os.close(lock)
