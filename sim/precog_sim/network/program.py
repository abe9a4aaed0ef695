"""Law programs: rate laws as one file of plain Python, compiled to native code.

A program has the shape of `precog_models.laws`, in real numbers; the laws of that package, which
cards run, are programs here as they stand (`program_integer`). What the module may define:

``PARAMETERS``
    ((name, format, unit, default, meaning), …); a format is ``"float"`` or ``"int"``.
``PRESETS``
    {name: (citation, {parameter: value})}.
``STATE``
    ((name, format, meaning), …), or with a shape behind: kept for each flow, 0 at first.
``WINDOWED``
    True: events return a rate and a window; False: a rate.
``on_start``, ``on_ack``, ``on_sample``, ``on_cnp``, ``on_loss``, ``on_timer``, ``on_send``
    Functions (p, s, e) of the parameters, the flow's state and the event; with telemetry on_ack
    and on_sample are (p, s, e, t). Other functions of the file may be called.
``TELEMETRY``, ``HEADER``, ``ACK_BYTES``, ``CNP_US``, ``MARKING_BDP``, ``BIT_RATES``
    `SETTINGS` explains them.

Units: times in ns, sizes in bytes, rates in bytes per ns (100 Gb/s = 12.5), as the gateware's ticks
of 1 ns have them.

Cost of an event: one call through a pointer, about 4 ns, and the law itself.

Laws of users are checked when they are read (`program_body`), their indices and loops in the run;
functions that others compiled are refused, as the run could not end their loops.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import from_dtype, types
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numpy.typing import NDArray

from precog_models import jit
from precog_models.rate.reference.hpcc import HOPS
from precog_sim.network.program_body import check_bodies
from precog_sim.network.program_checks import (
    checked_presets,
    checked_settings,
    fields,
    reason,
    refuse_compiled,
    refuse_draws,
    rows,
)
from precog_sim.network.program_loops import BoundedLoops

__all__ = [
    "EVENT",
    "EVENTS",
    "EVENT_WORDS",
    "FAILED",
    "SETTINGS",
    "TELEMETRY",
    "WORDS",
    "Program",
    "native",
    "program",
    "word",
]

#: What a program may hear of.
EVENTS: dict[str, str] = {
    "on_start": "the flow begins; e.rate is its start rate",
    "on_ack": "an acknowledgement",
    "on_sample": "an acknowledgement that completes a round trip; after on_ack",
    "on_cnp": "a congestion notification",
    "on_loss": "a loss: a NAK, under selective repeat an ACK that shows a new gap, or a time-out",
    "on_timer": "a time in e.due has come",
    "on_send": "a data packet begins to leave",
    "on_score": "the receiver's level has risen",
}

#: Words of an event: format and meaning. Those without a meaning for its kind keep older values.
WORDS: dict[str, tuple[Any, str]] = {
    "rate": ("f8", "rate in force"),
    "window": ("f8", "window in force, bytes"),
    "due": (("f8", (3,)), "times at which on_timer is to come, for the law to set; 0, inf: none"),
    "max_rate": ("f8", "rate of the flow's link"),
    "min_rate": ("f8", "lowest rate"),
    "base": ("f8", "base RTT of the flow's path: delays, and the payload's transmission one way"),
    "network_base": ("f8", "largest base RTT of any flow"),
    "mtu": ("i8", "payload of a full packet"),
    "header": ("i8", "header bytes of a packet"),
    "hops": ("i8", "switches on the way"),
    "flow": ("i8", "number of the flow"),
    "now": ("f8", "time"),
    "rtt": ("f8", "round-trip time of the acknowledged packet"),
    "now_ps": ("i8", "time in ps"),
    "rtt_ps": ("i8", "round-trip time in ps"),
    "bytes": ("i8", "on_ack: newly acknowledged; on_send: on the wire"),
    "marked": ("i8", "1: the acknowledgement echoes a congestion mark"),
    "sample": ("i8", "1: the acknowledgement completes a round trip"),
    "seq": ("i8", "first byte that is not acknowledged"),
    "next": ("i8", "next byte to be sent"),
    "timer": ("i8", "on_timer: which of e.due has come"),
    "senders": ("i8", "on_score: binary logarithm of the flows that share the receiver's link"),
    "timeout": ("i8", "on_loss: 1: a time-out, 0: a NAK or a gap"),
    "prediction": ("f8", "for the law to set: RTT that it expects, us; for the record"),
}

EVENT = np.dtype(
    [(name, *(kind if isinstance(kind, tuple) else (kind,))) for name, (kind, _) in WORDS.items()]
)
EVENT_WORDS = EVENT.itemsize // 8

#: Telemetry of a packet's way: `hop` has a row for each hop: time in ns, bytes sent, bytes in
#: the queue, Mb/s. With pint there is one hop, and its first word is the utilisation's logarithm.
#: `words` is all of it in one row.
TELEMETRY = np.dtype(
    {
        "names": ["count", "hop", "words"],
        "formats": ["i8", ("i8", (HOPS, 4)), ("i8", (1, 1 + 4 * HOPS))],
        "offsets": [0, 8, 0],
    }
)

SETTINGS: dict[str, tuple[Any, str]] = {
    "WINDOWED": (False, "events return a rate and a window"),
    "TELEMETRY": ("", "int or pint: packets carry it, and on_ack and on_sample have it as t"),
    "HEADER": (48, "header bytes of a data packet"),
    "ACK_BYTES": (60, "bytes of an acknowledgement"),
    "CNP_US": (0.0, "least time between a flow's notifications; 0: none; marks: 5..200 KB, 1 %"),
    "MARKING_BDP": (None, "switches mark: (from, to, share), lengths over line rate x base RTT"),
    "BIT_RATES": (False, "rates of the program are in bit/s"),
}

_ENTRY = """
def entry_{name}(p, s, e{t}):
    {result} = {name}(p, s, e{t})
"""

#: A rate that no law decides: the function ended with an exception. `e.window` is then its place
#: in `EVENTS`. on_sample comes after on_ack, and must not hide that one's.
FAILED = -1.5e300

_GUARDED = """
def entry_{name}(p, s, e{t}):
    if e.rate == {lost}:
        return
    try:
        {result} = {name}(p, s, e{t})
    except Exception:
        e.rate = {lost}
        e.window = {kind}
"""


def word(name: str) -> int:
    """Place of a word in an event, in words of 8 bytes."""
    fields = EVENT.fields
    assert fields is not None
    return int(fields[name][1]) // 8


@dataclass(frozen=True, eq=False)
class Program:
    """A compiled law.

    Attributes
    ----------
    name : str
    state, parameters : dtype
        Of a flow's row, and of the parameters' record.
    defaults : dict of str to float
    presets : dict of str to dict
        Values by parameter.
    settings : dict of str to object
        A value for each of `SETTINGS`.
    with_facts : callable, optional
        Adds facts of the network to given values: of them and the facts.
    address : dict of str to int
        Of the native code, by event.
    python : dict of str to function
        The file's functions as they stand.
    made : callable, optional
        Values of the record of parameters, from all parameters' values.
    """

    name: str
    state: np.dtype[Any]
    parameters: np.dtype[Any]
    defaults: dict[str, float]
    presets: dict[str, Mapping[str, float]]
    settings: dict[str, Any]
    address: dict[str, int]
    code: tuple[Any, ...] = field(repr=False)  # keeps it alive
    made: Callable[[Mapping[str, float]], Mapping[str, Any]] = field(default=dict, repr=False)
    with_facts: Callable[[Mapping[str, float], Mapping[str, float]], Mapping[str, float]] = field(
        default=lambda values, _: values, repr=False
    )
    python: Mapping[str, FunctionType] = field(default_factory=dict, repr=False)

    def record(self, values: Mapping[str, float], preset: str | None = None) -> NDArray[np.void]:
        """The parameters' record: defaults, changed by the preset, changed by `values`.

        Raises
        ------
        ValueError
            The preset or a parameter is unknown, or a value is none of its format.
        """
        if preset is not None and preset not in self.presets:
            known = ", ".join(sorted(self.presets)) or "none"
            raise ValueError(f"law {self.name} preset must be one of {known}, not {preset!r}")
        chosen = {**self.defaults, **(self.presets[preset] if preset else {}), **values}
        unknown = sorted(chosen.keys() - self.defaults.keys())
        if unknown:
            known = ", ".join(self.defaults) or "none"
            raise ValueError(f"law {self.name} parameter must be one of {known}, not {unknown[0]}")
        record = np.zeros(1, self.parameters)
        for name, value in self.made(chosen).items():
            if not np.issubdtype(np.asarray(value).dtype, np.number):
                raise ValueError(
                    f"law {self.name} parameter {name} must be a number, not {value!r}"
                )
            whole = self.parameters[name].base.kind == "i"
            if not np.all(np.isfinite(value)) or (whole and np.any(np.trunc(value) != value)):
                kind = "a whole number" if whole else "a finite number"
                raise ValueError(f"law {self.name} parameter {name} must be {kind}, not {value!r}")
            record[name] = value
        return record


@cache
def program(module: ModuleType) -> Program:
    """Compile a law in real numbers.

    Raises
    ------
    ValueError
        The module is no law program; the message names the part and the remedy.
    """
    name = module.__name__.rpartition(".")[2]
    space = dict(vars(module))
    settings = {key: space.get(key, default) for key, (default, _) in SETTINGS.items()}
    checked_settings(name, settings)
    given = rows(name, "PARAMETERS", space.get("PARAMETERS", ()), 5)
    parameters = fields(name, "PARAMETERS", [row[:2] + row[5:] for row in given])
    states = rows(name, "STATE", space.get("STATE", ()), 3)
    state = fields(name, "STATE", [row[:2] + row[3:] for row in states])
    defaults = {row[0]: row[3] for row in given}
    presets = checked_presets(name, space.get("PRESETS", {}), defaults)
    told = ("on_ack", "on_sample") if settings["TELEMETRY"] else ()
    events, own = _functions(name, module, space, told)
    result = "e.rate, e.window" if settings["WINDOWED"] else "e.rate"
    if not _own(space):  # a test checks Precog's
        known = {"p": parameters, "s": state, "e": EVENT}
        check_bodies(name, own, events, known | ({"t": TELEMETRY} if told else {}))
    code = {}
    for event in events:
        t = ", t" if event in told else ""
        shape = _ENTRY if _own(space) else _GUARDED
        text = shape.format(
            name=event, result=result, t=t, lost=FAILED, kind=list(EVENTS).index(event)
        )
        records = [parameters, state, EVENT, TELEMETRY][: 4 if t else 3]
        if not _own(space):  # kept code of Precog's laws needs no compiler
            _check_answer(name, event, space[event], records, windowed=settings["WINDOWED"])
        code[event] = native(name, event, text, space, space.get("__file__"), records)
    return Program(
        name,
        state,
        parameters,
        defaults,
        presets,
        settings,
        {event: int(one.address) for event, one in code.items()},
        tuple(code.values()),
        python=own,
    )


def _functions(
    name: str, module: ModuleType, space: dict[str, Any], told: Collection[str]
) -> tuple[list[str], dict[str, FunctionType]]:
    """Names of the events, and the file's functions; `space` then has those compiled. Events of
    `told` take telemetry."""
    own = {
        key: value
        for key, value in space.items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    }
    events = [key for key in own if key.startswith("on_")]
    for key in events:
        if key not in EVENTS:
            raise ValueError(f"law {name} {key} must be one of {', '.join(EVENTS)}")
        form = "(p, s, e, t)" if key in told else "(p, s, e)"
        if own[key].__code__.co_argcount != form.count(",") + 1:
            raise ValueError(f"law {name} {key} must take the arguments {form}")
    if not set(events) - {"on_start"}:
        raise ValueError(
            f"law {name} must have a function besides on_start, such as on_ack(p, s, e)"
        )
    for key, function in own.items():
        refuse_draws(name, function, space)
        if not _own(space):
            refuse_compiled(name, function)
        # With other globals: the module itself stays as it is, to be called as Python.
        made = FunctionType(function.__code__, space, key, function.__defaults__)
        # Precog's laws are tested, and kept code needs no checks of indices and loops.
        checks = {} if _own(space) else {"boundscheck": True, "pipeline_class": BoundedLoops}
        space[key] = jit.njit(made, kept=False, error_model="numpy", _nrt=False, **checks)
    return events, own


def native(
    name: str,
    event: str,
    text: str,
    space: dict[str, Any],
    file: str | None,
    records: list[np.dtype[Any]],
) -> Any:
    """The C function of an event: `text` defines ``entry_<event>`` in the name space `space`.

    Code of Precog's own laws is kept for the next process.

    Raises
    ------
    ValueError
        It cannot be compiled; the message says why.
    """
    exec(compile(text, file or f"{name}.py", "exec"), space)
    signature = types.void(*(from_dtype(record) for record in records))
    with _refusals(name, event):
        return jit.cfunc(signature, kept=_own(space), error_model="numpy", _nrt=False)(
            space[f"entry_{event}"]
        )


def _own(space: Mapping[str, Any]) -> bool:
    """Whether a law is Precog's."""
    return str(space["__name__"]).startswith("precog_")


def _check_answer(
    name: str, event: str, function: Any, records: list[np.dtype[Any]], *, windowed: bool
) -> None:
    """Refuse a function that does not answer with the rate, or with the rate and the window."""
    with _refusals(name, event):
        function.compile(tuple(from_dtype(record) for record in records))
    kind = function.nopython_signatures[-1].return_type
    kinds = tuple(kind) if windowed and isinstance(kind, types.BaseTuple) else (kind,)
    if len(kinds) != 1 + windowed or not all(isinstance(one, types.Number) for one in kinds):
        wanted = "rate, window" if windowed else "the rate alone"
        raise ValueError(
            f"law {name}: {event} must return {wanted} on every path, with WINDOWED = {windowed}, "
            f"not {kind}"
        )


@contextmanager
def _refusals(name: str, event: str) -> Iterator[None]:
    """Errors of numba as errors of the law."""
    try:
        yield
    except KeyError as error:
        raise ValueError(
            f"law {name}: {event} cannot be compiled: {error.args[0]} must be a name of STATE, of "
            "PARAMETERS or of the event"
        ) from error
    except (NumbaError, UnsupportedBytecodeError, TypeError, ValueError) as error:
        raise ValueError(f"law {name}: {event} cannot be compiled: {reason(error)}") from error
