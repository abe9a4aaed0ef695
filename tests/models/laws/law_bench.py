"""A law in three ways at once: plain Python, numba, the engine's interpreter; they must agree."""

from types import SimpleNamespace

from precog_models.laws.compiler.compile import Compiled, compile_law
from precog_models.laws.compiler.golden import Golden
from precog_models.laws.compiler.load import load
from precog_models.rate.engine.core import Core, event_words
from precog_spec.engine.events import EVENT_FIELDS, EVENTS

__all__ = ["Plain", "ThreeWays", "compiled"]

_WORDS = [name for name, _, _ in EVENT_FIELDS]
_COMPILED: dict[str, Compiled] = {}


def compiled(name: str) -> Compiled:
    """A law of the package, compiled once."""
    if name not in _COMPILED:
        _COMPILED[name] = compile_law(load(name))
    return _COMPILED[name]


class ThreeWays:
    """One queue pair under a law.

    Parameters
    ----------
    made : Compiled
    parameters : dict
        Integers by name.
    """

    def __init__(self, made: Compiled, parameters: dict[str, int | list[int]]) -> None:
        self.law = made.law
        self.core = Core(made.program, parameters)
        self.golden = Golden(made.law, parameters)
        self.parameters = SimpleNamespace(**parameters)
        self.state = SimpleNamespace(**{one.name: 0 for one in made.law.state})
        self.turns = 0

    def event(self, kind: int, **words: int) -> list[int]:
        """Rate, window and state after an event, the same in all three ways."""
        event = event_words(kind, **words)
        trace = self.core.event(0, event, lines=1 << 11)
        self.turns = max(self.turns, int(trace[-1, 2]) if len(trace) else 0)
        engine = self.core.rows[0, : 2 + len(self.law.state)].tolist()
        self.golden.event(0, event)
        state = [int(self.golden.state[0][one.name]) for one in self.law.state]
        golden = [*self.golden.outputs[0].tolist(), *state]
        function = self.law.events.get(EVENTS[kind])
        if function is not None:
            names = dict.fromkeys(_WORDS, 0) | {"kind": kind, **words}
            result = function(self.parameters, self.state, SimpleNamespace(**names))
            outputs = [*result] if self.law.windowed else [result, 0]
            plain = [*map(int, outputs), *(int(x) for x in vars(self.state).values())]
            assert plain == golden
        assert engine == golden
        return engine


class Plain:
    """One queue pair under a law of rates, in plain Python.

    Parameters
    ----------
    name : str
        Of a law of the package.
    parameters : dict
        Integers by name; tables are made of them.

    Attributes
    ----------
    state : SimpleNamespace
    """

    def __init__(self, name: str, parameters: dict[str, int]) -> None:
        law = compiled(name).law
        tables = {one.name: one.made(parameters) for one in law.parameters if one.made}
        self._law = law
        self._parameters = SimpleNamespace(**parameters, **tables)
        self.state = SimpleNamespace(**{one.name: 0 for one in law.state})

    def event(self, kind: int, **words: int) -> int:
        """The rate after an event."""
        told = SimpleNamespace(**dict.fromkeys(_WORDS, 0) | {"kind": kind, **words})
        return int(self._law.events[EVENTS[kind]](self._parameters, self.state, told))
