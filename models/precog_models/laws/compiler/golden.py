"""The golden model of a law: its functions themselves, compiled by numba, on records of integers.

The same functions run in plain Python, on any objects with these attributes; integers are exact
there and here, because the compiler has proved that nothing leaves 64 bits.
"""

import sys
from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_spec.engine.events import EVENT_FIELDS, EVENTS, ROW_OUTPUTS

from ...jit import njit
from .load import Law, source_of

__all__ = ["Golden", "compiled_functions"]

_EVENT = np.dtype([(name, np.int64) for name, _, _ in EVENT_FIELDS])


class Golden:
    """A law with parameters, and the rows of its queue pairs.

    Parameters
    ----------
    law : Law
        Compiled before, so that its ranges are proved.
    parameters : mapping
        `Law.integers`.
    rows : int
        Number of queue pairs.

    Attributes
    ----------
    outputs : ndarray of int64, shape (rows, 2)
        Rate and window of the last event.
    state : ndarray of records, shape (rows,)
        A record of `Law.state`; zeros at the start.
    """

    def __init__(
        self, law: Law, parameters: Mapping[str, int | Sequence[int]], rows: int = 1
    ) -> None:
        self.law = law
        kinds = [
            (one.name, np.int64, (one.length,)) if one.length else (one.name, np.int64)
            for one in law.parameters
        ]
        fields = [(one.name, np.int64) for one in law.state]
        # A record has at least one field.
        self._parameters = np.zeros(1, dtype=np.dtype([*kinds, ("_", np.int64)]))
        for name, value in parameters.items():
            self._parameters[name][0] = value
        self.state = np.zeros(rows, dtype=np.dtype([*fields, ("_", np.int64)]))
        self.outputs = np.zeros((rows, len(ROW_OUTPUTS)), dtype=np.int64)
        compiled = compiled_functions(law)
        self._events = [compiled.get(name) for name in EVENTS]

    def event(self, row: int, words: Sequence[int] | NDArray[np.int64]) -> None:
        """Let an event happen to a row.

        Parameters
        ----------
        row : int
            Of the queue pair.
        words : sequence of int
            `events.EVENT_FIELDS` in order.
        """
        function = self._events[int(words[0])]
        if function is None:
            return
        event = np.array([tuple(int(word) for word in words)], dtype=_EVENT)
        result = function(self._parameters[0], self.state[row], event[0])
        if self.law.windowed:
            self.outputs[row] = result
        else:
            self.outputs[row, 0] = result


def compiled_functions(law: Law) -> dict[str, Any]:
    """A law's functions by numba, by the name of their event: ``f(p, s, e)`` of records."""
    done: dict[FunctionType, Any] = {}
    return {name: _compiled(function, done) for name, function in law.events.items()}


def _compiled(function: FunctionType, done: dict[FunctionType, Any]) -> Any:
    """A function of the language by numba, and those that it calls."""
    if function in done:
        return done[function]
    source = source_of(function)
    names = function.__globals__
    if source is not None:
        own = {
            name: value
            for name in function.__code__.co_names
            if isinstance(value := names.get(name), FunctionType) and source_of(value)
        }
        if own:
            names = dict(names) | {name: _compiled(value, done) for name, value in own.items()}
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    # numba looks a function's globals up through its module.
    copy.__module__ = _registered(names, function.__module__)
    done[function] = njit(copy)
    return done[function]


def _registered(names: Mapping[str, Any], name: str) -> str:
    if name not in sys.modules:
        module = ModuleType(name)
        module.__dict__.update(names)
        sys.modules[name] = module
    return name
