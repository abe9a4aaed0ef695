"""A core of the engine with a program: rows in, events in, results out."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from precog_spec.engine.events import EVENT_FIELDS, EVENTS
from precog_spec.engine.isa import ROW_WORDS

from .machine import TRACE_WORDS, Status, run, run_many
from .program import Program

__all__ = ["Core", "event_words"]

_NAMES = tuple(name for name, _, _ in EVENT_FIELDS)
_FORMATS = {name: form for name, form, _ in EVENT_FIELDS}


def event_words(kind: int, **words: int) -> NDArray[np.int64]:
    """An event of a kind; words that are not given are 0.

    Raises
    ------
    ValueError
        A word is unknown, or does not fit its format.
    """
    event = np.zeros(len(_NAMES), dtype=np.int64)
    for name, value in {"kind": kind, **words}.items():
        if name not in _FORMATS:
            raise ValueError(f"event word must be one of {', '.join(_NAMES)}, not {name!r}")
        form = _FORMATS[name]
        if not form.min <= value <= form.max:
            raise ValueError(f"{name} must be in {form.min}..{form.max}, not {value}")
        event[_NAMES.index(name)] = value
    return event


class Core:
    """One program, for some queue pairs.

    Parameters
    ----------
    program : Program
    parameters : mapping
        Integers by name, as `Law.integers`.
    rows : int
        Number of queue pairs.
    budget : int, optional
        Most turns of an event; by default the program's longest path.

    Attributes
    ----------
    rows : ndarray of int64, shape (rows, 16)
        Rate, window, state of each; zeros at the start.
    """

    def __init__(
        self,
        program: Program,
        parameters: Mapping[str, int | Sequence[int]],
        rows: int = 1,
        budget: int | None = None,
    ) -> None:
        self.program = program
        self.budget = max(program.turns.values()) if budget is None else budget
        self.rows = np.zeros((rows, ROW_WORDS), dtype=np.int64)
        self.code = np.array(program.code, dtype=np.int64)
        self.slot = np.array(program.slot_words(parameters), dtype=np.int64)
        self.entries = np.array([program.entries.get(name, -1) for name in EVENTS], dtype=np.int64)

    def event(self, row: int, words: NDArray[np.int64], lines: int = 0) -> NDArray[np.int64]:
        """Let an event happen to a row; a trace of its first `lines` instructions.

        Returns
        -------
        ndarray of int64, shape (n, 3)
            Address, result and turns so far of each instruction.

        Raises
        ------
        RuntimeError
            The event ended in a trap; the row is as it was.
        """
        trace = np.full((lines, TRACE_WORDS), -1, dtype=np.int64)
        entry = int(self.entries[words[0]])
        if entry < 0:
            return trace[:0]
        status, _, _ = run(self.code, entry, self.slot, self.rows[row], words, self.budget, trace)
        if status != Status.DONE:
            raise RuntimeError(f"program {self.program.name} ended as {Status(status).name}")
        return trace[trace[:, 0] >= 0]

    def events(self, rows: NDArray[np.int64], events: NDArray[np.int64]) -> NDArray[np.int64]:
        """Let events happen, each to a row of its own.

        Parameters
        ----------
        rows : ndarray of int64, shape (n, 16)
            Changed in place.
        events : ndarray of int64, shape (n, words)

        Returns
        -------
        ndarray of int64, shape (n, 2)
            Status and turns of each.
        """
        status_turns = np.zeros((len(events), 2), dtype=np.int64)
        run_many(self.code, self.entries, self.slot, rows, events, self.budget, status_turns)
        return status_turns
