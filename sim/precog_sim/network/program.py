"""Law programs: rate laws as one file of plain Python, compiled to native code.

A program is a module. What it may define:

``PARAMETERS``
    ((name, format, unit, default, meaning), ...); a format is ``"float"`` or ``"int"``.
``PRESETS``
    {name: {parameter: value}}; the docstring says where they are from.
``STATE``
    ((name, format), ...), or (name, format, shape): kept for each flow, 0 at first.
``on_start``, ``on_ack``, ``on_sample``, ``on_cnp``, ``on_loss``, ``on_timer``, ``on_send``
    Functions (s, p, e) of the flow's state, the parameters and the event; with telemetry
    on_ack and on_sample are (s, p, e, t). Other functions of the file may be called.
``WINDOWED``, ``TELEMETRY``, ``HEADER``, ``ACK_BYTES``, ``CNP_US``, ``MARKING_BDP``, ``BIT_RATES``
    `program.SETTINGS` explains them.

Units: times in ns, sizes in bytes, rates in bytes per ns (100 Gb/s = 12.5), as the gateware's ticks
of 1 ns have them; names of events and of their words are the law engine's
(`precog_models.rate.engine.events`). A program decides by writing ``s.rate`` and ``s.window``.

Cost of an event: one call through a pointer, about 4 ns, and the law itself.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import from_dtype, types
from numpy.typing import NDArray

from precog_models import jit
from precog_models.rate.reference.hpcc import HOPS

__all__ = [
    "EVENTS",
    "FACTS",
    "HEAD",
    "SETTINGS",
    "TELEMETRY",
    "WORDS",
    "Program",
    "program",
    "word",
]

#: What a program may hear of.
EVENTS: dict[str, str] = {
    "on_start": "the flow begins; s.rate is its start rate",
    "on_ack": "an acknowledgement",
    "on_sample": "an acknowledgement that completes a round trip; after on_ack",
    "on_cnp": "a congestion notification",
    "on_loss": "a NAK or a time-out",
    "on_timer": "a time in s.due has come",
    "on_send": "a data packet begins to leave",
}

#: First words of a flow's state. `due` are times at which on_timer is to come; 0: none.
HEAD: tuple[tuple[Any, ...], ...] = (("rate", "f8"), ("window", "f8"), ("due", "f8", (3,)))

#: Words of an event that are the same throughout a flow.
FACTS: dict[str, tuple[str, str]] = {
    "max_rate": ("f8", "rate of the flow's link"),
    "min_rate": ("f8", "lowest rate"),
    "base": ("f8", "base RTT of the flow's path: delays, and the payload's transmission one way"),
    "network_base": ("f8", "largest base RTT of any flow"),
    "mtu": ("i8", "payload of a full packet"),
    "header": ("i8", "header bytes of a packet"),
    "hops": ("i8", "switches on the way"),
    "flow": ("i8", "number of the flow"),
}

#: Words of an event that the event brings; those without a meaning for it keep older values.
WORDS: dict[str, tuple[str, str]] = {
    "now": ("f8", "time"),
    "rtt": ("f8", "round-trip time of the acknowledged packet"),
    "now_ps": ("i8", "time in ps"),
    "rtt_ps": ("i8", "round-trip time in ps"),
    "bytes": ("i8", "on_ack: newly acknowledged; on_send: on the wire"),
    "marked": ("i8", "1: the acknowledgement echoes a congestion mark"),
    "sample": ("i8", "1: the acknowledgement completes a round trip"),
    "seq": ("i8", "first byte that is not acknowledged"),
    "next": ("i8", "next byte to be sent"),
    "timer": ("i8", "on_timer: which of s.due has come"),
    "timeout": ("i8", "on_loss: 1: a time-out, 0: a NAK"),
    "prediction": ("f8", "written by the law, for the record: RTT that it expects, us"),
}

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
    "WINDOWED": (False, "s.window limits the bytes in flight"),
    "TELEMETRY": ("", "int or pint: packets carry it, and on_ack and on_sample have it as t"),
    "HEADER": (48, "header bytes of a data packet"),
    "ACK_BYTES": (60, "bytes of an acknowledgement"),
    "CNP_US": (0.0, "least time between a flow's notifications; 0: there are none"),
    "MARKING_BDP": (None, "switches mark: (from, to, share), lengths over line rate x base RTT"),
    "BIT_RATES": (False, "rates of the program are in bit/s"),
}

_FORMATS = {"float": "f8", "int": "i8"}
_EVENT = np.dtype([(name, kind) for name, (kind, _) in (FACTS | WORDS).items()])
_Values = Mapping[str, float]


def word(name: str) -> int:
    """Place of a word in an event, in words."""
    return (_EVENT.names or ()).index(name)


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
    settings : dict of str to object
        A value for each of `SETTINGS`.
    address : dict of str to int
        Of the native code, by event.
    """

    name: str
    state: np.dtype[Any]
    parameters: np.dtype[Any]
    defaults: dict[str, float]
    presets: dict[str, dict[str, float]]
    settings: dict[str, Any]
    address: dict[str, int]
    _code: tuple[Any, ...] = field(repr=False)  # keeps the native code alive

    def record(self, values: _Values, preset: str | None = None) -> NDArray[np.void]:
        """The parameters' record: defaults, changed by the preset, changed by `values`.

        Raises
        ------
        ValueError
            The preset or a parameter is unknown, or a value is not finite or not whole.
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
        for name, value in chosen.items():
            whole = self.parameters[name].kind == "i"
            if not np.isfinite(value) or (whole and value != int(value)):
                kind = "a whole number" if whole else "a finite number"
                raise ValueError(f"law {self.name} parameter {name} must be {kind}, not {value!r}")
            record[name] = value
        return record


@cache
def program(module: ModuleType) -> Program:
    """Compile a law.

    Raises
    ------
    ValueError
        The module is no law program; the message names the part and the remedy.
    """
    name = module.__name__.rpartition(".")[2]
    space = vars(module)
    settings = {key: space.get(key, default) for key, (default, _) in SETTINGS.items()}
    if settings["TELEMETRY"] not in ("", "int", "pint"):
        raise ValueError(
            f"law {name} TELEMETRY must be int, pint or '', not {settings['TELEMETRY']!r}"
        )
    state = _fields(name, "STATE", HEAD, space.get("STATE", ()))
    rows = _rows(name, "PARAMETERS", space.get("PARAMETERS", ()), 5, 6)
    held = tuple(row[:2] + row[5:] for row in rows) or (("none", "float"),)
    parameters = _fields(name, "PARAMETERS", (), held)
    told = ("on_ack", "on_sample") if settings["TELEMETRY"] else ()
    functions = _functions(name, module, told)
    records = [state, parameters, _EVENT, TELEMETRY]
    kinds = [from_dtype(record) for record in records]
    code = {
        event: _native(name, event, types.void(*kinds[: 4 if event in told else 3]), function)
        for event, function in functions.items()
    }
    return Program(
        name,
        state,
        parameters,
        {row[0]: row[3] for row in rows},
        dict(space.get("PRESETS", {})),
        settings,
        {event: int(native.address) for event, native in code.items()},
        tuple(code.values()),
    )


def _rows(name: str, what: str, rows: Any, least: int, most: int) -> tuple[tuple[Any, ...], ...]:
    """The rows of a table of a program, checked for their form."""
    form = "(name, format, unit, default, meaning)" if most == 6 else "(name, format)"
    for row in rows:
        if not isinstance(row, tuple) or not least <= len(row) <= most or row[1] not in _FORMATS:
            known = " or ".join(_FORMATS)
            raise ValueError(f"law {name} {what} must have rows {form} with {known}, not {row!r}")
    return tuple(rows)


def _fields(name: str, what: str, before: tuple[tuple[Any, ...], ...], rows: Any) -> np.dtype[Any]:
    """The record type of a table of a program; fields of `before` come first."""
    given = _rows(name, what, rows, 2, 3)
    names = [row[0] for row in (*before, *given)]
    twice = sorted({one for one in names if names.count(one) > 1})
    if twice:
        raise ValueError(f"law {name} {what} must have {twice[0]} once: give it another name")
    return np.dtype([*before, *((row[0], _FORMATS[row[1]], *row[2:]) for row in given)])


def _functions(
    name: str, module: ModuleType, told: Collection[str]
) -> dict[str, Callable[..., None]]:
    """Functions of the events, in a name space where they find the file's others compiled.

    Those of `told` take telemetry.
    """
    space = dict(vars(module))
    own = {
        key: value
        for key, value in space.items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    }
    events = {key: value for key, value in own.items() if key.startswith("on_")}
    for key, function in events.items():
        if key not in EVENTS:
            raise ValueError(f"law {name} {key} must be one of {', '.join(EVENTS)}")
        form = "(s, p, e, t)" if key in told else "(s, p, e)"
        if function.__code__.co_argcount != form.count(",") + 1:
            raise ValueError(f"law {name} {key} must take the arguments {form}")
    if not events.keys() - {"on_start"}:
        raise ValueError(f"law {name} must have a function such as on_ack(s, p, e)")
    for key in own.keys() - events.keys():
        space[key] = numba.njit(_within(own[key], space), error_model="numpy", _nrt=False)
    return {key: _within(function, space) for key, function in events.items()}


def _within(function: FunctionType, space: dict[str, Any]) -> FunctionType:
    """`function` with other globals: the module itself stays as it is, to be called as Python."""
    made = FunctionType(function.__code__, space, function.__name__, function.__defaults__)
    made.__qualname__ = function.__qualname__
    return made


def _native(name: str, event: str, signature: Any, function: Callable[..., None]) -> Any:
    """Compile one function; code of Precog's own laws is kept for the next process."""
    options = {"error_model": "numpy", "_nrt": False}
    own = str(function.__globals__["__name__"]).startswith("precog_")
    make = jit.cfunc if own else numba.cfunc
    try:
        return make(signature, **options)(function)
    except KeyError as error:
        raise ValueError(
            f"law {name}: {event} cannot be compiled: {error.args[0]} must be a name of STATE, of "
            "PARAMETERS or of the event"
        ) from error
    except (numba.core.errors.NumbaError, TypeError, ValueError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        told = "; ".join(line for line in lines if not line.startswith("Failed in"))[:600]
        raise ValueError(f"law {name}: {event} cannot be compiled: {told}") from error
