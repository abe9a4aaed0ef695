"""Laws as cards run them: the integer programs of `precog_models.laws`, as law programs.

The file's functions decide, as in the golden model and, by the compiler, in the engine's microcode.
Here they hear the network's events in their own units: ticks of 1 ns, rates of Q8.24 bytes per
tick, sequence numbers in packets. Time passes for them every `SWEEP_NS`, if they hear of it.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from precog_models.jit import njit
from precog_models.laws.compiler.golden import compiled_functions
from precog_models.laws.compiler.load import Law, load
from precog_models.laws.language import integers
from precog_sim.network.program import EVENT, SETTINGS, Program, native
from precog_spec.contract import NO_SCORE, Fmt
from precog_spec.engine.events import EVENT_FIELDS, Kind

__all__ = ["SWEEP_NS", "integer_program"]

SWEEP_NS = 1000.0  #: between two on_timer
_TICK_PS = 1000
_CNP_US = 50.0  # a card's notifications, SIGCOMM 2015
_ONE = float(1 << Fmt.RATE.frac_bits)
_TIME_MASK = (1 << Fmt.TIME.width) - 1
_PSN_MASK = (1 << 24) - 1
_WORDS = np.dtype([(name, np.int64) for name, _, _ in EVENT_FIELDS])
_HEARD = ("ack", "sample", "cnp", "loss", "timer", "score")


def _filled(x: Any, e: Any, kind: int) -> None:
    """The event's words in the law's units."""
    x.kind = kind
    x.now = int(e.now) & _TIME_MASK
    x.rtt = max(int(e.rtt + 0.5), 1)
    x.bytes = e.bytes
    x.marked = e.marked
    x.seq = (e.seq // e.mtu) & _PSN_MASK
    x.next = (e.next // e.mtu) & _PSN_MASK
    x.score = NO_SCORE
    x.senders = e.senders
    x.rate = int(e.rate * _ONE + 0.5)
    x.window = int(e.window)
    x.min_rate = int(e.min_rate * _ONE + 0.5)
    x.max_rate = int(e.max_rate * _ONE + 0.5)
    x.base = int(e.base + 0.5)
    x.mtu = e.mtu


def _put(x: Any, e: Any, rate: int, window: int) -> None:
    """The law's answer, within the bounds that a card keeps."""
    e.rate = min(max(rate, x.min_rate), x.max_rate) / _ONE
    e.window = float(max(window, x.mtu))


_ENTRY = """
def entry_on_{event}(p, s, e):
    filled(s.event, e, {kind})
    {result} = on_{event}(p, s.own, s.event)
    put(s.event, e, {answer})
{after}
"""
_START = """
def entry_on_start(p, s, e):
    s.event.init_rate = int(e.rate * ONE + 0.5)
    e.due[0] = e.now + SWEEP if SWEEP > 0 else 0.0
"""


@cache
def integer_program(law: str | Path) -> Program:
    """Compile a law of `precog_models.laws`, by its name, or a file of that language.

    Raises
    ------
    ValueError
        There is none, or it is no such law.
    """
    found = load(law)
    fields = [(one.name, np.int64) for one in found.state]
    state = np.dtype([("own", np.dtype([*fields, ("_", np.int64)])), ("event", _WORDS)])
    kinds = [
        (one.name, np.int64, (one.length,)) if one.length else (one.name, np.int64)
        for one in found.parameters
    ]
    parameters = np.dtype([*kinds, ("_", np.int64)])
    own = {name: name.removeprefix("on_") for name in found.events}
    heard = [event for name, event in own.items() if event in _HEARD]
    sweep = SWEEP_NS if "timer" in heard else 0.0
    space: dict[str, Any] = {
        "__name__": f"{found.name}_on_cards",
        "filled": njit(_filled, _nrt=False),
        "put": njit(_put, _nrt=False),
        "ONE": _ONE,
        "SWEEP": sweep,
        **compiled_functions(found),
    }
    records = [parameters, state, EVENT]
    code = {"on_start": native(found.name, "on_start", _START, space, None, records)}
    for event in heard:
        text = _ENTRY.format(
            event=event,
            kind=int(Kind[event.upper()]),
            result="rate, window" if found.windowed else "rate",
            answer="rate, window" if found.windowed else "rate, 0",
            after="    e.due[0] = e.now + SWEEP" if event == "timer" else "",
        )
        code[f"on_{event}"] = native(found.name, f"on_{event}", text, space, None, records)
    return Program(
        found.name,
        state,
        parameters,
        {one.name: one.default for one in found.parameters if not one.length},
        {name: preset.values for name, preset in found.presets.items()},
        _settings(found, heard),
        {event: int(one.address) for event, one in code.items()},
        tuple(code.values()),
        lambda values: _integers(found, values),
        found.with_facts,
    )


def _integers(law: Law, values: Mapping[str, float]) -> Mapping[str, Any]:
    return integers(law.parameters, values, _TICK_PS)


def _settings(law: Law, heard: list[str]) -> dict[str, Any]:
    settings = {key: default for key, (default, _) in SETTINGS.items()}
    return settings | {"WINDOWED": law.windowed, "CNP_US": _CNP_US if "cnp" in heard else 0.0}
