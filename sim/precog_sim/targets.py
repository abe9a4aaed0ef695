"""Outputs that argparse names, checked before the work whose result goes there."""

import argparse
from pathlib import Path

from precog_models.durable import check_target

__all__ = ["new_file", "new_folder"]


def new_file(text: str) -> Path:
    """An option's file; its folder is made later if it is not there.

    Argparse checks a default, too, if it is a string.

    Raises
    ------
    argparse.ArgumentTypeError
        No such file can be written.
    """
    try:
        check_target(text, made=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"file {error.filename}: {error.strerror}") from error
    return Path(text)


def new_folder(text: str) -> Path:
    """An option's folder, as `new_file`."""
    return new_file(str(Path(text) / "record")).parent
