"""Errors of a law's file: they name file, line, construct and what to write instead."""

import ast
from pathlib import Path

__all__ = ["LawError", "placed", "shown"]

_LONG = 60


class LawError(ValueError):
    """Something in a law's file is not of the language, or cannot be proved safe.

    Parameters
    ----------
    file : str
        Name of the file.
    line : int
        Counted from 1; 0: the whole file.
    message : str
        The construct, what is wrong, and what to write instead.
    """

    def __init__(self, file: str, line: int, message: str) -> None:
        super().__init__(f"{file}:{line}: {message}" if line else f"{file}: {message}")
        self.file = file
        self.line = line


def placed(law: str, file: str, line: int, text: str) -> str:
    """A construct with its line, and with its file's name if that is not the law's own."""
    name = "" if file == law else f"{Path(file).name}:"
    return f"{name}{line}: {text.strip('`')}"


def shown(node: ast.AST) -> str:
    """Source of a construct, on one line."""
    text = " ".join(ast.unparse(node).split())
    return f"`{text}`" if len(text) <= _LONG else f"`{text[:_LONG]} ...`"
