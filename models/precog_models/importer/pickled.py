"""How large the objects in a pickle are, without making them.

A pickle of some hundred bytes can hold a tuple of tuples whose hash, or text, has 2**50 parts: each
level names the one below it twice. No limit on the file's size sees that; this walk over the
operations does, and knows only how many things each takes and leaves.
"""

import pickletools
from typing import BinaryIO

from ..limits import ELEMENTS
from . import ModelImportError

__all__ = ["check_pickle"]

_KEEPS = ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE")
_RECALLS = ("GET", "BINGET", "LONG_BINGET")


def check_pickle(file: BinaryIO) -> None:
    """Go through one pickle, to its end.

    Raises
    ------
    ModelImportError
        An object has more than `ELEMENTS` parts, those of its parts included.
    ValueError
        The bytes are no pickle.
    """
    stack: list[int | None] = []  # parts of each object; None is a mark
    memo: dict[int, int] = {}
    for code, argument, _ in pickletools.genops(file):
        if code.name in _KEEPS:
            key = len(memo) if argument is None else int(argument)
            memo[key] = _parts(stack[-1]) if stack else 0
            continue
        if code.name in _RECALLS:
            stack.append(memo.get(int(argument or 0), 0))
            continue
        if code.name == "DUP":
            stack.append(stack[-1] if stack else 0)
            continue
        before = code.stack_before
        taken = 0
        if pickletools.markobject in before:
            while stack and (top := stack.pop()) is not None:
                taken += top
            before = before[: before.index(pickletools.markobject)]
        for _ in before:
            taken += _parts(stack.pop()) if stack else 0
        for made in code.stack_after:
            stack.append(None if made is pickletools.markobject else taken + 1)
        if taken > ELEMENTS:
            raise ModelImportError(f"must hold objects of at most {ELEMENTS} parts")


def _parts(entry: int | None) -> int:
    return 0 if entry is None else entry
